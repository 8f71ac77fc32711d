import { type Metric, Registry } from 'prom-client';
import {
  type HistogramSnapshot,
  type IngestSnapshot,
  type LaneSnapshot,
  ledgerOf,
  waitingIn,
} from '../../protocols/ingest-snapshot.ts';

// The ingest plane runs on a thread of its own and sends plain numbers; this prints them where they are scraped.

type Labels = Readonly<Record<string, string | number>>;
type Value = { readonly labels: Labels; readonly value: number; readonly metricName?: string };
type Kind = 'counter' | 'gauge' | 'histogram';

const MODES = ['flowing', 'spilling', 'draining'] as const;

/** Prometheus text of a snapshot. */
export function renderIngestMetrics(snapshot: IngestSnapshot): Promise<string> {
  const registry = new Registry();
  const add = (name: string, help: string, kind: Kind, values: readonly Value[]) => {
    const metric = {
      name,
      help,
      type: kind,
      aggregator: 'sum',
      get: () => ({ name, help, type: kind, values, aggregator: 'sum' }),
    };
    registry.registerMetric(metric as unknown as Metric);
  };
  const { lanes } = snapshot;
  const each = (pick: (lane: LaneSnapshot) => number) =>
    lanes.map((lane) => ({ labels: { stream: lane.stream }, value: pick(lane) }));
  for (const [name, help, pick] of COUNTERS) add(name, help, 'counter', each(pick));
  for (const [name, help, pick] of GAUGES) add(name, help, 'gauge', each(pick));
  add('kernel_redis_dlq_total', 'Entries dead-lettered.', 'counter', lanes.flatMap(deadLetterValues));
  add(
    'kernel_ledger',
    'XADD-acked = stored + dead_lettered + dropped + pending, by term; balance is 0.',
    'gauge',
    lanes.flatMap(ledgerValues),
  );
  add(
    'kernel_sink_mode',
    'Whether the lane flows to Postgres, spills, or drains the spill.',
    'gauge',
    lanes.flatMap(({ stream, mode }) =>
      MODES.map((one) => ({ labels: { stream, mode: one }, value: mode === one ? 1 : 0 })),
    ),
  );
  add(
    'kernel_module_last_seen_timestamp_seconds',
    'When the module was last heard, in seconds since 1970.',
    'gauge',
    lastSeenValues(lanes),
  );
  for (const [name, help, pick] of HISTOGRAMS) {
    add(
      name,
      help,
      'histogram',
      lanes.flatMap((lane) => histogramValues(name, lane.stream, pick(lane))),
    );
  }
  const { published, dropped } = snapshot.republish;
  add('kernel_republish_total', 'Stored events put onto the out stream.', 'counter', [
    { labels: {}, value: published },
  ]);
  add('kernel_republish_dropped_total', 'Stored events that its queue had no room for.', 'counter', [
    { labels: {}, value: dropped },
  ]);
  return registry.metrics();
}

const COUNTERS: readonly (readonly [string, string, (lane: LaneSnapshot) => number])[] = [
  ['kernel_redis_read_total', 'Entries read.', ({ counts }) => counts.read],
  [
    'kernel_redis_redelivered_total',
    'Entries read again after a crash, or taken over.',
    ({ counts }) => counts.redelivered,
  ],
  ['kernel_redis_claimed_total', 'Entries taken over from dead consumers.', ({ counts }) => counts.claimed],
  ['kernel_redis_ack_total', 'Entries acknowledged.', ({ counts }) => counts.acked],
  [
    'kernel_redis_ack_missing_total',
    'Acknowledged entries that were no longer pending.',
    ({ counts }) => counts.ackMissing,
  ],
  ['kernel_redis_trimmed_total', 'Entries trimmed by the kernel.', ({ counts }) => counts.trimmedByKernel],
  [
    'kernel_redis_lost_to_trim_total',
    'Entries that someone else trimmed while they were pending.',
    ({ counts }) => counts.trimmed,
  ],
  ['kernel_redis_group_recreated_total', 'Times the consumer group was gone.', ({ counts }) => counts.groupRecreations],
  [
    'kernel_redis_stream_reset_total',
    'Times that Redis had lost the stream, or was back with an older one.',
    ({ counts }) => counts.streamResets,
  ],
  ['kernel_pg_commit_total', 'Batches committed.', ({ counts }) => counts.commits],
  ['kernel_pg_stored_total', 'Events stored for the first time.', ({ counts }) => counts.stored],
  ['kernel_pg_conflict_total', 'Events that were stored already.', ({ counts }) => counts.duplicates],
  ['kernel_spill_write_total', 'Events spilled.', ({ counts }) => counts.spilled],
  ['kernel_spill_replay_total', 'Spilled events stored.', ({ counts }) => counts.replayed],
  [
    'kernel_spill_replay_conflict_total',
    'Spilled events that were stored already.',
    ({ counts }) => counts.replayDuplicates,
  ],
  ['kernel_spill_lost_total', 'Records lost to damage.', ({ counts }) => counts.spillLost],
  ['kernel_spill_recovered_total', 'Lost records found again in Redis.', ({ counts }) => counts.spillRecovered],
  [
    'kernel_ingest_dropped_total',
    "Events dropped by the operator's choice under pressure.",
    ({ counts }) => counts.dropped,
  ],
];

const GAUGES: readonly (readonly [string, string, (lane: LaneSnapshot) => number])[] = [
  ['kernel_ingest_in_flight', 'Entries read and not yet acknowledged.', ({ inFlight }) => inFlight],
  [
    'kernel_redis_pending',
    'Entries delivered and not acknowledged, as Redis counts.',
    ({ facts }) => facts?.pending ?? 0,
  ],
  ['kernel_redis_lag', 'Entries not yet read.', ({ facts }) => (facts === null ? 0 : waitingIn(facts))],
  ['kernel_redis_stream_length', 'Entries in the stream.', ({ facts }) => facts?.length ?? 0],
  ['kernel_spill_records', 'Events in the spill.', ({ spill }) => spill.records],
  ['kernel_spill_bytes', 'Bytes in the spill.', ({ spill }) => spill.bytes],
  ['kernel_spill_files', 'Segments in the spill.', ({ spill }) => spill.segments],
  ['kernel_ingest_red', '1 when the lane needs a person.', ({ health }) => (health.state === 'red' ? 1 : 0)],
];

const HISTOGRAMS: readonly (readonly [string, string, (lane: LaneSnapshot) => HistogramSnapshot])[] = [
  ['kernel_redis_batch_seconds', 'Reading and decoding one batch, waiting included.', (lane) => lane.readSeconds],
  ['kernel_redis_ack_latency_seconds', 'One acknowledgement.', (lane) => lane.ackSeconds],
  ['kernel_pg_batch_size', 'Rows of one batch.', (lane) => lane.writeRows],
  ['kernel_pg_batch_seconds', 'Writing one batch, commit included.', (lane) => lane.writeSeconds],
];

function deadLetterValues({ stream, deadLetters }: LaneSnapshot): Value[] {
  return Object.entries(deadLetters).map(([key, value]) => {
    const [stage = '', code = ''] = key.split('/');
    return { labels: { stream, stage, code }, value };
  });
}

/** A module is heard as long as one of its connections is, on any stream. */
function lastSeenValues(lanes: readonly LaneSnapshot[]): Value[] {
  const seen = new Map<string, number>();
  for (const { source, lastSeenMs } of lanes.flatMap(({ modules }) => modules)) {
    seen.set(source, Math.max(seen.get(source) ?? 0, lastSeenMs));
  }
  return [...seen].map(([source, ms]) => ({ labels: { source }, value: ms / 1000 }));
}

function ledgerValues(lane: LaneSnapshot): Value[] {
  const ledger = ledgerOf(lane);
  if (ledger === undefined) return [];
  const terms = {
    added: ledger.added,
    stored: ledger.stored,
    dead_lettered: ledger.deadLettered,
    dropped: ledger.dropped,
    pending: ledger.pending,
    ...(ledger.balance !== undefined && { balance: ledger.balance }),
  };
  return Object.entries(terms).map(([term, value]) => ({ labels: { stream: lane.stream, term }, value }));
}

function histogramValues(name: string, stream: string, { bounds, counts, sum }: HistogramSnapshot): Value[] {
  let total = 0;
  const buckets = counts.map((count, at) => {
    total += count;
    return { metricName: `${name}_bucket`, labels: { stream, le: bounds[at] ?? '+Inf' }, value: total };
  });
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels: { stream }, value: sum },
    { metricName: `${name}_count`, labels: { stream }, value: total },
  ];
}
