import { DEAD_LETTER_CODES, type DeadLetter } from '../../protocols/dead-letter.ts';
import {
  deadLetterOf,
  type EventBatch,
  type EventRow,
  NOTHING_SETTLED,
  rawOf,
  rowBytes,
  type Settlement,
  typeOf,
} from '../../protocols/ingest.ts';
import type { KernelIngestSettings, WhenFull } from '../../protocols/topology.ts';
import { wallClockNs } from '../../protocols/wall-clock.ts';
import { Acknowledger, type PendingAck } from './acknowledger.ts';
import {
  initialReader,
  type ReaderEffect,
  type ReaderMessage,
  type ReaderState,
  receiveReader,
  recoveryCount,
} from './behaviour.ts';
import { controlReply } from './control-reply.ts';
import type { IngestCounters } from './counters.ts';
import { type DecodedEntries, decodeEntries, letterOf } from './decode-entries.ts';
import { seconds } from './lane-health.ts';
import type { Liveness } from './liveness.ts';
import type { Answer, RedisStream } from './redis-stream.ts';
import type { ReadEntry } from './row-parser.ts';

export type ReadPoint = 'after-read' | 'before-ack' | 'after-ack';

export interface ReaderOptions {
  readonly settings: KernelIngestSettings;
  /** The key of this shard's stream. */
  readonly stream: string;
  readonly consumer: string;
  readonly redis: RedisStream;
  /** What happens to an event type when neither Postgres nor the spill takes more. */
  policyOf(eventType: string): WhenFull;
  /** True when no event type may ever be dropped. */
  readonly neverDrops: boolean;
  readonly counters: IngestCounters;
  readonly liveness: Liveness;
  /** Hands rows to the lane below. */
  offer(batch: EventBatch): void;
  evict(types: ReadonlySet<string>, rows: number): void;
  /** The rows that the lane holds. */
  held(): readonly EventRow[];
  reached(point: ReadPoint): void;
  warn(text: string): void;
  failed(error: Error): void;
}

/** Dead letters that go out in one step: Redis bounds the words of a command. */
const LETTERS_MAX = 1_000;
/** An outage may have as many reasons as there are attempts. */
const REASONS_TOLD_MAX = 5;
/** An entry that was being handled alone twice when the kernel ended is condemned on the third sight. */
const ALONE_MAX = 2;

/** Binds the reader's behaviour to Redis: reads, decodes, hands on, and acknowledges what was settled. */
export class StreamReader {
  readonly #options: ReaderOptions;
  readonly #acks: Acknowledger;
  readonly #alone = new Set<string>();
  #state: ReaderState;
  #closed = false;
  #claims = 0;
  #unsafe: readonly string[] = [];
  /** Since when nothing can be read, and the reasons for it that the log has. */
  #outage: { readonly sinceMs: number; readonly told: Set<string> } | undefined;
  readonly #claiming: NodeJS.Timeout;
  #rest: NodeJS.Timeout | undefined;

  constructor(options: ReaderOptions) {
    this.#options = options;
    this.#acks = new Acknowledger(options.redis, {
      acknowledged: (ack, missing, seconds) => this.#acknowledged(ack, missing, seconds),
      reached: (point) => options.reached(point),
    });
    const [state, effects] = initialReader();
    this.#state = state;
    for (const effect of effects) this.#perform(effect);
    this.#claiming = setInterval(() => this.#dispatch({ kind: 'claim-due' }), options.settings.claimEveryMs);
  }

  /** What is unsafe about the server's settings, in words. */
  get unsafe(): readonly string[] {
    return this.#unsafe;
  }

  get state(): ReaderState {
    return this.#state;
  }

  /** How long nothing could be read; undefined while something can. */
  get unreadForMs(): number | undefined {
    return this.#outage === undefined ? undefined : performance.now() - this.#outage.sinceMs;
  }

  /** Why what is settled cannot be acknowledged, in words; undefined while it can. */
  get unacknowledged(): string | undefined {
    const refused = this.#acks.refused;
    if (refused === undefined) return undefined;
    return `acknowledging fails: ${refused.reason}, for ${seconds(performance.now() - refused.sinceMs)}`;
  }

  /** Takes back what the lane has made durable. */
  settle(settlement: Settlement): void {
    this.#acknowledge(settlement, [], []);
  }

  pressure(on: boolean): void {
    this.#dispatch({ kind: 'pressure', on });
  }

  /** Reads no more. What was read goes on to be settled and acknowledged. */
  stop(): void {
    this.#clearTimers();
    this.#dispatch({ kind: 'stop' });
  }

  /** Resolves once the reads under way have come back and been handed on. */
  async quiet(): Promise<void> {
    while ((this.#state.reading || this.#claims > 0) && !this.#closed)
      await new Promise((resolve) => setTimeout(resolve, 5));
  }

  acknowledgedAll(): Promise<void> {
    return this.#acks.drained();
  }

  close(): void {
    this.#closed = true;
    this.#clearTimers();
    this.#acks.close();
  }

  #clearTimers(): void {
    clearInterval(this.#claiming);
    clearTimeout(this.#rest);
  }

  #dispatch(message: ReaderMessage): void {
    if (this.#closed) return;
    const settings = { ...this.#options.settings, mayDrop: !this.#options.neverDrops };
    const [state, effects] = receiveReader(this.#state, message, settings);
    this.#state = state;
    if (message.kind === 'read' && this.#outage !== undefined) {
      this.#options.warn(`${this.#options.stream} is read again, after ${seconds(this.unreadForMs ?? 0)}`);
      this.#outage = undefined;
    }
    for (const effect of effects) this.#perform(effect);
  }

  #perform(effect: ReaderEffect): void {
    if (effect.kind === 'rest') {
      this.#rest = setTimeout(() => this.#dispatch({ kind: 'rested' }), effect.afterMs * (1 + Math.random() * 0.25));
      return;
    }
    this.#run(effect).then(
      (message) => this.#dispatch(message),
      (error: unknown) => this.#lost(error),
    );
  }

  #run(effect: Exclude<ReaderEffect, { kind: 'rest' }>): Promise<ReaderMessage> {
    switch (effect.kind) {
      case 'prepare':
        return this.#prepare();
      case 'read-pending':
        return this.#readPending(effect.after, effect.count);
      case 'read-new':
        return this.#readNew(effect.count, effect.dropping);
      case 'claim':
        return this.#claim();
    }
  }

  /** Redis failing is expected and rested from; a defect of ours is not, and ends the reader. */
  #lost(error: unknown): void {
    if (this.#closed) return;
    if (error instanceof TypeError || error instanceof RangeError) {
      this.#options.failed(error);
      return;
    }
    const reason = error instanceof Error ? error.message : String(error);
    if (/NOGROUP|UNBLOCKED/.test(reason)) this.#options.counters.groupRecreations++;
    this.#outage ??= { sinceMs: performance.now(), told: new Set() };
    const { told } = this.#outage;
    if (!told.has(reason) && told.size < REASONS_TOLD_MAX) {
      this.#options.warn(`reading ${this.#options.stream} failed: ${reason}`);
      told.add(reason);
    }
    this.#dispatch({ kind: 'failed', reason });
  }

  async #prepare(): Promise<ReaderMessage> {
    await this.#options.redis.ensureGroup();
    const unsafe = await this.#options.redis.unsafeSettings();
    for (const text of unsafe) if (!this.#unsafe.includes(text)) this.#options.warn(text);
    this.#unsafe = unsafe;
    return { kind: 'prepared' };
  }

  async #readNew(count: number, dropping: boolean): Promise<ReaderMessage> {
    const started = performance.now();
    const entries = await this.#options.redis.readNew(count);
    const decoded = this.#decode(entries, () => 1);
    const { rows, bytes } = dropping ? this.#dropSome(decoded) : decoded;
    this.#take({ ...decoded, rows, bytes });
    if (entries.length > 0) this.#options.counters.batchSeconds.observe((performance.now() - started) / 1_000);
    return { kind: 'read', rows: rows.length, bytes, last: undefined, careful: false };
  }

  async #readPending(after: string, readCount: number): Promise<ReaderMessage> {
    const { redis, settings, counters } = this.#options;
    const pending = await redis.pendingAfter(after, readCount);
    const deliveries = new Map(pending.map(({ id, deliveries: times }) => [id, times]));
    const most = pending.reduce((max, { deliveries: times }) => Math.max(max, times), 0);
    const count = recoveryCount(readCount, most, settings.poisonAfter);
    const entries = await redis.readPending(after, count);
    const last = entries.at(-1)?.id;
    // Entries that this life already has in flight come back after a reconnect; they are on their way.
    const inFlight = this.#inFlightIds();
    const fresh = entries.filter(({ id }) => !inFlight.has(id));
    counters.redelivered += fresh.length;
    const decoded = this.#decode(fresh, (id) => (deliveries.get(id) ?? 0) + 1);
    const rows = count === 1 ? await this.#isolate(decoded.rows) : decoded.rows;
    const bytes = rows.reduce((sum, row) => sum + rowBytes(row), 0);
    this.#take({ ...decoded, rows, bytes });
    return { kind: 'read', rows: rows.length, bytes, last, careful: count < readCount };
  }

  /** Notes in Redis that a row is about to be handled alone, and condemns one for which that was noted twice before. */
  async #isolate(rows: readonly EventRow[]): Promise<readonly EventRow[]> {
    const kept: EventRow[] = [];
    for (const row of rows) {
      if ((await this.#options.redis.markAlone(row.entryId)) <= ALONE_MAX) {
        this.#alone.add(row.entryId);
        kept.push(row);
        continue;
      }
      const reason = `handled alone ${ALONE_MAX} times, and the kernel ended each time`;
      const letter = letterOf(
        { code: 'poison', path: '', reason },
        this.#options.stream,
        row.entryId,
        row.deliveries,
        rawOf(row),
      );
      this.#acknowledge(NOTHING_SETTLED, [letter], []);
      await this.#options.redis.unmarkAlone(row.entryId);
    }
    return kept;
  }

  async #claim(): Promise<ReaderMessage> {
    this.#claims++;
    try {
      return await this.#claimed();
    } finally {
      this.#claims--;
    }
  }

  async #claimed(): Promise<ReaderMessage> {
    const { redis, settings, counters } = this.#options;
    const { entries, deleted } = await redis.claim(settings.claimIdleMs, settings.readCount, () => this.#inFlightIds());
    counters.claimed += entries.length;
    counters.redelivered += entries.length;
    // Redis removed these from the pending list itself.
    counters.trimmed += deleted.length;
    const decoded = this.#decode(entries, () => 2);
    this.#take(decoded);
    return { kind: 'claimed', rows: decoded.rows.length, bytes: decoded.bytes };
  }

  /** Asked for only after a reconnect, so it is gathered then rather than kept up with every entry. */
  #inFlightIds(): ReadonlySet<string> {
    return new Set([...this.#options.held().map((row) => row.entryId), ...this.#acks.ids()]);
  }

  #decode(entries: readonly ReadEntry[], deliveriesOf: (id: string) => number): DecodedEntries {
    this.#options.counters.read += entries.length;
    if (entries.length > 0) this.#options.reached('after-read');
    return decodeEntries(entries, wallClockNs(), deliveriesOf, this.#options.stream, this.#options.settings);
  }

  /** Under extreme pressure: the new rows that may go are dropped, or older ones for them. */
  #dropSome({ rows }: DecodedEntries): { rows: readonly EventRow[]; bytes: number } {
    const dropped = rows.filter((row) => this.#options.policyOf(typeOf(row)) === 'drop-newest');
    const kept = rows.filter((row) => this.#options.policyOf(typeOf(row)) !== 'drop-newest');
    const replacing = kept.filter((row) => this.#options.policyOf(typeOf(row)) === 'drop-oldest');
    const types = new Set(replacing.map(typeOf));
    if (dropped.length > 0) this.#acknowledge({ ...NOTHING_SETTLED, dropped }, [], [], false);
    if (types.size > 0) this.#options.evict(types, replacing.length);
    return { rows: kept, bytes: kept.reduce((sum, row) => sum + rowBytes(row), 0) };
  }

  #take({ rows, letters, trimmed, bytes }: DecodedEntries): void {
    this.#options.liveness.see(rows, Date.now());
    if (trimmed.length > 0) this.#acknowledge(NOTHING_SETTLED, [], trimmed);
    for (let at = 0; at < letters.length; at += LETTERS_MAX)
      this.#acknowledge(NOTHING_SETTLED, letters.slice(at, at + LETTERS_MAX), []);
    if (rows.length > 0) this.#options.offer({ rows, bytes });
  }

  #acknowledge(
    settlement: Settlement,
    letters: readonly DeadLetter[],
    trimmed: readonly string[],
    counted = true,
  ): void {
    const { stored, duplicates, spilled, refused, dropped } = settlement;
    const rows = [...stored, ...spilled, ...dropped, ...refused.map(({ row }) => row)];
    const allLetters = [...letters, ...refused.map((one) => deadLetterOf(this.#options.stream, one))];
    const ids = [...rows.map((row) => row.entryId), ...letters.map((letter) => letter.entryId), ...trimmed];
    if (ids.length === 0) return;
    const answers = [...this.#answers(stored, 'stored'), ...this.#answers(spilled, 'spilled')];
    const answered = new Set(answers.map(({ entryId }) => entryId));
    const silent = (list: readonly EventRow[]) => {
      const all = list.map((row) => row.entryId);
      return answered.size === 0 ? all : all.filter((id) => !answered.has(id));
    };
    const ack: PendingAck = {
      ids,
      fates: [
        { term: 'stored' as const, ids: silent(stored) },
        { term: 'spilled' as const, ids: silent(spilled) },
        { term: 'dropped' as const, ids: silent(dropped) },
        { term: 'trimmed' as const, ids: trimmed },
      ].filter((fate) => fate.ids.length > 0),
      duplicates,
      counts: {
        stored: stored.length - duplicates,
        duplicate: duplicates,
        spilled: spilled.length,
        dead_lettered: allLetters.length,
        dropped: dropped.length,
        trimmed: trimmed.length,
      },
      letters: allLetters,
      answers,
      rows: counted ? rows.length : 0,
      bytes: counted ? rows.reduce((sum, row) => sum + rowBytes(row), 0) : 0,
    };
    this.#acks.add(ack);
  }

  #answers(rows: readonly EventRow[], term: 'stored' | 'spilled'): Answer[] {
    const { settings, stream, consumer } = this.#options;
    const kernel = { stream, group: settings.group, consumer };
    return rows
      .filter((row) => row.plain === undefined && row.event.operation !== '')
      .map((row) => ({ entryId: row.entryId, term, envelope: controlReply(row.event, kernel, wallClockNs()) }));
  }

  #acknowledged(ack: PendingAck, missing: number, seconds: number): void {
    const { counters, redis } = this.#options;
    for (const id of this.#alone.size === 0 ? [] : ack.ids.filter((one) => this.#alone.has(one))) {
      this.#alone.delete(id);
      redis.unmarkAlone(id).catch(() => undefined);
    }
    counters.acknowledged(ack, missing, seconds);
    for (const letter of ack.letters) counters.deadLetter(DEAD_LETTER_CODES[letter.code].stage, letter.code);
    if (ack.rows > 0) this.#dispatch({ kind: 'released', rows: ack.rows, bytes: ack.bytes });
  }
}
