import { Redis } from 'ioredis';
import type { EnvelopeLimits } from '../../kernels/envelopes.ts';
import { type DeadLetter, deadLetterFields } from '../../protocols/dead-letter.ts';
import { ENVELOPE_FIELD } from '../../protocols/envelope.ts';
import type { StreamFacts } from '../../protocols/ingest-snapshot.ts';
import { olderOf } from '../spill/segment-scan.ts';
import { EntryFeed } from './entry-feed.ts';
import type { StreamEntry } from './entry-parser.ts';
import type { ReadEntry } from './row-parser.ts';
import { FactsReader, pairsOf } from './stream-facts.ts';

export interface PendingEntry {
  readonly id: string;
  readonly deliveries: number;
}

/** Terms of the ledger that a settlement adds to. */
export type LedgerTerm = 'stored' | 'duplicate' | 'spilled' | 'dead_lettered' | 'dropped' | 'trimmed' | 'reoffered';

/** One step of the ledger: entries leave the pending list and their fates are counted, all at once or not at all. */
export interface Acknowledgement {
  readonly ids: readonly string[];
  readonly counts: Readonly<Partial<Record<LedgerTerm, number>>>;
  readonly letters: readonly DeadLetter[];
  readonly replies: readonly Buffer[];
}

export interface RedisStreamOptions {
  readonly url: string;
  readonly stream: string;
  readonly group: string;
  readonly consumer: string;
  readonly deadLetterStream: string;
  readonly blockMs: number;
  readonly connectTimeoutMs: number;
  readonly limits?: EnvelopeLimits;
}

const COMMAND_MS = 5_000;
const ACK_CHUNK = 1_000;
const REPLIES_KEPT = 1_000;
const SETTLED = ['stored', 'duplicate', 'spilled', 'dead_lettered', 'dropped', 'trimmed', 'reoffered'] as const;
/** An entry that was not pending was counted before, so it is counted back: as a duplicate first, if there are any. */
const TAKEN_BACK = ['duplicate', 'stored', 'spilled', 'dead_lettered', 'dropped', 'trimmed'] as const;

/** The commands of one stream. One connection only ever waits for entries; all others go over a second one. */
export class RedisStream {
  readonly #options: RedisStreamOptions;
  readonly #control: Redis;
  readonly #feed: EntryFeed;
  readonly #facts: FactsReader;
  /** What reads the ledger and then changes it takes turns. */
  #turn: Promise<unknown> = Promise.resolve();
  readonly ledgerKey: string;
  readonly repliesKey: string;
  readonly poisonKey: string;

  constructor(options: RedisStreamOptions) {
    this.#options = options;
    this.ledgerKey = `${options.stream}:ledger`;
    this.repliesKey = `${options.stream}:replies`;
    this.poisonKey = `${options.stream}:poison`;
    this.#control = this.#connect();
    this.#feed = new EntryFeed(options);
    this.#facts = new FactsReader(this.#control, { ...options, ledgerKey: this.ledgerKey });
  }

  #connect(): Redis {
    const client = new Redis(this.#options.url, {
      protocol: 2,
      connectTimeout: this.#options.connectTimeoutMs,
      // A command whose connection broke fails at once: what it did is unknown, and the caller decides.
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      retryStrategy: (times) => Math.min(50 * 2 ** Math.min(times, 6), 1_000),
      commandTimeout: COMMAND_MS,
    });
    // Failures show as rejected commands; without a listener they would also be printed.
    client.on('error', () => undefined);
    return client;
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work, work);
    this.#turn = done.catch(() => undefined);
    return done;
  }

  /**
   * Makes the group from the stream's first entry on: ids already stored are absorbed, skipped ones would be lost. A new
   * group is given every entry that is still in the stream, also those that an earlier one has acknowledged: the ledger
   * counts them as `reoffered`, so that it balances again. Worked: 100 added, 90 acknowledged, 60 still there, 10 of them
   * not acknowledged; 90 + 60 - 100 = 50 will be acknowledged twice.
   */
  async ensureGroup(): Promise<void> {
    await this.ready();
    await this.#inTurn(async () => {
      const { stream, group } = this.#options;
      const { added, length, acknowledged, hasGroup } = await this.#position();
      if (hasGroup) return;
      const reoffered = acknowledged + length - added;
      const answers = await this.#control
        .multi()
        .xgroup('CREATE', stream, group, '0', 'MKSTREAM')
        .hincrby(this.ledgerKey, 'reoffered', reoffered)
        .exec();
      const error = answers?.[0]?.[0] ?? null;
      if (error === null) return;
      await this.correct({ reoffered: -reoffered });
      // Another kernel was first, and has counted them.
      if (!String(error).includes('BUSYGROUP')) throw error;
    });
  }

  async #position(): Promise<{ added: number; length: number; acknowledged: number; hasGroup: boolean }> {
    const { stream, group } = this.#options;
    const ledger = await this.#control.hgetall(this.ledgerKey);
    const { reoffered = 0, ...settled } = Object.fromEntries(SETTLED.map((term) => [term, Number(ledger[term] ?? 0)]));
    const acknowledged = Object.values(settled).reduce((sum, count) => sum + count, 0) - reoffered;
    if ((await this.#control.exists(stream)) === 0) return { added: 0, length: 0, acknowledged, hasGroup: false };
    const info = pairsOf(await this.#control.call('XINFO', 'STREAM', stream));
    const groups = ((await this.#control.call('XINFO', 'GROUPS', stream)) as unknown[]).map(pairsOf);
    return {
      added: Number(info.get('entries-added')),
      length: Number(info.get('length')),
      acknowledged,
      hasGroup: groups.some((found) => found.get('name') === group),
    };
  }

  /** Resolves once Redis takes commands. */
  ready(): Promise<void> {
    const client = this.#control;
    if (client.status === 'ready') return Promise.resolve();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => settle(new Error('Redis does not answer')), this.#options.connectTimeoutMs);
      const ready = () => settle();
      const settle = (error?: Error) => {
        clearTimeout(timer);
        client.off('ready', ready);
        if (error === undefined) resolve();
        else reject(error);
      };
      client.once('ready', ready);
    });
  }

  /** What is unsafe about the server's settings, in words. */
  async unsafeSettings(): Promise<readonly string[]> {
    const found = new Map<string, string>();
    for (const name of ['appendonly', 'appendfsync', 'maxmemory-policy']) {
      const answer = (await this.#control.config('GET', name).catch(() => [])) as string[];
      if (answer[1] !== undefined) found.set(name, answer[1]);
    }
    const policy = found.get('maxmemory-policy') ?? 'noeviction';
    return [
      ...(found.get('appendonly') === 'no' ? ['Redis runs with appendonly = no: a restart loses every entry'] : []),
      ...(found.get('appendfsync') === 'no'
        ? ['Redis runs with appendfsync = no: a power failure can lose many seconds']
        : []),
      ...(policy === 'noeviction' ? [] : [`Redis runs with maxmemory-policy = ${policy}: it may evict whole streams`]),
    ];
  }

  /** New entries for the group, waiting for them up to the block time. */
  readNew(count: number): Promise<readonly ReadEntry[]> {
    return this.#feed.read(count);
  }

  async readPending(after: string, count: number): Promise<readonly StreamEntry[]> {
    const { group, consumer, stream } = this.#options;
    return entriesOf(
      await this.#control.callBuffer('XREADGROUP', 'GROUP', group, consumer, 'COUNT', count, 'STREAMS', stream, after),
    );
  }

  /** This consumer's pending entries after an id, with how often each was delivered. */
  async pendingAfter(after: string, count: number): Promise<readonly PendingEntry[]> {
    const { group, consumer, stream } = this.#options;
    const rows = (await this.#control.call(
      'XPENDING',
      stream,
      group,
      `(${after}`,
      '+',
      count,
      consumer,
    )) as unknown[][];
    return rows.map((row) => ({ id: String(row[0]), deliveries: Number(row[3]) }));
  }

  /** Which of these entries are still pending, for any consumer. */
  async stillPending(ids: readonly string[]): Promise<ReadonlySet<string>> {
    const { group, stream } = this.#options;
    const found = await Promise.all(
      ids.map((id) => this.#control.call('XPENDING', stream, group, id, id, 1) as Promise<unknown[][]>),
    );
    return new Set(found.flat().map((row) => String(row[0])));
  }

  /** Entries pending for any consumer in a range of ids. */
  async pendingBetween(from: string, to: string, count: number): Promise<ReadonlySet<string>> {
    const { group, stream } = this.#options;
    const rows = (await this.#control.call('XPENDING', stream, group, from, to, count)) as unknown[][];
    return new Set(rows.map((row) => String(row[0])));
  }

  /**
   * Takes over entries that other consumers have left pending for `idleMs`. XAUTOCLAIM hands us our own old ones as well;
   * those are on their way already and are left out.
   */
  async claim(
    idleMs: number,
    count: number,
    onTheirWay: () => ReadonlySet<string>,
  ): Promise<{ entries: readonly StreamEntry[]; deleted: readonly string[] }> {
    const { group, consumer, stream } = this.#options;
    const from = await this.#oldestOfOthers(idleMs);
    if (from === undefined) return { entries: [], deleted: [] };
    const answer = (await this.#control.callBuffer(
      ...(['XAUTOCLAIM', stream, group, consumer, idleMs, from, 'COUNT', count] as const),
    )) as [Buffer, unknown[], Buffer[] | undefined];
    const ours = onTheirWay();
    const entries = answer[1].map(entryOf).filter(({ id, deleted }) => !deleted && !ours.has(id));
    const deleted = (answer[2] ?? []).map(String);
    // Redis took these out of the pending list itself.
    if (deleted.length > 0) await this.correct({ trimmed: deleted.length });
    return { entries, deleted };
  }

  /** The oldest entry that some other consumer has left pending for so long. */
  async #oldestOfOthers(idleMs: number): Promise<string | undefined> {
    const { group, consumer, stream } = this.#options;
    const consumers = ((await this.#control.call('XINFO', 'CONSUMERS', stream, group)) as unknown[]).map(pairsOf);
    const others = consumers.filter((one) => one.get('name') !== consumer && Number(one.get('pending')) > 0);
    let oldest: string | undefined;
    for (const other of others) {
      const name = String(other.get('name'));
      const [first] = (await this.#control.call(
        ...(['XPENDING', stream, group, 'IDLE', idleMs, '-', '+', 1, name] as const),
      )) as unknown[][];
      if (first !== undefined) oldest = olderOf(oldest, String(first[0]));
    }
    return oldest;
  }

  /** Acknowledges and counts in one transaction. Answers how many of the entries were not pending. */
  acknowledge(acknowledgement: Acknowledgement): Promise<number> {
    return this.#inTurn(async () => {
      const missing = await this.#acknowledge(acknowledgement);
      if (missing > 0) await this.correct(takenBack(acknowledgement.counts, missing)).catch(() => undefined);
      return missing;
    });
  }

  async #acknowledge({ ids, counts, letters, replies }: Acknowledgement): Promise<number> {
    const { stream, group, deadLetterStream } = this.#options;
    const transaction = this.#control.multi();
    for (const letter of letters) transaction.xadd(deadLetterStream, '*', ...deadLetterFields(letter));
    for (const reply of replies)
      transaction.xadd(this.repliesKey, 'MAXLEN', '~', REPLIES_KEPT, '*', ENVELOPE_FIELD, reply);
    for (const [term, by] of Object.entries(counts)) if (by !== 0) transaction.hincrby(this.ledgerKey, term, by);
    const chunks = Math.ceil(ids.length / ACK_CHUNK);
    for (let chunk = 0; chunk < chunks; chunk++) {
      transaction.xack(stream, group, ...ids.slice(chunk * ACK_CHUNK, (chunk + 1) * ACK_CHUNK));
    }
    const answers = (await transaction.exec()) ?? [];
    for (const [error] of answers) if (error !== null) throw error;
    const acked = answers.slice(answers.length - chunks);
    return ids.length - acked.reduce((sum, [, count]) => sum + Number(count), 0);
  }

  /** Brings the ledger in line with what left the pending list other than by an acknowledgement. */
  async correct(counts: Readonly<Partial<Record<LedgerTerm, number>>>): Promise<void> {
    const batch = this.#control.multi();
    for (const [term, by] of Object.entries(counts)) batch.hincrby(this.ledgerKey, term, by);
    await batch.exec();
  }

  /** Dead letters of entries that were acknowledged as spilled. */
  async bury(letters: readonly DeadLetter[]): Promise<void> {
    const transaction = this.#control.multi();
    for (const letter of letters) transaction.xadd(this.#options.deadLetterStream, '*', ...deadLetterFields(letter));
    transaction.hincrby(this.ledgerKey, 'spilled', -letters.length);
    transaction.hincrby(this.ledgerKey, 'dead_lettered', letters.length);
    for (const [error] of (await transaction.exec()) ?? []) if (error !== null) throw error;
  }

  /** Counts that an entry is about to be handled alone; answers how often that was so. */
  markAlone(id: string): Promise<number> {
    return this.#control.hincrby(this.poisonKey, id, 1);
  }

  async unmarkAlone(id: string): Promise<void> {
    await this.#control.hdel(this.poisonKey, id);
  }

  async range(from: string, to: string, count: number): Promise<readonly StreamEntry[]> {
    const answer = (await this.#control.callBuffer(
      'XRANGE',
      this.#options.stream,
      from,
      to,
      'COUNT',
      count,
    )) as unknown[];
    return answer.map(entryOf);
  }

  facts(): Promise<StreamFacts> {
    return this.#facts.read();
  }

  /** The smallest id that some group has not finished with. */
  async groupFloors(): Promise<readonly string[]> {
    const { stream } = this.#options;
    const groups = ((await this.#control.call('XINFO', 'GROUPS', stream)) as unknown[]).map(pairsOf);
    return Promise.all(
      groups.map(async (found) => {
        const [pending, oldest] = (await this.#control.call('XPENDING', stream, String(found.get('name')))) as [
          number,
          string | null,
        ];
        return pending > 0 && oldest !== null ? oldest : String(found.get('last-delivered-id'));
      }),
    );
  }

  trim(floor: string): Promise<number> {
    return this.#control.call('XTRIM', this.#options.stream, 'MINID', '~', floor, 'LIMIT', 10_000) as Promise<number>;
  }

  close(): void {
    this.#control.disconnect();
    this.#feed.close();
  }
}

function entriesOf(answer: unknown): readonly StreamEntry[] {
  const streams = answer as [Buffer, unknown[]][] | null;
  return streams === null ? [] : (streams[0]?.[1] ?? []).map(entryOf);
}

function entryOf(raw: unknown): StreamEntry {
  const [id, fields] = raw as [Buffer, Buffer[] | null];
  const text = id.toString('latin1');
  if (fields === null) return { id: text, body: undefined, deleted: true, fields: [] };
  if (fields.length === 2 && isEnvelopeField(fields[0]!)) return { id: text, body: fields[1]!, deleted: false, fields };
  let body: Buffer | undefined;
  for (let at = 0; at + 1 < fields.length; at += 2) if (isEnvelopeField(fields[at]!)) body = fields[at + 1];
  return { id: text, body, deleted: false, fields };
}

const FIELD = Buffer.from(ENVELOPE_FIELD);
const isEnvelopeField = (name: Buffer) => name.length === FIELD.length && name[0] === FIELD[0] && name.equals(FIELD);

function takenBack(counts: Acknowledgement['counts'], missing: number): Partial<Record<LedgerTerm, number>> {
  const back: Partial<Record<LedgerTerm, number>> = {};
  let left = missing;
  for (const term of TAKEN_BACK) {
    const by = Math.min(left, counts[term] ?? 0);
    if (by > 0) back[term] = -by;
    left -= by;
  }
  return back;
}
