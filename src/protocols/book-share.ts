/** What is merged: the venues in their order at equal prices, the instruments by index, the levels that are kept. */
export interface BookPlan {
  readonly venues: readonly string[];
  readonly symbols: readonly string[];
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
