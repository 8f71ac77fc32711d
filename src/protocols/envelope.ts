import { isUtf8 } from 'node:buffer';
import type { DeadLetterCode, Refusal } from './dead-letter.ts';
import { Interner, isName } from './interner.ts';
import { DEPTH_MAX, JsonScanner, KIND, level, textOf } from './json-scanner.ts';
import { isUlidAt } from './ulid.ts';

// The message that a module appends to a stream, in the field `envelope`, and the event inside it:
//
//   {"type":"data","version":"1.0.0","id":"01JCQ...","ts":"1731700000123456789",
//    "data":{"event_type":"trade","source":"binance","symbol":"BTC-USD","ts_event":"...","ts_collector":"...",
//            "payload":{...},"meta":{"connection_id":"binance-1"}}}
//
// Times are nanoseconds since 1970, as a JSON integer or as a string of digits: both are read digit by digit, so no
// float ever holds them. `ts_kernel` is the kernel's to write; a producer's is ignored.

export const PROTOCOL_VERSION = '1.0.0';
export const ENVELOPE_FIELD = 'envelope';
export const ENVELOPE_BYTES_MAX = 256 * 1024;

export const ENVELOPE_TYPES = ['data', 'heartbeat', 'control', 'ack', 'error'] as const;
export type EnvelopeType = (typeof ENVELOPE_TYPES)[number];

export const EVENT_TYPES = ['quote', 'trade', 'orderbook', 'ohlc', 'heartbeat', 'status'] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** What the column `event_type` holds: an event's type, or the envelope's where it carries no event. */
export type StoredType = EventType | 'control' | 'ack' | 'error';

/** An accepted message: its columns, and where its payload and meta lie in the bytes that came in. */
export interface Accepted {
  readonly raw: Buffer;
  readonly envelopeType: EnvelopeType;
  readonly eventType: StoredType;
  /** ULID, upper case. */
  readonly id: string;
  readonly source: string;
  readonly symbol: string;
  readonly connection: string;
  readonly tsEvent: bigint;
  readonly tsCollector: bigint;
  readonly payloadStart: number;
  /** Equal to payloadStart when there is no payload: then it is `{}`. */
  readonly payloadEnd: number;
  readonly metaStart: number;
  readonly metaEnd: number;
  /** What a control message asks for. */
  readonly operation: string;
}

export const LIMITS = { sourceBytes: 64, symbolBytes: 64, connectionBytes: 128, operationBytes: 64 } as const;
const INT64_MAX = 9_223_372_036_854_775_807n;

const SLOT = {
  type: 0,
  version: 1,
  id: 2,
  ts: 3,
  data: 4,
  eventType: 5,
  source: 6,
  symbol: 7,
  tsEvent: 8,
  tsCollector: 9,
  payload: 10,
  meta: 11,
  operation: 12,
  connection: 13,
} as const;

const META = level({ connection_id: { slot: SLOT.connection } });
const EVENT = level({
  event_type: { slot: SLOT.eventType },
  source: { slot: SLOT.source },
  symbol: { slot: SLOT.symbol },
  ts_event: { slot: SLOT.tsEvent },
  ts_collector: { slot: SLOT.tsCollector },
  payload: { slot: SLOT.payload },
  meta: { slot: SLOT.meta, opens: META },
  op: { slot: SLOT.operation },
});
const ENVELOPE = level({
  type: { slot: SLOT.type },
  version: { slot: SLOT.version },
  id: { slot: SLOT.id },
  ts: { slot: SLOT.ts },
  data: { slot: SLOT.data, opens: EVENT },
});
const PATHS = Object.keys(SLOT).map((name) => {
  const snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const spelled = name === 'operation' ? 'op' : snake;
  if (SLOT[name as keyof typeof SLOT] <= SLOT.data) return spelled;
  return name === 'connection' ? 'data.meta.connection_id' : `data.${spelled}`;
});

const scanner = new JsonScanner(Object.keys(SLOT).length);
const interner = new Interner();

/** Reads one envelope. Never throws; a refusal names code, path and reason. */
export function decodeEnvelope(raw: Buffer, bytesMax = ENVELOPE_BYTES_MAX, depthMax = DEPTH_MAX): Accepted | Refusal {
  if (raw.length > bytesMax) return refuse('too_big', '', `${raw.length} bytes, the limit is ${bytesMax}`);
  if (raw[0] === 0xef && raw[1] === 0xbb && raw[2] === 0xbf)
    return refuse('byte_order_mark', 'byte 0', 'starts with EF BB BF');
  const scanned = scanner.scan(raw, ENVELOPE, depthMax);
  if ((!scanned || scanner.seen >= 0x80) && !isUtf8(raw)) return refuse('bad_utf8', '', 'not valid UTF-8');
  if (!scanned) return refuse(scanner.code, `byte ${scanner.at}`, near(raw, scanner.at));
  return readEnvelope(raw);
}

export function isRefusal(outcome: object): outcome is Refusal {
  return 'code' in outcome;
}

function readEnvelope(raw: Buffer): Accepted | Refusal {
  const type = oneOf(raw, SLOT.type, ENVELOPE_TYPES, 'bad_type');
  if (typeof type !== 'string') return type;
  const version = text(raw, SLOT.version, 64, 'bad_version');
  if (typeof version !== 'string') return version;
  if (
    version !== PROTOCOL_VERSION &&
    !/^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$/.test(version)
  ) {
    return refuseSlot('bad_version', SLOT.version, `"${version}" is not like ${PROTOCOL_VERSION}`);
  }
  if (!version.startsWith('1.')) {
    return refuseSlot('unsupported_version', SLOT.version, `this kernel speaks 1.x, the message ${version}`);
  }
  const id = readId(raw);
  if (typeof id !== 'string') return id;
  const ts = time(raw, SLOT.ts);
  if (typeof ts !== 'bigint') return ts;
  const data = expectKind(SLOT.data, KIND.object, 'an object');
  if (data !== undefined) return data;
  return type === 'data' || type === 'heartbeat' ? readEvent(raw, type, id, ts) : readControl(raw, type, id, ts);
}

function readEvent(raw: Buffer, type: 'data' | 'heartbeat', id: string, ts: bigint): Accepted | Refusal {
  const lenient = type === 'heartbeat';
  const eventType =
    lenient && absent(SLOT.eventType) ? 'heartbeat' : oneOf(raw, SLOT.eventType, EVENT_TYPES, 'bad_event_type');
  if (typeof eventType !== 'string') return eventType;
  const source = name(raw, SLOT.source, LIMITS.sourceBytes, 'bad_source');
  if (typeof source !== 'string') return source;
  // A heartbeat or a status is about a module, not about an instrument.
  const symbolless = eventType === 'heartbeat' || eventType === 'status';
  const symbol = symbolless && absent(SLOT.symbol) ? '' : name(raw, SLOT.symbol, LIMITS.symbolBytes, 'bad_symbol');
  if (typeof symbol !== 'string') return symbol;
  const tsEvent = lenient && absent(SLOT.tsEvent) ? ts : time(raw, SLOT.tsEvent);
  if (typeof tsEvent !== 'bigint') return tsEvent;
  const tsCollector = lenient && absent(SLOT.tsCollector) ? ts : time(raw, SLOT.tsCollector);
  if (typeof tsCollector !== 'bigint') return tsCollector;
  if (!(lenient && absent(SLOT.payload))) {
    const wrong = expectKind(SLOT.payload, KIND.object, 'an object');
    if (wrong !== undefined) return wrong;
  }
  const connection = readMeta(raw);
  if (typeof connection !== 'string') return connection;
  return {
    raw,
    envelopeType: type,
    eventType,
    id,
    source,
    symbol,
    connection,
    tsEvent,
    tsCollector,
    payloadStart: startOf(SLOT.payload),
    payloadEnd: endOf(SLOT.payload),
    metaStart: startOf(SLOT.meta),
    metaEnd: endOf(SLOT.meta),
    operation: '',
  };
}

/** Control, ack and error messages carry no event: the whole of `data` is what is stored. */
function readControl(raw: Buffer, type: 'control' | 'ack' | 'error', id: string, ts: bigint): Accepted | Refusal {
  const source = name(raw, SLOT.source, LIMITS.sourceBytes, 'bad_source');
  if (typeof source !== 'string') return source;
  const operation = type === 'control' ? name(raw, SLOT.operation, LIMITS.operationBytes, 'bad_control') : '';
  if (typeof operation !== 'string') return operation;
  const connection = readMeta(raw);
  if (typeof connection !== 'string') return connection;
  return {
    raw,
    envelopeType: type,
    eventType: type,
    id,
    source,
    symbol: '',
    connection,
    tsEvent: ts,
    tsCollector: ts,
    payloadStart: startOf(SLOT.data),
    payloadEnd: endOf(SLOT.data),
    metaStart: 0,
    metaEnd: 0,
    operation,
  };
}

function readId(raw: Buffer): string | Refusal {
  const wrong = expectKind(SLOT.id, KIND.string, 'a string');
  if (wrong !== undefined)
    return scanner.kinds[SLOT.id] === KIND.escaped ? refuseSlot('bad_id', SLOT.id, 'has escapes') : wrong;
  const start = scanner.starts[SLOT.id]! + 1;
  const end = scanner.ends[SLOT.id]! - 1;
  if (!isUlidAt(raw, start, end - start)) return refuseSlot('bad_id', SLOT.id, near(raw, start));
  const id = raw.toString('latin1', start, end);
  return isUpperCase(raw, start, end) ? id : id.toUpperCase();
}

function isUpperCase(raw: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (raw[at]! >= 0x61) return false;
  return true;
}

function readMeta(raw: Buffer): string | Refusal {
  if (absent(SLOT.meta) || scanner.kinds[SLOT.meta] === KIND.null) return '';
  const wrong = expectKind(SLOT.meta, KIND.object, 'an object');
  if (wrong !== undefined) return wrong;
  return absent(SLOT.connection) ? '' : name(raw, SLOT.connection, LIMITS.connectionBytes, 'bad_connection');
}

const absent = (slot: number) => scanner.kinds[slot] === KIND.absent;

const startOf = (slot: number) => (scanner.kinds[slot] === KIND.object ? scanner.starts[slot]! : 0);
const endOf = (slot: number) => (scanner.kinds[slot] === KIND.object ? scanner.ends[slot]! : 0);

function expectKind(slot: number, kind: number, article: string): Refusal | undefined {
  const found = scanner.kinds[slot];
  if (found === kind) return undefined;
  if (found === KIND.absent) return refuseSlot('missing_field', slot, 'the field is required');
  return refuseSlot('wrong_type', slot, `expected ${article}`);
}

/** The text of a string field of at most `bytesMax` bytes. */
function text(raw: Buffer, slot: number, bytesMax: number, code: DeadLetterCode): string | Refusal {
  const kind = scanner.kinds[slot];
  if (kind !== KIND.string && kind !== KIND.escaped) return expectKind(slot, KIND.string, 'a string') as Refusal;
  const start = scanner.starts[slot]!;
  const end = scanner.ends[slot]!;
  if (kind === KIND.string) {
    if (end - start - 2 > bytesMax) return refuseSlot(code, slot, `${end - start - 2} bytes, the limit is ${bytesMax}`);
    return interner.find(raw, start + 1, end - 1).text;
  }
  const decoded = textOf(raw, start, end);
  if (Buffer.byteLength(decoded) > bytesMax) return refuseSlot(code, slot, `over ${bytesMax} bytes`);
  return decoded;
}

/** A text that names something: not empty, no control characters. */
function name(raw: Buffer, slot: number, bytesMax: number, code: DeadLetterCode): string | Refusal {
  const start = scanner.starts[slot]! + 1;
  const end = scanner.ends[slot]! - 1;
  if (scanner.kinds[slot] === KIND.string && end - start <= bytesMax) {
    const known = interner.find(raw, start, end);
    if (known.isName) return known.text;
  }
  const found = text(raw, slot, bytesMax, code);
  if (typeof found !== 'string') {
    return found.code === 'missing_field' && code === 'bad_control' ? { ...found, code } : found;
  }
  if (isName(found)) return found;
  return refuseSlot(code, slot, found === '' ? 'empty' : 'has control characters');
}

function oneOf<T extends string>(raw: Buffer, slot: number, choices: readonly T[], code: DeadLetterCode): T | Refusal {
  const found = text(raw, slot, 64, code);
  if (typeof found !== 'string') return found;
  const choice = choices.find((candidate) => candidate === found);
  return choice ?? refuseSlot(code, slot, `"${found}" is none of ${choices.join(', ')}`);
}

/** Nanoseconds from a JSON integer or a string of digits. Nine digits at a time, so that no double rounds them. */
function time(raw: Buffer, slot: number): bigint | Refusal {
  const kind = scanner.kinds[slot];
  if (kind !== KIND.integer && kind !== KIND.string && kind !== KIND.number) {
    return expectKind(slot, KIND.integer, 'an integer or a string of digits') as Refusal;
  }
  const quoted = kind === KIND.string ? 1 : 0;
  const start = scanner.starts[slot]! + quoted;
  const end = scanner.ends[slot]! - quoted;
  if (end - start > 19 || end === start) return refuseSlot('bad_ts', slot, near(raw, start));
  let high = 0;
  let low = 0;
  for (let at = start; at < end; at++) {
    const digit = raw[at]! - 0x30;
    if (digit < 0 || digit > 9) return refuseSlot('bad_ts', slot, near(raw, start));
    if (at < end - 9) high = high * 10 + digit;
    else low = low * 10 + digit;
  }
  const value = BigInt(high) * 1_000_000_000n + BigInt(low);
  return value > 0n && value <= INT64_MAX ? value : refuseSlot('bad_ts', slot, near(raw, start));
}

function refuse(code: DeadLetterCode, path: string, reason: string): Refusal {
  return { code, path, reason };
}

function refuseSlot(code: DeadLetterCode, slot: number, reason: string): Refusal {
  return { code, path: PATHS[slot]!, reason };
}

/** A few bytes around a fault, printable, so that the reason can be read in a log. */
function near(raw: Buffer, at: number): string {
  const shown = raw.toString('latin1', Math.max(0, at - 8), Math.min(raw.length, at + 24));
  return `near ${JSON.stringify(shown.replace(/[^\x20-\x7e]/g, '.'))}`;
}
