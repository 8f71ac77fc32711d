// Hands a symbol from one live worker to another without losing a trade.
//
//   worker A                      exchange                       worker B
//   has the symbol                -> A                           expects it: keeps its trades for later
//                                 -> A and B  (acknowledged)
//   takes all trades that wait,
//   exports, keeps later ones                                    imports; then the kept trades, those it has are dropped
//   is told to forget it          -> B        (acknowledged)
//
// Whatever goes wrong on the way, one of the two has the symbol in the end: if B does not take it, it goes back to A with
// the trades that A kept; if A is lost with it, B starts it from the bars that are known, and the missing trades are fetched.
import type { PartitionCommand, PartitionReply } from '../protocols/partition.ts';
import type { KlineSymbol, KlineSymbols } from './kline-symbols.ts';

export interface SymbolMovesOptions {
  readonly symbols: KlineSymbols;
  /** Rejects when the worker does not answer, or does not run. */
  readonly ask: (worker: number, command: PartitionCommand) => Promise<PartitionReply>;
  /** Tells the worker what it must know before its first symbol. */
  readonly prepare: (worker: number) => Promise<void>;
  readonly isRunning: (worker: number) => boolean;
  /** Resolves when the venue's trades go where the routes of this moment say. */
  readonly routeTrades: (venue: string) => Promise<void>;
  /** The symbol is at the worker that it was to move to, or stays where it was. */
  readonly onMoved: (symbol: KlineSymbol, to: number, hasMoved: boolean) => void;
}

const AT_ONCE_MAX = 32;

export class SymbolMoves {
  readonly #options: SymbolMovesOptions;
  readonly #moving = new Map<number, Promise<void>>();
  #moved = 0;
  #failed = 0;

  constructor(options: SymbolMovesOptions) {
    this.#options = options;
  }

  get stats() {
    return { moving: this.#moving.size, moved: this.#moved, movesFailed: this.#failed };
  }

  isMoving(index: number): boolean {
    return this.#moving.has(index);
  }

  /** Begins to move what is not where it should be, some at a time. Answers how many are still to be moved. */
  look(): number {
    const { symbols, isRunning } = this.#options;
    const away = symbols.all().filter(({ worker, home }) => worker !== home && isRunning(home));
    this.#takeFromEnded(away.filter(({ worker, index }) => !isRunning(worker) && !this.#moving.has(index)));
    const ready = away.filter((one) => one.worker !== one.home && one.isPlaced && !this.#moving.has(one.index));
    for (const symbol of ready.slice(0, AT_ONCE_MAX - this.#moving.size)) this.#begin(symbol);
    return away.length;
  }

  /** Resolves when everything that can be moved is where it should be, or the time is over. */
  async settle(withinMs: number): Promise<void> {
    const deadline = performance.now() + withinMs;
    while (this.look() > 0 && performance.now() < deadline) {
      await Promise.race([...this.#moving.values(), new Promise((resolve) => setTimeout(resolve, 100))]);
    }
  }

  /** A worker that has ended has nothing to hand over: its symbols start anew where they should be. */
  #takeFromEnded(symbols: readonly KlineSymbol[]): void {
    for (const symbol of symbols) Object.assign(symbol, { worker: symbol.home, isPlaced: false });
    for (const venue of new Set(symbols.map((symbol) => symbol.venue))) {
      this.#options.routeTrades(venue).catch(() => undefined);
    }
  }

  #begin(symbol: KlineSymbol): void {
    const { worker, home } = symbol;
    const move = this.#move(symbol, worker, home).then(
      (isWhole) => {
        if (isWhole) this.#moved++;
        else this.#failed++;
        this.#options.onMoved(symbol, home, symbol.worker === home);
      },
      () => {
        this.#failed++;
      },
    );
    this.#moving.set(
      symbol.index,
      move.finally(() => this.#moving.delete(symbol.index)),
    );
  }

  /** True when nothing was lost on the way. */
  async #move(symbol: KlineSymbol, from: number, to: number): Promise<boolean> {
    const { ask, prepare, routeTrades } = this.#options;
    const { index, venue } = symbol;
    try {
      await prepare(to);
      await done(ask(to, { kind: 'expect-symbol', symbol: index }));
      symbol.arrivesAt = to;
      await routeTrades(venue);
    } catch {
      symbol.arrivesAt = undefined;
      await this.#tidy(symbol, to);
      return false;
    }
    const state = await ask(from, { kind: 'move-out', symbol: index }).catch(() => undefined);
    const isTaken =
      state?.kind === 'moved-out' &&
      (await done(ask(to, { kind: 'move-in', symbol: index, bytes: state.bytes })).then(
        () => true,
        () => false,
      ));
    symbol.arrivesAt = undefined;
    if (!isTaken && state?.kind === 'moved-out') {
      const isBack = await ask(from, { kind: 'move-in', symbol: index, bytes: state.bytes }).catch(() => undefined);
      symbol.isPlaced = isBack?.kind === 'done';
      await this.#tidy(symbol, to);
      return false;
    }
    // Where the old worker said nothing, its state is lost with it: the symbol starts anew at the other.
    symbol.isPlaced = isTaken;
    symbol.worker = to;
    await this.#tidy(symbol, from);
    return isTaken;
  }

  /** The worker that does not have it in the end forgets what it kept. */
  async #tidy(symbol: KlineSymbol, worker: number): Promise<void> {
    const { ask, routeTrades } = this.#options;
    await routeTrades(symbol.venue).catch(() => undefined);
    await ask(worker, { kind: 'remove-symbol', symbol: symbol.index }).catch(() => undefined);
  }
}

async function done(answer: Promise<PartitionReply>): Promise<void> {
  const { kind } = await answer;
  if (kind === 'refused') throw new Error('refused');
}
