import { constants } from 'node:fs';
import { type FileHandle, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { z } from 'zod';
import { type Checked, type ConfigIssue, sortIssues } from '../../protocols/config-issue.ts';
import { checkKernel } from './check-kernel.ts';
import { checkModules } from './check-modules.ts';
import { checkSchema } from './check-schema.ts';
import { checkTopology } from './check-topology.ts';
import { Checker, type Located, type Surroundings } from './checker.ts';
import { type KernelConfig, kernelSchema } from './kernel-schema.ts';
import { type SettledTopology, settleVenues } from './kline-venues.ts';
import { type ModuleConfig, moduleSchema } from './module-schema.ts';
import { topologySchema } from './topology-schema.ts';
import { FILE_BYTES_MAX, readYaml, unreadable } from './yaml-document.ts';

/** A configuration that has passed every check: defaults filled in, durations in milliseconds, sizes in bytes. */
export interface Configuration {
  readonly kernel: KernelConfig;
  readonly topology: SettledTopology;
  /** By name. */
  readonly modules: readonly ModuleConfig[];
}

/** The files of a configuration folder by their path in it, with `/`: kernel.yaml, topology.yaml, modules.d/NAME.yaml. */
export type ConfigFiles = ReadonlyMap<string, Uint8Array>;

export const KERNEL_FILE = 'kernel.yaml';
export const TOPOLOGY_FILE = 'topology.yaml';
export const MODULES_FOLDER = 'modules.d';
const MODULES_MAX = 256;

/** Reads and checks a whole folder. Whatever is wrong with it is in the answer; only a defect of ours throws. */
export async function loadConfiguration(folder: string, around: Surroundings): Promise<Checked<Configuration>> {
  const files = await readConfigFiles(folder);
  return files.ok ? checkConfiguration(files.value, around, (name) => join(folder, name)) : files;
}

/** Reads the files without judging them. */
export async function readConfigFiles(folder: string): Promise<Checked<ConfigFiles>> {
  const names = [KERNEL_FILE, TOPOLOGY_FILE, ...(await moduleFiles(folder))];
  if (names.length > MODULES_MAX + 2) {
    return unreadable(join(folder, MODULES_FOLDER), `at most ${MODULES_MAX} modules`, `${names.length - 2}`);
  }
  const files = new Map<string, Uint8Array>();
  const issues: ConfigIssue[] = [];
  for (const name of names) {
    const read = await readBounded(join(folder, name));
    if (read.ok) files.set(name, read.value);
    else issues.push(...read.issues);
  }
  return issues.length === 0 ? { ok: true, value: files } : { ok: false, issues };
}

async function moduleFiles(folder: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(join(folder, MODULES_FOLDER));
    // A dot in front marks an editor's or a deployer's file in the making.
    return entries
      .filter((name) => /\.ya?ml$/.test(name) && !name.startsWith('.'))
      .sort()
      .map((name) => `${MODULES_FOLDER}/${name}`);
  } catch {
    return [];
  }
}

/** Reads one file, and no more of it than a configuration file may have. */
export async function readBounded(path: string): Promise<Checked<Uint8Array>> {
  let handle: FileHandle | undefined;
  try {
    // Non-blocking, so that a pipe in the place of a file cannot hold us up.
    handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const { size } = await handle.stat().then((stat) => (stat.isFile() ? stat : Promise.reject(notAFile())));
    if (size > FILE_BYTES_MAX) return unreadable(path, 'at most 256 KiB', `${size} bytes`);
    const buffer = Buffer.alloc(FILE_BYTES_MAX + 1);
    let length = 0;
    for (;;) {
      const { bytesRead } = await handle.read(buffer, length, buffer.length - length);
      length += bytesRead;
      if (bytesRead === 0 || length === buffer.length) return { ok: true, value: buffer.subarray(0, length) };
    }
  } catch (error) {
    return unreadable(path, 'a readable file', (error as NodeJS.ErrnoException).code ?? String(error));
  } finally {
    await handle?.close();
  }
}

const notAFile = () => Object.assign(new Error('not a regular file'), { code: 'something that is not a file' });

/** Checks files that are already in memory, such as those that an operator sends; messages call them as `shown` says. */
export function checkConfiguration(
  files: ConfigFiles,
  around: Surroundings,
  shown: (name: string) => string,
): Checked<Configuration> {
  const issues: ConfigIssue[] = [];
  const locate = <S extends z.ZodType>(name: string, schema: S): Located<z.output<S>> | undefined => {
    const bytes = files.get(name);
    const document = bytes === undefined ? unreadable(shown(name), 'a file', 'none') : readYaml(shown(name), bytes);
    const checked = document.ok ? checkSchema(schema, document.value) : document;
    if (checked.ok && document.ok) return { document: document.value, value: checked.value };
    if (!checked.ok) issues.push(...checked.issues);
    return undefined;
  };
  const kernel = locate(KERNEL_FILE, kernelSchema);
  const written = locate(TOPOLOGY_FILE, topologySchema);
  const names = [...files.keys()].filter((name) => name.startsWith(`${MODULES_FOLDER}/`)).sort();
  const located = names.map((name) => locate(name, moduleSchema));
  const modules = located.filter((module) => module !== undefined);
  const stray = [...files.keys()].filter((name) => ![KERNEL_FILE, TOPOLOGY_FILE, ...names].includes(name));
  for (const name of stray) {
    const refused = unreadable(shown(name), 'kernel.yaml, topology.yaml or modules.d/NAME.yaml', 'another file');
    if (!refused.ok) issues.push(...refused.issues);
  }

  // What spans files is only judged once each file is right by itself: else one slip would be reported twice.
  if (kernel !== undefined && written !== undefined && issues.length === 0) {
    const topology = { ...written, value: settleVenues(written.value, around.venues) };
    const check = new Checker();
    checkKernel(check, { kernel, topology, modules });
    checkTopology(check, { kernel, topology, modules }, around);
    checkModules(check, { kernel, topology, modules });
    if (check.issues.length === 0) {
      const byName = modules.map((module) => module.value).sort((a, b) => (a.name < b.name ? -1 : 1));
      return { ok: true, value: { kernel: kernel.value, topology: topology.value, modules: byName } };
    }
    issues.push(...check.issues);
  }
  return { ok: false, issues: sortIssues(issues) };
}
