// Builds what is out of date, and only that: TypeScript into dist/, AssemblyScript kernels into dist/src/kernels/,
// the dashboard into dist/console/. Each step remembers the digest of its inputs in dist/.built/.
// Steps do not wait for each other: a first build takes as long as its longest step where there are cores enough.
//   node scripts/build.mjs [--quiet]
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const quiet = process.argv.includes('--quiet');
const assembly = 'src/kernels/assembly';
const web = 'src/console/web';

function filesBelow(folder, keep = () => true) {
  const path = join(root, folder);
  if (!existsSync(path)) return [];
  if (statSync(path).isFile()) return [folder];
  return readdirSync(path, { withFileTypes: true })
    .flatMap((entry) => filesBelow(`${folder}/${entry.name}`, keep))
    .filter(keep)
    .sort();
}

function digestOf(files) {
  const hash = createHash('sha256');
  for (const file of files)
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(root, file)))
      .update('\0');
  return hash.digest('hex');
}

const due = [];

/** Remembers what is out of date; `run` returns a promise where it waits for a tool. */
function step(name, inputs, run) {
  if (inputs.length === 0) return;
  const stamp = join(root, 'dist/.built', name);
  const digest = digestOf([...inputs, 'package-lock.json', 'scripts/build.mjs']);
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === digest) return;
  due.push({ name, stamp, digest, run });
}

async function build({ name, stamp, digest, run }) {
  const started = performance.now();
  await run();
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, digest);
  if (!quiet)
    process.stderr.write(`  built  ${name.padEnd(18)} ${((performance.now() - started) / 1000).toFixed(1)} s\n`);
}

function tool(module, args) {
  const child = spawn(process.execPath, [join(root, 'node_modules', module), ...args], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
  return new Promise((done, fail) => {
    child.once('error', fail);
    child.once('close', (code) => (code === 0 ? done() : fail(new Error(output.trim() || `${module} failed`))));
  });
}

const sources = ['src', 'bench', 'test', 'scripts', 'examples'].flatMap((folder) =>
  filesBelow(folder, (file) => !file.includes('/assembly/') && !file.startsWith(web)),
);

// The contract between kernels and their callers is compiled on both sides.
const contracts = filesBelow(`${assembly}/lib`, (file) => file.endsWith('contract.ts'));
step('typescript', [...sources.filter((file) => file.endsWith('.ts')), ...contracts, 'tsconfig.json'], () => {
  // A file that was deleted from the sources must not live on in dist/ and be run as a test.
  for (const folder of ['src', 'bench', 'test', 'scripts', 'examples']) {
    for (const file of filesBelow(`dist/${folder}`, (name) => name.endsWith('.js'))) {
      if (!existsSync(join(root, file.slice('dist/'.length).replace(/\.js$/, '.ts')))) rmSync(join(root, file));
    }
  }
  return tool('typescript/bin/tsc', ['-p', 'tsconfig.json']);
});

step(
  'assets',
  sources.filter((file) => /\.(proto|sql|json|py)$/.test(file)),
  () => {
    for (const file of sources.filter((name) => /\.(proto|sql|json|py)$/.test(name))) {
      mkdirSync(dirname(join(root, 'dist', file)), { recursive: true });
      cpSync(join(root, file), join(root, 'dist', file));
    }
  },
);

// One WebAssembly module for each file directly below src/kernels/assembly; its first line may give asc more options:
//   // asc: --importMemory --sharedMemory --enable threads --maximumMemory 1024
//
// What stands in src/venues/NAME/assembly/walker.ts of a listed venue becomes part of the decode kernel: asc exports what
// each of its entry files exports.
const venues = [...readFileSync(join(root, 'src/venues/index.ts'), 'utf8').matchAll(/'\.\/([^/']+)\/index\.ts'/g)];
const walkers = venues.map(([, venue]) => `src/venues/${venue}/assembly/walker.ts`);
const kernelFiles = filesBelow(assembly, (file) => file.endsWith('.ts'));
for (const file of kernelFiles.filter((name) => !name.slice(assembly.length + 1).includes('/'))) {
  const name = file.slice(assembly.length + 1, -'.ts'.length);
  const options = /^\/\/ asc: (.*)$/m.exec(readFileSync(join(root, file), 'utf8'))?.[1]?.split(' ') ?? [];
  const shared = kernelFiles.filter((other) => other.slice(assembly.length + 1).includes('/'));
  const entries = name === 'decode' ? [file, ...walkers] : [file];
  const beside = entries.slice(1).flatMap((walker) => filesBelow(dirname(walker)));
  step(`kernel-${name}`, [file, ...shared, ...beside], () => {
    mkdirSync(join(root, 'dist/src/kernels'), { recursive: true });
    return tool('assemblyscript/bin/asc.js', [
      ...entries,
      ...['--outFile', `dist/src/kernels/${name}.wasm`, '--runtime', 'stub', '--noAssert', '-O3', '--converge'],
      ...['--enable', 'simd', '--enable', 'bulk-memory'],
      ...options,
    ]);
  });
}

// The dashboard speaks the protocols' types, so that it is checked and built anew when they change.
const webInputs = [...filesBelow(web), ...filesBelow('src/protocols', (file) => file.endsWith('.ts'))];
step('dashboard', webInputs, () =>
  Promise.all([
    tool('typescript/bin/tsc', ['-p', `${web}/tsconfig.json`]),
    tool('vite/bin/vite.js', ['build', '--config', `${web}/vite.config.ts`, '--logLevel', 'warn']),
  ]),
);

// The longest first, so that none is left over at the end.
const order = ['kernel-', 'dashboard', 'typescript', 'assets'];
const rank = ({ name }) => order.findIndex((start) => name.startsWith(start));
due.sort((a, b) => rank(a) - rank(b));
if (due.length > 0 && !quiet) process.stderr.write(`building ${due.map(({ name }) => name).join(', ')}\n`);
const work = async () => {
  for (let next = due.shift(); next !== undefined; next = due.shift()) await build(next);
};
try {
  await Promise.all(Array.from({ length: Math.max(2, availableParallelism()) }, work));
} catch (error) {
  process.stderr.write(`\n${error.message}\n`);
  process.exit(1);
}
