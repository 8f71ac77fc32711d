import { graceUs, NEW_CLOCK, type VenueClock, withSample } from '../actors/partition-worker/venue-clock.ts';

export interface VenueTimesOptions {
  readonly endpoints: (venue: string) => { readonly restUrl: string };
}

/** Where a venue tells its time, in milliseconds. Others are taken to have ours: both are set by the same public clocks. */
const TIME_PATHS: Readonly<Record<string, { readonly path: string; readonly field: string }>> = {
  binance: { path: '/api/v3/time', field: 'serverTime' },
};
const ANSWER_WITHIN_MS = 5_000;

export function wallUs(): number {
  return Math.round((performance.timeOrigin + performance.now()) * 1000);
}

/** The clocks of the venues, as far as they can be known from here. */
export class VenueTimes {
  readonly #options: VenueTimesOptions;
  readonly #clocks = new Map<string, VenueClock>();

  constructor(options: VenueTimesOptions) {
    this.#options = options;
  }

  /** Asks the venue for its time; without an answer, what was known holds. */
  async measure(venue: string): Promise<void> {
    const place = TIME_PATHS[venue];
    if (place === undefined) return;
    const askedUs = wallUs();
    try {
      const url = this.#options.endpoints(venue).restUrl + place.path;
      const response = await fetch(url, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
      const venueMs = Number(((await response.json()) as Record<string, unknown>)[place.field]);
      if (!Number.isFinite(venueMs)) return;
      const sample = { askedUs, answeredUs: wallUs(), venueUs: venueMs * 1000 };
      this.#clocks.set(venue, withSample(this.#clocks.get(venue) ?? NEW_CLOCK, sample));
    } catch {
      return;
    }
  }

  offsetUs(venue: string): bigint {
    return BigInt(Math.round(this.#clocks.get(venue)?.offsetUs ?? 0));
  }

  nowUs(venue: string): bigint {
    return BigInt(wallUs()) + this.offsetUs(venue);
  }

  /** How long windows stay open after their end: what the file says, or what the road to the venue needs. */
  graceUs(venue: string, configuredMs: number): bigint {
    const road = graceUs(this.#clocks.get(venue) ?? NEW_CLOCK);
    return BigInt(Math.round(Math.max(road, configuredMs * 1000)));
  }
}
