// One end of the connection between two threads: refs, messages and questions over a MessagePort.
//
// A ref that travels in a message is exported: the sender keeps it in a table and sends its number; the receiver makes a
// RemoteRef of it, which tells over the same port. Each RemoteRef may have so many messages on their way; the receiver
// gives the room back once the actor's own mailbox has taken them. So a slow actor slows its senders on other threads too,
// and a port never holds more than the windows of the refs that use it.
import type { MessagePort } from 'node:worker_threads';
import { asError, type ErrorCode, TapeworksError } from '../../protocols/errors/index.ts';
import { type Admission, isAdmitted, type Ref } from '../../protocols/ref.ts';
import { Ask, type Askable, Asked } from '../ask.ts';
import type { Clock } from '../clock.ts';
import type { DeadLetters } from '../dead-letters.ts';
import type { ExitReason } from '../strategy.ts';
import { watchersOf } from '../watch.ts';
import { RemoteRef } from './remote-ref.ts';

/** A ref on its way through a port. */
interface RefToken {
  readonly $ref: number;
  readonly path: string;
  /** Set when it is the reply address of a question: the deadline by which the other side must have answered. */
  readonly askMs?: number;
}

interface WireError {
  readonly code: ErrorCode | undefined;
  readonly message: string;
  readonly stack: string | undefined;
}

/** An error on its way through a port. */
interface ErrorToken {
  readonly $error: WireError;
}

type Packet =
  | { readonly kind: 'tell'; readonly to: number; readonly message: unknown; readonly ask?: number }
  | { readonly kind: 'room'; readonly of: number; readonly count: number }
  | { readonly kind: 'ended'; readonly of: number; readonly reason: ExitReason['kind'] }
  | { readonly kind: 'reply'; readonly ask: number; readonly reply: unknown }
  | { readonly kind: 'refused'; readonly ask: number; readonly error: WireError }
  | { readonly kind: 'call'; readonly id: number; readonly name: string; readonly args: unknown }
  | { readonly kind: 'answer'; readonly id: number; readonly value?: unknown; readonly error?: WireError }
  | { readonly kind: 'note'; readonly name: string; readonly value: unknown };

export interface LinkOptions {
  readonly port: MessagePort;
  readonly clock: Clock;
  readonly deadLetters: DeadLetters;
  /** Answers the other end's calls; what it throws is thrown to the caller. */
  readonly onCall: (name: string, args: unknown) => unknown;
  /** Hears what the other end says without waiting for an answer. */
  readonly onNote: (name: string, value: unknown) => void;
}

/** More questions than this on their way at once, and the next is refused: a table that only grows is a leak. */
const ASKS_MAX = 65_536;

export class Link {
  readonly #options: LinkOptions;
  readonly #exports = new Map<number, Ref<never>>();
  readonly #exportIds = new WeakMap<object, number>();
  readonly #imports = new Map<number, RemoteRef<never>>();
  readonly #asks = new Map<number, Ask<never>>();
  readonly #calls = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  readonly #room = new Map<number, number>();
  #isRoomDue = false;
  #nextId = 1;
  #isClosed = false;

  constructor(options: LinkOptions) {
    this.#options = options;
    options.port.on('message', (packet: Packet) => this.#receive(packet));
  }

  // --- out ---

  /** Calls a function of the other end by name. */
  call(name: string, args: unknown): Promise<unknown> {
    if (this.#isClosed) return Promise.reject(this.#closedError());
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#calls.set(id, { resolve, reject });
      this.#post({ kind: 'call', id, name, args: this.encode(args) });
    });
  }

  note(name: string, value: unknown): void {
    this.#post({ kind: 'note', name, value: this.encode(value) });
  }

  tell(to: number, message: unknown): void {
    this.#post({ kind: 'tell', to, message: this.encode(message) });
  }

  tellAsked(to: number, asked: Asked<unknown>): Admission {
    if (this.#asks.size >= ASKS_MAX) return 'rejected';
    const id = this.#nextId++;
    this.#asks.set(id, asked.ask);
    asked.ask.onSettled = () => this.#asks.delete(id);
    this.#post({ kind: 'tell', to, message: this.encode(asked.message, asked.ask), ask: id });
    return 'accepted';
  }

  #post(packet: Packet): void {
    if (!this.#isClosed) this.#options.port.postMessage(packet);
  }

  /** Replaces refs and errors in the fields of a message, and in arrays that are its fields, by tokens. */
  encode(message: unknown, ask?: Ask<never>): unknown {
    return mapFields(message, (value) => {
      // As it is, an error would lose its code, and one whose cause cannot be cloned would not travel at all.
      if (value instanceof Error) return { $error: toWire(value) } satisfies ErrorToken;
      if (!isRef(value)) return value;
      if (value === ask) return { $ref: 0, path: ask.path, askMs: ask.remainingMs } satisfies RefToken;
      return { $ref: this.#export(value), path: value.path } satisfies RefToken;
    });
  }

  #export(ref: Ref<never>): number {
    const known = this.#exportIds.get(ref);
    if (known !== undefined) return known;
    const id = this.#nextId++;
    this.#exportIds.set(ref, id);
    this.#exports.set(id, ref);
    watchersOf(ref)?.add((_path, reason) => {
      this.#exports.delete(id);
      this.#exportIds.delete(ref);
      this.#post({ kind: 'ended', of: id, reason });
    });
    return id;
  }

  // --- in ---

  decode(message: unknown, ask?: Ask<never>): unknown {
    return mapFields(message, (value) => {
      if (isErrorToken(value)) return fromWire(value.$error);
      if (!isToken(value)) return value;
      return value.askMs === undefined ? this.#import(value) : ask;
    });
  }

  #import(token: RefToken): RemoteRef<never> {
    let ref = this.#imports.get(token.$ref);
    if (ref === undefined) {
      ref = new RemoteRef<never>(this, token.$ref, token.path);
      this.#imports.set(token.$ref, ref);
    }
    return ref;
  }

  #receive(packet: Packet): void {
    switch (packet.kind) {
      case 'tell':
        this.#deliver(packet);
        break;
      case 'room':
        this.#imports.get(packet.of)?.giveRoom(packet.count);
        break;
      case 'ended':
        this.#imports.get(packet.of)?.end(packet.reason);
        this.#imports.delete(packet.of);
        break;
      case 'reply':
        this.#asks.get(packet.ask)?.tell(this.decode(packet.reply) as never);
        break;
      case 'refused':
        this.#asks.get(packet.ask)?.fail(packet.error.code ?? 'TW_ASK_FAILED', packet.error.message);
        break;
      case 'call':
        void this.#answer(packet.id, packet.name, packet.args);
        break;
      case 'answer': {
        const call = this.#calls.get(packet.id);
        this.#calls.delete(packet.id);
        if (packet.error !== undefined) call?.reject(fromWire(packet.error));
        else call?.resolve(this.decode(packet.value));
        break;
      }
      case 'note':
        this.#options.onNote(packet.name, this.decode(packet.value));
        break;
    }
  }

  #deliver(packet: Packet & { kind: 'tell' }): void {
    const target = this.#exports.get(packet.to) as Ref<unknown> | undefined;
    const admission =
      packet.ask === undefined ? this.#deliverTell(target, packet) : this.#deliverAsk(target, packet, packet.ask);
    if (admission !== 'pause') this.#returnRoom(packet.to);
    else (target as unknown as { whenReady(go: () => void): void }).whenReady(() => this.#returnRoom(packet.to));
  }

  #deliverTell(target: Ref<unknown> | undefined, packet: Packet & { kind: 'tell' }): Admission {
    const message = this.decode(packet.message);
    if (target !== undefined) return target.tell(message);
    this.#options.deadLetters.add(`export ${packet.to}`, message, 'terminated');
    return 'dead';
  }

  /** A question from the other end becomes a question of this one, whose outcome travels back. */
  #deliverAsk(target: Ref<unknown> | undefined, packet: Packet & { kind: 'tell' }, askId: number): Admission {
    const token = findAskToken(packet.message);
    const ask = new Ask<never>(target?.path ?? '', this.#options.clock, token?.askMs ?? 0);
    ask.promise
      .then((reply: unknown) => this.#post({ kind: 'reply', ask: askId, reply: this.encode(reply) }))
      // Also of a reply that cannot travel.
      .catch((error: unknown) => this.#post({ kind: 'refused', ask: askId, error: toWire(error) }));
    const message = this.decode(packet.message, ask);
    const admission =
      target === undefined
        ? 'dead'
        : 'offerAsked' in target
          ? (target as Askable<unknown>).offerAsked(new Asked(message, ask))
          : target.tell(message);
    if (!isAdmitted(admission)) {
      const code = admission === 'dead' ? 'TW_ASK_TERMINATED' : 'TW_ASK_REFUSED';
      ask.fail(code, `${target?.path ?? 'the actor'} did not take the question: ${admission}`);
    }
    return admission;
  }

  /** Room is given back in one packet for everything that arrived in this turn of the event loop. */
  #returnRoom(of: number): void {
    this.#room.set(of, (this.#room.get(of) ?? 0) + 1);
    if (this.#isRoomDue) return;
    this.#isRoomDue = true;
    setImmediate(() => {
      this.#isRoomDue = false;
      for (const [id, count] of this.#room) this.#post({ kind: 'room', of: id, count });
      this.#room.clear();
    });
  }

  async #answer(id: number, name: string, args: unknown): Promise<void> {
    try {
      this.#post({ kind: 'answer', id, value: this.encode(await this.#options.onCall(name, this.decode(args))) });
    } catch (error) {
      this.#post({ kind: 'answer', id, error: toWire(error) });
    }
  }

  /** The other end is gone: what was on its way is lost, and is said to be. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#options.port.close();
    for (const call of this.#calls.values()) call.reject(this.#closedError());
    this.#calls.clear();
    for (const ask of this.#asks.values()) ask.fail('TW_ASK_TERMINATED', 'the thread that was asked has ended');
    this.#asks.clear();
    for (const ref of this.#imports.values()) {
      for (let lost = 0; lost < ref.inFlight; lost++) this.#options.deadLetters.add(ref.path, 'unknown', 'left-behind');
      ref.end('failure');
    }
    this.#imports.clear();
    this.#exports.clear();
  }

  #closedError(): TapeworksError {
    return new TapeworksError('TW_ASK_TERMINATED', 'the other thread has ended');
  }
}

function isRef(value: unknown): value is Ref<never> {
  return typeof value === 'object' && value !== null && 'tell' in value && typeof value.tell === 'function';
}

function isToken(value: unknown): value is RefToken {
  return typeof value === 'object' && value !== null && '$ref' in value;
}

function isErrorToken(value: unknown): value is ErrorToken {
  return typeof value === 'object' && value !== null && '$error' in value;
}

function findAskToken(message: unknown): RefToken | undefined {
  if (typeof message !== 'object' || message === null) return undefined;
  return Object.values(message).find((value): value is RefToken => isToken(value) && value.askMs !== undefined);
}

/** Refs travel in the fields of a message and in arrays that are fields; deeper ones would cost a walk of every payload. */
function mapFields(message: unknown, map: (value: unknown) => unknown): unknown {
  const whole = map(message);
  if (whole !== message || typeof message !== 'object' || message === null) return whole;
  if (Object.getPrototypeOf(message) !== Object.prototype) return message;
  let copy: Record<string, unknown> | undefined;
  for (const [key, value] of Object.entries(message)) {
    const mapped = Array.isArray(value) && value.some((item) => map(item) !== item) ? value.map(map) : map(value);
    if (mapped === value) continue;
    copy ??= { ...message };
    copy[key] = mapped;
  }
  return copy ?? message;
}

function toWire(thrown: unknown): WireError {
  const error = asError(thrown);
  const code = error instanceof TapeworksError ? error.code : undefined;
  return { code, message: error.message, stack: error.stack };
}

function fromWire(wire: WireError): Error {
  const error = wire.code === undefined ? new Error(wire.message) : new TapeworksError(wire.code, wire.message);
  if (wire.stack !== undefined) error.stack = wire.stack;
  return error;
}
