import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { DASHBOARD_FOLDER } from '../src/console/server/assets.ts';
import { launch, provideChromium } from '../test/browser/chromium.ts';
import { drain } from './console.drain.ts';
import { measureHotPath } from './console.hotpath.ts';
import { type Bench, type BenchOptions, median, ROUNDS } from './harness.ts';

const DASHBOARDS = 10;
/** The console looks at the tree once a second, so that a shorter stretch would miss some looks. */
const STRETCH_MS = 1000;
/** The first frame of a dashboard holds the whole tree and is not of the stretch. */
const SETTLE_MS = 300;
const FIRST_VIEW_BYTES_MAX = 150_000;

export const bench: Bench = {
  summary: 'what the dashboard weighs, how soon it shows live data, and what ten of them cost server and hot path',
  async run(options) {
    const limit = { value: FIRST_VIEW_BYTES_MAX, name: 'limit' };
    options.report('first_view_gzip_bytes', firstViewBytes(), 'bytes', limit);
    const child = fork(new URL('./console-worker.js', import.meta.url));
    try {
      const [{ url }] = (await once(child, 'message')) as [{ url: string }];
      await measureServer(child, url, options);
      await measureFirstData(url, options);
    } finally {
      child.send('stop');
      await once(child, 'exit');
    }
    await measureHotPath(options, DASHBOARDS);
  },
};

/** The page, its styles, its entry script and what that imports before it runs. */
function firstViewBytes(): number {
  const page = readFileSync(`${DASHBOARD_FOLDER}/index.html`, 'utf8');
  const wanted = new Set(['/index.html']);
  const add = (path: string) => {
    if (wanted.has(path)) return;
    wanted.add(path);
    if (!path.endsWith('.js')) return;
    const script = readFileSync(`${DASHBOARD_FOLDER}${path}`, 'utf8');
    for (const [, name] of script.matchAll(/(?:from|import)\s*"\.\/([^"]+)"/g)) add(`/assets/${name}`);
  };
  for (const [, path] of page.matchAll(/(?:src|href)="([^"]+)"/g)) add(path!);
  return [...wanted].reduce((sum, path) => {
    const file = `${DASHBOARD_FOLDER}${path}`;
    return sum + statSync(existsSync(`${file}.gz`) ? `${file}.gz` : file).size;
  }, 0);
}

/** Stretches with and without dashboards take turns, so that a busy neighbour burdens both alike. */
async function measureServer(child: ChildProcess, url: string, options: BenchOptions): Promise<void> {
  const [alone, watched]: [number[], number[]] = [[], []];
  let bytes = 0;
  await sleep(STRETCH_MS);
  for (let round = 0; round < ROUNDS; round++) {
    alone.push(await cpuPerSecond(child));
    const abort = new AbortController();
    let received = 0;
    const readers = Array.from({ length: DASHBOARDS }, () =>
      drain(`${url}/api/live?topics=pulse,actors,events`, abort.signal, (length) => {
        received += length;
      }),
    );
    await sleep(SETTLE_MS);
    received = 0;
    watched.push(await cpuPerSecond(child));
    bytes += received;
    abort.abort();
    await Promise.all(readers);
  }
  const reference = { value: median(alone), name: 'the same 500 actors without a dashboard' };
  options.report('server_cpu_500_actors_10_dashboards', median(watched), 'ms/s', reference);
  options.report('live_bytes_of_a_dashboard', bytes / ROUNDS / DASHBOARDS, 'bytes/s');
}

/** Milliseconds of processor time in a second, over one stretch. */
async function cpuPerSecond(child: ChildProcess): Promise<number> {
  const [beforeUs, beforeMs] = [await cpuOf(child), performance.now()];
  await sleep(STRETCH_MS);
  return ((await cpuOf(child)) - beforeUs) / (performance.now() - beforeMs);
}

async function cpuOf(child: ChildProcess): Promise<number> {
  child.send('cpu');
  const [{ cpuUs }] = (await once(child, 'message')) as [{ cpuUs: number }];
  return cpuUs;
}

/** From the address being entered until a row of the tree shows what an actor did, in a browser with an empty cache. */
async function measureFirstData(url: string, options: BenchOptions): Promise<void> {
  const found = provideChromium();
  if (found.path === undefined) {
    process.stderr.write(`first_live_data is left out: ${found.reason}\n`);
    return;
  }
  const browser = await launch(found.path);
  const timed = async (path: string, selector: string | undefined) => {
    const context = await browser.newContext();
    const page = await context.newPage();
    const started = performance.now();
    await page.goto(`${url}${path}`, { waitUntil: selector === undefined ? 'load' : 'commit' });
    if (selector !== undefined) await page.waitForSelector(selector);
    const took = performance.now() - started;
    await context.close();
    return took;
  };
  const [live, empty]: [number[], number[]] = [[], []];
  await timed('/', 'tr[data-path="/feeds/binance"]');
  for (let round = 0; round < ROUNDS; round++) {
    empty.push(await timed('/favicon.svg', undefined));
    live.push(await timed('/', 'tr[data-path="/feeds/binance"]'));
  }
  await browser.close();
  options.report('first_live_data', median(live), 'ms', { value: median(empty), name: 'a picture of 357 bytes' });
}
