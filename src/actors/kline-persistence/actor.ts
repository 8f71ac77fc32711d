import type { PartitionCommand } from '../../protocols/partition.ts';
import type { KlinePersistenceSettings } from '../../protocols/topology.ts';
import type { ActorContext, Behaviour } from '../../supervision/actor.ts';
import {
  type PersistenceEffect,
  type PersistenceMessage,
  type PersistenceState,
  receive,
  startPersistence,
} from './behaviour.ts';
import type { NamedBar } from './rows.ts';
import type { Progress } from './store.ts';
import type { StoreLink } from './store-link.ts';

/** A worker as persistence sees it. */
export interface PersistedWorker {
  readonly worker: number;
  snapshot(): Promise<{ readonly snapshot: number; readonly bars: readonly NamedBar[] }>;
  tell(command: PartitionCommand): void;
}

export interface KlinePersistenceOptions {
  readonly settings: KlinePersistenceSettings;
  readonly workers: () => readonly PersistedWorker[];
  readonly link: StoreLink;
  /** Of those who read; closed with the writer's. */
  readonly readers: StoreLink;
  /** Since when a symbol is watched, in venue time. */
  readonly sinceUs: (venue: string, symbol: string) => bigint;
  /** Told with each outcome: what the trouble is, or undefined when bars are stored. */
  readonly onOutcome: (trouble: string | undefined) => void;
}

type Message = PersistenceMessage<NamedBar>;

interface State {
  readonly machine: PersistenceState<NamedBar>;
  readonly stored: number;
  readonly batches: number;
}

const ANSWER_WITHIN_MS = 2_000;
const RETRY_MS = 1_000;
const LAST_FLUSH_MS = 5_000;

/** Runs the persistence machine: its effects are questions to workers, one transaction at a time, and timers. */
export function klinePersistence(options: KlinePersistenceOptions): Behaviour<Message, State> {
  const { settings, link } = options;
  const counts = { stored: 0, batches: 0 };
  const workerOf = (worker: number) => options.workers().find((one) => one.worker === worker);

  const store = async (bars: readonly NamedBar[]): Promise<void> => {
    await link.use((store) => store.write(bars, progressOf(bars, options.sinceUs)));
    counts.stored += bars.length;
    counts.batches++;
  };

  const run = (effect: PersistenceEffect<NamedBar>, context: ActorContext<Message>): void => {
    const { self, timers } = context;
    switch (effect.kind) {
      case 'ask-snapshot': {
        const { worker } = effect;
        // One that does not answer is passed over at the deadline.
        workerOf(worker)
          ?.snapshot()
          .then(
            (snapshot) => self.tell({ kind: 'snapshot', worker, ...snapshot }),
            () => undefined,
          );
        break;
      }
      case 'set-timer':
        timers.once(effect.timer, effect.delayMs, { kind: effect.timer });
        break;
      case 'store':
        store(effect.bars).then(
          () => {
            options.onOutcome(undefined);
            self.tell({ kind: 'stored' });
          },
          (error: Error) => {
            options.onOutcome(error.message);
            self.tell({ kind: 'store-failed', nowMs: context.now() });
          },
        );
        break;
      case 'spill':
        // The spill takes events; bars wait in their workers, which hold them in bounded memory.
        self.tell({ kind: 'spill-refused' });
        break;
      case 'commit':
        workerOf(effect.worker)?.tell({ kind: 'commit', reader: 'persistence', snapshot: effect.snapshot });
        break;
    }
  };

  /** What the workers still have goes to the table before they end. */
  const flush = async (): Promise<void> => {
    const snapshots = await Promise.all(
      options.workers().map(async (worker) => ({ worker, ...(await worker.snapshot()) })),
    );
    const bars = snapshots.flatMap((one) => one.bars);
    if (bars.length > 0) await store(bars);
    for (const { worker, snapshot } of snapshots) worker.tell({ kind: 'commit', reader: 'persistence', snapshot });
  };

  return {
    init(context) {
      context.timers.every('period', settings.everyMs, { kind: 'period' });
      const workers = options.workers().map(({ worker }) => worker);
      const limits = { spillAfterMs: Number.POSITIVE_INFINITY, answerWithinMs: ANSWER_WITHIN_MS, retryMs: RETRY_MS };
      return { machine: startPersistence<NamedBar>(workers, limits), ...counts };
    },
    receive(state, message, context) {
      const workers = options.workers().map(({ worker }) => worker);
      const [current, before] = receive(state.machine, { kind: 'workers', workers });
      const [machine, effects] = receive(current, message);
      for (const effect of [...before, ...effects]) run(effect, context);
      return { machine, ...counts };
    },
    async end() {
      const late = new Promise<void>((resolve) => setTimeout(resolve, LAST_FLUSH_MS).unref());
      await Promise.race([flush().catch((error: Error) => options.onOutcome(error.message)), late]);
      await Promise.all([link.close(), options.readers.close()]);
    },
    summary: ({ machine, stored, batches }) => ({ phase: machine.phase, stored, batches }),
  };
}

/** Where each symbol of a batch goes on after a restart. */
function progressOf(bars: readonly NamedBar[], sinceUs: KlinePersistenceOptions['sinceUs']): Progress[] {
  const progress = new Map<string, Progress>();
  for (const { venue, symbol, bar } of bars) {
    const known = progress.get(`${venue} ${symbol}`);
    const nextSequence =
      known === undefined || bar.nextSequence > known.nextSequence ? bar.nextSequence : known.nextSequence;
    const lastUs = known === undefined || bar.openUs > known.lastUs ? bar.openUs : known.lastUs;
    progress.set(`${venue} ${symbol}`, {
      venue,
      symbol,
      nextSequence,
      lastUs,
      sinceUs: known?.sinceUs ?? sinceUs(venue, symbol),
    });
  }
  return [...progress.values()];
}
