import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const threads = new URL('../../src/supervision/threads/', import.meta.url);
const protocols = new URL('../../src/protocols/', import.meta.url);
const telemetry = new URL('../../src/supervision/telemetry/', import.meta.url);

/** The production modules that a scenario runs, so that it can also be run on a damaged copy of them. */
export interface Mailboxes {
  readonly ring: typeof import('../../src/supervision/threads/ring.ts');
  readonly ends: typeof import('../../src/supervision/threads/ring-ends.ts');
  readonly ringLayout: typeof import('../../src/supervision/threads/ring-layout.ts');
  readonly frames: typeof import('../../src/supervision/threads/frame-ring.ts');
  readonly slot: typeof import('../../src/supervision/threads/slot.ts');
  readonly doorbell: typeof import('../../src/supervision/threads/doorbell.ts');
  readonly idle: typeof import('../../src/supervision/threads/idle-strategy.ts');
  readonly duty: typeof import('../../src/supervision/threads/duty-cycle.ts');
}

/** A defect put into the compiled production code: in `file`, the one place that reads `from` becomes `to`. */
export interface Mutation {
  readonly file: string;
  readonly from: string | RegExp;
  readonly to: string;
}

async function load(folder: URL): Promise<Mailboxes> {
  const at = (name: string) => import(new URL(name, folder).href);
  return {
    ring: await at('ring.js'),
    ends: await at('ring-ends.js'),
    ringLayout: await at('ring-layout.js'),
    frames: await at('frame-ring.js'),
    slot: await at('slot.js'),
    doorbell: await at('doorbell.js'),
    idle: await at('idle-strategy.js'),
    duty: await at('duty-cycle.js'),
  };
}

export function productionMailboxes(): Promise<Mailboxes> {
  return load(threads);
}

/** The production code with one defect, loaded from a copy of its compiled files. */
export async function damagedMailboxes({ file, from, to }: Mutation): Promise<Mailboxes> {
  const folder = mkdtempSync(join(tmpdir(), 'tapeworks-loom-'));
  try {
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
    for (const name of readdirSync(threads).filter((each) => /^[a-z-]+\.js$/.test(each))) {
      cpSync(fileURLToPath(new URL(name, threads)), join(folder, name));
      const source = readFileSync(join(folder, name), 'utf8')
        .replaceAll('../../protocols/', protocols.href)
        .replaceAll('../telemetry/', telemetry.href)
        .replace(/^\/\/# sourceMappingURL.*$/m, '');
      writeFileSync(join(folder, name), name === file ? damage(source, from, to) : source);
    }
    return await load(pathToFileURL(`${folder}/`));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function damage(source: string, from: string | RegExp, to: string): string {
  const everywhere = new RegExp(typeof from === 'string' ? from.replace(/[^\w\s]/g, '\\$&') : from.source, 'g');
  const places = [...source.matchAll(everywhere)].length;
  if (places !== 1) throw new Error(`the defect fits ${places} places, it must fit one: ${from}`);
  return source.replace(from, to);
}
