import type { ReconnectPolicy } from '../../venues/reconnect.ts';
import { Waits } from './redial.ts';

const NS_PER_MS = 1e6;

interface Rejoin {
  readonly waits: Waits;
  joinedNs: number;
  isOut: boolean;
}

/**
 * Streams that one connection has left because their books could not be trusted. Joining one again brings a new beginning;
 * one that breaks again and again is joined ever more seldom, as a connection would be.
 */
export class Rejoins {
  readonly #streams = new Map<string, Rejoin>();

  leave(stream: string, policy: ReconnectPolicy, random: number, nowNs: number): void {
    const rejoin = this.#streams.get(stream) ?? { waits: new Waits(), joinedNs: nowNs, isOut: false };
    rejoin.waits.ended(policy, (nowNs - rejoin.joinedNs) / NS_PER_MS, random, nowNs);
    rejoin.isOut = true;
    this.#streams.set(stream, rejoin);
  }

  isOut(stream: string): boolean {
    return this.#streams.get(stream)?.isOut === true;
  }

  /** True when the time of some is over: they are not out any more. */
  release(nowNs: number): boolean {
    const due = [...this.#streams.values()].filter(({ isOut, waits }) => isOut && nowNs >= waits.atNs);
    for (const rejoin of due) {
      rejoin.isOut = false;
      rejoin.joinedNs = nowNs;
    }
    return due.length > 0;
  }
}
