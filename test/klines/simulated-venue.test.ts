import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { accuracy, compareBars } from '../../src/actors/kline-persistence/audit.ts';
import { KlineStore, MIGRATIONS } from '../../src/actors/kline-persistence/store.ts';
import { migrate, readMigrations } from '../../src/actors/sink/migrate.ts';
import {
  type RepairEffect,
  type RepairMessage,
  receive,
  startRepair,
} from '../../src/actors/trade-repair/behaviour.ts';
import { command as auditCommand } from '../../src/cli/audit.ts';
import { BARS_DEFAULTS, BarsKernel, barsOf, READER } from '../../src/kernels/bars.ts';
import { Random, testSeed } from '../../src/kernels/oracle/random.ts';
import type { Bar, Interval } from '../../src/protocols/kline.ts';
import { type Trade, tradeRecords } from '../../src/protocols/trade-record.ts';
import { type EmbeddedPostgres, startPostgres } from '../../src/servers/postgres.ts';
import { BINANCE } from '../../src/venues/binance/facts.ts';
import { binanceHistory } from '../../src/venues/binance/history.ts';
import { closeAll, START_MS, simulator } from '../../src/venues/simulation/rig.ts';

const { tradesById, bars: barHistory } = binanceHistory;
const SYMBOL = 'BTCUSDT';
const INTERVALS: readonly Interval[] = ['1s', '1m', '3m'];
const STEPS = 3000;
const REPAIR = {
  limits: { perMinute: BINANCE.rest.weightPerMinute, share: 0.5 },
  requestWeight: tradesById.weight,
  pageTrades: tradesById.pageMax,
  concurrency: 2,
  waitingMax: 100,
  retryMs: 10,
  refusedMaxMs: 60_000,
};

afterEach(closeAll);

async function tapeOf(restUrl: string): Promise<Trade[]> {
  const tape: Trade[] = [];
  for (let from = 0n, pages = 0; pages < 100; pages++) {
    const page = await tradesById.fetch(restUrl, { name: SYMBOL, index: 1 }, from, tradesById.pageMax);
    if (!page.ok) throw new Error(page.reason);
    tape.push(...page.value);
    if (page.value.length < tradesById.pageMax) return tape;
    from = page.value.at(-1)!.sequence + 1n;
  }
  throw new Error('the tape has no end');
}

function feed(kernel: BarsKernel, trades: readonly Trade[]): void {
  for (let at = 0; at < trades.length; at += BARS_DEFAULTS.inputTrades) {
    const batch = trades.slice(at, at + BARS_DEFAULTS.inputTrades);
    kernel.input.set(tradeRecords(batch));
    kernel.apply(batch.length);
  }
}

/** Runs the repair behaviour against the venue until it wants nothing more. */
async function repair(kernel: BarsKernel, restUrl: string, nowUs: bigint): Promise<number> {
  let state = startRepair(REPAIR);
  let fetches = 0;
  const pending: RepairMessage[] = [];
  const wanted = kernel
    .troubles()
    .flatMap(({ symbol, holes, expected, suspectFromUs }) => [
      ...holes.map(({ first, last }) => ({ symbol, first, last })),
      ...(suspectFromUs === undefined ? [] : [{ symbol, first: expected, last: undefined }]),
    ]);
  pending.push({ kind: 'wanted', ranges: wanted, nowMs: 0 });
  const run = async (effect: RepairEffect): Promise<void> => {
    if (effect.kind === 'resolve') kernel.resolve(effect.symbol, effect.first, effect.last);
    if (effect.kind === 'confirm') kernel.confirm(effect.symbol, effect.next, nowUs);
    if (effect.kind !== 'fetch') return;
    fetches++;
    const page = await tradesById.fetch(restUrl, { name: SYMBOL, index: effect.symbol }, effect.from, effect.limit);
    if (!page.ok) throw new Error(page.reason);
    feed(kernel, page.value);
    const [first, last] = [page.value[0]?.sequence ?? 0n, page.value.at(-1)?.sequence ?? 0n];
    const found = { first, last, count: page.value.length };
    pending.push({ kind: 'page', id: effect.id, page: found, usedWeight: page.usedWeight, nowMs: 0 });
  };
  for (let message = pending.shift(); message !== undefined; message = pending.shift()) {
    const [next, effects] = receive(state, message);
    state = next;
    for (const effect of effects) await run(effect);
  }
  return fetches;
}

function closedBars(kernel: BarsKernel): Map<string, Bar> {
  const latest = new Map<string, Bar>();
  for (let reads = 0; reads < 100; reads++) {
    const bars = barsOf(kernel.snapshot(READER.persistence), kernel.plan);
    kernel.commit(READER.persistence);
    if (bars.length === 0) break;
    for (const bar of bars) latest.set(`${bar.interval} ${bar.openUs}`, bar);
  }
  return latest;
}

/** What the kernel makes of a venue's tape of which a random part was lost on the way and repaired by REST. */
async function repairedBars(restUrl: string, nowUs: bigint) {
  const seed = testSeed();
  const random = new Random(seed);
  const tape = await tapeOf(restUrl);
  const depths = { baseDepth: 1024, longDepth: 16 };
  const kernel = new BarsKernel({ ...BARS_DEFAULTS, ...depths, intervals: INTERVALS, symbolsMax: 2, globalsMax: 2 });
  kernel.add(1, 0, true, BigInt(START_MS) * 1000n);
  kernel.tick(0, nowUs, 0n);
  let losing = 0;
  const survived = tape.filter((_, index) => {
    if (losing === 0 && random.below(tape.length) < 5) losing = 2 + random.below(20);
    if (losing > 0) losing--;
    // A loss at the very end shows only when something later comes.
    return losing === 0 || index === 0 || index === tape.length - 1;
  });
  feed(kernel, survived);
  const before = closedBars(kernel);
  kernel.doubt(1, survived.at(-1)!.timeUs);
  const fetches = await repair(kernel, restUrl, nowUs);
  return { seed, lost: tape.length - survived.length, fetches, before, after: closedBars(kernel), kernel };
}

describe('bars of the simulated venue', () => {
  it('equal its own after repair, and those that did not were marked as gaps while it lasted', async () => {
    const sim = await simulator();
    sim.advance(STEPS);
    const restUrl = `${sim.url}/binance`;
    const nowUs = BigInt(sim.truth.nowMs('binance')) * 1000n;
    const { seed, before, after, kernel, lost } = await repairedBars(restUrl, nowUs);
    const where = `TAPEWORKS_SEED=${seed}, ${lost} trades lost`;
    expect(kernel.troubles(), where).toEqual([]);
    for (const interval of INTERVALS) {
      const theirs = await barHistory.fetch(restUrl, SYMBOL, interval, BigInt(START_MS) * 1000n, barHistory.pageMax);
      if (!theirs.ok) throw new Error(theirs.reason);
      const closed = theirs.value.filter((bar) => bar.closeUs < nowUs && bar.openUs >= BigInt(START_MS) * 1000n);
      const ours = [...before, ...after].map(([, bar]) => bar).filter((bar) => bar.interval === interval);
      const result = compareBars(ours, closed);
      expect(result.compared, where).toBeGreaterThan(0);
      expect({ accuracy: accuracy(result), mismatches: result.mismatches.slice(0, 3) }, where).toEqual({
        accuracy: 1,
        mismatches: [],
      });
      expect(result.missing.slice(1), where).toEqual([]);
      const early = compareBars(
        [...before.values()].filter((bar) => bar.interval === interval),
        closed,
      );
      expect(
        early.mismatches.filter(({ quality }) => quality !== 'gap' && quality !== 'partial-first'),
        where,
      ).toEqual([]);
    }
  });
});

describe('tapeworks audit klines', () => {
  let folder: string;
  let server: EmbeddedPostgres;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tapeworks-audit-'));
    chmodSync(folder, 0o755);
    server = await startPostgres({ folder: join(folder, 'postgres') });
  }, 60_000);
  afterAll(async () => {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  async function audit(
    url: string,
  ): Promise<{ code: number; report: { accuracy: number; fields: Record<string, number> } }> {
    const printed: string[] = [];
    const spy = vi.spyOn(process.stdout, 'write').mockImplementation((text) => printed.push(String(text)) > 0);
    const args = ['klines', '--database', server.url, '--rest', url, '--symbols', SYMBOL, '--json'];
    const code = await auditCommand.run(args).finally(() => spy.mockRestore());
    return { code, report: JSON.parse(printed.join('')) };
  }

  it('finds stored bars equal to the venue, and names the field of one that is not', async () => {
    const sim = await simulator();
    sim.advance(STEPS);
    const url = `${sim.url}/binance`;
    const { after, before } = await repairedBars(url, BigInt(sim.truth.nowMs('binance')) * 1000n);
    const client = new pg.Client({ connectionString: server.url });
    await client.connect();
    await migrate(client, readMigrations(MIGRATIONS));
    const bars = [...new Map([...before, ...after]).values()].filter(
      (bar) => bar.interval === '1m' && bar.quality !== 'partial-first',
    );
    await new KlineStore(client).write(
      bars.map((bar) => ({ venue: 'binance', symbol: SYMBOL, bar })),
      [],
    );
    expect(await audit(url)).toMatchObject({ code: 0, report: { accuracy: 1 } });
    await client.query(
      'UPDATE klines SET high = high + 1 WHERE open_time = (SELECT max(open_time) FROM klines WHERE closed)',
    );
    await client.end();
    const { code, report } = await audit(url);
    expect([code, report.accuracy < 1, report.fields['high']! < 1, report.fields['low']]).toEqual([1, true, true, 1]);
  });
});
