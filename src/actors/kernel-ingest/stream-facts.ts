import type { Redis } from 'ioredis';
import { ledgerOf, type StreamFacts } from '../../protocols/ingest-snapshot.ts';

// What Redis knows of a stream, in one transaction, so that the ledger adds up at every moment.
//
// The group's lag needs care. Redis before 7.2.5 does not write to its append-only file how many entries a group has read:
// after a restart its lag is too large, by a number that stays the same until the next restart. That excess is learned as
// soon as the lag is known otherwise: when the group has been given the stream's last entry, when so few entries wait that
// they can be counted, or when the ledger balances with the lag as it is told. Until then the lag is not known.

export interface StreamPlace {
  readonly stream: string;
  readonly group: string;
  readonly ledgerKey: string;
}

const COUNTED_MAX = 1_000;

export class FactsReader {
  readonly #redis: Redis;
  readonly #place: StreamPlace;
  #excess: number | undefined;

  constructor(redis: Redis, place: StreamPlace) {
    this.#redis = redis;
    this.#place = place;
    // Another life of the server counts anew.
    redis.on('ready', () => {
      this.#excess = undefined;
    });
  }

  async read(): Promise<StreamFacts> {
    const facts = await this.#read();
    if (facts.lag !== undefined) return facts;
    return this.#read(facts.lastDelivered);
  }

  /** Counts what waits after an id as well, where one is given. */
  async #read(after?: string): Promise<StreamFacts> {
    const { stream, group, ledgerKey } = this.#place;
    const transaction = this.#redis
      .multi()
      .call('XINFO', 'STREAM', stream)
      .call('XINFO', 'GROUPS', stream)
      .call('XPENDING', stream, group)
      .hgetall(ledgerKey);
    if (after !== undefined) transaction.call('XRANGE', stream, `(${after}`, '+', 'COUNT', COUNTED_MAX + 1);
    const answers = (await transaction.exec()) ?? [];
    const [info, groups, pending, ledger, waiting] = answers.map(([error, answer]) => {
      if (error !== null) throw error;
      return answer;
    });
    const ours = (groups as unknown[]).map(pairsOf).find((found) => found.get('name') === group);
    const [pendingCount, oldest] = pending as [number, string | null];
    const facts = pairsOf(info);
    const lastDelivered = String(ours?.get('last-delivered-id') ?? '0-0');
    const isAllRead = lastDelivered === String(facts.get('last-generated-id'));
    const counted = after === lastDelivered ? (waiting as unknown[]).length : undefined;
    const told = ours?.get('lag') ?? undefined;
    return this.#weighed(isAllRead ? 0 : counted, {
      added: Number(facts.get('entries-added')),
      length: Number(facts.get('length')),
      pending: Number(pendingCount),
      lag: undefined,
      lagTold: told === undefined ? undefined : Number(told),
      lastDelivered,
      oldestPending: oldest ?? undefined,
      ledger: Object.fromEntries(Object.entries(ledger as object).map(([term, count]) => [term, Number(count)])),
    });
  }

  /** The facts with the lag, as far as it is known. `really`: how many entries wait, where someone has counted. */
  #weighed(really: number | undefined, facts: StreamFacts): StreamFacts {
    const { lagTold } = facts;
    if (really !== undefined && really <= COUNTED_MAX) {
      if (lagTold !== undefined) this.#excess = lagTold - really;
      return { ...facts, lag: really };
    }
    if (lagTold === undefined) return facts;
    if (this.#excess === undefined && ledgerOf({ facts: { ...facts, lag: lagTold }, spill: EMPTY })?.balance === 0)
      this.#excess = 0;
    return this.#excess === undefined ? facts : { ...facts, lag: lagTold - this.#excess };
  }
}

/** The ledger balances with what is in the spill or without it. */
const EMPTY = { records: 0, bytes: 0, segments: 0 };

/** A list of names and values, as Redis answers it. */
export function pairsOf(list: unknown): Map<string, unknown> {
  const items = list as unknown[];
  const found = new Map<string, unknown>();
  for (let at = 0; at + 1 < items.length; at += 2) found.set(String(items[at]), items[at + 1]);
  return found;
}
