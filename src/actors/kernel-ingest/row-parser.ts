import {
  ENTRY_ENVELOPE,
  ENTRY_ROW,
  REPLY_MORE,
  REPLY_NOTHING,
  REPLY_STRANGE,
  REPLY_WHOLE,
  SENDER_UNKNOWN,
} from '../../kernels/assembly/lib/envelope-contract.ts';
import { EnvelopeKernel, type EnvelopeLimits, PLAIN_TYPES } from '../../kernels/envelopes.ts';
import { type Accepted, decodeEnvelope, type EventType, isRefusal } from '../../protocols/envelope.ts';
import { invariant } from '../../protocols/errors/index.ts';
import type { EventRow, PlainPart, Sender } from '../../protocols/ingest.ts';
import { EntryParser, type StreamEntry } from './entry-parser.ts';

/** What a read brings: rows that were made on the way, and entries that are still to be decoded. */
export type ReadEntry = StreamEntry | PlainRow;

interface Block {
  readonly bytes: Buffer;
  readonly rows: Buffer;
  readonly tsKernel: bigint;
}

const NO_FIELDS: readonly Buffer[] = [];
const ONE_ENTRY = Buffer.from('*1\r\n*2\r\n$0\r\n\r\n*1\r\n');
/** Limits were checked when the entry was read. */
const DEPTH_ANY = 512;

/** A row that the kernel made. It knows where its parts lie; what nobody asks for is never cut out. */
export class PlainRow implements EventRow, PlainPart {
  readonly #block: Block;
  readonly #idStart: number;
  readonly #idEnd: number;
  readonly #bodyStart: number;
  readonly #bodyEnd: number;
  readonly copyStart: number;
  readonly copyEnd: number;
  readonly eventType: EventType;
  sender: Sender | undefined;

  constructor(block: Block, kernel: EnvelopeKernel, entry: number, copyStart: number) {
    this.#block = block;
    this.#idStart = kernel.idStart(entry);
    this.#idEnd = kernel.idEnd(entry);
    this.#bodyStart = kernel.bodyStart(entry);
    this.#bodyEnd = kernel.bodyEnd(entry);
    this.copyStart = copyStart;
    this.copyEnd = kernel.copyEnd(entry);
    this.eventType = PLAIN_TYPES[kernel.type(entry)]!;
  }

  get plain(): PlainPart {
    return this;
  }
  get deliveries(): number {
    return 1;
  }
  get tsKernel(): bigint {
    return this.#block.tsKernel;
  }
  get copy(): Buffer {
    return this.#block.rows;
  }
  get entryId(): string {
    return this.#block.bytes.toString('latin1', this.#idStart, this.#idEnd);
  }
  get bytes(): number {
    return this.#bodyEnd - this.#bodyStart;
  }
  get raw(): Buffer {
    return this.#block.bytes.subarray(this.#bodyStart, this.#bodyEnd);
  }
  get event(): Accepted {
    const event = decodeEnvelope(this.raw, Number.POSITIVE_INFINITY, DEPTH_ANY);
    invariant(!isRefusal(event), 'the full decoder accepts what the kernel made a row of', { id: this.entryId });
    return event;
  }
}

/**
 * Reads replies of XREADGROUP as they arrive. Plain envelopes become rows in the kernel; the others, and whatever is not
 * an entry of one envelope, are handed on as entries. A reply with an entry that the kernel has no room for is left to the
 * general parser.
 */
export class RowParser {
  readonly #kernel: EnvelopeKernel;
  readonly #now: () => bigint;
  readonly #senders: Sender[] = [];
  #entries: ReadEntry[] = [];
  #general: EntryParser | undefined;
  #begun = false;
  #tsKernel = 0n;

  constructor(limits: EnvelopeLimits, now: () => bigint, kernel = new EnvelopeKernel(limits)) {
    this.#kernel = kernel;
    this.#now = now;
  }

  /** Takes the next piece. Answers the entries once the reply is whole, an error that Redis sent, or undefined. */
  push(piece: Buffer): readonly ReadEntry[] | Error | undefined {
    if (this.#general !== undefined) return this.#pushGeneral(piece);
    if (!this.#begun) this.#begin();
    for (let from = 0; ; ) {
      const taken = this.#kernel.append(piece, from);
      from += taken;
      const outcome = this.#kernel.advance();
      if (outcome === REPLY_NOTHING) return this.#finish();
      if (outcome === REPLY_WHOLE) {
        this.#takeOut();
        return this.#finish();
      }
      if (outcome === REPLY_MORE && from === piece.length) return undefined;
      const stuck = outcome === REPLY_STRANGE || (taken === 0 && this.#kernel.count === 0);
      if (stuck) return this.#toGeneral(piece.subarray(from));
      this.#takeOut();
      this.#kernel.rewind();
    }
  }

  /** Forgets a reply that will never be whole: its connection is gone. */
  reset(): void {
    this.#general = undefined;
    this.#entries = [];
    this.#begun = false;
  }

  #begin(): void {
    this.#begun = true;
    this.#tsKernel = this.#now();
    this.#kernel.begin(this.#tsKernel);
  }

  #finish(): readonly ReadEntry[] {
    const entries = this.#entries;
    this.reset();
    return entries;
  }

  #takeOut(): void {
    const kernel = this.#kernel;
    const { count } = kernel;
    if (count === 0) return;
    const block: Block = { ...kernel.takeOut(), tsKernel: this.#tsKernel };
    let copyStart = 0;
    for (let entry = 0; entry < count; entry++) {
      if (kernel.kind(entry) !== ENTRY_ROW) {
        this.#entries.push(this.#unplain(block.bytes, entry));
        continue;
      }
      const row = new PlainRow(block, kernel, entry, copyStart);
      row.sender = this.#senderOf(kernel.sender(entry), row);
      copyStart = row.copyEnd;
      this.#entries.push(row);
    }
  }

  #senderOf(number: number, row: PlainRow): Sender | undefined {
    if (number === SENDER_UNKNOWN) return undefined;
    const known = this.#senders[number];
    if (known !== undefined) return known;
    const { source, connection } = row.event;
    const sender = { source, connection };
    this.#senders[number] = sender;
    return sender;
  }

  #unplain(bytes: Buffer, entry: number): StreamEntry {
    const kernel = this.#kernel;
    const idStart = kernel.idStart(entry);
    const idEnd = kernel.idEnd(entry);
    const body = bytes.subarray(kernel.bodyStart(entry), kernel.bodyEnd(entry));
    const id = bytes.toString('latin1', idStart, idEnd);
    if (kernel.kind(entry) === ENTRY_ENVELOPE) return { id, body, deleted: false, fields: NO_FIELDS };
    const frame = Buffer.from(`*2\r\n$${id.length}\r\n${id}\r\n`, 'latin1');
    const [found] = new EntryParser().push(Buffer.concat([ONE_ENTRY, frame, body])) as readonly StreamEntry[];
    return found!;
  }

  /** From here to its end the reply is parsed in general: its head, where it was not read yet, and what is left of it. */
  #toGeneral(more: Buffer): readonly ReadEntry[] | Error | undefined {
    this.#general = new EntryParser(this.#kernel.expected);
    return this.#pushGeneral(Buffer.concat([this.#kernel.rest(), more]));
  }

  #pushGeneral(piece: Buffer): readonly ReadEntry[] | Error | undefined {
    const answer = this.#general!.push(piece);
    if (answer === undefined) return undefined;
    const before = this.#finish();
    return answer instanceof Error ? answer : [...before, ...answer];
  }
}
