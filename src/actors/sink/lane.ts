import { decodeEnvelope, isRefusal } from '../../protocols/envelope.ts';
import { TapeworksError } from '../../protocols/errors/index.ts';
import {
  type EventBatch,
  type EventRow,
  type LaneHealth,
  rawOf,
  type Settlement,
  type Unstorable,
} from '../../protocols/ingest.ts';
import type { SinkSettings } from '../../protocols/topology.ts';
import type { SpillChunk, SpillInput, SpillStore } from '../spill/spill-store.ts';
import {
  heldRows,
  initialSink,
  isSettled,
  receiveSink,
  type SinkEffect,
  type SinkMessage,
  type SinkState,
} from './behaviour.ts';
import type { EventStore } from './event-writer.ts';
import { classifyFailure, type WriteFailure } from './sqlstate.ts';

/** What a lane tells the outside. */
export interface LaneEvents {
  settled(settlement: Settlement): void;
  /** Writes the dead letters of records whose entries were acknowledged when they were spilled. */
  bury(unstorable: readonly Unstorable[]): Promise<void>;
  pressure(on: boolean): void;
  /** The lane goes on in another mode, or for another reason. */
  turned(): void;
  /** A batch reached Postgres. */
  wrote(rows: number, seconds: number): void;
  replayed(rows: number, duplicates: number): void;
  reached(point: 'mid-replay'): void;
  /** The lane cannot go on; its owner should crash and start over. */
  failed(error: Error): void;
}

export interface LaneOptions {
  readonly settings: SinkSettings;
  readonly store: EventStore;
  readonly spill: Pick<SpillStore, 'append' | 'nextChunk' | 'commit' | 'rewind' | 'records'>;
  readonly events: LaneEvents;
}

/** Binds the behaviour of one lane to Postgres, the spill and timers. */
export class SinkLane {
  readonly #options: LaneOptions;
  readonly #timers = new Map<string, NodeJS.Timeout>();
  #state: SinkState;
  #chunk: SpillChunk | undefined;
  #buried: Promise<void> = Promise.resolve();
  /** Records of the chunk that were accepted when they were spilled, and are not by this version of the program. */
  #undecodable: Unstorable[] = [];
  #closed = false;
  #idle: (() => void) | undefined;

  private constructor(options: LaneOptions, failure: WriteFailure | undefined) {
    this.#options = options;
    const [state, effects] = initialSink(options.settings, failure, options.spill.records);
    this.#state = state;
    for (const effect of effects) this.#perform(effect);
  }

  /** Asks after Postgres once, then starts to flow, to drain, or to spill. */
  static async open(options: LaneOptions): Promise<SinkLane> {
    return new SinkLane(options, await options.store.prepare().then(() => undefined, classifyFailure));
  }

  get state(): SinkState {
    return this.#state;
  }

  get health(): LaneHealth {
    const { mode, trouble, blocked, backlog } = this.#state;
    const misfit = trouble?.fault === 'schema';
    const spilling = misfit ? 'Postgres does not take our rows, spilling' : 'Postgres is out, spilling';
    const reasons = [
      ...(blocked === undefined ? [] : [`reading has stopped, the spill refuses: ${blocked}`]),
      ...(mode === 'spilling' || misfit ? [`${spilling}: ${trouble?.reason}`] : []),
      ...(mode === 'draining' && !misfit ? [`${backlog} spilled records are being stored`] : []),
    ];
    return { state: blocked !== undefined || misfit ? 'red' : mode === 'flowing' ? 'green' : 'yellow', reasons };
  }

  offer(batch: EventBatch): void {
    this.#dispatch({ kind: 'store', batch });
  }

  held(): readonly EventRow[] {
    return heldRows(this.#state);
  }

  /** Gives up the oldest waiting rows of these types; they come back as settled. */
  evict(types: ReadonlySet<string>, rows: number): void {
    this.#dispatch({ kind: 'evict', types, rows });
  }

  /** Writes what waits without lingering; resolves when every offered row is settled. */
  flush(): Promise<void> {
    return new Promise((resolve) => {
      this.#idle = resolve;
      this.#dispatch({ kind: 'flush' });
    });
  }

  close(): void {
    this.#closed = true;
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
  }

  #dispatch(message: SinkMessage): void {
    if (this.#closed) return;
    const { mode, trouble, blocked } = this.#state;
    const [state, effects] = receiveSink(this.#state, message, this.#options.settings);
    this.#state = state;
    const isBlockedAsBefore = (state.blocked === undefined) === (blocked === undefined);
    if (state.mode !== mode || state.trouble?.reason !== trouble?.reason || !isBlockedAsBefore) {
      this.#options.events.turned();
    }
    // A write goes out first: while the server works, the rest is done.
    for (const effect of effects) if (effect.kind === 'write') this.#perform(effect);
    for (const effect of effects) if (effect.kind !== 'write') this.#perform(effect);
    if (isSettled(this.#state)) this.#idle?.();
  }

  #perform(effect: SinkEffect): void {
    const { events, spill } = this.#options;
    if (effect.kind === 'settle') events.settled(effect.settlement);
    else if (effect.kind === 'stored-replayed') events.replayed(effect.rows, effect.duplicates);
    else if (effect.kind === 'arm') this.#arm(effect.timer, effect.afterMs);
    else if (effect.kind === 'rewind') spill.rewind();
    else if (effect.kind === 'pressure') events.pressure(effect.on);
    else this.#run(this.#work(effect));
  }

  #work(
    effect: Extract<SinkEffect, { kind: 'write' | 'spill' | 'bury' | 'probe' | 'replay' | 'commit-replay' }>,
  ): Promise<SinkMessage | undefined> {
    switch (effect.kind) {
      case 'write':
        return this.#write(effect.rows);
      case 'spill':
        return this.#spill(effect.rows);
      case 'bury':
        // The segment may go only after its dead letters are written.
        this.#buried = this.#options.events.bury(
          effect.refused.map(({ row: { entryId, deliveries, event }, refusal }) => ({
            ...{ entryId, deliveries, raw: event.raw, refusal },
          })),
        );
        return this.#buried.then(() => undefined);
      case 'probe':
        return this.#probe();
      case 'replay':
        return this.#replay(effect.rowsMax);
      case 'commit-replay':
        return this.#commitReplay();
    }
  }

  /** Runs what ends in a message. Errors that were foreseen are messages; any other ends the lane. */
  #run(work: Promise<SinkMessage | undefined>): void {
    work.then(
      (message) => {
        if (message !== undefined) this.#dispatch(message);
      },
      (error: unknown) => {
        if (!this.#closed) this.#options.events.failed(error instanceof Error ? error : new Error(String(error)));
      },
    );
  }

  #arm(timer: SinkMessage['kind'] & ('lingered' | 'retry' | 'probe' | 'spill-retry'), afterMs: number): void {
    clearTimeout(this.#timers.get(timer));
    // Lanes that failed together should not come back together.
    const jittered = timer === 'lingered' ? afterMs : afterMs * (1 + Math.random() * 0.25);
    this.#timers.set(
      timer,
      setTimeout(() => this.#dispatch({ kind: timer }), jittered),
    );
  }

  async #write(rows: readonly EventRow[]): Promise<SinkMessage> {
    const started = performance.now();
    try {
      const { duplicates } = await this.#options.store.write(rows);
      const elapsedMs = performance.now() - started;
      this.#options.events.wrote(rows.length, elapsedMs / 1_000);
      return { kind: 'written', duplicates, elapsedMs };
    } catch (error) {
      return { kind: 'write-failed', failure: classifyFailure(error) };
    }
  }

  async #spill(rows: readonly EventRow[]): Promise<SinkMessage> {
    try {
      await this.#options.spill.append(rows.map(toRecord));
      return { kind: 'spilled', backlog: this.#options.spill.records };
    } catch (error) {
      if (!(error instanceof TapeworksError)) throw error;
      return { kind: 'spill-refused', reason: `${error.code}: ${error.message}` };
    }
  }

  async #probe(): Promise<SinkMessage> {
    const { store, spill } = this.#options;
    try {
      await store.prepare();
      return { kind: 'probed', failure: undefined, backlog: spill.records };
    } catch (error) {
      return { kind: 'probed', failure: classifyFailure(error), backlog: spill.records };
    }
  }

  async #replay(rowsMax: number): Promise<SinkMessage> {
    const { spill, events } = this.#options;
    this.#chunk = await spill.nextChunk(rowsMax);
    if (this.#chunk === undefined) return { kind: 'replay-committed', backlog: 0 };
    events.reached('mid-replay');
    const rows: EventRow[] = [];
    this.#undecodable = [];
    for (const { entryId, tsKernel, deliveries, envelope } of this.#chunk.records) {
      const event = decodeEnvelope(envelope, Number.POSITIVE_INFINITY, 512);
      if (isRefusal(event)) this.#undecodable.push({ entryId, deliveries, raw: envelope, refusal: event });
      else rows.push({ event, entryId, tsKernel, deliveries });
    }
    return { kind: 'replayed', rows };
  }

  async #commitReplay(): Promise<SinkMessage> {
    const { spill } = this.#options;
    await this.#buried;
    if (this.#undecodable.length > 0) await this.#options.events.bury(this.#undecodable);
    if (this.#chunk !== undefined) await spill.commit(this.#chunk);
    this.#chunk = undefined;
    return { kind: 'replay-committed', backlog: spill.records };
  }
}

function toRecord(row: EventRow): SpillInput {
  const { entryId, tsKernel, deliveries } = row;
  return { entryId, tsKernel, deliveries, envelope: rawOf(row) };
}
