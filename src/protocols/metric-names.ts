/** A metric of /metrics. Labels are bounded: past `metrics.maxLabelValues` the rest is counted under `other`. */
export interface MetricFacts {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly labels: readonly string[];
  readonly help: string;
}

const counter = (help: string, ...labels: string[]): MetricFacts => ({ type: 'counter', labels, help });
const gauge = (help: string, ...labels: string[]): MetricFacts => ({ type: 'gauge', labels, help });
const histogram = (help: string, ...labels: string[]): MetricFacts => ({ type: 'histogram', labels, help });

/** Every metric that dashboards and alert rules may rely on. */
export const METRICS: Readonly<Record<string, MetricFacts>> = {
  actor_up: gauge('1 while the actor runs.', 'path'),
  actor_messages_total: counter('Messages handled.', 'path'),
  actor_mailbox_depth: gauge('Messages waiting.', 'path'),
  actor_mailbox_high_water: gauge('Most messages that ever waited.', 'path'),
  actor_mailbox_capacity: gauge('Messages that may wait.', 'path'),
  actor_mailbox_dropped_total: counter('Messages not taken, by policy.', 'path', 'policy'),
  actor_mailbox_conflated_total: counter('Messages replaced by a newer one of their key.', 'path'),
  actor_restarts_total: counter('Lives after the first.', 'path'),
  actor_unhandled_total: counter('Messages that had no meaning in their state.', 'path'),
  actor_failures_total: counter('Lives that ended by failure.', 'path'),
  actor_dead_letters_total: counter('Messages that nobody will handle.'),
  actor_wait_seconds: gauge('Time in the mailbox, by quantile.', 'path', 'quantile'),
  actor_processing_seconds: gauge('Time to handle a message, by quantile.', 'path', 'quantile'),

  orderbook_messages_total: counter('Frames received.', 'exchange'),
  orderbook_errors_total: counter('Frames refused.', 'exchange'),
  orderbook_reconnections_total: counter('Connections lost.', 'exchange'),
  orderbook_exchange_up: gauge('1 while books of the venue can be merged.', 'exchange'),
  orderbook_merges_total: counter('Summaries merged.'),
  orderbook_uptime_seconds: gauge('Time since the start.'),
  orderbook_decode_duration_seconds: histogram('Time to decode a frame.', 'exchange'),
  orderbook_e2e_duration_seconds: histogram('Time from the receipt of a frame to the summary with it.'),

  kernel_redis_read_total: counter('Entries read.', 'stream'),
  kernel_redis_ack_total: counter('Entries acknowledged.', 'stream'),
  kernel_redis_dlq_total: counter('Entries moved to the dead-letter stream.', 'stream', 'code'),
  kernel_redis_batch_seconds: histogram('Time of a read that brought something.', 'stream'),
  kernel_redis_lag: gauge('Entries that the kernel has not read yet.', 'stream'),
  kernel_redis_pending: gauge('Entries read but not acknowledged.', 'stream'),
  kernel_pg_batch_size: histogram('Rows of a batch.', 'stream'),
  kernel_pg_batch_seconds: histogram('Time to write a batch.', 'stream'),
  kernel_dropped_total: counter('Entries dropped by choice of the configuration.', 'stream'),
  kernel_ledger_balance: gauge('Added minus all that is accounted for; 0 unless something is wrong.', 'stream'),
  kernel_spill_bytes: gauge('Bytes that wait on the disk for Postgres.', 'stream'),
  kernel_spill_quota_bytes: gauge('Bytes that may wait there.', 'stream'),
  kernel_module_silence_seconds: gauge('Time since the module was last heard.', 'module'),
};
