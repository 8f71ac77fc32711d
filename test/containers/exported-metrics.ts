// What the program really exports, read from the text that its exporters write for a small sample.
import { renderIngestMetrics } from '../../src/actors/kernel-ingest/metrics.ts';
import { NEW_CLOCK } from '../../src/actors/partition-worker/venue-clock.ts';
import { ActorMetrics } from '../../src/console/server/actor-metrics.ts';
import { BookMetrics } from '../../src/program/book-metrics.ts';
import { WorkerMetrics } from '../../src/program/worker-metrics.ts';
import type { ExchangeStatus } from '../../src/protocols/exchange.ts';
import type { LaneSnapshot } from '../../src/protocols/ingest-snapshot.ts';
import type { ActorInfo } from '../../src/supervision/inspect.ts';

export interface ExportedMetric {
  readonly type: string;
  readonly labels: readonly string[];
}

const latency = { p50: 1, p99: 2, max: 3 };
const actor = {
  ...{ path: '/a', state: 'running', messages: 1, restarts: 0, unhandled: 0, waitMs: latency, processingMs: latency },
  mailbox: { depth: 0, highWater: 0, capacity: 1, conflated: 0, rejected: 0, droppedOldest: 0, droppedNewest: 0 },
} as unknown as ActorInfo;

const exchange = {
  ...{
    venue: 'binance',
    streams: [],
    counters: { messages: 1, errors: 0, reconnections: 0, rotations: 0, rotationsFailed: 0 },
  },
} as unknown as ExchangeStatus;

const histogram = { bounds: [1], counts: [1, 1], sum: 2 };
const lane = {
  ...{ stream: 'events', mode: 'flowing', inFlight: 0, health: { state: 'green', reasons: [] }, counts: { read: 1 } },
  deadLetters: { 'decode/bad_id': 1 },
  spill: { records: 0, bytes: 0, segments: 0 },
  facts: {
    added: 1,
    length: 1,
    pending: 0,
    lag: 0,
    lagTold: 0,
    lastDelivered: '0-0',
    oldestPending: undefined,
    ledger: {},
  },
  modules: [{ source: 'collector', connection: 'c', lastSeenMs: 1, lastHeartbeatMs: 1, status: undefined, events: 1 }],
  ...{ readSeconds: histogram, ackSeconds: histogram, writeRows: histogram, writeSeconds: histogram },
} as unknown as LaneSnapshot;

const line = {
  ...{ ringDepth: 0, ringHighWater: 0, snapshotAgeMs: 1, troubles: { holes: 0, doubts: 0 } },
  ask: async () => ({ kind: 'counters', counters: { applied: 1n } }),
};
const thread = { work: () => ({ handled: 0, processing: { count: 0, sumNs: 0 } }) };
const repair = { asked: 1, done: 1, failed: 0, limited: 0, fetched: 1, waiting: 0, turnedAway: 0, weight: 1 };
const workers = new Map([[0, { line, thread }]]) as unknown as ReturnType<
  ConstructorParameters<typeof WorkerMetrics>[0]['workers']
>;

const text = [
  await new WorkerMetrics({
    workers: () => workers,
    statuses: () => [exchange],
    verdicts: () => new Map([['binance:BTCUSDT', 'live']]),
    watchdog: () => ({ restarts: 0, resubscriptions: 0 }),
    repairs: () => new Map([['binance', repair]]),
    clocks: () => new Map([['binance', NEW_CLOCK]]),
  }).text(),
  await new ActorMetrics(10).render([actor], new Map([['/a', 1]]), 1),
  await new BookMetrics(
    () => [exchange],
    async () => undefined,
  ).text(),
  await renderIngestMetrics({ lanes: [lane], republish: { published: 0, dropped: 0, waiting: 0 } }),
].join('\n');

function labelsOf(name: string): string[] {
  const lines = text.matchAll(new RegExp(`^${name}(?:_bucket|_sum|_count)?\\{([^}]*)\\}`, 'gm'));
  const labels = [...lines].flatMap((line) => [...line[1]!.matchAll(/(\w+)="/g)].map((match) => match[1]!));
  return [...new Set(labels)];
}

export const METRICS: Readonly<Record<string, ExportedMetric>> = Object.fromEntries(
  [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map((match) => [
    match[1]!,
    { type: match[2]!, labels: labelsOf(match[1]!) },
  ]),
);
