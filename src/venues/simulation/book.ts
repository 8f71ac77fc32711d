/** One side of a simulated book: prices in whole ticks, amounts in whole lots, best first. */
export class BookSide {
  readonly prices: number[] = [];
  readonly lots: number[] = [];
  /** The levels as the venue spells them, made when first asked for; most levels stay as they are from frame to frame. */
  readonly #texts: (string | undefined)[] = [];
  /** Levels that changed since `changes` was last cleared: price -> lots, 0 for gone. */
  readonly changes = new Map<number, number>();
  readonly #order: 1 | -1;
  /** Grows by one with every change of a level. */
  changeCount = 0;

  constructor(side: 'bid' | 'ask') {
    this.#order = side === 'ask' ? 1 : -1;
  }

  get depth(): number {
    return this.prices.length;
  }

  /** Sets a level; zero lots take it out. */
  set(price: number, lots: number): void {
    const at = this.#find(price);
    const present = this.prices[at] === price;
    if (lots === 0 && !present) return;
    if (lots === 0) {
      this.prices.splice(at, 1);
      this.lots.splice(at, 1);
      this.#texts.splice(at, 1);
    } else if (present) {
      this.lots[at] = lots;
      this.#texts[at] = undefined;
    } else {
      this.prices.splice(at, 0, price);
      this.lots.splice(at, 0, lots);
      this.#texts.splice(at, 0, undefined);
    }
    this.changes.set(price, lots);
    this.changeCount++;
  }

  /** The best levels as a JSON array. A side has one venue, so `spell` must always be that venue's. */
  render(depth: number, spell: (price: number, lots: number) => string): string {
    const count = Math.min(depth, this.depth);
    let text = '[';
    for (let at = 0; at < count; at++) {
      const level = this.#texts[at] ?? spell(this.prices[at]!, this.lots[at]!);
      this.#texts[at] = level;
      text += at === 0 ? level : `,${level}`;
    }
    return `${text}]`;
  }

  /** The index of the first level that is not better than the price. */
  #find(price: number): number {
    let low = 0;
    let high = this.prices.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.prices[middle]! - price) * this.#order < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

export class Book {
  readonly bids = new BookSide('bid');
  readonly asks = new BookSide('ask');

  /** Counts changes of levels since the book began, as venues' update ids do. */
  get version(): number {
    return this.bids.changeCount + this.asks.changeCount;
  }

  get changed(): boolean {
    return this.bids.changes.size + this.asks.changes.size > 0;
  }

  clearChanges(): void {
    this.bids.changes.clear();
    this.asks.changes.clear();
  }
}
