import type { VenueFacts } from '../../protocols/venue.ts';
import { type ConnectBudget, type ReconnectPolicy, reconnectDelayMs, requestConnect } from '../../venues/reconnect.ts';

const NS_PER_MS = 1e6;

/** One series of waits between attempts: of the connection itself, or of successors that fail while it lives. */
class Waits {
  atNs = 0;
  #failures = 0;

  /** An attempt has ended after living for `livedMs`. The first wait after a healthy life is the shortest. */
  ended(policy: ReconnectPolicy, livedMs: number, random: number, nowNs: number): void {
    const failures = livedMs >= policy.resetAfterMs ? 0 : this.#failures;
    this.atNs = nowNs + reconnectDelayMs(policy, failures, random) * NS_PER_MS;
    this.#failures = failures + 1;
  }
}

/** When an exchange may dial again: after its waits, and within what the venue allows. */
export class Redial {
  readonly connection = new Waits();
  readonly successor = new Waits();
  readonly #limit: VenueFacts['limits']['connects'];
  #budget: ConnectBudget = [];

  constructor(limit: VenueFacts['limits']['connects']) {
    this.#limit = limit;
  }

  /** Enters an attempt in the venue's budget; false where it has to wait, and then `waits` know until when. */
  dial(waits: Waits, nowNs: number): boolean {
    const { granted, atNs, budget } = requestConnect(this.#budget, this.#limit, nowNs);
    this.#budget = budget;
    if (!granted) waits.atNs = atNs;
    return granted;
  }
}
