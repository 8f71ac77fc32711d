import type { ActorDetail, Pulse, ThreadView } from '../../protocols/console-api.ts';
import type { ConsoleSettings } from '../../protocols/topology.ts';
import { OVERDUE, within } from '../../supervision/deadline.ts';
import { flatten } from '../../supervision/inspect.ts';
import type { LifecycleEvent } from '../../supervision/lifecycle.ts';
import type { ConsoleSources } from '../sources.ts';
import { ActorMetrics } from './actor-metrics.ts';
import { EventLog } from './event-log.ts';
import { ActorSampler, SAMPLE_PERIOD_MS } from './sampler.ts';
import { ThreadSampler } from './thread-sampler.ts';
import { pulseOf, threadsOf } from './views.ts';

const DETAIL_EVENTS_MAX = 30;
const FAILING_PATHS_MAX = 1000;
/** After an event the tree is looked at so soon, once for all events of that time. */
const GLANCE_AFTER_MS = 100;
/** An actor that does not tell about itself in this time is shown without its own words. */
const SUMMARY_DEADLINE_MS = 1000;

/** Everything that the console knows of the actor system, looked at once a second for all readers. */
export class Observatory {
  readonly sampler: ActorSampler;
  readonly events = new EventLog();
  readonly #sources: ConsoleSources;
  readonly #control: boolean;
  readonly #threads = new ThreadSampler();
  readonly #metrics: ActorMetrics;
  readonly #failures = new Map<string, number>();
  readonly #startedAtMs = Date.now();
  readonly #timer: NodeJS.Timeout;
  readonly #unlisten: () => void;
  #glance: NodeJS.Timeout | undefined;

  constructor(sources: ConsoleSources, { control, labelValuesMax }: ConsoleSettings) {
    this.#sources = sources;
    this.#control = control;
    this.#metrics = new ActorMetrics(labelValuesMax);
    this.sampler = new ActorSampler(sources.actors);
    this.#unlisten = sources.actors.events.listen((event) => this.#note(event));
    this.#look();
    this.#timer = setInterval(() => this.#look(), SAMPLE_PERIOD_MS);
    this.#timer.unref();
  }

  close(): void {
    clearInterval(this.#timer);
    clearTimeout(this.#glance);
    this.#unlisten();
    this.#threads.close();
  }

  pulse(): Pulse {
    const options = { control: this.#control, startedAtMs: this.#startedAtMs };
    return pulseOf(this.#sources, this.sampler, this.events, options);
  }

  threads(): readonly ThreadView[] {
    return threadsOf(this.sampler, this.#threads);
  }

  /** Undefined when there is no such actor. */
  async detail(path: string): Promise<ActorDetail | undefined> {
    const at = this.sampler.indexOf(path);
    if (at < 0) return undefined;
    const { incarnation, unhandled, mailbox } = this.sampler.actors[at]!;
    const [shape, values] = [this.sampler.shapes[at]!, this.sampler.values[at]!];
    const { rejected = 0, droppedOldest: oldest = 0, droppedNewest: newest = 0, conflated = 0 } = mailbox ?? {};
    return {
      ...{ shape, values, incarnation, unhandled, conflated },
      drops: { rejected, oldest, newest },
      summary: shape.kind === 'actor' ? await this.#summary(path) : null,
      history: this.sampler.historyOf(path),
      events: this.events.of(path, DETAIL_EVENTS_MAX),
    };
  }

  async metrics(): Promise<string> {
    const { actors } = this.#sources;
    const ours = await this.#metrics.render(flatten(actors.tree()), this.#failures, actors.deadLetters.count);
    const planes = await this.#sources.metrics?.();
    return planes === undefined ? ours : `${planes.trimEnd()}\n${ours}`;
  }

  async #summary(path: string): Promise<unknown> {
    const summary = await within(SUMMARY_DEADLINE_MS, this.#sources.actors.summary(path)).catch(() => OVERDUE);
    return summary === OVERDUE ? null : (summary ?? null);
  }

  #look(): void {
    const nowMs = Date.now();
    this.sampler.sample(nowMs);
    this.#threads.sample(this.sampler.actors, nowMs);
  }

  #note(event: LifecycleEvent): void {
    this.events.add(event, Date.now());
    this.#glance ??= setTimeout(() => {
      this.#glance = undefined;
      this.sampler.glance(Date.now());
    }, GLANCE_AFTER_MS).unref();
    if (event.kind !== 'failed') return;
    const path = this.#failures.has(event.path) || this.#failures.size < FAILING_PATHS_MAX ? event.path : 'other';
    this.#failures.set(path, (this.#failures.get(path) ?? 0) + 1);
  }
}
