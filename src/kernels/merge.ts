import { bitmapWordsOffset, MERGER_TURN, type MergeLayout } from '../protocols/merge-layout.ts';
import { KERNEL_ENV, kernelModule } from './load.ts';
import type { OutletFunctions } from './outlet.ts';

interface MergeExports extends OutletFunctions {
  configure(...addresses: number[]): void;
  sweep(): number;
  spin(iterations: number): number;
  expire(): number;
  merge(symbol: number, nowNs: number): void;
  help(venue: number, symbol: number): number;
  giveUp(): void;
}

const PAGE_BYTES = 65_536;

/** Shared memory of the size that a merger's layout needs, as the merge kernel wants it. */
export function mergeMemory(layout: MergeLayout): WebAssembly.Memory<SharedArrayBuffer> {
  const initial = Math.ceil(layout.totalBytes / PAGE_BYTES);
  return new WebAssembly.Memory<SharedArrayBuffer>({ initial, maximum: initial, shared: true });
}

/**
 * Merges all venues' books into summaries, inside WebAssembly, over the memory that exchange threads and the publisher
 * share. One merger a memory, and helpers beside it; its slots must be formatted before the first call.
 */
export class MergeKernel {
  private readonly kernel: MergeExports;

  /** `now` gives nanoseconds of the clock that books are stamped with, the same on every thread; `holder` is the thread's own number. */
  constructor(
    memory: WebAssembly.Memory<SharedArrayBuffer>,
    layout: MergeLayout,
    now: () => number,
    holder: number = MERGER_TURN,
  ) {
    const instance = new WebAssembly.Instance(kernelModule('merge'), { env: { ...KERNEL_ENV, memory }, host: { now } });
    this.kernel = instance.exports as unknown as MergeExports;
    const { venues, symbols, depth } = layout.shape;
    this.kernel.configure(
      ...[venues, symbols, depth, layout.control, layout.venueDeadlines, layout.bookDeadlines],
      ...[layout.venueDirty, layout.venueDirtyBytes, bitmapWordsOffset(symbols), layout.bookSlots],
      ...[layout.bookSlotBytes, layout.rows, layout.outputDirty, layout.summarySlots, layout.summarySlotBytes],
      ...[layout.scratch, holder],
    );
  }

  /** By which books get into this memory. */
  get outlet(): OutletFunctions {
    return this.kernel;
  }

  /** Merges what is marked now; answers how many summaries were published, or 1 while somebody else merges. */
  sweep(): number {
    return this.kernel.sweep();
  }

  /** Sweeps that many times without leaving WebAssembly, then comes back so that the thread can show that it lives. */
  spin(iterations: number): number {
    return this.kernel.spin(iterations);
  }

  /** Takes venues out, or back in, whose deadlines say so although no frame came. Call it every few milliseconds. */
  expire(): number {
    return this.kernel.expire();
  }

  /** Merges a symbol whose book of this venue nobody has taken yet. False while somebody else merges: that one may not see the book. */
  help(venue: number, symbol: number): boolean {
    try {
      return this.kernel.help(venue, symbol) !== 0;
    } catch (error) {
      this.kernel.giveUp();
      throw error;
    }
  }

  /** Merges a symbol at the given time, whether it is marked or not, in a memory that no other thread merges. */
  merge(symbol: number, nowNs: number): void {
    this.kernel.merge(symbol, nowNs);
  }
}
