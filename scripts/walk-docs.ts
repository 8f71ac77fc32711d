// Goes through the README, the tour and the gRPC guide as a new user would, from a clean clone, and fails on the first line
// that does not do what it says.
//   npm run test:docs
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../src/servers/server-process.ts';
import { checkPages, WALKED } from './walk-docs/check.ts';
import { readPage } from './walk-docs/document.ts';
import { WalkError, Walker } from './walk-docs/walker.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** Commands that only look, and so can be tried wherever a page names them. */
const LOOKING = /^npx tapeworks (?:status|top|doctor|validate|help)\b(?!.*(?:COMMAND|SYMBOL))/;
const PORTS = [9090, 50_051, 9801] as const;

const say = (line: string) => void process.stderr.write(`${line}\n`);

function sh(command: string, cwd: string): void {
  const { status, stderr } = spawnSync('bash', ['-c', command], { cwd, encoding: 'utf8' });
  if (status !== 0) throw new WalkError(`\`${command}\` failed: ${stderr}`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((done) => {
    const server = createServer().once('error', () => done(false));
    server.listen(port, '127.0.0.1', () => server.close(() => done(true)));
  });
}

/** The ports of the pages, or others where those are taken: then every command and text is adapted to them. */
async function adaptPorts(folder: string): Promise<(text: string) => string> {
  const free = await Promise.all(PORTS.map(isFree));
  if (free.every(Boolean)) return (text) => text;
  const others = await Promise.all(PORTS.map(() => freePort()));
  const adapt = (text: string) =>
    PORTS.reduce((changed, port, at) => changed.replaceAll(new RegExp(`\\b${port}\\b`, 'g'), String(others[at])), text);
  const kernel = join(folder, 'config/kernel.yaml');
  writeFileSync(kernel, adapt(readFileSync(kernel, 'utf8')));
  say(`  the usual ports are taken; these are used: ${others.join(', ')}`);
  return adapt;
}

async function walk(folder: string): Promise<void> {
  sh(`git clone --quiet "${root}" "${folder}"`, root);
  const env = { ...process.env, NO_COLOR: '1', DATABASE_URL: '', REDIS_URL: '', CI: '1' };
  const adapt = await adaptPorts(folder);
  const walker = new Walker({ folder, env, adapt, say });
  try {
    for (const file of WALKED) {
      const page = readPage(file, readFileSync(join(folder, file), 'utf8'));
      await walker.follow(page);
      const looking = new Map(
        page.inline.filter(({ command }) => LOOKING.test(command)).map((one) => [one.command, one]),
      );
      for (const { line, command } of looking.values()) await walker.glance(file, line, command);
    }
    await walker.stop();
    say('  ok    Ctrl-C ends it');
    if (!existsSync(join(folder, '.tapeworks/postgres/PG_VERSION'))) throw new WalkError('the data did not stay');
    say('  ok    the data stays');
    writeFileSync(join(folder, '.tapeworks/left-over'), '');
    const again = ['<!-- walk: background, until "Tapeworks is up" -->', '```sh', 'npm start -- --reset', '```'];
    await walker.follow(readPage('the end', again.join('\n')));
    if (existsSync(join(folder, '.tapeworks/left-over'))) throw new WalkError('--reset left data behind');
    say('  ok    --reset begins afresh');
  } finally {
    await walker.stop();
  }
}

const folder = mkdtempSync(join(tmpdir(), 'tapeworks-walk-'));
const startedMs = performance.now();
try {
  const wrong = await checkPages(root, WALKED);
  if (wrong.length > 0) throw new WalkError(wrong.join('\n'));
  await walk(folder);
  say(`every line does what it says (${Math.round((performance.now() - startedMs) / 1000)} s)`);
} catch (error) {
  if (!(error instanceof WalkError)) throw error;
  say(`\n${error.message}`);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
