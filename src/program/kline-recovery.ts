import type { BarSpill } from '../actors/kline-persistence/bar-spill.ts';
import type { Recovered } from '../actors/kline-persistence/store.ts';
import type { StoreLink } from '../actors/kline-persistence/store-link.ts';
import { recoveredFrom } from '../actors/kline-persistence/symbol-state.ts';
import type { BinanceRest } from '../actors/trade-repair/binance-rest.ts';
import { FETCHED_VENUE } from './trade-fetch.ts';

export interface KlineRecoveryOptions {
  /** Undefined where nothing is stored. */
  readonly link: StoreLink | undefined;
  /** What an outage has left there is newer than what the database has. */
  readonly spill: BarSpill;
  readonly rest: () => BinanceRest;
}

/** A database that does not answer must not keep bars from being made. */
const TRIES_MAX = 3;

/** What spill or database know of a symbol from before this program started, where the missed trades can be fetched. */
export class KlineRecovery {
  readonly #options: KlineRecoveryOptions;
  #known: ReadonlyMap<string, Recovered> | undefined;
  #tries = 0;

  constructor(options: KlineRecoveryOptions) {
    this.#options = options;
  }

  /** Undefined: ask again later. Null: the symbol begins anew. */
  async of(venue: string, symbol: string, index: number): Promise<Recovered | null | undefined> {
    if (venue !== FETCHED_VENUE || this.#options.link === undefined) return null;
    const spilled = await this.#options.spill.stateOf(venue, symbol).catch(() => undefined);
    if (spilled !== undefined) {
      const state = recoveredFrom(spilled);
      return (await this.#isSameTape(state, index)) ? state : null;
    }
    this.#known ??= await this.#load(this.#options.link);
    if (this.#known === undefined) return this.#tries >= TRIES_MAX ? null : undefined;
    const stored = this.#known.get(symbol);
    return stored !== undefined && (await this.#isSameTape(stored, index)) ? stored : null;
  }

  async #load(link: StoreLink): Promise<ReadonlyMap<string, Recovered> | undefined> {
    try {
      const found = await link.use((store) => store.recover(FETCHED_VENUE));
      return new Map(found.map((one) => [one.symbol, one]));
    } catch {
      this.#tries++;
      return undefined;
    }
  }

  /** The last trade that was counted must still be where it was: a venue that numbers anew is another tape. */
  async #isSameTape({ symbol, nextSequence, bars }: Recovered, index: number): Promise<boolean> {
    if (nextSequence === 0n || bars.length === 0) return false;
    const answer = await this.#options.rest().trades(symbol, index, nextSequence - 1n, 1);
    const trade = answer.ok ? answer.value[0] : undefined;
    const latestUs = bars.reduce((a, b) => (b.openUs > a.openUs ? b : a)).closeUs;
    return trade?.sequence === nextSequence - 1n && trade.timeUs <= latestUs;
  }
}
