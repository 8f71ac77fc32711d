import type { BarSpill } from '../actors/kline-persistence/bar-spill.ts';
import type { Recovered } from '../actors/kline-persistence/store.ts';
import type { StoreLink } from '../actors/kline-persistence/store-link.ts';
import { recoveredFrom } from '../actors/kline-persistence/symbol-state.ts';
import { isRefusal, UNREADABLE } from '../actors/trade-repair/weight-budget.ts';
import type { RestResult } from '../protocols/rest.ts';
import type { Trade } from '../protocols/trade-record.ts';
import type { HistorySymbol, TradesById, TradeWindows, VenueHistory } from '../venues/history.ts';
import type { Venue } from '../venues/venue.ts';

/** Asks a venue for one trade, which happened before a moment; undefined where it does not have it, or not any more. */
type AskTrade = (
  restUrl: string,
  symbol: HistorySymbol,
  sequence: bigint,
  beforeUs: bigint,
) => Promise<RestResult<Trade | undefined>>;

export interface KlineRecoveryOptions {
  readonly venue: string;
  readonly link: Pick<StoreLink, 'use'>;
  /** What an outage has left there is newer than what the database has. */
  readonly spill: Pick<BarSpill, 'stateOf'>;
  readonly askTrade: AskTrade;
  readonly restUrl: () => string;
  readonly nowMs: () => number;
  /** The symbol begins anew, although bars of it are stored up to this one. */
  readonly onLeft: (venue: string, index: number, lastUs: bigint) => void;
}

/** A database that does not answer must not keep bars from being made. */
const TRIES_MAX = 3;
/** Nor may a venue whose REST service is away: so long is waited for it, with pauses for all symbols together. */
const SILENT_MAX_MS = 60_000;
const PAUSE_MS = 2_000;
/** Trades of one venue may be stamped out of order by less than this. */
const STAMPS_FALL_US = 1_000_000n;

/** What spill or database know of a venue's symbols from before this program started. */
export class KlineRecovery {
  readonly #options: KlineRecoveryOptions;
  #known: ReadonlyMap<string, Recovered> | undefined;
  #tries = 0;
  /** Since when the venue does not answer, and when it is asked again. */
  #silence: { readonly sinceMs: number; readonly untilMs: number } | undefined;

  constructor(options: KlineRecoveryOptions) {
    this.#options = options;
  }

  /** Undefined: ask again later. Null: the symbol begins anew. */
  async of(symbol: string, index: number): Promise<Recovered | null | undefined> {
    const { spill, venue } = this.#options;
    const spilled = await spill.stateOf(venue, symbol).catch(() => undefined);
    if (spilled !== undefined) {
      return this.#decide(recoveredFrom(spilled), index);
    }
    this.#known ??= await this.#load();
    if (this.#known === undefined) return this.#tries >= TRIES_MAX ? null : undefined;
    const stored = this.#known.get(symbol);
    return stored === undefined ? null : this.#decide(stored, index);
  }

  async #decide(state: Recovered, index: number): Promise<Recovered | null | undefined> {
    const decided = await this.#ifSameTape(state, index);
    if (decided === null && state.nextSequence > 0n) this.#options.onLeft(this.#options.venue, index, state.lastUs);
    return decided;
  }

  async #load(): Promise<ReadonlyMap<string, Recovered> | undefined> {
    const { link, venue } = this.#options;
    try {
      const found = await link.use((store) => store.recover(venue));
      return new Map(found.map((one) => [one.symbol, one]));
    } catch {
      this.#tries++;
      return undefined;
    }
  }

  /** The last trade that was counted must still be where it was: a venue that numbers anew is another tape. */
  async #ifSameTape(state: Recovered, index: number): Promise<Recovered | null | undefined> {
    const { symbol, nextSequence, bars } = state;
    const { askTrade, restUrl, nowMs } = this.#options;
    if (nextSequence === 0n || bars.length === 0) return null;
    if (nowMs() < (this.#silence?.untilMs ?? 0)) return undefined;
    const latestUs = bars.reduce((a, b) => (b.openUs > a.openUs ? b : a)).closeUs;
    const answer = await askTrade(restUrl(), { name: symbol, index }, nextSequence - 1n, latestUs + STAMPS_FALL_US);
    if (!answer.ok) {
      // What nobody can read may be a page of maintenance: it says nothing of the symbol.
      const isUnknown = isRefusal(answer.status) && answer.status !== UNREADABLE;
      return isUnknown ? null : this.#isSilent(answer.retryAfterS) ? state : undefined;
    }
    this.#silence = undefined;
    const trade = answer.value;
    return trade?.sequence === nextSequence - 1n && trade.timeUs <= latestUs ? state : null;
  }

  /**
   * Whoever does not answer for so long is not asked any more. The symbol goes on from its bars: what was missed is a gap until it is fetched,
   * and should the venue count anew after all, its trades show it.
   */
  #isSilent(retryAfterS: number | undefined): boolean {
    const nowMs = this.#options.nowMs();
    const sinceMs = this.#silence?.sinceMs ?? nowMs;
    this.#silence = { sinceMs, untilMs: nowMs + Math.max(PAUSE_MS, (retryAfterS ?? 0) * 1000) };
    return nowMs - sinceMs >= SILENT_MAX_MS;
  }
}

interface SharedOptions extends Pick<KlineRecoveryOptions, 'spill' | 'nowMs' | 'onLeft'> {
  /** Undefined where nothing is stored. */
  readonly link: KlineRecoveryOptions['link'] | undefined;
  readonly restUrl: (venue: string) => string;
}

/** One for each venue whose missed trades can be fetched. */
export function recoveries(
  venues: readonly Venue[],
  { link, restUrl, ...shared }: SharedOptions,
): ReadonlyMap<string, KlineRecovery> {
  return new Map(
    venues.flatMap(({ facts: { id: venue }, history = {} }) => {
      const askTrade = askTradeOf(history);
      if (askTrade === undefined || link === undefined) return [];
      const recovery = new KlineRecovery({ ...shared, venue, link, askTrade, restUrl: () => restUrl(venue) });
      return [[venue, recovery] as const];
    }),
  );
}

function askTradeOf({ tradesById, windows }: VenueHistory): AskTrade | undefined {
  if (tradesById !== undefined) return (...what) => tradeById(tradesById, ...what);
  return windows === undefined ? undefined : (...what) => tradeInWindows(windows, ...what);
}

async function tradeById(
  history: TradesById,
  ...[restUrl, symbol, sequence]: Parameters<AskTrade>
): ReturnType<AskTrade> {
  const answer = await history.fetch(restUrl, symbol, sequence, 1);
  return answer.ok ? { ...answer, value: answer.value[0] } : answer;
}

/**
 * A service that is behind the stream that the trade came by has not answered yet. One that has a later trade with a lower number is not behind: it
 * counts anew.
 */
async function tradeInWindows(
  history: TradeWindows,
  ...[restUrl, symbol, sequence, beforeUs]: Parameters<AskTrade>
): ReturnType<AskTrade> {
  let answer = await history.fetch(restUrl, symbol, 'hour');
  const oldest = answer.ok ? answer.value[0]?.sequence : sequence;
  if (oldest === undefined || oldest > sequence) answer = await history.fetch(restUrl, symbol, 'day');
  if (!answer.ok) return answer;
  const newest = answer.value.at(-1);
  if (newest !== undefined && newest.sequence < sequence && newest.timeUs < beforeUs) {
    return { ok: false, status: 0, retryAfterS: undefined, reason: 'it is behind its own stream' };
  }
  return { ...answer, value: answer.value.find((trade) => trade.sequence === sequence) };
}
