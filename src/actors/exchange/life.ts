import type { ConnectionStatus } from '../../protocols/exchange.ts';
import type { ExchangeSettings } from '../../protocols/topology.ts';
import type { VenueFacts } from '../../protocols/venue.ts';
import { ASKED_WITHIN } from '../../venues/patience.ts';
import type { Link } from './link.ts';
import type { Stream } from './stream.ts';

const NS_PER_MS = 1e6;
/** A connection with timer-driven streams that brings no data at all for three times their patience is replaced. */
const TIMERS_MISSED = 3;
const PING_AFTER_MS = 15_000;

export function connectionStatus(
  current: Link | undefined,
  successor: Link | undefined,
  since: { readonly ns: number; readonly reason: string },
  url: string,
): ConnectionStatus {
  const provenBy = current?.hasHeartbeat === true ? 'heartbeat' : 'ping';
  return { state: stateOf(current, successor), sinceMs: since.ns / NS_PER_MS, url, reason: since.reason, provenBy };
}

function stateOf(current: Link | undefined, successor: Link | undefined): ConnectionStatus['state'] {
  if (successor !== undefined) return 'rotating';
  if (current === undefined) return 'waiting';
  return current.openedAtNs > 0 ? 'open' : 'connecting';
}

/** Whether an open connection still serves; otherwise why it should be replaced. */
export function lifeOf(link: Link, streams: Iterable<Stream>, nowNs: number): 'alive' | (string & {}) {
  const heardNs = Math.max(link.source.heardNs, link.openedAtNs);
  const dataNs = Math.max(link.source.dataNs, link.openedAtNs);
  let evidenceMs = Number.POSITIVE_INFINITY;
  let dataMs = Number.POSITIVE_INFINITY;
  for (const { facts } of streams) {
    const { cadence } = facts;
    if (cadence.kind === 'change') evidenceMs = Math.min(evidenceMs, cadence.evidenceWithinMs);
    else dataMs = Math.min(dataMs, TIMERS_MISSED * cadence.staleAfterMs);
  }
  if (nowNs - heardNs > evidenceMs * NS_PER_MS) return `no sign of life for ${evidenceMs} ms`;
  if (nowNs - dataNs > dataMs * NS_PER_MS) return `timer-driven streams brought nothing for ${dataMs} ms`;
  return 'alive';
}

/** Whether a venue that pings us is to be asked for a sign of life of its own, because it has been silent. */
export function isPingDue(link: Link, aliveWithinMs: number | null, nowNs: number): boolean {
  const afterMs = Math.min(PING_AFTER_MS, (aliveWithinMs ?? Number.POSITIVE_INFINITY) / ASKED_WITHIN);
  return nowNs - Math.max(link.source.heardNs, link.pingedNs, link.openedAtNs) >= afterMs * NS_PER_MS;
}

/** Why a connection wants a successor: the venue has asked for it, or it is of the operator's age, else a quarter of an hour before the venue's. */
export function replacementReason(
  link: Link | undefined,
  { rotateAfterMs }: ExchangeSettings,
  { limits: { maxAgeMs } }: VenueFacts,
  nowNs: number,
): string | undefined {
  if (link === undefined || link.openedAtNs === 0) return undefined;
  const latestMs = maxAgeMs === undefined ? Number.POSITIVE_INFINITY : maxAgeMs - 15 * 60_000;
  const isOfAge = nowNs - link.openedAtNs > (rotateAfterMs ?? latestMs) * NS_PER_MS;
  return link.notice ?? (isOfAge ? 'the connection is about to reach its age limit' : undefined);
}
