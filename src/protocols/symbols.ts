/** A symbol of a venue, and where its trades go. */
export interface SymbolPlace {
  readonly venue: string;
  /** In the venue's own spelling. */
  readonly symbol: string;
  /** The global index that its trade records carry. */
  readonly index: number;
  readonly worker: number;
}

/** Which of a venue's symbols are wanted: some include pattern fits and no exclude pattern does. `*` stands for any run. */
export interface SymbolFilter {
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

function matches(pattern: string, symbol: string): boolean {
  const parts = pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 'i').test(symbol);
}

export function isWanted(filter: SymbolFilter, symbol: string): boolean {
  const fits = (patterns: readonly string[]) => patterns.some((pattern) => matches(pattern, symbol));
  return fits(filter.include) && !fits(filter.exclude);
}
