// Starts the program in a container. Passwords come as files; this puts them into the URLs, in memory only.
import { readFileSync } from 'node:fs';

for (const name of ['DATABASE_URL', 'REDIS_URL']) {
  const file = process.env[`${name}_PASSWORD_FILE`];
  if (file === undefined) continue;
  const url = new URL(process.env[name]);
  url.password = readFileSync(file, 'utf8').trim();
  process.env[name] = url.href;
}
await import('../dist/src/cli/main.js');
