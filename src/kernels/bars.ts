import { TapeworksError } from '../protocols/errors/index.ts';
import { type Bar, compileIntervals, INTERVALS, type IntervalPlan, windowAt } from '../protocols/kline.ts';
import { BAR_RECORD_BYTES, readBar, writeBar } from '../protocols/kline-layout.ts';
import type { Trouble } from '../protocols/partition.ts';
import { TRADE_BYTES } from '../protocols/trade-layout.ts';
import { readTrouble } from './bars-trouble.ts';
import { KERNEL_ENV, kernelModule } from './load.ts';

interface Exports {
  readonly memory: WebAssembly.Memory;
  planAddress(): number;
  configure(
    intervals: number,
    baseDepth: number,
    longDepth: number,
    symbolsMax: number,
    globalsMax: number,
    inputTrades: number,
    outputRecords: number,
    unreadRecords: number,
  ): number;
  attachReaders(mask: number): void;
  countersAddress(): number;
  inputAddress(): number;
  outputAddress(): number;
  transferAddress(): number;
  cellBytes(): number;
  symbolCount(): number;
  symbolAddress(global: number): number;
  addSymbol(global: number, venue: number, dense: number, since: bigint): number;
  removeSymbol(global: number): number;
  exportSymbol(global: number): number;
  importSymbol(global: number): number;
  seedSequence(global: number, next: bigint, lastTime: bigint): number;
  seedBar(global: number, interval: number, closed: number): number;
  lackTrades(global: number, from: bigint, to: bigint, issued: number): void;
  doubtSymbol(global: number, from: bigint): number;
  confirmSymbol(global: number, next: bigint, now: bigint): number;
  resolveHoles(global: number, first: bigint, last: bigint): number;
  forgetDeep(global: number): void;
  troubledSymbol(index: number): number;
  symbolIndex(address: number): number;
  asideAddress(address: number): number;
  tick(venue: number, now: bigint, grace: bigint): void;
  apply(from: number, trades: number): number;
  snapshot(reader: number, room: number): number;
  commitSnapshot(reader: number): number;
}

/** Who reads snapshots: persistence must commit what it got, the live stream commits as it sends. */
export const READER = { persistence: 0, live: 1 } as const;
export type Reader = (typeof READER)[keyof typeof READER];

export interface BarsLimits {
  readonly intervals: readonly string[];
  /** Symbols that one worker may hold, and the global indices they may have (0 .. globalsMax - 1). */
  readonly symbolsMax: number;
  readonly globalsMax: number;
  /** Recent bars kept a symbol, powers of two: how far back a late trade still amends in memory. */
  readonly baseDepth: number;
  readonly longDepth: number;
  /** Trades in one batch, records in one snapshot, and bars kept for each reader that leave their ring before it had them. */
  readonly inputTrades: number;
  readonly outputRecords: number;
  readonly unreadRecords: number;
  readonly readers: readonly Reader[];
}

export const BARS_DEFAULTS = {
  symbolsMax: 2048,
  globalsMax: 16_384,
  baseDepth: 8,
  longDepth: 4,
  inputTrades: 1024,
  outputRecords: 32_768,
  unreadRecords: 16_384,
  readers: [READER.persistence, READER.live],
} as const satisfies Omit<BarsLimits, 'intervals'>;

export const BARS_COUNTERS = [
  'applied',
  'duplicates',
  'late',
  'unknown_symbols',
  'malformed',
  'holes',
  'holes_merged',
  'fills_refused',
  'beyond_ring',
  'evicted_unread',
  'lost_unsaved',
  'trouble_version',
  'lost_unheard',
] as const;
export type BarsCounters = Readonly<Record<(typeof BARS_COUNTERS)[number], bigint>>;

const PLAN_ENTRY_BYTES = 24;
function isPowerOfTwo(value: number): boolean {
  return Number.isInteger(value) && value >= 2 && (value & (value - 1)) === 0;
}

/** The bars kernel of one partition worker: exact bars of its symbols, in memory that nobody else touches. */
export class BarsKernel {
  readonly plan: IntervalPlan;
  /** Where a batch of trade records is put before `apply`. */
  readonly input: Uint8Array;
  readonly #limits: BarsLimits;
  readonly #exports: Exports;
  readonly #view: DataView;
  readonly #bytes: Uint8Array;
  readonly #counters: BigUint64Array;
  readonly #inputAddress: number;

  constructor(limits: BarsLimits) {
    this.plan = compileIntervals(limits.intervals);
    this.#limits = limits;
    if (!isPowerOfTwo(limits.baseDepth) || !isPowerOfTwo(limits.longDepth)) {
      const depths = `${limits.baseDepth} and ${limits.longDepth}`;
      throw new TapeworksError('TW_KLINE_LIMITS', `ring depths must be powers of two from 2 up, got ${depths}`);
    }
    const instance = new WebAssembly.Instance(kernelModule('bars'), { env: KERNEL_ENV });
    this.#exports = instance.exports as unknown as Exports;
    this.#configure();
    const { buffer } = this.#exports.memory;
    this.#view = new DataView(buffer);
    this.#bytes = new Uint8Array(buffer);
    this.#inputAddress = this.#exports.inputAddress();
    this.input = new Uint8Array(buffer, this.#inputAddress, limits.inputTrades * TRADE_BYTES);
    this.#counters = new BigUint64Array(buffer, this.#exports.countersAddress(), BARS_COUNTERS.length);
  }

  #configure(): void {
    const { plan } = this;
    const limits = this.#limits;
    const view = new DataView(this.#exports.memory.buffer);
    plan.names.forEach((name, index) => {
      const at = this.#exports.planAddress() + index * PLAN_ENTRY_BYTES;
      view.setBigUint64(at, BigInt(INTERVALS[name].lengthUs), true);
      view.setBigUint64(at + 8, BigInt(INTERVALS[name].offsetUs), true);
      view.setUint32(at + 16, plan.feeders[index]!, true);
    });
    this.#exports.attachReaders(limits.readers.reduce<number>((mask, reader) => mask | (1 << reader), 0));
    const { baseDepth, longDepth, symbolsMax, globalsMax, inputTrades, outputRecords, unreadRecords } = limits;
    const areas = [symbolsMax, globalsMax, inputTrades, outputRecords, unreadRecords] as const;
    if (this.#exports.configure(plan.names.length, baseDepth, longDepth, ...areas) === 0) {
      throw new TapeworksError('TW_KLINE_LIMITS', `${symbolsMax} symbols do not fit into the kernel's memory`);
    }
  }

  /** Bytes of state that one symbol takes, rings included. */
  get symbolBytes(): number {
    return this.#exports.cellBytes();
  }

  get symbols(): number {
    return this.#exports.symbolCount();
  }

  has(symbol: number): boolean {
    return this.#exports.symbolAddress(symbol) !== 0;
  }

  /** Starts a symbol at a moment of venue time; `dense` says that its sequences have no numbers left out. */
  add(symbol: number, venue: number, dense: boolean, sinceUs: bigint): void {
    this.#checkRoom(symbol, this.#exports.addSymbol(symbol, venue, dense ? 1 : 0, sinceUs));
  }

  remove(symbol: number): boolean {
    return this.#exports.removeSymbol(symbol) !== 0;
  }

  /** A symbol's whole state, for the worker that takes it over; undefined when it is not here. */
  export(symbol: number): Uint8Array | undefined {
    const bytes = this.#exports.exportSymbol(symbol);
    const from = this.#exports.transferAddress();
    return bytes === 0 ? undefined : this.#bytes.slice(from, from + bytes);
  }

  import(symbol: number, state: Uint8Array): void {
    if (state.byteLength !== this.symbolBytes) {
      const sizes = `${state.byteLength} bytes, this worker keeps ${this.symbolBytes} a symbol`;
      throw new TapeworksError('TW_KLINE_HANDOFF', `symbol ${symbol} came as ${sizes}`, { symbol });
    }
    this.#bytes.set(state, this.#exports.transferAddress());
    this.#checkRoom(symbol, this.#exports.importSymbol(symbol));
  }

  #checkRoom(symbol: number, code: number): void {
    if (code === 0 || code === 2) return;
    throw new TapeworksError('TW_KLINE_WORKER_FULL', `no room for symbol ${symbol}`, { symbol, symbols: this.symbols });
  }

  /** Forgets every symbol and every clock; `input` keeps what is in it. */
  reset(): void {
    this.#configure();
  }

  /** Applies `trades` records of `input`, from the one numbered `first`; returns how many changed a bar. */
  apply(trades: number, first = 0): number {
    return this.#exports.apply(this.#inputAddress + first * TRADE_BYTES, trades);
  }

  /** Tells the time at a venue. Windows that ended `graceUs` before it are closed. */
  tick(venue: number, nowUs: bigint, graceUs: bigint): void {
    this.#exports.tick(venue, nowUs, graceUs);
  }

  /** Puts stored bars back after a restart: of every interval its `tailOf`, in order. Then call `resume`. */
  seed(bar: Bar): void {
    const interval = this.plan.names.indexOf(bar.interval);
    if (interval < 0) return;
    writeBar(this.#view, this.#exports.transferAddress(), bar, this.plan, windowAt(bar.interval, bar.openUs));
    this.#exports.seedBar(bar.symbol, interval, bar.closed ? 1 : 0);
  }

  /** Goes on at a sequence after a restart; bars since `lastUs` are in doubt until the trades missed have come. */
  resume(symbol: number, nextSequence: bigint, lastUs: bigint): void {
    this.#exports.seedSequence(symbol, nextSequence, lastUs);
  }

  /** Bars that were put back lack trades of this span: they and what is made of them are gaps. */
  lack(symbol: number, fromUs: bigint, toUs: bigint): void {
    this.#exports.lackTrades(symbol, fromUs, toUs, 0);
  }

  /** What was counted of this span is not what was traded: all bars that it touches are gaps, stored ones to be rebuilt. */
  disprove(symbol: number, fromUs: bigint, toUs: bigint): void {
    this.#exports.lackTrades(symbol, fromUs, toUs, 1);
  }

  /** The feed may have lost trades from here on. */
  doubt(symbol: number, fromUs: bigint): void {
    this.#exports.doubtSymbol(symbol, fromUs);
  }

  /** The venue had no trade at or after `next` when its clock said `nowUs`; true when that ended a doubt. */
  confirm(symbol: number, next: bigint, nowUs: bigint): boolean {
    return this.#exports.confirmSymbol(symbol, next, nowUs) !== 0;
  }

  /** What of first..last has not come does not exist at the venue. */
  resolve(symbol: number, first: bigint, last: bigint): boolean {
    return this.#exports.resolveHoles(symbol, first, last) !== 0;
  }

  /** The rebuild of the symbol's deep span is in other hands. */
  forgetDeep(symbol: number): void {
    this.#exports.forgetDeep(symbol);
  }

  /** Symbols with holes, doubts, or bars to rebuild outside. Worth asking when `trouble_version` has changed. */
  troubles(): Trouble[] {
    const found: Trouble[] = [];
    for (let index = 0; index < this.symbols; index++) {
      const address = this.#exports.troubledSymbol(index);
      if (address === 0) break;
      found.push(readTrouble(this.#view, address, this.#exports.asideAddress(address), this.plan));
      index = this.#exports.symbolIndex(address);
    }
    return found;
  }

  /** Bars that changed since the reader's last committed snapshot, as records. Valid until the next call. */
  snapshot(reader: Reader, room = this.#limits.outputRecords): Uint8Array {
    const records = this.#exports.snapshot(reader, room);
    const from = this.#exports.outputAddress();
    return this.#bytes.subarray(from, from + records * BAR_RECORD_BYTES);
  }

  /** The last snapshot is safe; false when it was voided meanwhile, and its bars will come again. */
  commit(reader: Reader): boolean {
    return this.#exports.commitSnapshot(reader) !== 0;
  }

  counters(): BarsCounters {
    return Object.fromEntries(BARS_COUNTERS.map((name, index) => [name, this.#counters[index]!])) as BarsCounters;
  }
}

/** Reads the records of a snapshot. */
export function barsOf(records: Uint8Array, plan: IntervalPlan): Bar[] {
  const view = new DataView(records.buffer, records.byteOffset, records.byteLength);
  const count = records.byteLength / BAR_RECORD_BYTES;
  return Array.from({ length: count }, (_, index) => readBar(view, index * BAR_RECORD_BYTES, plan));
}
