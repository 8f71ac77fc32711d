import { Counter, Gauge, Registry } from 'prom-client';
import type { ActorInfo, LatencyInfo } from '../../supervision/inspect.ts';

/** The path of all actors that found no room for a label of their own. */
const OTHER = 'other';

/**
 * The actors in Prometheus' words, filled anew from the tree at each scrape, so that an actor that is gone is gone here.
 * Labels must not grow with what comes from outside: past a limit, actors are summed as one. One that has a label keeps it.
 */
export class ActorMetrics {
  readonly #registry = new Registry();
  readonly #messages = this.#counter('actor_messages_total', 'Messages handled.');
  readonly #depth = this.#gauge('actor_mailbox_depth', 'Messages waiting.');
  readonly #highWater = this.#gauge('actor_mailbox_high_water', 'Most messages that ever waited.');
  readonly #capacity = this.#gauge('actor_mailbox_capacity', 'Messages that may wait.');
  readonly #dropped = this.#counter('actor_mailbox_dropped_total', 'Messages not taken, by policy.', 'policy');
  readonly #conflated = this.#counter(
    'actor_mailbox_conflated_total',
    'Messages replaced by a newer one of their key.',
  );
  readonly #restarts = this.#counter('actor_restarts_total', 'Lives after the first.');
  readonly #unhandled = this.#counter('actor_unhandled_total', 'Messages that had no meaning in their state.');
  readonly #up = this.#gauge('actor_up', '1 while the actor runs.');
  readonly #wait = this.#gauge(
    'actor_wait_seconds',
    'Time in the mailbox in the last minute, by quantile.',
    'quantile',
  );
  readonly #processing = this.#gauge(
    'actor_processing_seconds',
    'Time to handle a message in the last minute, by quantile.',
    'quantile',
  );
  readonly #failures = this.#counter('actor_failures_total', 'Lives that ended by failure.');
  readonly #deadLetters = new Counter({
    name: 'actor_dead_letters_total',
    help: 'Messages that nobody will handle.',
    registers: [this.#registry],
  });

  readonly #unnamed = new Counter({
    name: 'actor_label_overflow_total',
    help: 'Actors that were summed as `other`, counted at each scrape.',
    registers: [this.#registry],
  });
  readonly #pathsMax: number;
  #named = new Set<string>();
  #overflow = 0;

  constructor(pathsMax: number) {
    this.#pathsMax = pathsMax;
  }

  /** `failures` are counted by path since the console began to listen. */
  async render(
    actors: readonly ActorInfo[],
    failures: ReadonlyMap<string, number>,
    deadLetters: number,
  ): Promise<string> {
    this.#registry.resetMetrics();
    this.#name(actors);
    const labelOf = (path: string) => (this.#named.has(path) ? path : OTHER);
    for (const info of actors) this.#fill(labelOf(info.path), info);
    for (const [path, count] of failures) this.#failures.inc({ path: labelOf(path) }, count);
    this.#overflow += actors.length - this.#named.size;
    this.#unnamed.inc(this.#overflow);
    this.#deadLetters.inc(deadLetters);
    return this.#registry.metrics();
  }

  #name(actors: readonly ActorInfo[]): void {
    const present = new Set(actors.map((info) => info.path));
    this.#named = new Set([...this.#named].filter((path) => present.has(path)));
    for (const path of present) {
      if (this.#named.size >= this.#pathsMax) return;
      this.#named.add(path);
    }
  }

  #fill(path: string, info: ActorInfo): void {
    this.#messages.inc({ path }, info.messages);
    this.#restarts.inc({ path }, info.restarts);
    this.#unhandled.inc({ path }, info.unhandled);
    this.#up.inc({ path }, info.state === 'running' ? 1 : 0);
    quantiles(this.#wait, path, info.waitMs);
    quantiles(this.#processing, path, info.processingMs);
    const { mailbox } = info;
    if (mailbox === undefined) return;
    this.#depth.inc({ path }, mailbox.depth);
    this.#highWater.inc({ path }, mailbox.highWater);
    this.#capacity.inc({ path }, mailbox.capacity);
    this.#conflated.inc({ path }, mailbox.conflated);
    this.#dropped.inc({ path, policy: 'reject' }, mailbox.rejected);
    this.#dropped.inc({ path, policy: 'drop-oldest' }, mailbox.droppedOldest);
    this.#dropped.inc({ path, policy: 'drop-newest' }, mailbox.droppedNewest);
  }

  #counter(name: string, help: string, ...labels: string[]): Counter {
    return new Counter({ name, help, labelNames: ['path', ...labels], registers: [this.#registry] });
  }

  #gauge(name: string, help: string, ...labels: string[]): Gauge {
    return new Gauge({ name, help, labelNames: ['path', ...labels], registers: [this.#registry] });
  }
}

function quantiles(gauge: Gauge, path: string, latency: LatencyInfo | undefined): void {
  if (latency === undefined || path === OTHER) return;
  gauge.set({ path, quantile: '0.5' }, latency.p50 / 1000);
  gauge.set({ path, quantile: '0.99' }, latency.p99 / 1000);
  gauge.set({ path, quantile: '1' }, latency.max / 1000);
}
