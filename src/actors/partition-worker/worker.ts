import { type BarsCounters, BarsKernel, type BarsLimits, READER, type Reader } from '../../kernels/bars.ts';
import { TapeworksError } from '../../protocols/errors/index.ts';
import { lacksOf } from '../../protocols/kline.ts';
import { BAR_RECORD_BYTES } from '../../protocols/kline-layout.ts';
import type { PartitionCommand, PartitionReply, SnapshotReader, SymbolStart } from '../../protocols/partition.ts';
import { TRADE, TRADE_BYTES } from '../../protocols/trade-layout.ts';

/** What a worker has counted in its present life; `stash_dropped` are trades of a symbol on its way that found no room. */
export type WorkerCounters = BarsCounters & { readonly stash_dropped: bigint };

interface VenueClock {
  readonly offsetUs: bigint;
  readonly graceUs: bigint;
}

interface Arrival {
  readonly records: Uint8Array[];
}

/** Trades kept for a symbol whose state is on its way; beyond that they are a hole, known by id and repaired. */
const STASH_TRADES_MAX = 32_768;
/** A symbol without a past counts as watched from this much after it came: trades before that found no symbol here. */
const ARRIVAL_US = 500_000n;
const DONE: PartitionReply = { kind: 'done' };
const NO_BYTES = new Uint8Array(0);

/**
 * One partition: the kernel, the symbols that are arriving, the clocks of its venues, and the two halves of memory that
 * snapshots are handed over in. It knows neither threads nor rings.
 */
export class PartitionWorker {
  readonly kernel: BarsKernel;
  readonly #halves: readonly [Uint8Array, Uint8Array];
  readonly #arriving = new Map<number, Arrival>();
  readonly #clocks = new Map<number, VenueClock>();
  readonly #snapshots: Record<SnapshotReader, number> = { persistence: 0, live: 0 };
  #half: 0 | 1 = 0;
  #stashDropped = 0;
  #nowUs = 0n;

  constructor(limits: BarsLimits, halves: readonly [Uint8Array, Uint8Array]) {
    this.kernel = new BarsKernel(limits);
    this.#halves = halves;
  }

  /** Applies trade records that lie side by side, as many as there are; returns how many changed a bar. */
  apply(records: Uint8Array): number {
    let applied = 0;
    for (let at = 0; at < records.length; at += this.kernel.input.length) {
      const run = records.subarray(at, at + this.kernel.input.length);
      this.kernel.input.set(run);
      applied += this.kernel.apply(run.length / TRADE_BYTES);
    }
    if (this.#arriving.size > 0) this.#stash(records);
    return applied;
  }

  #stash(records: Uint8Array): void {
    const view = new DataView(records.buffer, records.byteOffset, records.byteLength);
    for (let at = 0; at < records.length; at += TRADE_BYTES) {
      const arrival = this.#arriving.get(view.getUint32(at + TRADE.symbol, true));
      if (arrival === undefined) continue;
      if (arrival.records.length === STASH_TRADES_MAX) this.#stashDropped++;
      else arrival.records.push(records.slice(at, at + TRADE_BYTES));
    }
  }

  /** Tells the kernel the time at each venue, from that of the machine's monotonic clock. */
  tick(nowUs: bigint): void {
    this.#nowUs = nowUs;
    for (const [venue, clock] of this.#clocks) this.kernel.tick(venue, nowUs + clock.offsetUs, clock.graceUs);
  }

  /** A command that cannot be done is refused with a code; it never ends the worker. */
  handle(command: PartitionCommand): PartitionReply {
    try {
      return this.#handle(command);
    } catch (error) {
      if (!(error instanceof TapeworksError)) throw error;
      return { kind: 'refused', code: error.code, reason: error.message };
    }
  }

  #handle(command: PartitionCommand): PartitionReply {
    const { kernel } = this;
    switch (command.kind) {
      case 'add-symbol':
        this.#add(command);
        return DONE;
      case 'remove-symbol':
        this.#arriving.delete(command.symbol);
        kernel.remove(command.symbol);
        return DONE;
      case 'expect-symbol':
        if (!kernel.has(command.symbol)) this.#arriving.set(command.symbol, { records: [] });
        return DONE;
      case 'move-out':
        return this.#moveOut(command.symbol);
      case 'move-in':
        this.#moveIn(command.symbol, command.bytes);
        return DONE;
      case 'apply-trades':
        this.apply(command.bytes ?? NO_BYTES);
        return DONE;
      case 'doubt':
        kernel.doubt(command.symbol, command.fromUs);
        return DONE;
      case 'confirm':
        kernel.confirm(command.symbol, command.next, command.nowUs);
        return DONE;
      case 'resolve':
        kernel.resolve(command.symbol, command.first, command.last);
        return DONE;
      case 'disproved':
        kernel.disprove(command.symbol, command.fromUs, command.toUs);
        return DONE;
      case 'rebuild-taken':
        this.#forgetDeep(command);
        return DONE;
      case 'set-clock':
        this.#clocks.set(command.venue, command);
        return DONE;
      case 'troubles':
        return this.#troubles(command.since);
      case 'counters':
        return { kind: 'counters', counters: { ...this.kernel.counters(), stash_dropped: BigInt(this.#stashDropped) } };
      case 'snapshot':
        return this.#snapshot(command.reader);
      case 'commit':
        if (this.#snapshots[command.reader] === command.snapshot) kernel.commit(readerOf(command.reader));
        return DONE;
    }
  }

  /** A span that has grown since it was told is told again. */
  #forgetDeep({ symbol, fromUs, toUs }: Extract<PartitionCommand, { kind: 'rebuild-taken' }>): void {
    const deep = this.kernel.troubles().find((trouble) => trouble.symbol === symbol)?.deep;
    if (deep?.fromUs === fromUs && deep.toUs === toUs) this.kernel.forgetDeep(symbol);
  }

  #troubles(since: bigint): PartitionReply {
    const version = this.kernel.counters().trouble_version;
    return version === since ? DONE : { kind: 'troubles', version, troubles: this.kernel.troubles() };
  }

  #add({ symbol, venue, dense, sinceUs, stored }: SymbolStart): void {
    if (this.kernel.has(symbol)) return;
    const clock = this.#clocks.get(venue);
    const arrivedUs = clock === undefined || stored !== undefined ? 0n : this.#nowUs + clock.offsetUs + ARRIVAL_US;
    this.kernel.add(symbol, venue, dense, arrivedUs > sinceUs ? arrivedUs : sinceUs);
    if (stored === undefined) return;
    for (const bar of stored.bars) this.kernel.seed({ ...bar, symbol });
    this.kernel.resume(symbol, stored.nextSequence, stored.lastUs);
    for (const { fromUs, toUs } of lacksOf(stored.bars, dense)) this.kernel.lack(symbol, fromUs, toUs);
  }

  #moveOut(symbol: number): PartitionReply {
    const bytes = this.kernel.export(symbol);
    if (bytes === undefined) {
      throw new TapeworksError('TW_KLINE_HANDOFF', `symbol ${symbol} is not in this partition`, { symbol });
    }
    this.kernel.remove(symbol);
    // Should the other worker not take it, it comes back: until it is removed for good, its trades are kept.
    this.#arriving.set(symbol, { records: [] });
    return { kind: 'moved-out', symbol, bytes };
  }

  /** What came in the meantime is applied after the state; ids that the state already has are dropped by the kernel. */
  #moveIn(symbol: number, bytes: Uint8Array): void {
    this.kernel.import(symbol, bytes);
    const waited = this.#arriving.get(symbol)?.records ?? [];
    this.#arriving.delete(symbol);
    for (const record of waited) this.apply(record);
  }

  /** The halves take turns, so that whoever still reads the one before is not written over. */
  #snapshot(reader: SnapshotReader): PartitionReply {
    this.#half = this.#half === 0 ? 1 : 0;
    const half = this.#halves[this.#half];
    const records = this.kernel.snapshot(readerOf(reader), Math.floor(half.length / BAR_RECORD_BYTES));
    half.set(records);
    this.#snapshots[reader]++;
    const snapshot = this.#snapshots[reader];
    return { kind: 'snapshot', snapshot, half: this.#half, records: records.length / BAR_RECORD_BYTES };
  }
}

function readerOf(reader: SnapshotReader): Reader {
  return READER[reader];
}
