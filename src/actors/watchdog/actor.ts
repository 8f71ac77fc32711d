import type { FeedVerdict } from '../../protocols/console-api.ts';
import type { WatchdogSettings } from '../../protocols/topology.ts';
import type { Ticker } from '../../protocols/venue.ts';
import type { Behaviour } from '../../supervision/actor.ts';
import { HeartbeatWatch, LOOKS_TO_HANG } from '../../supervision/threads/heartbeat.ts';
import { WORD_BYTES } from '../../supervision/threads/layout.ts';
import { THREAD } from '../../supervision/threads/thread-block.ts';
import type { WorkerThread } from '../../supervision/threads/worker-life.ts';
import { receive, type StalledWorker, startWatchdog, type WatchdogEffect, type WatchdogState } from './behaviour.ts';

export interface WatchdogOptions {
  readonly settings: WatchdogSettings;
  /** The workers that should run, each with its thread. */
  readonly workers: () => ReadonlyMap<number, Pick<WorkerThread, 'life' | 'state' | 'memory' | 'blockAt'>>;
  /** Every symbol that is served, with the frames that its stream of trades has brought so far. */
  readonly frames: () => ReadonlyMap<string, number>;
  readonly perform: (effect: WatchdogEffect) => void;
  /** Hears the verdicts of every look. */
  readonly onVerdicts: (verdicts: ReadonlyMap<string, FeedVerdict>) => void;
}

export type WatchdogCommand =
  | { readonly kind: 'tickers'; readonly tickers: ReadonlyMap<string, Ticker> }
  | { readonly kind: 'reconfigure'; readonly settings: WatchdogSettings };
type Internal = { readonly kind: 'look-at-symbols' } | { readonly kind: 'look-at-workers' };

const LOOK_MS = 1_000;
/** Tickers come once a second; one that took three is still about the trade before. */
const TICKER_LAG_MS = 3_000;
const COOL_DOWN_MS = 60_000;

export function watchdog(options: WatchdogOptions): Behaviour<WatchdogCommand | Internal, WatchdogState> {
  // What was changed while it ran holds for the next life too.
  let { settings } = options;
  const rules = () => ({
    patienceMs: settings.deadAfterMs,
    tickerLagMs: TICKER_LAG_MS,
    coolDownMs: Math.max(COOL_DOWN_MS, settings.deadAfterMs),
  });
  const hearts = new Hearts();

  return {
    init(context) {
      context.timers.every('symbols', LOOK_MS, { kind: 'look-at-symbols' });
      context.timers.every('workers', settings.stallAfterMs / LOOKS_TO_HANG, { kind: 'look-at-workers' });
      return startWatchdog(rules());
    },

    receive(state, message, context) {
      const nowMs = context.now();
      const step = (next: WatchdogState, effects: readonly WatchdogEffect[]) => {
        for (const effect of effects) options.perform(effect);
        return next;
      };
      switch (message.kind) {
        case 'tickers':
          return step(...receive(state, { ...message, nowMs }));
        case 'look-at-workers':
          return step(...receive(state, { kind: 'stalled', workers: hearts.stopped(options.workers()) }));
        case 'look-at-symbols': {
          const next = step(...receive(state, { kind: 'judge', frames: options.frames(), nowMs }));
          options.onVerdicts(next.verdicts);
          return next;
        }
        case 'reconfigure':
          settings = message.settings;
          context.timers.every('workers', settings.stallAfterMs / LOOKS_TO_HANG, { kind: 'look-at-workers' });
          return { ...state, rules: rules() };
      }
    },

    end: () => options.onVerdicts(new Map()),

    summary: ({ verdicts, restarts, resubscriptions }) => {
      const dead = [...verdicts].flatMap(([symbol, verdict]) => (verdict === 'dead' ? [symbol] : []));
      return { symbols: verdicts.size, dead, restarts, resubscriptions };
    },
  };
}

/** The heartbeats of the present lives; a worker that is starting or stopping is its supervisor's business. */
class Hearts {
  readonly #watches = new Map<number, { readonly life: number; readonly watch: HeartbeatWatch }>();

  stopped(workers: ReturnType<WatchdogOptions['workers']>): StalledWorker[] {
    for (const worker of this.#watches.keys()) if (!workers.has(worker)) this.#watches.delete(worker);
    return [...workers].flatMap(([worker, { life, state, memory, blockAt }]) => {
      if (state !== 'running') {
        this.#watches.delete(worker);
        return [];
      }
      const known = this.#watches.get(worker);
      const fresh = () => new HeartbeatWatch(memory, blockAt / WORD_BYTES + THREAD.BEATS);
      const watch = known?.life === life ? known.watch : fresh();
      this.#watches.set(worker, { life, watch });
      return watch.hasStopped() ? [{ worker, life }] : [];
    });
  }
}
