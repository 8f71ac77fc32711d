import { Redis } from 'ioredis';
import type { EnvelopeLimits } from '../../kernels/envelopes.ts';
import { type DeadLetter, deadLetterFields } from '../../protocols/dead-letter.ts';
import { ENVELOPE_FIELD } from '../../protocols/envelope.ts';
import type { StreamFacts } from '../../protocols/ingest-snapshot.ts';
import { olderOf } from '../spill/segment-scan.ts';
import { EntryFeed } from './entry-feed.ts';
import type { StreamEntry } from './entry-parser.ts';
import { ACKNOWLEDGE, BURY, CLAIM, ENSURE_GROUP, type LedgerScript } from './ledger-scripts.ts';
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
  /** Entries by what became of them; those of letters and answers are not among them. */
  readonly fates: readonly { readonly term: LedgerTerm; readonly ids: readonly string[] }[];
  /** How many of those stored had been stored before. */
  readonly duplicates: number;
  readonly letters: readonly DeadLetter[];
  readonly answers: readonly Answer[];
}

/** The answer to an entry that asked something. */
export interface Answer {
  readonly entryId: string;
  readonly term: LedgerTerm;
  readonly envelope: Buffer;
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
const LOADING_LOOK_MS = 500;
const REPLIES_KEPT = 1_000;
const SETTLED = ['stored', 'duplicate', 'spilled', 'dead_lettered', 'dropped', 'trimmed'] as const;

/** The commands of one stream. One connection only ever waits for entries; all others go over a second one. */
export class RedisStream {
  readonly #options: RedisStreamOptions;
  readonly #control: Redis;
  readonly #feed: EntryFeed;
  readonly #facts: FactsReader;
  readonly ledgerKey: string;
  readonly repliesKey: string;
  readonly poisonKey: string;
  readonly buriedKey: string;

  constructor(options: RedisStreamOptions) {
    this.#options = options;
    this.ledgerKey = `${options.stream}:ledger`;
    this.repliesKey = `${options.stream}:replies`;
    this.poisonKey = `${options.stream}:poison`;
    this.buriedKey = `${options.stream}:buried`;
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
      // A server that reads back its log guesses badly how long that takes.
      maxLoadingRetryTime: LOADING_LOOK_MS,
      retryStrategy: (times) => Math.min(50 * 2 ** Math.min(times, 6), 1_000),
      commandTimeout: COMMAND_MS,
    });
    // Failures show as rejected commands; without a listener they would also be printed.
    client.on('error', () => undefined);
    return client;
  }

  async #run(script: LedgerScript, keys: readonly string[], args: readonly (string | number | Buffer)[]) {
    const rest = [keys.length, ...keys, ...args];
    try {
      return await this.#control.callBuffer('EVALSHA', [script.sha, ...rest]);
    } catch (error) {
      if (!String(error).includes('NOSCRIPT')) throw error;
      return await this.#control.callBuffer('EVAL', [script.text, ...rest]);
    }
  }

  /**
   * Makes the group from the stream's first entry on: ids already stored are absorbed, skipped ones would be lost. A new
   * group is given every entry that is still in the stream, also those that an earlier one has acknowledged: the ledger
   * counts them as `reoffered`, so that it balances again. Worked: 100 added, 90 acknowledged, 60 still there, 10 of them
   * not acknowledged; 90 + 60 - 100 = 50 will be acknowledged twice.
   */
  async ensureGroup(): Promise<void> {
    await this.ready();
    await this.#run(ENSURE_GROUP, [this.#options.stream, this.ledgerKey], [this.#options.group, ...SETTLED]);
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
    const answer = (await this.#run(CLAIM, [stream, this.ledgerKey], [group, consumer, idleMs, from, count])) as [
      Buffer,
      unknown[],
      Buffer[] | undefined,
    ];
    const ours = onTheirWay();
    const entries = answer[1].map(entryOf).filter(({ id, deleted }) => !deleted && !ours.has(id));
    return { entries, deleted: (answer[2] ?? []).map(String) };
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

  /**
   * Acknowledges and counts in one step. Answers how many of the entries were acknowledged by it; the others had been
   * before, by this kernel or by another, and were counted then.
   */
  async acknowledge({ fates, duplicates, letters, answers }: Acknowledgement): Promise<number> {
    const { stream, group, deadLetterStream } = this.#options;
    const messages = [
      ...letters.map((letter) => message('dead_lettered', letter.entryId, 3, 0, deadLetterFields(letter))),
      ...answers.map(({ entryId, term, envelope }) =>
        message(term, entryId, 4, REPLIES_KEPT, [ENVELOPE_FIELD, envelope]),
      ),
    ];
    const args: (string | number | Buffer)[] = [group, duplicates, fates.length];
    for (const { term, ids } of fates) {
      args.push(term, ids.length);
      for (const id of ids) args.push(id);
    }
    args.push(messages.length);
    for (const part of messages.flat()) args.push(part);
    return Number(await this.#run(ACKNOWLEDGE, [stream, this.ledgerKey, deadLetterStream, this.repliesKey], args));
  }

  /** Dead letters of entries that were acknowledged as spilled. */
  async bury(letters: readonly DeadLetter[]): Promise<void> {
    const args = letters.flatMap((letter) => {
      const fields = deadLetterFields(letter);
      return [letter.entryId, fields.length, ...fields];
    });
    await this.#run(BURY, [this.#options.deadLetterStream, this.ledgerKey, this.buriedKey], args);
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

/** A message of a script's arguments: see ACKNOWLEDGE. */
function message(
  term: LedgerTerm,
  entryId: string,
  key: number,
  longest: number,
  fields: readonly (string | Buffer)[],
): (string | number | Buffer)[] {
  return [term, entryId, key, longest, fields.length, ...fields];
}
