import type { LaneHealth, Unstorable } from '../../protocols/ingest.ts';
import type { StreamFacts } from '../../protocols/ingest-snapshot.ts';
import type { KernelIngestSettings, WhenFull } from '../../protocols/topology.ts';
import { within } from '../../supervision/deadline.ts';
import type { EventStore } from '../sink/event-writer.ts';
import { SinkLane } from '../sink/lane.ts';
import type { Writers } from '../sink/writers.ts';
import type { SpillPoint, SpillStore } from '../spill/spill-store.ts';
import type { SpillYard } from '../spill/yard.ts';
import { IngestCounters } from './counters.ts';
import { letterOf } from './decode-entries.ts';
import { laneHealth, seconds } from './lane-health.ts';
import { Liveness } from './liveness.ts';
import { type ReadPoint, StreamReader } from './reader.ts';
import { RedisStream } from './redis-stream.ts';
import { refetchLost } from './refetch.ts';
import { trimFloor } from './trim-floor.ts';

export type PipelinePoint = ReadPoint | SpillPoint | 'mid-replay';

export interface PipelineOptions {
  readonly redisUrl: string;
  readonly connectTimeoutMs: number;
  readonly reader: KernelIngestSettings;
  readonly host: string;
  readonly writers: Writers;
  readonly yard: SpillYard;
  reached(point: PipelinePoint): void;
  warn(text: string): void;
  failed(error: Error): void;
}

const BURY_RETRY_MS = 500;
const HOUSEKEEPING_MS = 1_000;
/** Long enough for a person to see it; the counter keeps it for the alert. */
const RESET_SHOWN_MS = 15 * 60_000;

/** The key of a shard's stream: `events`, or `events:0` where there are several. */
function streamKey({ stream, shard, shards }: KernelIngestSettings): string {
  return shards === 1 ? stream : `${stream}:${shard}`;
}

/** One stream's whole way: reader, sink lane and spill, with the housekeeping that keeps them in order. */
export class Pipeline {
  readonly stream: string;
  readonly counters = new IngestCounters();
  readonly liveness = new Liveness();
  readonly #options: PipelineOptions;
  readonly #redis: RedisStream;
  readonly #spill: SpillStore;
  readonly #store: EventStore;
  readonly #startedMs = Date.now();
  #lane: SinkLane | undefined;
  #reader: StreamReader | undefined;
  #facts: StreamFacts | undefined;
  #damage: readonly string[] = [];
  #housekeeping: NodeJS.Timeout | undefined;
  #trimmedAt = 0;
  #closed = false;
  #reset: { readonly atMs: number; readonly text: string } | undefined;
  /** Since when events spill, and the reason that was last told. */
  #spilling: { readonly sinceMs: number; readonly told: string } | undefined;

  private constructor(options: PipelineOptions, redis: RedisStream, spill: SpillStore) {
    this.#options = options;
    this.stream = streamKey(options.reader);
    this.#redis = redis;
    this.#spill = spill;
    this.#store = options.writers.next();
  }

  static async open(options: PipelineOptions): Promise<Pipeline> {
    const { reader, yard } = options;
    const stream = streamKey(reader);
    const spill = await yard.open(stream, options.reached);
    const redis = new RedisStream({
      url: options.redisUrl,
      stream,
      group: reader.group,
      consumer: consumerName(options),
      deadLetterStream: reader.deadLetterStream,
      blockMs: reader.readBlockMs,
      connectTimeoutMs: options.connectTimeoutMs,
      limits: { bytesMax: reader.maxEntryBytes, depthMax: reader.maxDepth },
    });
    const pipeline = new Pipeline(options, redis, spill);
    await pipeline.#start();
    return pipeline;
  }

  async #start(): Promise<void> {
    const { options, counters } = { options: this.#options, counters: this.counters };
    for (const note of this.#spill.damage) {
      counters.spillLost += note.lost;
      if (note.kind === 'torn') counters.tornTails++;
      options.warn(
        note.kind === 'open'
          ? `spill segment ${note.segment} was left open; Redis is asked whether something is missing behind it`
          : `spill segment ${note.segment} is ${note.kind}: ${note.lost} records lost, ${note.bytes} bytes set aside`,
      );
    }
    for (const trouble of this.#spill.unreadable) options.warn(`spill: ${trouble}`);
    this.#lane = await SinkLane.open({
      settings: options.writers.settings,
      store: this.#store,
      spill: this.#spill,
      events: {
        settled: (settlement) => {
          options.writers.republish(settlement.stored);
          this.#reader?.settle(settlement);
        },
        bury: (unstorable) => this.#bury(unstorable),
        pressure: (on) => this.#reader?.pressure(on),
        turned: () => this.#tellOfPostgres(),
        wrote: (rows, seconds) => counters.wrote(rows, seconds),
        replayed: (rows, duplicates) => {
          counters.replayed += rows;
          counters.replayDuplicates += duplicates;
        },
        reached: options.reached,
        failed: options.failed,
      },
    });
    const lane = this.#lane;
    this.#tellOfPostgres();
    this.#reader = new StreamReader({
      settings: options.reader,
      stream: this.stream,
      consumer: consumerName(options),
      redis: this.#redis,
      policyOf: (eventType) => policyFor(options, eventType),
      neverDrops: neverDrops(options),
      counters,
      liveness: this.liveness,
      offer: (batch) => lane.offer(batch),
      evict: (types, rows) => lane.evict(types, rows),
      held: () => lane.held(),
      reached: options.reached,
      warn: options.warn,
      failed: options.failed,
    });
    this.#keepHouse();
  }

  /** Once a second: facts for the ledger; now and then: trimming, partitions, a search for what damage took. */
  #keepHouse(): void {
    if (this.#closed) return;
    this.#housekeeping = setTimeout(() => {
      this.#houseKept().then(
        () => this.#keepHouse(),
        // Redis or Postgres being out shows elsewhere; housekeeping just comes back.
        () => this.#keepHouse(),
      );
    }, HOUSEKEEPING_MS);
  }

  async #houseKept(): Promise<void> {
    if (this.#closed) return;
    this.#damage = [
      ...(await this.#spill.unacknowledgedDamage()).map(
        ({ segment, lost, recovered }) =>
          `${segment}: ${lost} lost, ${recovered === undefined ? 'to be looked for' : `${recovered} found again`} in Redis`,
      ),
      ...this.#spill.unreadable,
    ];
    const before = this.#facts;
    this.#facts = await this.#redis.facts();
    if (before !== undefined && this.#facts.added < before.added) this.#tellOfReset(before, this.#facts);
    const mode = this.#lane?.state.mode;
    if (mode === 'flowing' && this.#reader?.state.phase === 'live') {
      this.counters.spillRecovered += await refetchLost(
        this.#redis,
        this.#store,
        this.#spill,
        this.stream,
        this.#options.reader,
      );
      await this.#store.prepare();
    }
    if (performance.now() - this.#trimmedAt >= this.#options.reader.trimEveryMs) await this.#trim();
  }

  /** What was not read then is gone, and the ledger begins anew: nothing else would ever show it. */
  #tellOfReset(before: StreamFacts, now: StreamFacts): void {
    this.counters.streamResets++;
    const unread = before.lag === undefined ? 'an unknown number' : String(before.lag);
    const text = `Redis had ${before.added} entries of the stream and has ${now.added}: flushed, deleted or restored; ${unread} had not been read`;
    this.#reset = { atMs: performance.now(), text };
    this.#options.warn(`${this.stream}: ${text}`);
  }

  async #trim(): Promise<void> {
    this.#trimmedAt = performance.now();
    const floor = trimFloor({
      groupFloors: await this.#redis.groupFloors(),
      oldestSpilled: this.#spill.oldestEntryId,
      damagePending: this.#spill.unreadable.length > 0 || (await this.#spill.pendingDamage()).length > 0,
      nowMs: Date.now(),
      keepMs: this.#options.reader.trimAfterMs,
    });
    if (floor !== undefined) this.counters.trimmedByKernel += await this.#redis.trim(floor);
  }

  async #bury(unstorable: readonly Unstorable[]): Promise<void> {
    const letters = unstorable.map(({ refusal, entryId, deliveries, raw }) =>
      letterOf(refusal, this.stream, entryId, deliveries, raw),
    );
    while (!this.#closed) {
      try {
        await this.#redis.bury(letters);
        for (const letter of letters) this.counters.deadLetter(letter.stage, letter.code);
        return;
      } catch {
        await new Promise((resolve) => setTimeout(resolve, BURY_RETRY_MS));
      }
    }
    throw new Error('the kernel stopped before a dead letter was written');
  }

  /** The log has one line when events begin to spill, one for each new reason, and one when all is stored. */
  #tellOfPostgres(): void {
    const { mode, trouble, blocked } = this.#lane!.state;
    if (mode === 'flowing') {
      if (this.#spilling === undefined) return;
      const after = seconds(performance.now() - this.#spilling.sinceMs);
      this.#spilling = undefined;
      this.#options.warn(`${this.stream}: Postgres takes rows again; all that was spilled is stored, after ${after}`);
    } else if (mode === 'draining') this.#spilling ??= { sinceMs: performance.now(), told: '' };
    else if (trouble !== undefined) {
      const told = `${trouble.reason}${blocked === undefined ? '' : ', blocked'}`;
      if (told === this.#spilling?.told) return;
      this.#spilling = { sinceMs: this.#spilling?.sinceMs ?? performance.now(), told };
      this.#options.warn(`${this.stream}: ${this.#lane!.health.reasons.join('; ')}`);
    }
  }

  get health(): LaneHealth {
    const { trouble, phase } = this.#reader?.state ?? { trouble: 'the reader has not started', phase: 'resting' };
    const isUnread = phase === 'resting' || phase === 'preparing';
    const since = this.#reader?.unreadForMs === undefined ? '' : `, for ${seconds(this.#reader.unreadForMs)}`;
    const resetAgoMs = this.#reset === undefined ? Number.POSITIVE_INFINITY : performance.now() - this.#reset.atMs;
    return laneHealth({
      reset: resetAgoMs < RESET_SHOWN_MS ? `${this.#reset!.text}, ${seconds(resetAgoMs)} ago` : undefined,
      sink: this.#lane?.health ?? { state: 'red', reasons: ['the sink has not started'] },
      spill: { ...this.spill, maxBytes: this.#options.yard.settings.maxBytes },
      spillingForMs: this.#spilling === undefined ? undefined : performance.now() - this.#spilling.sinceMs,
      unread: isUnread ? `${trouble ?? 'connecting'}${since}` : this.#reader?.unacknowledged,
      damage: this.#damage,
      unsafe: this.#reader?.unsafe ?? [],
      silentModules: this.liveness.silent(this.#options.reader.modules, Date.now(), this.#startedMs),
    });
  }

  get facts(): StreamFacts | undefined {
    return this.#facts;
  }

  get inFlight(): number {
    return this.#reader?.state.inFlightRows ?? 0;
  }

  get mode(): string {
    return this.#lane?.state.mode ?? 'starting';
  }

  get spill(): { readonly records: number; readonly bytes: number; readonly segments: number } {
    const { records, bytes, segments } = this.#spill;
    return { records, bytes, segments };
  }

  /** Stops reading, makes what was read durable, acknowledges it. Past the deadline it stops as it is: nothing is lost. */
  async stop(deadlineMs: number): Promise<void> {
    const orderly = async () => {
      this.#reader?.stop();
      await this.#reader?.quiet();
      await this.#lane?.flush();
      await this.#reader?.acknowledgedAll();
    };
    await within(deadlineMs, orderly());
    await this.close();
  }

  /** Lets go of everything at once. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#housekeeping);
    this.#reader?.close();
    this.#lane?.close();
    await this.#options.yard.close(this.stream);
    this.#redis.close();
  }
}

function consumerName({ reader, host }: PipelineOptions): string {
  return reader.consumer ?? host;
}

function policyFor({ reader, yard }: PipelineOptions, eventType: string): WhenFull {
  return reader.whenFullByType[eventType] ?? (reader.whenFull === 'block' ? yard.settings.whenFull : reader.whenFull);
}

function neverDrops({ reader, yard }: PipelineOptions): boolean {
  const chosen = [reader.whenFull, yard.settings.whenFull, ...Object.values(reader.whenFullByType)];
  return chosen.every((policy) => policy === 'block');
}
