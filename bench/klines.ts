// Trades to bars, on one thread. The stream is the native yardstick's: a million trades of 100 symbols over two hours of
// market time, 1.4 trades a symbol and second, so that about every second trade opens a new bar of the shortest interval.
// All growths are measured at that density; a busier symbol opens fewer bars a trade and grows less.
//
// npm run bench -- klines [--only trades,ring,growth,snapshot,upserts]
//
//   trades_per_worker                records in the kernel's memory, applied to 8 intervals
//   trades_per_worker_beside_plain   the same beside maps of objects with floats
//   trades_through_ring              records taken out of a shared ring first
//   growth_1_to_15_intervals         time a trade with 15 intervals, beside 1
//   growth_1_to_2000_symbols         time a trade with 2,000 symbols, beside 1, at the same trades a symbol and second
//   snapshot_2000_symbols            all bars of 2,000 symbols that traded, written and committed; beside copying them
//   memory_per_symbol                state of a symbol with 8 intervals, rings included
//   upserted_bars                    bars stored with revisions, beside COPY into a plain table with the same key
import { execFileSync } from 'node:child_process';
import { BARS_DEFAULTS, BarsKernel, READER } from '../src/kernels/bars.ts';
import { invariant } from '../src/protocols/errors/index.ts';
import { INTERVAL_NAMES, type Interval } from '../src/protocols/kline.ts';
import { BAR_RECORD_BYTES } from '../src/protocols/kline-layout.ts';
import { TRADE_BYTES } from '../src/protocols/trade-layout.ts';
import { SharedMemory } from '../src/supervision/threads/memory.ts';
import { RingConsumer, RingProducer } from '../src/supervision/threads/ring.ts';
import { admitToRing, formatRing } from '../src/supervision/threads/ring-ends.ts';
import { recordRing, ringBytes } from '../src/supervision/threads/ring-layout.ts';
import { type Bench, type BenchOptions, consume, median, medianTurn, type Pair, ROUNDS } from './harness.ts';
import { PlainBars, plainTrades } from './klines.plain.ts';
import { makeTrades, START_US, TRADES } from './klines.trades.ts';
import { measureUpserts } from './klines.upsert.ts';

const SYMBOLS = 100;
const SPAN_US = 7_200e6;
const EIGHT = INTERVAL_NAMES.slice(0, 8);
const GRACE_US = 100_000n;
/** Trades between two ticks of the clock: a second of the standard stream. */
const TICK_TRADES = Math.round((TRADES / SPAN_US) * 1e6);
/** Trades of one symbol in a second of the standard stream. */
const RATE = TRADES / SYMBOLS / (SPAN_US / 1e6);

const seconds = (work: () => void): number => {
  const start = process.hrtime.bigint();
  work();
  return Number(process.hrtime.bigint() - start) / 1e9;
};

/** A kernel with a stream of trades in its memory, applied from the start again in every round. */
class Stream {
  readonly kernel: BarsKernel;
  readonly #symbols: number;
  readonly #spanUs: number;
  readonly records: Uint8Array;

  constructor(symbols: number, intervals: readonly Interval[], spanUs: number) {
    this.#symbols = symbols;
    this.#spanUs = spanUs;
    this.records = makeTrades(TRADES, symbols, spanUs);
    const limits = { symbolsMax: symbols, globalsMax: symbols, inputTrades: TRADES, readers: [] };
    this.kernel = new BarsKernel({ ...BARS_DEFAULTS, ...limits, intervals });
    this.kernel.input.set(this.records);
  }

  start(): void {
    this.kernel.reset();
    for (let symbol = 0; symbol < this.#symbols; symbol++) this.kernel.add(symbol, 0, true, START_US);
  }

  /** Applies everything, with a tick after every batch. */
  applyAll(): void {
    let applied = 0;
    for (let first = 0; first < TRADES; first += TICK_TRADES) {
      const trades = Math.min(TICK_TRADES, TRADES - first);
      applied += this.kernel.apply(trades, first);
      const nowUs = Math.floor(((first + trades) * this.#spanUs) / TRADES);
      this.kernel.tick(0, START_US + BigInt(nowUs), GRACE_US);
    }
    invariant(applied === TRADES, 'every trade of the stream changes a bar', { applied });
    consume(applied);
  }

  round(): number {
    this.start();
    return TRADES / seconds(() => this.applyAll());
  }
}

/** What the yardstick does too before it says how fast it is: as many rounds in a row, and the median of them. */
function rateInARow(stream: Stream): number {
  return median(Array.from({ length: ROUNDS }, () => stream.round()));
}

function yardstickRate(binary: string): number {
  const text = execFileSync(binary, [String(SYMBOLS), String(EIGHT.length), String(TRADES)], { encoding: 'utf8' });
  return (JSON.parse(text) as { median_trades_per_s: number }).median_trades_per_s;
}

/** Measures two alternatives by turns, and gives the median turn. */
function byTurns(own: () => number, other: () => number): Pair {
  consume(own() + other());
  return medianTurn(Array.from({ length: ROUNDS }, () => [own(), other()] as const));
}

function measureTrades({ report, yardstick }: BenchOptions): void {
  const stream = new Stream(SYMBOLS, EIGHT, SPAN_US);
  if (yardstick === undefined) report('trades_per_worker', rateInARow(stream), 'trades/s');
  else {
    const [ours, theirs] = byTurns(
      () => rateInARow(stream),
      () => yardstickRate(yardstick),
    );
    report('trades_per_worker', ours, 'trades/s', { value: theirs, name: 'native yardstick' });
  }
  const trades = plainTrades(stream.records);
  const plain = () => {
    const bars = new PlainBars(EIGHT);
    const took = seconds(() => {
      for (const trade of trades) bars.apply(trade);
    });
    consume(bars.closed);
    return TRADES / took;
  };
  const [ours, theirs] = byTurns(() => stream.round(), plain);
  report('trades_per_worker_beside_plain', ours, 'trades/s', { value: theirs, name: 'maps of objects, floats' });
}

const RING_TRADES = 16_384;
const RUN_TRADES = 1024;

/** Fills a ring, then takes it out in runs: the filling is the exchange thread's time and is not counted. */
function measureRing({ report }: BenchOptions): void {
  const stream = new Stream(SYMBOLS, EIGHT, SPAN_US);
  const shape = recordRing(RING_TRADES, TRADE_BYTES);
  const memory = new SharedMemory(new SharedArrayBuffer(ringBytes(shape)));
  formatRing(memory, 0, shape);
  const producer = new RingProducer(memory, 0, admitToRing(memory, 0, 'producer'));
  const consumer = new RingConsumer(memory, 0, admitToRing(memory, 0, 'consumer'));
  const { kernel, records } = stream;
  const drain = () => {
    for (let run = consumer.takeRun(RUN_TRADES); run > 0; run = consumer.takeRun(RUN_TRADES)) {
      kernel.input.set(memory.bytes.subarray(consumer.runOffset, consumer.runOffset + run * TRADE_BYTES));
      consume(kernel.apply(run));
      consumer.finishRun(run);
    }
  };
  const throughRing = () => {
    stream.start();
    let took = 0;
    for (let at = 0; at < records.length; at += RING_TRADES * TRADE_BYTES) {
      for (let record = at; record < Math.min(records.length, at + RING_TRADES * TRADE_BYTES); record += TRADE_BYTES) {
        memory.write(producer.claim(), records.subarray(record, record + TRADE_BYTES));
      }
      producer.publish();
      took += seconds(drain);
    }
    return TRADES / took;
  };
  const inPlace = new Stream(SYMBOLS, EIGHT, SPAN_US);
  const [ring, direct] = byTurns(throughRing, () => inPlace.round());
  report('trades_through_ring', ring, 'trades/s', { value: direct, name: 'records in place' });
}

/** Both sides of a growth are ours and short, so they can meet more of the machine's moods. */
const GROWTH_TURNS = 4 * ROUNDS + 1;

/** Nanoseconds a trade of a large stream and of a small one, in the median turn. */
function growthOf(small: Stream, large: Stream): Pair {
  for (const stream of [small, large]) consume(stream.round());
  return medianTurn(Array.from({ length: GROWTH_TURNS }, () => [1e9 / large.round(), 1e9 / small.round()] as const));
}

function measureGrowth({ report }: BenchOptions): void {
  const few = new Stream(SYMBOLS, INTERVAL_NAMES.slice(0, 1), SPAN_US);
  const many = new Stream(SYMBOLS, INTERVAL_NAMES.slice(0, 15), SPAN_US);
  const [fifteen, one] = growthOf(few, many);
  report('growth_1_to_15_intervals', fifteen, 'ns/trade', { value: one, name: '1 interval' });
  const single = new Stream(1, EIGHT, (TRADES / RATE) * 1e6);
  const crowd = new Stream(2000, EIGHT, (TRADES / RATE / 2000) * 1e6);
  const [crowded, alone] = growthOf(single, crowd);
  report('growth_1_to_2000_symbols', crowded, 'ns/trade', { value: alone, name: '1 symbol' });
}

function measureSnapshot({ report }: BenchOptions): void {
  const symbols = 2000;
  const trades = 40_000;
  const limits = { symbolsMax: symbols, globalsMax: symbols, inputTrades: trades, readers: [READER.persistence] };
  const kernel = new BarsKernel({ ...BARS_DEFAULTS, ...limits, intervals: EIGHT });
  kernel.input.set(makeTrades(trades, symbols, 900_000));
  let bytes = 0;
  const snapshot = () => {
    kernel.reset();
    for (let symbol = 0; symbol < symbols; symbol++) kernel.add(symbol, 0, true, START_US);
    kernel.apply(trades / 2);
    kernel.snapshot(READER.persistence);
    kernel.commit(READER.persistence);
    kernel.apply(trades / 2, trades / 2);
    return seconds(() => {
      bytes = kernel.snapshot(READER.persistence).length;
      consume(kernel.commit(READER.persistence) ? 1 : 0);
    });
  };
  snapshot();
  const source = new Uint8Array(bytes).fill(1);
  const copy = new Uint8Array(bytes).fill(2);
  const copying = () => {
    const took = seconds(() => copy.set(source));
    consume(copy[bytes - 1]!);
    return took;
  };
  const [took, copied] = byTurns(snapshot, copying);
  const reference = { value: copied * 1e6, name: `copying the ${bytes / BAR_RECORD_BYTES} records` };
  report('snapshot_2000_symbols', took * 1e6, 'us', reference);
  report('memory_per_symbol', kernel.symbolBytes, 'bytes');
}

export const bench: Bench = {
  summary: 'trades to bars: kernel, ring, growth, snapshots, upserts',
  async run(options) {
    const asked = (part: string) => options.only === undefined || options.only.includes(part);
    if (asked('trades')) measureTrades(options);
    if (asked('ring')) measureRing(options);
    if (asked('growth')) measureGrowth(options);
    if (asked('snapshot')) measureSnapshot(options);
    if (asked('upserts')) await measureUpserts(options);
  },
};
