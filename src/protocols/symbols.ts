/** A symbol of a venue, and where its trades go. */
export interface SymbolPlace {
  readonly venue: string;
  /** In the venue's own spelling. */
  readonly symbol: string;
  /** The global index that its trade records carry. */
  readonly index: number;
  readonly worker: number;
}

/** Which of a venue's symbols are wanted, in its own spelling: some include pattern fits and no exclude pattern does. */
export interface SymbolFilter {
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

/** `*USDT` fits BTCUSDT. Each part is looked for once, behind the one before it: no pattern takes long. */
function matches(pattern: string, symbol: string): boolean {
  const [first = '', ...others] = pattern.split('*');
  const last = others.pop();
  if (last === undefined) return pattern === symbol;
  if (!symbol.startsWith(first) || symbol.length < first.length + last.length || !symbol.endsWith(last)) return false;
  const end = symbol.length - last.length;
  let from = first.length;
  for (const part of others) {
    const at = symbol.indexOf(part, from);
    if (at < 0 || at + part.length > end) return false;
    from = at + part.length;
  }
  return true;
}

export function isWanted(filter: SymbolFilter, symbol: string): boolean {
  const fits = (patterns: readonly string[]) => patterns.some((pattern) => matches(pattern, symbol));
  return fits(filter.include) && !fits(filter.exclude);
}
