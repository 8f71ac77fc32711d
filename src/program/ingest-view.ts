import type { IngestView, LedgerView, ModuleView } from '../protocols/console-api.ts';
import { type HistogramSnapshot, type LaneSnapshot, ledgerOf, waitingIn } from '../protocols/ingest-snapshot.ts';

interface ExpectedModule {
  readonly name: string;
  readonly silentAfterMs: number;
  readonly stream: string;
}

/** The ingest plane as the dashboard shows it, from what its lanes last said. */
export function ingestView(
  lanes: readonly LaneSnapshot[],
  modules: readonly ExpectedModule[],
  spillBytesMax: number,
  perSecond: (stream: string, added: number) => number,
): IngestView {
  const sum = (pick: (lane: LaneSnapshot) => number) => lanes.reduce((total, lane) => total + pick(lane), 0);
  const rows = added(lanes.map((lane) => lane.writeRows));
  const seconds = added(lanes.map((lane) => lane.writeSeconds));
  const troubled = lanes.find((lane) => lane.mode !== 'flowing');
  return {
    ledgers: lanes.flatMap((lane) => ledgerView(lane, perSecond)),
    batches: {
      count: sum((lane) => lane.counts.commits),
      rowsP50: percentile(rows, 0.5),
      writeP50Ms: percentile(seconds, 0.5) * 1000,
      writeP99Ms: percentile(seconds, 0.99) * 1000,
    },
    spill: {
      bytes: sum((lane) => lane.spill.bytes),
      maxBytes: spillBytesMax,
      segments: sum((lane) => lane.spill.segments),
      quarantined: sum((lane) => lane.counts.spillLost),
    },
    breaker: {
      state: troubled === undefined ? 'closed' : troubled.mode === 'draining' ? 'half-open' : 'open',
      reason: troubled?.health.reasons[0] ?? '',
      sinceAtMs: null,
    },
    modules: modules.map((module) => moduleView(module, lanes)),
  };
}

function ledgerView(lane: LaneSnapshot, perSecond: (stream: string, added: number) => number): LedgerView[] {
  const ledger = ledgerOf(lane);
  if (ledger === undefined || lane.facts === null) return [];
  const { facts } = lane;
  return [
    {
      stream: lane.stream,
      added: ledger.added,
      stored: ledger.stored,
      deadLettered: ledger.deadLettered,
      dropped: ledger.dropped,
      pending: { undelivered: waitingIn(facts), delivered: facts.pending, spilled: lane.spill.records },
      lagMs: waitingIn(facts) === 0 ? 0 : Math.max(0, Date.now() - Number(facts.lastDelivered.split('-')[0])),
      perSecond: perSecond(lane.stream, ledger.added),
    },
  ];
}

function moduleView({ name, silentAfterMs, stream }: ExpectedModule, lanes: readonly LaneSnapshot[]): ModuleView {
  const sights = lanes
    .filter((lane) => lane.stream === stream || lane.stream.startsWith(`${stream}:`))
    .flatMap((lane) => lane.modules)
    .filter((sight) => sight.source === name || sight.connection.startsWith(name));
  const heardMs = Math.max(0, ...sights.map((sight) => sight.lastSeenMs));
  const state = heardMs === 0 ? 'never-heard' : Date.now() - heardMs > silentAfterMs ? 'silent' : 'alive';
  return { name, streams: [stream], state, lastHeardAtMs: heardMs === 0 ? null : heardMs };
}

/** Histograms of the same buckets, as one. */
function added(histograms: readonly HistogramSnapshot[]): HistogramSnapshot {
  const [first, ...others] = histograms;
  if (first === undefined) return { bounds: [], counts: [], sum: 0 };
  return others.reduce(
    (total, one) => ({
      bounds: total.bounds,
      counts: total.counts.map((count, at) => count + (one.counts[at] ?? 0)),
      sum: total.sum + one.sum,
    }),
    first,
  );
}

/** The bound below which the given share of the observations lies. */
function percentile({ bounds, counts }: HistogramSnapshot, share: number): number {
  let left = Math.ceil(counts.reduce((total, count) => total + count, 0) * share);
  if (left === 0) return 0;
  for (const [at, count] of counts.entries()) {
    left -= count;
    if (left <= 0) return bounds[at] ?? bounds.at(-1) ?? 0;
  }
  return bounds.at(-1) ?? 0;
}
