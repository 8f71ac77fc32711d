import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { DeadLetterCode } from '../../src/protocols/dead-letter.ts';
import { BAD_INPUTS } from '../ingest/bad-inputs.ts';
import { EventLoad } from '../ingest/load.ts';
import type { Random } from '../ingest/random.ts';

/** The producer's own journal: what it sent, and what Redis acknowledged. The oracle believes this and nothing else. */
export interface GoodRecord {
  readonly bytes: Buffer;
  readonly stream: string;
  readonly payload: string;
  acked: boolean;
}

export interface BadRecord {
  readonly stream: string;
  readonly entryId: string;
  readonly code: DeadLetterCode;
  /** Digest of the bytes that its dead letter must hold. */
  readonly raw: string;
}

interface Send {
  readonly stream: string;
  readonly field: string;
  readonly bytes: Buffer;
  readonly goodId?: string;
  readonly bad?: { readonly name: string; readonly code: DeadLetterCode };
}

const BAD_SHARE = 0.01;
const BATCH = 50;
const CONNECTIONS = 2;
/** Between two pages of the journal, so that no id or time of the one is in the other. */
const PAGE_GAP_NS = 20_000_000n;

/** A JSON value with its keys in order, as jsonb and the journal can both be brought to. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([key, field]) => `${JSON.stringify(key)}:${canonical(field)}`).join()}}`;
}

export const digest = (text: string | Buffer) => createHash('sha256').update(text).digest('base64');

export class Producer {
  /** The present page of the journal. */
  readonly good = new Map<string, GoodRecord>();
  bad: BadRecord[] = [];
  readonly badClasses = new Set<string>();
  sent = 0;
  readonly #random: Random;
  readonly #redisUrl: string;
  readonly #loads: readonly { stream: string; load: EventLoad }[];
  #redis: Redis;
  #rate = 0;
  #running: Promise<void> | undefined;
  #stopped = false;
  #clock = BigInt(Date.now()) * 1_000_000n;
  #pageFrom = 0n;

  constructor(redisUrl: string, streams: readonly string[], random: Random) {
    this.#redisUrl = redisUrl;
    this.#random = random;
    this.#loads = streams.flatMap((stream) =>
      Array.from({ length: CONNECTIONS }, (_, n) => ({
        stream,
        load: new EventLoad(random, `${stream}-connection-${n}`, () => (this.#clock += 1_000n)),
      })),
    );
    this.#redis = this.#connect();
  }

  #connect(): Redis {
    const redis = new Redis(this.#redisUrl, {
      protocol: 2,
      maxRetriesPerRequest: 0,
      commandTimeout: 2_000,
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
    });
    redis.on('error', () => undefined);
    return redis;
  }

  start(eventsPerSecond: number): void {
    this.#rate = eventsPerSecond;
    this.resume();
  }

  resume(): void {
    this.#stopped = false;
    this.#running ??= this.#run();
  }

  /** Stops after everything that was begun is acknowledged. */
  async pause(): Promise<void> {
    this.#stopped = true;
    await this.#running;
    this.#running = undefined;
  }

  /** The smallest time of an event on the present page. */
  get pageFrom(): bigint {
    return this.#pageFrom;
  }

  /** Begins a new page of the journal. Nothing may be on its way. */
  async turnPage(): Promise<void> {
    this.good.clear();
    this.bad = [];
    this.#clock += PAGE_GAP_NS;
    this.#pageFrom = this.#clock - PAGE_GAP_NS / 2n;
  }

  close(): void {
    this.#redis.disconnect();
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      const started = performance.now();
      await this.#sendAll(Array.from({ length: BATCH }, () => this.#make()));
      await sleep(Math.max(0, (BATCH / this.#rate) * 1_000 - (performance.now() - started)));
    }
  }

  #make(): Send {
    const { stream, load } = this.#random.pick(this.#loads);
    const envelope = load.next();
    const text = envelope.bytes.toString();
    if (this.#random.chance(BAD_SHARE)) {
      const input = this.#random.pick(BAD_INPUTS);
      return { stream, ...input.make(text), bad: input };
    }
    const { data } = JSON.parse(text) as { data: { payload: unknown } };
    this.good.set(envelope.id, {
      bytes: envelope.bytes,
      stream,
      payload: digest(canonical(data.payload)),
      acked: false,
    });
    return { stream, field: 'envelope', bytes: envelope.bytes, goodId: envelope.id };
  }

  /** Sends until Redis has acknowledged each. A lost answer means sending again: the id makes it one event. */
  async #sendAll(sends: readonly Send[]): Promise<void> {
    let left = sends;
    while (left.length > 0) {
      const pipeline = this.#redis.pipeline();
      for (const { stream, field, bytes } of left) pipeline.xadd(stream, '*', field, bytes);
      const answers = (await pipeline.exec().catch(() => null)) ?? [];
      const unsent: Send[] = [];
      for (const [at, send] of left.entries()) {
        const [error, entryId] = answers[at] ?? [new Error('no answer'), null];
        if (error !== null) unsent.push(send);
        else this.#acknowledged(send, String(entryId));
      }
      if (unsent.length > 0) await sleep(50);
      left = unsent;
    }
  }

  #acknowledged({ stream, field, bytes, goodId, bad }: Send, entryId: string): void {
    this.sent++;
    if (goodId !== undefined) this.good.get(goodId)!.acked = true;
    if (bad === undefined) return;
    this.badClasses.add(bad.name);
    // An entry without an envelope is kept as its fields, one a line.
    const raw = field === 'envelope' ? bytes : Buffer.from(`${field}=${bytes.toString()}\n`);
    this.bad.push({ stream, entryId, code: bad.code, raw: digest(raw) });
  }

  /** After Redis lost everything: sends again what is not known to be stored. What was dead-lettered there is gone too. */
  async resend(isStored: (id: string) => boolean): Promise<void> {
    this.bad = [];
    const lost = [...this.good].filter(([id]) => !isStored(id));
    for (let at = 0; at < lost.length; at += BATCH) {
      await this.#sendAll(
        lost.slice(at, at + BATCH).map(([goodId, { stream, bytes }]) => ({ stream, field: 'envelope', bytes, goodId })),
      );
    }
  }
}
