import { setTimeout as sleep } from 'node:timers/promises';
import {
  graceUs,
  NEW_CLOCK,
  uncertaintyUs,
  type VenueClock,
  withSample,
  withSecond,
} from '../actors/partition-worker/venue-clock.ts';
import { nowNs } from '../supervision/threads/thread-clock.ts';
import { venueNamed } from '../venues/index.ts';
import { fetchWhole } from '../venues/rest.ts';

export interface VenueTimesOptions {
  readonly endpoints: (venue: string) => { readonly restUrl: string };
}

/** Whole seconds are asked for again at other moments of the second until they say enough, a few times a round. */
const SECONDS_ASKED_MAX = 5;
const SECONDS_APART_MS = 230;
const CERTAIN_ENOUGH_US = 100_000;
const ANSWER_WITHIN_MS = 5_000;

/** 1970 on the machine's monotonic clock, as the system's clock has it when the process starts. */
const EPOCH_US = Math.round((performance.timeOrigin + performance.now()) * 1000 - nowNs() / 1000);

/** Ours: the system's clock as it was at the start, gone on evenly; where it is set later, the venues' offsets follow. */
export function wallUs(): number {
  return EPOCH_US + Math.round(nowNs() / 1000);
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
    const place = venueNamed(venue).facts.rest.time;
    if (place === undefined) return;
    const url = this.#options.endpoints(venue).restUrl + place.path;
    try {
      if (place.field !== undefined) await this.#measureField(venue, url, place.field);
      else await this.#measureSeconds(venue, url);
    } catch {
      return;
    }
  }

  async #measureField(venue: string, url: string, field: string): Promise<void> {
    const askedUs = wallUs();
    const { body } = await fetchWhole(url, undefined, ANSWER_WITHIN_MS);
    const venueMs = Number((JSON.parse(body.toString('utf8')) as Record<string, unknown>)[field]);
    if (!Number.isFinite(venueMs)) return;
    const sample = { askedUs, answeredUs: wallUs(), venueUs: venueMs * 1000 };
    this.#clocks.set(venue, withSample(this.clock(venue), sample));
  }

  async #measureSeconds(venue: string, url: string): Promise<void> {
    for (let asked = 0; asked < SECONDS_ASKED_MAX; asked++) {
      const askedUs = wallUs();
      const response = await fetch(url, { method: 'HEAD', signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
      const answeredUs = wallUs();
      const secondUs = Date.parse(response.headers.get('date') ?? '') * 1000;
      if (!Number.isFinite(secondUs)) return;
      this.#clocks.set(venue, withSecond(this.clock(venue), { askedUs, answeredUs, secondUs }));
      if (uncertaintyUs(this.clock(venue)) < CERTAIN_ENOUGH_US) return;
      await sleep(SECONDS_APART_MS);
    }
  }

  /** What is known of a venue's clock. A venue that tells no time is taken to have ours: both are set by the same clocks. */
  clock(venue: string): VenueClock {
    return this.#clocks.get(venue) ?? NEW_CLOCK;
  }

  /** The venue's time minus the machine's monotonic clock, on which all threads agree. */
  offsetUs(venue: string): bigint {
    return BigInt(EPOCH_US + Math.round(this.clock(venue).offsetUs ?? 0));
  }

  nowUs(venue: string): bigint {
    return BigInt(Math.round(nowNs() / 1000)) + this.offsetUs(venue);
  }

  /** How long windows stay open after their end: what the file says, or what the road to the venue needs. */
  graceUs(venue: string, configuredMs: number): bigint {
    const road = graceUs(this.clock(venue));
    return BigInt(Math.round(Math.max(road, configuredMs * 1000)));
  }
}
