import type { LaneHealth } from './ingest.ts';

/** A histogram as plain numbers, so that a thread can send it and the main thread can print it. */
export interface HistogramSnapshot {
  readonly bounds: readonly number[];
  /** Observations up to each bound, not cumulative; the last is for those above all bounds. */
  readonly counts: readonly number[];
  readonly sum: number;
}

/** What a module last showed of itself. */
export interface ModuleSight {
  readonly source: string;
  readonly connection: string;
  readonly lastSeenMs: number;
  readonly lastHeartbeatMs: number | undefined;
  /** The payload of its last heartbeat or status, as JSON text. */
  readonly status: string | undefined;
  readonly events: number;
}

/** What Redis knows of a stream, its group and its ledger. */
export interface StreamFacts {
  readonly added: number;
  readonly length: number;
  readonly pending: number;
  /** Entries that the group has not been given yet; undefined while that is not known. */
  readonly lag: number | undefined;
  /** What Redis says of it: right, or too large (stream-facts.ts says when). */
  readonly lagTold: number | undefined;
  readonly lastDelivered: string;
  readonly oldestPending: string | undefined;
  readonly ledger: Readonly<Record<string, number>>;
}

/** What one lane counted since its kernel started. */
export interface LaneCounts {
  readonly read: number;
  readonly redelivered: number;
  readonly claimed: number;
  readonly acked: number;
  readonly ackMissing: number;
  readonly stored: number;
  readonly duplicates: number;
  readonly spilled: number;
  readonly replayed: number;
  readonly replayDuplicates: number;
  readonly dropped: number;
  readonly trimmed: number;
  readonly commits: number;
  readonly trimmedByKernel: number;
  readonly groupRecreations: number;
  readonly streamResets: number;
  readonly spillLost: number;
  readonly spillRecovered: number;
  readonly tornTails: number;
}

export interface LaneSnapshot {
  readonly stream: string;
  readonly mode: string;
  readonly inFlight: number;
  readonly health: LaneHealth;
  readonly counts: LaneCounts;
  /** By `stage/code`. */
  readonly deadLetters: Readonly<Record<string, number>>;
  readonly spill: { readonly records: number; readonly bytes: number; readonly segments: number };
  readonly facts: StreamFacts | null;
  readonly modules: readonly ModuleSight[];
  readonly readSeconds: HistogramSnapshot;
  readonly ackSeconds: HistogramSnapshot;
  readonly writeRows: HistogramSnapshot;
  readonly writeSeconds: HistogramSnapshot;
}

export interface IngestSnapshot {
  readonly lanes: readonly LaneSnapshot[];
  readonly republish: { readonly published: number; readonly dropped: number; readonly waiting: number };
}

/**
 * The equation `added = stored + dead-lettered + dropped + pending`, from what Redis counts atomically with each
 * acknowledgement. `spilled` entries are durable and pending in Postgres; `balance` is 0 unless something is wrong.
 */
export interface Ledger {
  readonly added: number;
  readonly stored: number;
  readonly deadLettered: number;
  readonly dropped: number;
  /** Unread and unacknowledged in Redis, plus what the spill still holds. */
  readonly pending: number;
  readonly balance: number | undefined;
}

/** Entries that the group has not been given yet, as well as that is known. */
export const waitingIn = ({ lag, lagTold }: StreamFacts): number => lag ?? lagTold ?? 0;

export function ledgerOf({ facts, spill }: Pick<LaneSnapshot, 'facts' | 'spill'>): Ledger | undefined {
  if (facts === null) return undefined;
  const { stored = 0, duplicate = 0, spilled = 0, dead_lettered = 0, dropped = 0, trimmed = 0 } = facts.ledger;
  // Entries that a newly made group was given although an earlier one had settled them (or, below 0, entries that were
  // gone from the stream before there was a group).
  const { reoffered = 0 } = facts.ledger;
  const added = facts.added + Math.min(0, reoffered);
  const inStream = facts.lag === undefined ? undefined : facts.pending + facts.lag;
  const durable = stored + duplicate + spilled - Math.max(0, reoffered);
  const acknowledged = durable + dead_lettered + dropped + trimmed;
  return {
    added,
    stored: durable - spill.records,
    deadLettered: dead_lettered,
    dropped: dropped + trimmed,
    pending: facts.pending + waitingIn(facts) + spill.records,
    balance: inStream === undefined ? undefined : added - acknowledged - inStream,
  };
}
