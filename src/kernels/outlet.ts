// How whole books get from a decode kernel into the merger's memory; assembly/lib/outlets.ts says why by themselves.

/** Functions of the kernel that has the merger's memory, by which this one puts whole books there itself. */
export interface OutletFunctions {
  openPlace(venue: number, symbol: number, life: number): number;
  putRow(at: number, a: bigint, b: bigint, c: bigint, d: bigint): void;
  publishBook(venue: number, symbol: number, deadline: number): void;
}

/** Whose slot a book goes into, and in which life of its writer. */
export interface OutletPlace {
  readonly venue: number;
  readonly symbol: number;
  readonly life: number;
}

/** How a decode kernel publishes whole books itself: quicker than by way of the caller, who then notes that it did. */
export interface BookOutlet {
  readonly functions: OutletFunctions;
  /** Where books of a symbol go that has been published before; undefined where it has not, or is another's. */
  placeOf(symbol: number): OutletPlace | undefined;
  /** The kernel has put a book of the symbol there; `finish` is still the caller's. */
  noteSent(symbol: number): void;
}
