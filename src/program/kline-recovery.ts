import type { BarSpill } from '../actors/kline-persistence/bar-spill.ts';
import type { Recovered } from '../actors/kline-persistence/store.ts';
import type { StoreLink } from '../actors/kline-persistence/store-link.ts';
import { recoveredFrom } from '../actors/kline-persistence/symbol-state.ts';
import { isRefusal } from '../actors/trade-repair/weight-budget.ts';
import type { TradesById } from '../venues/history.ts';
import type { Venue } from '../venues/venue.ts';

export interface KlineRecoveryOptions {
  readonly venue: string;
  readonly link: Pick<StoreLink, 'use'>;
  /** What an outage has left there is newer than what the database has. */
  readonly spill: Pick<BarSpill, 'stateOf'>;
  readonly history: TradesById;
  readonly restUrl: () => string;
  readonly nowMs: () => number;
}

/** A database that does not answer must not keep bars from being made. */
const TRIES_MAX = 3;
/** Nor may a venue without REST: so long is waited for it, with pauses for all symbols together. */
const SILENT_MAX_MS = 60_000;
const PAUSE_MS = 2_000;

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
      return this.#ifSameTape(recoveredFrom(spilled), index);
    }
    this.#known ??= await this.#load();
    if (this.#known === undefined) return this.#tries >= TRIES_MAX ? null : undefined;
    const stored = this.#known.get(symbol);
    return stored === undefined ? null : this.#ifSameTape(stored, index);
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
    const { history, restUrl, nowMs } = this.#options;
    if (nextSequence === 0n || bars.length === 0) return null;
    if (nowMs() < (this.#silence?.untilMs ?? 0)) return undefined;
    const answer = await history.fetch(restUrl(), { name: symbol, index }, nextSequence - 1n, 1);
    if (!answer.ok) return isRefusal(answer.status) ? null : this.#unanswered(answer.retryAfterS);
    this.#silence = undefined;
    const trade = answer.value[0];
    const latestUs = bars.reduce((a, b) => (b.openUs > a.openUs ? b : a)).closeUs;
    return trade?.sequence === nextSequence - 1n && trade.timeUs <= latestUs ? state : null;
  }

  #unanswered(retryAfterS: number | undefined): null | undefined {
    const nowMs = this.#options.nowMs();
    const sinceMs = this.#silence?.sinceMs ?? nowMs;
    this.#silence = { sinceMs, untilMs: nowMs + Math.max(PAUSE_MS, (retryAfterS ?? 0) * 1000) };
    return nowMs - sinceMs >= SILENT_MAX_MS ? null : undefined;
  }
}

interface SharedOptions extends Pick<KlineRecoveryOptions, 'spill' | 'nowMs'> {
  /** Undefined where nothing is stored. */
  readonly link: KlineRecoveryOptions['link'] | undefined;
  readonly restUrl: (venue: string) => string;
}

/** One for each venue whose missed trades can be fetched by number. */
export function recoveries(
  venues: readonly Venue[],
  { link, restUrl, ...shared }: SharedOptions,
): ReadonlyMap<string, KlineRecovery> {
  return new Map(
    venues.flatMap(({ facts: { id: venue }, history: { tradesById: history } = {} }) => {
      if (history === undefined || link === undefined) return [];
      const recovery = new KlineRecovery({ ...shared, venue, link, history, restUrl: () => restUrl(venue) });
      return [[venue, recovery] as const];
    }),
  );
}
