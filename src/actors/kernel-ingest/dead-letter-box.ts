import type { Redis } from 'ioredis';
import { type DeadLetter, parseDeadLetter } from '../../protocols/dead-letter.ts';
import { decodeEnvelope, ENVELOPE_FIELD, isRefusal } from '../../protocols/envelope.ts';
import type { KernelIngestSettings } from '../../protocols/topology.ts';

/** A dead letter with its place in the dead-letter stream. */
export interface FiledLetter extends DeadLetter {
  readonly id: string;
  /** The stream that it lies in. */
  readonly box: string;
  readonly atMs: number;
}

export interface LetterFilter {
  readonly code?: string;
  /** The envelope's source, where the bytes let one be found. */
  readonly source?: string;
  readonly sinceMs?: number;
  readonly untilMs?: number;
}

/** What a stream takes; as by default where nothing is known of it. */
export type LimitsOf = (stream: string) => Pick<KernelIngestSettings, 'maxEntryBytes' | 'maxDepth'> | undefined;

const PAGE = 500;

/** The dead letters of one stream, for a person to look at, send again or let go. */
export class DeadLetterBox {
  readonly #redis: Redis;
  readonly box: string;
  readonly #limitsOf: LimitsOf;

  constructor(redis: Redis, box: string, limitsOf: LimitsOf) {
    this.#redis = redis;
    this.box = box;
    this.#limitsOf = limitsOf;
  }

  /** Matching letters, oldest first, a page at a time. */
  async *letters(filter: LetterFilter = {}): AsyncGenerator<FiledLetter> {
    let from = String(filter.sinceMs ?? '-');
    const to = filter.untilMs === undefined ? '+' : String(filter.untilMs);
    for (;;) {
      const entries = await this.#redis.xrangeBuffer(this.box, from, to, 'COUNT', PAGE);
      for (const [id, fields] of entries) {
        const letter = this.#filed(String(id), fields);
        if (letter !== undefined && matches(letter, filter)) yield letter;
      }
      const last = entries.at(-1);
      if (last === undefined || entries.length < PAGE) return;
      from = `(${String(last[0])}`;
    }
  }

  /** The newest letters first. */
  async newest(limit: number): Promise<readonly FiledLetter[]> {
    const entries = await this.#redis.xrevrangeBuffer(this.box, '+', '-', 'COUNT', limit);
    return entries.flatMap(([id, fields]) => this.#filed(String(id), fields) ?? []);
  }

  async find(id: string): Promise<FiledLetter | undefined> {
    if (!/^\d+(-\d+)?$/.test(id)) return undefined;
    const [entry] = await this.#redis.xrangeBuffer(this.box, id, id);
    return entry === undefined ? undefined : this.#filed(id, entry[1]);
  }

  #filed(id: string, fields: readonly Buffer[]): FiledLetter | undefined {
    const letter = parseDeadLetter(fields);
    return letter === undefined ? undefined : { ...letter, id, box: this.box, atMs: Number(id.split('-')[0]) };
  }

  /** Why sending these bytes again would only bring them back here; undefined when they would be accepted now. */
  objection({ stream }: FiledLetter, bytes: Buffer): string | undefined {
    const { maxEntryBytes, maxDepth } = this.#limitsOf(stream) ?? {};
    const outcome = decodeEnvelope(bytes, maxEntryBytes, maxDepth);
    return isRefusal(outcome) ? `${outcome.code} ${outcome.path}: ${outcome.reason}` : undefined;
  }

  /** Sends a letter's bytes, or corrected ones, to its stream again. The letter leaves the box in the same transaction. */
  async retry(letter: FiledLetter, bytes: Buffer = letter.raw): Promise<boolean> {
    const answers = await this.#redis
      .multi()
      .xadd(letter.stream, '*', ENVELOPE_FIELD, bytes)
      .xdel(this.box, letter.id)
      .hincrby(`${letter.stream}:ledger`, 'dlq_retried', 1)
      .exec();
    return answers?.every(([error]) => error === null) ?? false;
  }

  /** Lets a letter go for good, counted. */
  async drop(letter: FiledLetter): Promise<void> {
    await this.#redis.multi().xdel(this.box, letter.id).hincrby(`${letter.stream}:ledger`, 'dlq_dropped', 1).exec();
  }
}

function matches(letter: FiledLetter, { code, source }: LetterFilter): boolean {
  if (code !== undefined && letter.code !== code) return false;
  return source === undefined || sourceOf(letter.raw) === source;
}

/** The bytes are bad, so the source is looked for as text rather than parsed. */
function sourceOf(raw: Buffer): string | undefined {
  return /"source"\s*:\s*"([^"\\]*)"/.exec(raw.toString('utf8'))?.[1];
}
