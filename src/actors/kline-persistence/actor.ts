import { TapeworksError } from '../../protocols/errors/index.ts';
import type { PartitionCommand } from '../../protocols/partition.ts';
import type { KlinePersistenceSettings } from '../../protocols/topology.ts';
import type { ActorContext, Behaviour } from '../../supervision/actor.ts';
import { OVERDUE, within } from '../../supervision/deadline.ts';
import { classifyFailure } from '../sink/sqlstate.ts';
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
  /** These bars outlast the process now. */
  readonly onDurable: (bars: readonly NamedBar[]) => void;
}

type Message = PersistenceMessage<NamedBar>;
type Effect = PersistenceEffect<NamedBar>;
type State = PersistenceState<NamedBar>;

const ANSWER_WITHIN_MS = 2_000;
const STORE_WITHIN_MS = 3_000;
const PROBE_MS = 1_000;
/** At the end: a Postgres that has not answered by then gets the bars from the spill, after the next start. */
const LAST_STORE_MS = 1_000;
const LAST_FLUSH_MS = 5_000;

/** Runs the persistence machine: its effects are questions to workers, one transaction at a time, the spill, and timers. */
export function klinePersistence(options: KlinePersistenceOptions): Behaviour<Message, State> {
  return new Persistence(options);
}

/** What it knows outlives its lives: what went wrong in one is told in the next. */
class Persistence implements Behaviour<Message, State> {
  readonly #options: KlinePersistenceOptions;
  readonly #states: SymbolStates;
  readonly #counts = { stored: 0, batches: 0 };
  #trouble: string | undefined;
  #spillTrouble: string | undefined;
  /** Open bars are not spilled as they change: after an outage the newest of each is stored once. */
  #isBehind = false;

  constructor(options: KlinePersistenceOptions) {
    this.#options = options;
    this.#states = new SymbolStates(options.sinceUs);
  }

  async init(context: ActorContext<Message>): Promise<State> {
    const { settings, spill } = this.#options;
    context.timers.every('period', settings.everyMs, { kind: 'period' });
    const backlog = await spill.open().catch((error: Error) => {
      this.#spillTrouble = error.message;
      return 0;
    });
    const [started, effects] = startPersistence<NamedBar>(
      this.#workers(),
      {
        ...{ answerWithinMs: ANSWER_WITHIN_MS, storeWithinMs: STORE_WITHIN_MS, probeMs: PROBE_MS },
        pendingBars: settings.pendingBars,
        latest: latestOfEach,
      },
      backlog,
    );
    return this.#goOn(started, effects, context);
  }

  receive(state: State, message: Message, context: ActorContext<Message>): State {
    const [current, before] = receive(state, { kind: 'workers', workers: this.#workers() });
    const [next, effects] = receive(current, message);
    return this.#goOn(next, [...before, ...effects], context);
  }

  async end(state: State): Promise<void> {
    const { link, readers, spill } = this.#options;
    const flushed = await within(LAST_FLUSH_MS, this.#flush(state)).catch((error: Error) => error);
    if (flushed === OVERDUE) this.#trouble = `the last bars were not stored within ${LAST_FLUSH_MS} ms`;
    else if (flushed !== undefined) this.#trouble = flushed.message;
    await Promise.all([link.close(), readers.close(), spill.close()]);
  }

  summary({ mode, turn, held }: State) {
    return { mode, turn: turn.kind, ...this.#counts, inMemory: held.length, spill: this.#options.spill.standing };
  }

  #workers(): number[] {
    return this.#options.workers().map(({ worker }) => worker);
  }

  #goOn(state: State, effects: readonly Effect[], context: ActorContext<Message>): State {
    for (const effect of effects) this.#run(effect, context);
    if (state.mode === 'flowing' && state.held.length === 0) this.#trouble = undefined;
    const { bars: inSpill, damaged, unreadable } = this.#options.spill.standing;
    this.#options.onStanding({
      ...{ mode: state.mode, trouble: this.#trouble, spillTrouble: this.#spillTrouble },
      ...{ inMemory: state.held.length, inSpill, lost: damaged + unreadable, stored: this.#counts.stored },
    });
    return state;
  }

  #run(effect: Effect, context: ActorContext<Message>): void {
    const workerOf = (worker: number) => this.#options.workers().find((one) => one.worker === worker);
    const { link, spill } = this.#options;
    switch (effect.kind) {
      case 'ask-snapshot':
        // One that does not answer is passed over at the deadline.
        workerOf(effect.worker)
          ?.snapshot()
          .then(
            (snapshot) => context.self.tell({ kind: 'snapshot', worker: effect.worker, ...snapshot }),
            () => undefined,
          );
        break;
      case 'set-timer':
        context.timers.once(effect.timer, effect.delayMs, { kind: effect.timer });
        break;
      case 'store':
        this.#ask(
          this.#store(effect.bars).then(() => ({ kind: 'stored' })),
          { kind: 'store-failed' },
          context,
        );
        break;
      case 'spill':
        this.#putAside(effect.bars, effect.isFirst).then(
          () => {
            this.#spillTrouble = undefined;
            context.self.tell({ kind: 'spilled' });
          },
          (error: Error) => {
            this.#spillTrouble = error instanceof TapeworksError ? `${error.code}: ${error.message}` : error.message;
            context.self.tell({ kind: 'spill-refused' });
          },
        );
        break;
      case 'probe':
        this.#ask(
          link.use((store) => store.ping()).then(() => ({ kind: 'probed', ok: true })),
          { kind: 'probed', ok: false },
          context,
        );
        break;
      case 'replay':
        this.#ask(
          spill.replay((taken) => this.#keep(taken)).then((left) => ({ kind: 'replayed', left })),
          { kind: 'replay-failed' },
          context,
        );
        break;
      case 'commit':
        workerOf(effect.worker)?.tell({ kind: 'commit', reader: 'persistence', snapshot: effect.snapshot });
        break;
    }
  }

  /** What Postgres is asked to do ends in a message, and it is to blame where that is the other one. */
  #ask(work: Promise<Message>, otherwise: Message, context: ActorContext<Message>): void {
    work.then(
      (message) => context.self.tell(message),
      (error: Error) => {
        this.#trouble = refusalText(error);
        context.self.tell(otherwise);
      },
    );
  }

  async #keep(taken: readonly SymbolState[]): Promise<void> {
    const bars = namedBars(taken);
    await this.#options.link.use((store) => store.write(bars, progressOf(taken)));
    this.#counts.stored += bars.length;
    this.#counts.batches++;
  }

  async #store(bars: readonly NamedBar[]): Promise<void> {
    const taken = this.#states.take(bars);
    await this.#keep(this.#isBehind ? [...taken, ...this.#states.all()] : taken);
    this.#isBehind = false;
    this.#options.onDurable(bars);
  }

  /** Of symbols in which nothing closed, the next batch will bring a newer state. */
  async #putAside(bars: readonly NamedBar[], isFirst: boolean): Promise<void> {
    this.#isBehind = true;
    const closing = this.#states.take(bars).filter((state) => state.bars.some(({ closed }) => closed));
    // The first of an outage has all symbols, so that a restart within it finds every one of them.
    const whole = closing.map((state) => this.#states.whole(state));
    await this.#options.spill.append([...(isFirst ? this.#states.all() : []), ...whole]);
    this.#options.onDurable(bars);
  }

  /** What the workers still have becomes durable before they end. */
  async #flush({ mode, held }: State): Promise<void> {
    const snapshots = await Promise.all(
      this.#options.workers().map(async (worker) => ({ worker, ...(await worker.snapshot()) })),
    );
    const bars = [...held, ...snapshots.flatMap((one) => one.bars)];
    const store = () => within(LAST_STORE_MS, this.#store(bars)).catch(() => OVERDUE);
    if (bars.length > 0 && (mode !== 'flowing' || (await store()) === OVERDUE)) await this.#putAside(bars, true);
    for (const { worker, snapshot } of snapshots) worker.tell({ kind: 'commit', reader: 'persistence', snapshot });
  }
}

/** A server that answers and refuses wants another remedy than one that is away. */
function refusalText(error: unknown): string {
  const failure = classifyFailure(error);
  const isMisfit = failure.class === 'schema' || failure.class === 'data';
  return `Postgres ${isMisfit ? 'does not take our bars' : 'is out'} (${failure.reason})`;
}
