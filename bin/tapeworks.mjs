#!/usr/bin/env node
// The command `tapeworks`: checks the Node version, builds what is out of date, then hands over to the compiled program.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(
    `TW_NODE_TOO_OLD: tapeworks needs Node 20.19 or newer, this is ${process.version}. Install a newer Node and try again.\n`,
  );
  process.exit(78);
}
const root = fileURLToPath(new URL('..', import.meta.url));
// An installed image ships dist/ without the build tools.
if (existsSync(join(root, 'node_modules/typescript'))) {
  const { build } = await import('../scripts/build/build.mjs');
  try {
    await build({ root, check: false, say: (text) => process.stderr.write(`${text}\n`) });
  } catch (error) {
    process.stderr.write(`\n${error.message}\n`);
    process.exit(70);
  }
}
await import('../dist/src/cli/main.js');
