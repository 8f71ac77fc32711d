import { statSync } from 'node:fs';
import { join } from 'node:path';
import { type Checked, type ConfigIssue, renderIssue } from '../protocols/config-issue.ts';
import {
  type ConfigFiles,
  type Configuration,
  checkConfiguration,
  loadConfiguration,
  readBounded,
  readConfigFiles,
  TOPOLOGY_FILE,
} from '../supervision/topology/load.ts';
import { KNOWN_VENUES } from '../venues/index.ts';
import { EXIT, type OptionSpec } from './command.ts';

export const CONFIG_FOLDER = 'config';

export const CONFIG_OPTION = {
  type: 'string',
  value: 'FOLDER',
  default: CONFIG_FOLDER,
  about: 'where kernel.yaml, topology.yaml and modules.d are',
  offers: 'folder',
} as const satisfies OptionSpec;

export const KNOWN = { venues: KNOWN_VENUES } as const;

/** A configuration that was read and checked, with the files as they are. */
export interface ReadConfiguration {
  readonly files: ConfigFiles;
  readonly config: Configuration;
}

/**
 * Reads the configuration at a path: a folder, or a file that stands in for the topology.yaml of `folder`, so that two
 * versions of that one file can be compared.
 */
export async function readConfiguration(path: string, folder: string): Promise<Checked<ReadConfiguration>> {
  if (!isFile(path)) return checked(await readConfigFiles(path), (name) => join(path, name));
  const [files, topology] = [await readConfigFiles(folder), await readBounded(path)];
  if (!files.ok || !topology.ok) return files.ok ? (topology as Checked<never>) : files;
  const replaced = new Map([...files.value, [TOPOLOGY_FILE, topology.value]]);
  return checked({ ok: true, value: replaced }, (name) => (name === TOPOLOGY_FILE ? path : join(folder, name)));
}

/** The configuration of a folder, for what a command is not told; undefined where there is none that is right. */
export async function usualConfiguration(folder: string = CONFIG_FOLDER): Promise<Configuration | undefined> {
  const read = await loadConfiguration(folder, KNOWN);
  return read.ok ? read.value : undefined;
}

function checked(files: Checked<ConfigFiles>, shown: (name: string) => string): Checked<ReadConfiguration> {
  if (!files.ok) return files;
  const config = checkConfiguration(files.value, KNOWN, shown);
  return config.ok ? { ok: true, value: { files: files.value, config: config.value } } : config;
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}

/** Shows what is wrong, for people on stderr or for programs on stdout, and gives the exit code for it. */
export function reportIssues(issues: readonly ConfigIssue[], json: boolean): number {
  if (json) process.stdout.write(`${JSON.stringify({ ok: false, issues })}\n`);
  else {
    const count = issues.length === 1 ? '1 error' : `${issues.length} errors`;
    process.stderr.write(
      `${issues.map(renderIssue).join('\n')}\n\nTW_CONFIG_INVALID: ${count}; nothing was changed.\n`,
    );
  }
  return EXIT.config;
}
