// Adds to package-lock.json the optional packages for other platforms that npm left out. A registry that does not carry
// them all makes `npm install` write a lockfile that `npm ci` then refuses. Run it after each change of dependencies:
//   npm install ... && node scripts/complete-lockfile.mjs
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const path = fileURLToPath(new URL('../package-lock.json', import.meta.url));
const lock = JSON.parse(readFileSync(path, 'utf8'));

const SYSTEMS = ['aix', 'android', 'darwin', 'freebsd', 'linux', 'netbsd', 'openbsd', 'openharmony', 'sunos', 'win32'];
const PROCESSORS = [
  'arm64',
  'armv7',
  'armv6',
  'arm',
  'x64',
  'ia32',
  'ppc64',
  's390x',
  'riscv64',
  'loong64',
  'loong',
  'mips64el',
  'wasm32',
];

/** What a platform package's name says about where it runs: @scope/binding-linux-x64-musl is for linux, x64, musl. */
function platformOf(name) {
  const words = name.split('/').at(-1).split(/[-_.]/);
  const os = SYSTEMS.find((system) => words.includes(system));
  const cpu = PROCESSORS.find((processor) => words.includes(processor));
  const libc = words.some((word) => word.startsWith('musl'))
    ? 'musl'
    : words.some((word) => word.startsWith('gnu'))
      ? 'glibc'
      : undefined;
  return {
    ...(cpu && { cpu: [cpu.startsWith('armv') ? 'arm' : cpu] }),
    ...(libc && os === 'linux' && { libc: [libc] }),
    ...(os && { os: [os] }),
  };
}

const added = {};
for (const [place, entry] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    const isHere = [`${place}/node_modules/${name}`, `node_modules/${name}`].some((at) => at in lock.packages);
    if (isHere || !/^\d/.test(version)) continue;
    added[`node_modules/${name}`] = { version, ...(entry.dev && { dev: true }), optional: true, ...platformOf(name) };
  }
}
const packages = Object.entries({ ...lock.packages, ...added }).sort(([a], [b]) => (a < b ? -1 : 1));
writeFileSync(path, `${JSON.stringify({ ...lock, packages: Object.fromEntries(packages) }, null, 2)}\n`);
console.log(`added ${Object.keys(added).length} packages`);
