import { describe, expect, it } from 'vitest';
import { invariant } from '../protocols/errors/index.ts';
import { type Bar, INTERVAL_NAMES, INTERVALS, type Interval, type TradedBar } from '../protocols/kline.ts';
import type { Trouble } from '../protocols/partition.ts';
import { type Trade, tradeRecords } from '../protocols/trade-record.ts';
import { BARS_DEFAULTS, BarsKernel, barsOf, READER, type Reader as ReaderName } from './bars.ts';
import { oracleBars } from './oracle/bars.ts';
import { Random, testSeed } from './oracle/random.ts';
import { randomDelivery, randomTape, START_US } from './oracle/random-trades.ts';

const LONG = process.env['TAPEWORKS_LONG'] === '1';
/** The long form takes some three minutes a test on a core of its own. */
const PATIENCE_MS = LONG ? 1_800_000 : 600_000;
const GRACE_US = 200_000n;
const CLOCK_LAG_US = 600_000_000n;

/** Everything a bar says, apart from how it came about. */
const FIGURES = [
  ...(['openUs', 'closeUs', 'open', 'high', 'low', 'close', 'firstId', 'lastId', 'trades'] as const),
  ...(['volume', 'quoteVolume', 'takerVolume', 'takerQuoteVolume'] as const),
];

function same(a: TradedBar, b: TradedBar): boolean {
  return FIGURES.every((name) => a[name] === b[name]);
}

/** A reader that stores bars as the database does and checks each promise about revisions on the way. */
class Reader {
  readonly stored = new Map<string, Bar>();
  private readonly kernel: BarsKernel;
  private readonly name: ReaderName;

  constructor(kernel: BarsKernel, name: ReaderName) {
    this.kernel = kernel;
    this.name = name;
  }

  take(random: Random, delivered: ReadonlyMap<number, Delivered>): number {
    const bars = barsOf(this.kernel.snapshot(this.name, random.pick([40, 500, 4000])), this.kernel.plan);
    const missing = new Map([...delivered].map(([symbol, trades]) => [symbol, trades.missingTimes()]));
    for (const bar of bars) {
      this.store(bar);
      if (!bar.closed || bar.quality === 'gap') continue;
      const lacks = missing.get(bar.symbol)!.some((timeUs) => timeUs >= bar.openUs && timeUs <= bar.closeUs);
      invariant(!lacks, 'a bar that lacks a trade is marked as a gap', { bar });
    }
    // An outage: what was in flight is not durable and must come again.
    if (random.chance(80)) this.kernel.commit(this.name);
    return bars.length;
  }

  private store(bar: Bar): void {
    const key = `${bar.symbol} ${bar.interval} ${bar.openUs}`;
    const before = this.stored.get(key);
    if (before?.closed) {
      invariant(bar.closed, 'a closed bar stays closed', { bar, before });
      invariant(bar.revision >= before.revision, 'a revision never falls', { bar, before });
      invariant(bar.revision > before.revision || same(bar, before), 'one revision has one content', { bar, before });
    }
    this.stored.set(key, bar);
  }
}

/** What the feed has shown of a symbol so far. */
class Delivered {
  readonly seen = new Set<bigint>();
  private readonly tape: readonly Trade[];
  private highest = -1n;

  constructor(tape: readonly Trade[]) {
    this.tape = tape;
  }

  add(trade: Trade): void {
    this.seen.add(trade.sequence);
    if (trade.sequence > this.highest) this.highest = trade.sequence;
  }

  /** Times of the trades that did not come although a later one did. */
  missingTimes(): bigint[] {
    const missing = this.tape.filter(({ sequence }) => sequence < this.highest && !this.seen.has(sequence));
    return missing.map((trade) => trade.timeUs);
  }
}

function deliver(kernel: BarsKernel, trades: readonly Trade[], delivered: ReadonlyMap<number, Delivered>): void {
  for (const trade of trades) delivered.get(trade.symbol)!.add(trade);
  kernel.input.set(tradeRecords(trades));
  kernel.apply(trades.length);
}

/** Fetches what the kernel says is missing, as the repairer does: by sequence, ascending. */
function repair(kernel: BarsKernel, tapes: ReadonlyMap<number, Trade[]>, delivered: Map<number, Delivered>): void {
  for (let round = 0; round < 50; round++) {
    const troubles = kernel.troubles().filter(({ holes }) => holes.length > 0);
    if (troubles.length === 0) return;
    for (const trouble of troubles) {
      for (const { first, last } of trouble.holes) {
        const fetched = tapes.get(trouble.symbol)!.filter(({ sequence }) => sequence >= first && sequence <= last);
        deliver(kernel, fetched, delivered);
      }
    }
  }
}

/** These tile nothing longer: they are served alone, or made of days. */
const ALONE: readonly Interval[] = ['3d', '1w', '1M'];
const MONTH_US = 30n * BigInt(INTERVALS['1d'].lengthUs);

function randomIntervals(random: Random): Interval[] {
  const base = random.pick<Interval>(['1s', '1s', '1m', '5m', '1h', '1d', random.pick(ALONE)]);
  if (ALONE.includes(base)) return [base];
  const longer = INTERVAL_NAMES.slice(INTERVAL_NAMES.indexOf(base) + 1).filter(() => random.chance(60));
  const odd = longer.filter((name) => name !== '3m' || base !== '5m');
  return [base, ...odd];
}

/** About the length of the base interval's windows. */
function unitOf(base: Interval): bigint {
  return BigInt(INTERVALS[base].lengthUs) || MONTH_US;
}

function isDeep(trouble: Trouble | undefined, bar: TradedBar, interval: Interval): boolean {
  const deep = trouble?.deep;
  return deep?.intervals.includes(interval) === true && bar.openUs <= deep.toUs && bar.closeUs >= deep.fromUs;
}

interface Outcome {
  readonly compared: number;
  readonly deep: number;
}

interface Shape {
  readonly baseDepth: number;
  readonly longDepth: number;
  /** Symbols that trade at the same time; left out, one or two trade after each other. */
  readonly crowd?: number;
}

/** The trades of all deliveries by time, as a busy feed mixes them; each delivery keeps its own order. */
function mixed(deliveries: readonly (readonly Trade[])[]): Trade[] {
  const next = deliveries.map(() => 0);
  const trades: Trade[] = [];
  for (;;) {
    let earliest = -1;
    for (const [index, delivery] of deliveries.entries()) {
      const trade = delivery[next[index]!];
      if (trade === undefined) continue;
      const best = deliveries[earliest]?.[next[earliest]!];
      if (best === undefined || trade.timeUs < best.timeUs) earliest = index;
    }
    if (earliest < 0) return trades;
    trades.push(deliveries[earliest]![next[earliest]!++]!);
  }
}

function runSeed(seed: number, { crowd, ...depths }: Shape): Outcome {
  const random = new Random(seed);
  const intervals = randomIntervals(random);
  const unit = unitOf(intervals[0]!);
  const kernel = new BarsKernel({
    ...BARS_DEFAULTS,
    ...depths,
    intervals,
    symbolsMax: crowd ?? 4,
    globalsMax: Math.max(8, crowd ?? 0),
    outputRecords: 4000,
  });
  const symbols =
    crowd === undefined ? [5, 2].slice(random.below(2)) : Array.from({ length: crowd }, (_, index) => index);
  const tapes = new Map(
    symbols.map((symbol) => [symbol, randomTape(random, symbol, 20 + random.below(100), START_US, unit)]),
  );
  const delivered = new Map([...tapes].map(([symbol, tape]) => [symbol, new Delivered(tape)]));
  for (const symbol of tapes.keys()) kernel.add(symbol, 0, true, START_US);
  const readers = [READER.persistence, READER.live].map((name) => new Reader(kernel, name));
  let latestUs = START_US;
  const deliveries = [...tapes.values()].map((tape) => randomDelivery(random, tape).trades);
  for (let trades of crowd === undefined ? deliveries : [mixed(deliveries)]) {
    while (trades.length > 0) {
      const batch = trades.slice(0, 1 + random.below(crowd === undefined ? 8 : 100));
      trades = trades.slice(batch.length);
      // The clock runs on its own: it may lag behind the trades, but not by hours.
      for (const trade of batch) if (trade.timeUs > latestUs) latestUs = trade.timeUs;
      kernel.tick(0, latestUs - CLOCK_LAG_US, GRACE_US);
      deliver(kernel, batch, delivered);
      if (random.chance(40)) kernel.tick(0, latestUs + BigInt(random.below(Number(unit))), GRACE_US);
      for (const reader of readers) if (random.chance(25)) reader.take(random, delivered);
      if (random.chance(5)) repair(kernel, tapes, delivered);
    }
  }
  return settle({ kernel, tapes, delivered, readers, random, endUs: latestUs + unit * 3n, intervals });
}

interface Run {
  readonly kernel: BarsKernel;
  readonly tapes: ReadonlyMap<number, Trade[]>;
  readonly delivered: Map<number, Delivered>;
  readonly readers: readonly Reader[];
  readonly random: Random;
  readonly endUs: bigint;
  readonly intervals: readonly Interval[];
}

/** Repairs everything, lets the clock pass, and compares what each reader has in the end with the oracle's bars. */
function settle(run: Run): Outcome {
  repair(run.kernel, run.tapes, run.delivered);
  run.kernel.tick(0, run.endUs, GRACE_US);
  const outcomes = run.readers.map((reader) => compare(run, reader));
  const sum = (figure: keyof Outcome) => outcomes.reduce((total, outcome) => total + outcome[figure], 0);
  return { compared: sum('compared'), deep: sum('deep') };
}

function compare({ kernel, tapes, delivered, random, endUs, intervals }: Run, reader: Reader): Outcome {
  let idle = 0;
  for (let reads = 0; idle < 20; reads++) {
    invariant(reads < 2000, 'a reader comes to an end');
    idle = reader.take(random, delivered) === 0 ? idle + 1 : 0;
  }
  const troubles = new Map(kernel.troubles().map((trouble) => [trouble.symbol, trouble]));
  let compared = 0;
  let deep = 0;
  for (const [symbol, tape] of tapes) {
    for (const interval of intervals) {
      for (const truth of oracleBars(tape, interval, endUs - GRACE_US)) {
        const bar = reader.stored.get(`${symbol} ${interval} ${truth.openUs}`);
        const open = truth.closeUs >= endUs - GRACE_US;
        if (isDeep(troubles.get(symbol), truth, interval)) deep++;
        else if (!open || truth.trades > 0n) {
          compared++;
          const where = `${symbol} ${interval} ${truth.openUs}`;
          if (bar === undefined || !same(bar, truth)) expect(bar, where).toMatchObject(truth);
          invariant(bar!.closed === !open, `${where} is closed by the clock`);
          invariant((bar!.quality === 'partial-first') === truth.openUs < START_US, `${where} is partial`);
          invariant(
            truth.openUs < START_US || (bar!.quality === 'quiet') === (truth.trades === 0n),
            `${where} is quiet`,
          );
        }
      }
    }
  }
  return { compared, deep };
}

function runSeeds(seeds: number, shape: Shape): Outcome {
  const first = testSeed();
  const sum = { compared: 0, deep: 0 };
  for (let seed = first; seed < first + seeds; seed++) {
    try {
      const { compared, deep } = runSeed(seed, shape);
      sum.compared += compared;
      sum.deep += deep;
    } catch (error) {
      throw new Error(`replay with TAPEWORKS_SEED=${seed}: ${(error as Error).message}`, { cause: error });
    }
  }
  return sum;
}

describe('the bars kernel', () => {
  it('equals exact arithmetic to the last digit, whatever the feed does', { timeout: PATIENCE_MS }, () => {
    const { compared, deep } = runSeeds(LONG ? 10_000 : 1_000, { baseDepth: 256, longDepth: 128 });
    expect(deep).toBe(0);
    expect(compared).toBeGreaterThan(10_000);
  });

  it('equals it where many symbols trade at once', { timeout: PATIENCE_MS }, () => {
    const { compared, deep } = runSeeds(LONG ? 100 : 12, { baseDepth: 256, longDepth: 128, crowd: 40 });
    expect(deep).toBe(0);
    expect(compared).toBeGreaterThan(10_000);
  });

  it('names every bar that its short rings could not amend, and only the others count', {
    timeout: PATIENCE_MS,
  }, () => {
    const { compared, deep } = runSeeds(LONG ? 5_000 : 250, { baseDepth: 4, longDepth: 2 });
    expect(compared).toBeGreaterThan(10_000);
    expect(deep).toBeGreaterThan(0);
  });
});
