import type * as api from '../protocols/console-api.ts';
import type { TopologyReply } from '../protocols/control-api.ts';
import type { ActorInfo } from '../supervision/inspect.ts';
import type { LifecycleEvent } from '../supervision/lifecycle.ts';

/**
 * What the console can show. The program that assembles the system gives what it runs; a page whose source is missing
 * says so. Everything that answers at once is called often and must be cheap: reading shared memory or a field.
 */
export interface ConsoleSources {
  readonly actors: ActorsSource;
  readonly health: () => api.HealthView;
  /** Whether the system has come up; until then /ready refuses. */
  readonly isReady: () => boolean;
  /** Whether the venues are simulated ones. */
  readonly isSimulated: boolean;
  /** Prometheus text of what the planes count; the console adds the actors. */
  readonly metrics?: () => string | Promise<string>;
  readonly books?: BooksSource;
  readonly bars?: BarsSource;
  readonly ingest?: IngestSource;
  readonly topology?: TopologySource;
}

/** An ActorSystem is one. */
export interface ActorsSource {
  tree(): ActorInfo;
  readonly events: { listen(listener: (event: LifecycleEvent) => void): () => void };
  readonly deadLetters: { readonly count: number };
  summary(path: string): Promise<unknown>;
  restart(path: string): void;
  suspend(path: string): void;
  resume(path: string): void;
}

export interface BooksSource {
  catalogue(): api.BooksCatalogue;
  /** Undefined while nothing was merged yet. */
  latest(symbol: string): api.BookView | undefined;
  /** From a frame's arrival to its publication. */
  latency(): api.HistogramView | undefined;
}

export interface BarsSource {
  catalogue(): api.BarsCatalogue;
  /** The last bars, oldest first, the open one included. */
  history(symbol: string, interval: string, limit: number): Promise<readonly api.BarView[]>;
  /** Tells of each bar that is new or changed, revisions of old ones included. The answer ends it. */
  listen(symbol: string, interval: string, listener: (bar: api.BarView) => void): () => void;
}

export interface IngestSource {
  view(): api.IngestView;
  /** The newest first. */
  deadLetters(limit: number): Promise<readonly api.DeadLetterView[]>;
  retry(ids: readonly string[]): Promise<api.RetryOutcome>;
}

/** A TopologyControl, and what it controls. Bodies are JSON that anyone may have sent. */
export interface TopologySource {
  running(): api.TopologyView;
  plan(body: unknown): TopologyReply;
  apply(body: unknown): Promise<TopologyReply>;
}
