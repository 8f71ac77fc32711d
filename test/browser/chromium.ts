import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const FOLDERS = ['/usr/bin', '/usr/local/bin', '/snap/bin', '/opt/google/chrome'];
const APT = 'apt-get -o Acquire::http::Timeout=20 -o Acquire::Retries=1';
const INSTALL = `command -v chromium || { ${APT} update; ${APT} install -y --no-install-recommends chromium fonts-liberation; }`;
const INSTALL_TIMEOUT_MS = 300_000;

/** A browser's path, or why there is none. */
export type Found = { readonly path: string } | { readonly path: undefined; readonly reason: string };

/** Looks for a browser, and where this is Debian and we are root, installs one. */
export function provideChromium(): Found {
  const path = find();
  if (path !== undefined) return { path };
  if (process.getuid?.() !== 0) return missing('and only root can install one: apt-get install chromium');
  process.stderr.write('installing chromium for the browser tests ... ');
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  // Two test files may come here at once; the second waits for the first and finds that nothing is left to do.
  spawnSync('flock', [join(tmpdir(), 'tapeworks-chromium.lock'), 'sh', '-c', INSTALL], {
    stdio: 'ignore',
    timeout: INSTALL_TIMEOUT_MS,
    env,
  });
  const installed = find();
  process.stderr.write(installed === undefined ? 'in vain\n' : 'done\n');
  return installed === undefined ? missing('and apt-get could not install it') : { path: installed };
}

function missing(why: string): Found {
  return { path: undefined, reason: `there is no Chromium on this machine, ${why}` };
}

function find(): string | undefined {
  const named = process.env['TAPEWORKS_CHROMIUM'];
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), ...FOLDERS];
  const candidates = folders.flatMap((folder) => NAMES.map((name) => join(folder, name)));
  return [...(named === undefined ? [] : [named]), ...candidates].find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Each launch has a fresh profile of its own. */
export function launch(executablePath: string): Promise<Browser> {
  const quiet = ['--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-quic'];
  return chromium.launch({
    executablePath,
    headless: true,
    args: ['--no-sandbox', '--disable-gpu', '--no-first-run', ...quiet],
  });
}
