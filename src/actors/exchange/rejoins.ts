import { type ReconnectPolicy, reconnectDelayMs } from '../../venues/reconnect.ts';

const NS_PER_MS = 1e6;
/** One that went well for so many times its last wait begins with the shortest again: ten seconds after one of a second. */
const WELL_TIMES = 10;

interface Rejoin {
  /** Breaks in a row, the longest that the wait after the last one could be, and when it ends. */
  readonly breaks: number;
  readonly waitMs: number;
  readonly joinNs: number;
  isOut: boolean;
}

/**
 * Streams that one connection has left because their books could not be trusted. Joining one again brings a new beginning;
 * one that breaks again and again is joined ever more seldom, as a connection would be.
 */
export class Rejoins {
  readonly #streams = new Map<string, Rejoin>();

  leave(stream: string, policy: ReconnectPolicy, random: number, nowNs: number): void {
    const last = this.#streams.get(stream);
    const livedMs = last === undefined ? 0 : (nowNs - last.joinNs) / NS_PER_MS;
    const wentWell = last !== undefined && livedMs >= Math.min(policy.resetAfterMs, WELL_TIMES * last.waitMs);
    const breaks = last === undefined || wentWell ? 0 : last.breaks;
    const joinNs = nowNs + reconnectDelayMs(policy, breaks, random) * NS_PER_MS;
    const waitMs = reconnectDelayMs(policy, breaks, 1);
    this.#streams.set(stream, { breaks: breaks + 1, waitMs, isOut: true, joinNs });
  }

  isOut(stream: string): boolean {
    return this.#streams.get(stream)?.isOut === true;
  }

  /** True when the time of some is over: they are not out any more. */
  release(nowNs: number): boolean {
    const due = [...this.#streams.values()].filter(({ isOut, joinNs }) => isOut && nowNs >= joinNs);
    for (const rejoin of due) rejoin.isOut = false;
    return due.length > 0;
  }
}
