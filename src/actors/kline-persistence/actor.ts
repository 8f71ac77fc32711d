import { TapeworksError } from '../../protocols/errors/index.ts';
import type { PartitionCommand } from '../../protocols/partition.ts';
import type { KlinePersistenceSettings } from '../../protocols/topology.ts';
import type { ActorContext, Behaviour } from '../../supervision/actor.ts';
import { OVERDUE, within } from '../../supervision/deadline.ts';
import type { BarSpill } from './bar-spill.ts';
import {
  type PersistenceEffect,
  type PersistenceMessage,
  type PersistenceState,
  receive,
  startPersistence,
} from './behaviour.ts';
import { latestOfEach, type NamedBar } from './rows.ts';
import type { StoreLink } from './store-link.ts';
import { namedBars, progressOf, type SymbolState, SymbolStates } from './symbol-state.ts';

/** A worker as persistence sees it. */
export interface PersistedWorker {
  readonly worker: number;
  snapshot(): Promise<{ readonly snapshot: number; readonly bars: readonly NamedBar[] }>;
  tell(command: PartitionCommand): void;
}

/** Where bars are that wait for Postgres, and why. */
export interface BarsStanding {
  readonly mode: PersistenceState<NamedBar>['mode'];
  /** Bars in memory only, and closed bars in the spill. */
  readonly inMemory: number;
  readonly inSpill: number;
  /** Records that could not be read again, and those that were damaged on the disk. */
  readonly lost: number;
  readonly trouble: string | undefined;
  /** Why the spill takes nothing; undefined when it does. */
  readonly spillTrouble: string | undefined;
  readonly stored: number;
}

export interface KlinePersistenceOptions {
  readonly settings: KlinePersistenceSettings;
  readonly workers: () => readonly PersistedWorker[];
  readonly link: StoreLink;
  /** Of those who read; closed with the writer's. */
  readonly readers: StoreLink;
  readonly spill: BarSpill;
  /** Since when a symbol is watched, in venue time. */
  readonly sinceUs: (venue: string, symbol: string) => bigint;
  readonly onStanding: (standing: BarsStanding) => void;
}

type Message = PersistenceMessage<NamedBar>;

interface State {
  readonly machine: PersistenceState<NamedBar>;
  readonly stored: number;
  readonly batches: number;
}

const ANSWER_WITHIN_MS = 2_000;
const STORE_WITHIN_MS = 3_000;
const PROBE_MS = 1_000;
/** At the end: a Postgres that has not answered by then gets the bars from the spill, after the next start. */
const LAST_STORE_MS = 1_000;
const LAST_FLUSH_MS = 5_000;

/** Runs the persistence machine: its effects are questions to workers, one transaction at a time, the spill, and timers. */
export function klinePersistence(options: KlinePersistenceOptions): Behaviour<Message, State> {
  const { settings, link, spill } = options;
  const counts = { stored: 0, batches: 0 };
  const states = new SymbolStates(options.sinceUs);
  let machine: PersistenceState<NamedBar> | undefined;
  let trouble: string | undefined;
  let spillTrouble: string | undefined;
  /** Open bars are not spilled as they change: after an outage the newest of each is stored once. */
  let isBehind = false;

  const workerOf = (worker: number) => options.workers().find((one) => one.worker === worker);

  const keep = async (taken: readonly SymbolState[]): Promise<void> => {
    const bars = namedBars(taken);
    await link.use((store) => store.write(bars, progressOf(taken)));
    counts.stored += bars.length;
    counts.batches++;
  };

  const store = async (bars: readonly NamedBar[]): Promise<void> => {
    const taken = states.take(bars);
    await keep(isBehind ? [...taken, ...states.all()] : taken);
    isBehind = false;
  };

  /** Of symbols in which nothing closed, the next batch will bring a newer state. */
  const putAside = async (bars: readonly NamedBar[], isFirst: boolean): Promise<void> => {
    isBehind = true;
    const closing = states.take(bars).filter((state) => state.bars.some(({ closed }) => closed));
    // The first of an outage has all symbols, so that a restart within it finds every one of them.
    await spill.append([...(isFirst ? states.all() : []), ...closing.map((state) => states.whole(state))]);
  };

  const settle = (work: Promise<Message>, otherwise: Message, context: ActorContext<Message>): void => {
    work.then(
      (message) => context.self.tell(message),
      () => context.self.tell(otherwise),
    );
  };

  const blamePostgres = (error: Error): never => {
    trouble = error.message;
    throw error;
  };

  const run = (effect: PersistenceEffect<NamedBar>, context: ActorContext<Message>): void => {
    switch (effect.kind) {
      case 'ask-snapshot': {
        const { worker } = effect;
        // One that does not answer is passed over at the deadline.
        workerOf(worker)
          ?.snapshot()
          .then(
            (snapshot) => context.self.tell({ kind: 'snapshot', worker, ...snapshot }),
            () => undefined,
          );
        break;
      }
      case 'set-timer':
        context.timers.once(effect.timer, effect.delayMs, { kind: effect.timer });
        break;
      case 'store':
        settle(
          store(effect.bars).then(() => ({ kind: 'stored' }), blamePostgres),
          { kind: 'store-failed' },
          context,
        );
        break;
      case 'spill':
        settle(
          putAside(effect.bars, effect.isFirst).then(
            () => {
              spillTrouble = undefined;
              return { kind: 'spilled' };
            },
            (error: Error) => {
              spillTrouble = error instanceof TapeworksError ? `${error.code}: ${error.message}` : error.message;
              throw error;
            },
          ),
          { kind: 'spill-refused' },
          context,
        );
        break;
      case 'probe':
        settle(
          link.use((store) => store.ping()).then(() => ({ kind: 'probed', ok: true }), blamePostgres),
          { kind: 'probed', ok: false },
          context,
        );
        break;
      case 'replay':
        settle(
          spill.replay(keep).then((left) => ({ kind: 'replayed', left }), blamePostgres),
          { kind: 'replay-failed' },
          context,
        );
        break;
      case 'commit':
        workerOf(effect.worker)?.tell({ kind: 'commit', reader: 'persistence', snapshot: effect.snapshot });
        break;
    }
  };

  /** What the workers still have becomes durable before they end. */
  const flush = async (): Promise<void> => {
    const snapshots = await Promise.all(
      options.workers().map(async (worker) => ({ worker, ...(await worker.snapshot()) })),
    );
    const bars = [...(machine?.held ?? []), ...snapshots.flatMap((one) => one.bars)];
    if (bars.length > 0 && machine?.mode === 'flowing') {
      if ((await within(LAST_STORE_MS, store(bars)).catch(() => OVERDUE)) === OVERDUE) await putAside(bars, true);
    } else if (bars.length > 0) await putAside(bars, true);
    for (const { worker, snapshot } of snapshots) worker.tell({ kind: 'commit', reader: 'persistence', snapshot });
  };

  const report = (next: PersistenceState<NamedBar>): void => {
    machine = next;
    if (next.mode === 'flowing' && next.held.length === 0) trouble = undefined;
    const { bars: inSpill, damaged, unreadable } = spill.standing;
    const standing = { inMemory: next.held.length, inSpill, lost: damaged + unreadable, stored: counts.stored };
    options.onStanding({ mode: next.mode, trouble, spillTrouble, ...standing });
  };

  return {
    async init(context) {
      context.timers.every('period', settings.everyMs, { kind: 'period' });
      const workers = options.workers().map(({ worker }) => worker);
      const backlog = await spill.open().catch((error: Error) => {
        spillTrouble = error.message;
        return 0;
      });
      const [started, effects] = startPersistence<NamedBar>(
        workers,
        {
          ...{ answerWithinMs: ANSWER_WITHIN_MS, storeWithinMs: STORE_WITHIN_MS, probeMs: PROBE_MS },
          pendingBars: settings.pendingBars,
          latest: latestOfEach,
        },
        backlog,
      );
      for (const effect of effects) run(effect, context);
      report(started);
      return { machine: started, ...counts };
    },
    receive(state, message, context) {
      const workers = options.workers().map(({ worker }) => worker);
      const [current, before] = receive(state.machine, { kind: 'workers', workers });
      const [next, effects] = receive(current, message);
      for (const effect of [...before, ...effects]) run(effect, context);
      report(next);
      return { machine: next, ...counts };
    },
    async end() {
      const flushed = await within(LAST_FLUSH_MS, flush()).catch((error: Error) => error);
      if (flushed === OVERDUE) trouble = `the last bars were not stored within ${LAST_FLUSH_MS} ms`;
      else if (flushed !== undefined) trouble = flushed.message;
      await Promise.all([link.close(), options.readers.close(), spill.close()]);
    },
    summary: ({ machine: { mode, turn, held }, stored, batches }) => ({
      mode,
      turn: turn.kind,
      ...{ stored, batches, inMemory: held.length },
      spill: spill.standing,
    }),
  };
}
