// What is built from what. A step has a name, the files that it depends on, and what it does; `stamps` are the notes that
// say it is done, its name unless it does more than one thing.
import { cpSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { runTool } from './tools.mjs';

const ASSEMBLY = 'src/kernels/assembly/';
const WEB = 'src/console/web/';
const VENUES = 'src/venues/index.ts';

/** @param check whether types are checked too; what runs does not depend on it. */
export function stepsOf(root, sources, check) {
  return [
    ...kernels(root, sources),
    typescript(root, sources, check),
    ...dashboard(root, sources, check),
    assets(root, sources),
  ].filter(({ inputs }) => inputs.length > 0);
}

function typescript(root, sources, check) {
  // The contract between kernels and their callers is compiled on both sides.
  const isCompiled = (file) =>
    file.endsWith('.ts') && !file.startsWith(WEB) && (!file.includes('/assembly/') || file.endsWith('contract.ts'));
  return {
    name: 'typescript',
    stamps: check ? ['typescript', 'types'] : ['typescript'],
    inputs: [...sources.filter(isCompiled), 'tsconfig.json'],
    run: () => runTool(root, 'typescript/bin/tsc', ['-p', 'tsconfig.json', ...(check ? [] : ['--noCheck'])]),
  };
}

function assets(root, sources) {
  const inputs = sources.filter((file) => !file.startsWith(WEB) && /\.(proto|sql|json|py)$/.test(file));
  return {
    name: 'assets',
    inputs,
    async run() {
      for (const file of inputs) {
        mkdirSync(dirname(join(root, 'dist', file)), { recursive: true });
        cpSync(join(root, file), join(root, 'dist', file));
      }
    },
  };
}

/**
 * One WebAssembly module for each file directly below src/kernels/assembly; its first line may give asc more options:
 *   // asc: --importMemory --sharedMemory --enable threads --maximumMemory 1024
 *
 * What stands in src/venues/NAME/assembly/walker.ts of a listed venue becomes part of the decode kernel: asc exports what
 * each of its entry files exports.
 */
function kernels(root, sources) {
  const files = sources.filter((file) => file.startsWith(ASSEMBLY) && file.endsWith('.ts'));
  const shared = files.filter((file) => file.slice(ASSEMBLY.length).includes('/'));
  return files
    .filter((file) => !shared.includes(file))
    .map((file) => {
      const name = file.slice(ASSEMBLY.length, -'.ts'.length);
      const walkers = name === 'decode' ? listedVenues(root).map((venue) => `src/venues/${venue}/assembly/`) : [];
      const beside = sources.filter((source) => walkers.some((folder) => source.startsWith(folder)));
      const own = /^\/\/ asc: (.*)$/m.exec(readFileSync(join(root, file), 'utf8'))?.[1]?.split(' ') ?? [];
      return {
        name: `kernel-${name}`,
        inputs: [file, ...shared, ...beside],
        options: [
          ...[file, ...walkers.map((folder) => `${folder}walker.ts`)],
          ...['--outFile', `dist/src/kernels/${name}.wasm`, '--runtime', 'stub', '--noAssert', '-O3'],
          ...['--enable', 'simd', '--enable', 'bulk-memory'],
          ...own,
        ],
      };
    });
}

function listedVenues(root) {
  return [...readFileSync(join(root, VENUES), 'utf8').matchAll(/'\.\/([^/']+)\/index\.ts'/g)].map(([, venue]) => venue);
}

/** The dashboard speaks the protocols' types, so that it is checked and built anew when they change. */
function dashboard(root, sources, check) {
  const own = sources.filter((file) => file.startsWith(WEB));
  if (own.length === 0) return [];
  const inputs = [...own, ...sources.filter((file) => file.startsWith('src/protocols/') && file.endsWith('.ts'))];
  const vite = ['build', '--config', `${WEB}vite.config.ts`, '--logLevel', 'warn'];
  const made = { name: 'dashboard', inputs, run: () => runTool(root, 'vite/bin/vite.js', vite) };
  if (!check) return [made];
  const types = ['-p', `${WEB}tsconfig.json`];
  return [made, { name: 'dashboard-types', inputs, run: () => runTool(root, 'typescript/bin/tsc', types) }];
}
