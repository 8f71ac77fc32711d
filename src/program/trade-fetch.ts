// Fetches the trades that workers miss from a venue that gives them by number, and tells the workers what came of it.
import {
  type RepairEffect,
  type RepairMessage,
  type RepairState,
  receive,
  startRepair,
} from '../actors/trade-repair/behaviour.ts';
import { isLimit, UNREADABLE, usedNow } from '../actors/trade-repair/weight-budget.ts';
import type { PartitionCommand, Trouble } from '../protocols/partition.ts';
import { fitsRecord, type Trade, tradeRecords } from '../protocols/trade-record.ts';
import type { TradesById } from '../venues/history.ts';

export interface RepairerOptions {
  readonly restUrl: string;
  /** Request weight that the venue allows in a minute, to all that ask from here. */
  readonly weightPerMinute: number;
  readonly nameOf: (symbol: number) => string | undefined;
  readonly nowUs: () => bigint;
  /** False when the worker of the symbol did not take it. */
  readonly tell: (symbol: number, command: PartitionCommand) => Promise<boolean>;
}

export interface RepairStats {
  /** Questions to the venue; those that were answered well ended so many holes and doubts. */
  readonly asked: number;
  readonly done: number;
  readonly failed: number;
  /** Answers 429 and 418. */
  readonly limited: number;
  /** Trades that came. */
  readonly fetched: number;
  readonly waiting: number;
  readonly turnedAway: number;
  /** Of the venue's budget, in the present minute. */
  readonly weight: number;
}

/** Gets what the workers of a venue miss. */
export interface TradeRepairer {
  readonly stats: RepairStats;
  /** Told again and again: what is already being done is not done twice. */
  want(troubles: readonly Trouble[]): void;
  close(): void;
}

/** Of the venue's request weight. */
export const REPAIR_SHARE = 0.5;
const SETTINGS = {
  concurrency: 2,
  waitingMax: 4_096,
  retryMs: 1_000,
  refusedMaxMs: 60_000,
} as const;

/** Trades of a symbol that are known to fit no record. */
const UNFIT_MAX = 256;

export class TradeFetch implements TradeRepairer {
  readonly #history: TradesById;
  readonly #options: RepairerOptions;
  /** The venue's time when a symbol was last asked for: what the answer says holds for that moment. */
  readonly #askedUs = new Map<number, bigint>();
  /** Sequences of trades whose amount no record can hold. */
  readonly #unfit = new Map<number, readonly bigint[]>();
  #state: RepairState;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  readonly #count = { asked: 0, done: 0, failed: 0, limited: 0, fetched: 0 };

  constructor(history: TradesById, options: RepairerOptions) {
    this.#history = history;
    this.#options = options;
    this.#state = startRepair({
      ...SETTINGS,
      limits: { perMinute: options.weightPerMinute, share: REPAIR_SHARE },
      requestWeight: history.weight,
      pageTrades: history.pageMax,
    });
  }

  get stats(): RepairStats {
    const { waiting, flights, turnedAway, budget } = this.#state;
    const weight = usedNow(budget, Date.now());
    return { ...this.#count, waiting: waiting.length + flights.length, turnedAway, weight };
  }

  want(troubles: readonly Trouble[]): void {
    const ranges = troubles.flatMap(({ symbol, holes, suspectFromUs, expected }) => [
      ...holes.flatMap(({ first, last, isCoarse }) => {
        const isUnfit = first === last && this.#unfit.get(symbol)?.includes(first) === true;
        return isCoarse || isUnfit ? [] : [{ symbol, first, last }];
      }),
      ...(suspectFromUs !== undefined && expected > 0n ? [{ symbol, first: expected, last: undefined }] : []),
    ]);
    if (ranges.length > 0) this.#step({ kind: 'wanted', ranges, nowMs: Date.now() });
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #step(message: RepairMessage): void {
    if (this.#isClosed) return;
    const [state, effects] = receive(this.#state, message);
    this.#state = state;
    for (const effect of effects) this.#run(effect);
  }

  #run(effect: RepairEffect): void {
    switch (effect.kind) {
      case 'fetch':
        this.#count.asked++;
        void this.#fetch(effect).catch(() => this.#failed(effect.id, UNREADABLE));
        break;
      case 'resolve':
        this.#resolve(effect);
        break;
      case 'doubt':
        void this.#options.tell(effect.symbol, { ...effect, fromUs: 0n });
        break;
      case 'confirm': {
        this.#count.done++;
        const nowUs = this.#askedUs.get(effect.symbol) ?? this.#options.nowUs();
        void this.#options.tell(effect.symbol, { ...effect, nowUs });
        break;
      }
      case 'set-timer':
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => this.#step({ kind: 'go-on', nowMs: Date.now() }), effect.delayMs);
        break;
    }
  }

  /** A range with a trade that no record can hold is not whole: what is left of it stays a hole. */
  #resolve(effect: Extract<RepairEffect, { kind: 'resolve' }>): void {
    const { symbol, first, last } = effect;
    const unfit = this.#unfit.get(symbol) ?? [];
    if (unfit.some((sequence) => sequence >= first && sequence <= last)) return;
    this.#count.done++;
    void this.#options.tell(symbol, effect);
  }

  /** Leaves out what no record can hold, and remembers it. */
  #fitting(symbol: number, trades: readonly Trade[]): Trade[] {
    const unfit = trades.filter((trade) => !fitsRecord(trade)).map(({ sequence }) => sequence);
    if (unfit.length > 0) {
      const known = [...(this.#unfit.get(symbol) ?? []), ...unfit];
      this.#unfit.set(symbol, [...new Set(known)].slice(-UNFIT_MAX));
    }
    return trades.filter(fitsRecord);
  }

  #failed(id: number, status: number, retryAfterS?: number): void {
    this.#count.failed++;
    if (isLimit(status)) this.#count.limited++;
    this.#step({ kind: 'failed', id, status, retryAfterS, nowMs: Date.now() });
  }

  async #fetch({ id, symbol, from, limit }: Extract<RepairEffect, { kind: 'fetch' }>): Promise<void> {
    const name = this.#options.nameOf(symbol);
    // A symbol that has left meanwhile has no holes any more.
    if (name === undefined)
      return this.#step({ kind: 'page', id, page: undefined, usedWeight: undefined, nowMs: Date.now() });
    this.#askedUs.set(symbol, this.#options.nowUs());
    const answer = await this.#history.fetch(this.#options.restUrl, { name, index: symbol }, from, limit);
    if (!answer.ok) return this.#failed(id, answer.status, answer.retryAfterS);
    const trades = answer.value;
    const fitting = this.#fitting(symbol, trades);
    const bytes = tradeRecords(fitting);
    if (fitting.length > 0 && !(await this.#options.tell(symbol, { kind: 'apply-trades', symbol, bytes }))) {
      return this.#failed(id, 0);
    }
    this.#count.fetched += fitting.length;
    const page = { first: trades[0]?.sequence ?? 0n, last: trades.at(-1)?.sequence ?? 0n, count: trades.length };
    this.#step({ kind: 'page', id, page, usedWeight: answer.usedWeight, nowMs: Date.now() });
  }
}
