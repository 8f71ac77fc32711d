// Builds what is out of date, and only that: TypeScript into dist/, AssemblyScript kernels into dist/src/kernels/,
// the dashboard into dist/console/. Each step leaves the digest of its inputs in dist/.built/.
//
//   node scripts/build.mjs [--unchecked] [--quiet]
//
// With --unchecked types are not checked, which changes nothing in what is built: `npm start` does not wait for it.
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from './build/build.mjs';

const isQuiet = process.argv.includes('--quiet');
try {
  await build({
    root: join(dirname(fileURLToPath(import.meta.url)), '..'),
    check: !process.argv.includes('--unchecked'),
    say: (text) => isQuiet || process.stderr.write(`${text}\n`),
  });
} catch (error) {
  process.stderr.write(`\n${error.message}\n`);
  process.exitCode = 1;
}
