#!/usr/bin/env node
// The command `tapeworks`: checks the Node version, builds what is out of date, then hands over to the compiled program.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(
    `TW_NODE_TOO_OLD: tapeworks needs Node 20.19 or newer, this is ${process.version}. Install a newer Node and try again.\n`,
  );
  process.exit(78);
}
const builder = fileURLToPath(new URL('../scripts/build.mjs', import.meta.url));
// An installed image ships dist/ without the build tools.
if (existsSync(fileURLToPath(new URL('../node_modules/typescript', import.meta.url)))) {
  const built = spawnSync(process.execPath, [builder], { stdio: ['ignore', 'inherit', 'inherit'] });
  if (built.status !== 0) process.exit(70);
}
await import('../dist/src/cli/main.js');
