// Fetches the trades that workers miss from a venue that gives them by time only, and tells the workers what came of it.
import { isLimit, UNREADABLE, usedNow } from '../actors/trade-repair/weight-budget.ts';
import {
  receive,
  startWindows,
  type WindowEffect,
  type WindowMessage,
  type WindowState,
} from '../actors/trade-repair/window-behaviour.ts';
import type { Trouble } from '../protocols/partition.ts';
import { TRADE_FETCHED, TRADE_OFFERED } from '../protocols/trade-layout.ts';
import { type Trade, tradeRecords } from '../protocols/trade-record.ts';
import type { TradeWindows } from '../venues/history.ts';
import { REPAIR_SHARE, type RepairerOptions, type RepairStats, type TradeRepairer } from './trade-fetch.ts';

const SETTINGS = {
  concurrency: 2,
  waitingMax: 4_096,
  retryMinMs: 2_000,
  retryMaxMs: 60_000,
  silentMaxMs: 10_000,
} as const;

/** Bars remember about so many trades: whether an older one was counted cannot be told. */
const OFFERED_MAX = 128;
/** A symbol that has left is refused like one that the venue does not know. */
const GONE = 404;

export class WindowFetch implements TradeRepairer {
  readonly #history: TradeWindows;
  readonly #options: RepairerOptions;
  /** Windows whose holes are being filled. */
  readonly #pages = new Map<number, readonly Trade[]>();
  #state: WindowState;
  #isClosed = false;
  readonly #count = { asked: 0, done: 0, failed: 0, limited: 0, fetched: 0 };

  constructor(history: TradeWindows, options: RepairerOptions) {
    this.#history = history;
    this.#options = options;
    const limits = { perMinute: options.weightPerMinute, share: REPAIR_SHARE };
    this.#state = startWindows({ ...SETTINGS, limits, requestWeight: history.weight });
  }

  get stats(): RepairStats {
    const { waiting, flights, turnedAway, budget } = this.#state;
    const weight = usedNow(budget, Date.now());
    return { ...this.#count, waiting: waiting.length + flights.length, turnedAway, weight };
  }

  /** A doubt is no hole yet: the next trade makes it one, and then there is something to prove a window by. */
  want(troubles: readonly Trouble[]): void {
    const wants = troubles.map(({ symbol, holes }) => ({ symbol, holes: holes.filter(({ isCoarse }) => !isCoarse) }));
    this.#step({ kind: 'wanted', wants, ...this.#now() });
  }

  close(): void {
    this.#isClosed = true;
  }

  #now() {
    return { nowMs: Date.now(), nowUs: this.#options.nowUs() };
  }

  #step(message: WindowMessage): void {
    if (this.#isClosed) return;
    const [state, effects] = receive(this.#state, message);
    this.#state = state;
    for (const effect of effects) {
      if (effect.kind === 'fetch') void this.#fetch(effect).catch(() => this.#failed(effect.id, UNREADABLE));
      else void this.#fill(effect, this.#pages.get(effect.id) ?? []);
    }
  }

  async #fetch({ id, symbol, window }: Extract<WindowEffect, { kind: 'fetch' }>): Promise<void> {
    const name = this.#options.nameOf(symbol);
    if (name === undefined)
      return this.#step({ kind: 'failed', id, status: GONE, retryAfterS: undefined, ...this.#now() });
    this.#count.asked++;
    const answer = await this.#history.fetch(this.#options.restUrl, { name, index: symbol }, window);
    if (!answer.ok) return this.#failed(id, answer.status, answer.retryAfterS);
    const trades = answer.value;
    this.#pages.set(id, trades);
    const page = { oldest: trades[0]?.sequence ?? 0n, newest: trades.at(-1)?.sequence ?? 0n, count: trades.length };
    this.#step({ kind: 'page', id, page, ...this.#now() });
    this.#pages.delete(id);
  }

  #failed(id: number, status: number, retryAfterS?: number): void {
    this.#count.failed++;
    if (isLimit(status)) this.#count.limited++;
    this.#step({ kind: 'failed', id, status, retryAfterS, ...this.#now() });
  }

  /** What could not be handed over is still a hole, and is asked for again. */
  async #fill({ symbol, first, last }: Extract<WindowEffect, { kind: 'fill' }>, page: readonly Trade[]): Promise<void> {
    const missing = page.filter(({ sequence }) => sequence >= first && sequence <= last);
    // What the feed left out before it was lost shows nowhere else.
    const before = page.filter(({ sequence }) => sequence < first).slice(-OFFERED_MAX);
    const bytes = Buffer.concat([tradeRecords(before, TRADE_OFFERED), tradeRecords(missing, TRADE_FETCHED)]);
    if (bytes.length > 0 && !(await this.#options.tell(symbol, { kind: 'apply-trades', symbol, bytes }))) return;
    this.#count.fetched += missing.length;
    this.#count.done++;
    await this.#options.tell(symbol, { kind: 'resolve', symbol, first, last });
  }
}
