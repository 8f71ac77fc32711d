import { DECIMALS_DEFAULT } from './book-layout.ts';

/** What is merged: the venues in their order at equal prices, the instruments by index, the levels that are kept. */
export interface BookPlan {
  readonly venues: readonly string[];
  readonly symbols: readonly string[];
  /** Decimals of each instrument; as by default where they are not given. */
  readonly scales?: readonly number[];
  readonly depth: number;
}

/** The shared memory as it travels to a thread. */
export interface BookShare {
  readonly plan: BookPlan;
  readonly memory: WebAssembly.Memory<SharedArrayBuffer>;
  /** The doorbell of the merger's thread, for a merger that sleeps. */
  readonly bell: { readonly buffer: SharedArrayBuffer; readonly at: number };
  /** The merger looks at the books all the time, so a book that it has not taken in a few microseconds is worth merging elsewhere. */
  readonly isSpinning: boolean;
}

/** Of a symbol by its index. */
export function scaleOf({ scales }: BookPlan, symbol: number): number {
  return scales?.[symbol] ?? DECIMALS_DEFAULT;
}
