import { crc32 } from 'node:zlib';
import { ENVELOPE_FIELD, type EnvelopeType, type EventType, PROTOCOL_VERSION } from './envelope.ts';
import { ulidFactory } from './ulid.ts';

// What a module written in TypeScript needs: envelopes, and the stream to append them to.
//
//   const producer = new EventProducer({ source: 'binance', connectionId: 'binance-1', now: wallClockNs });
//   const { bytes } = producer.event({ eventType: 'trade', symbol: 'BTC-USD', tsEvent, payload: { price: '64000.1' } });
//   await redis.xadd(streamFor(streams, 'binance-1'), '*', ENVELOPE_FIELD, bytes);
//
// An XADD whose answer is lost may have happened. Send the same bytes again: the id in them makes it one event.

export interface ProducerIdentity {
  readonly source: string;
  readonly connectionId: string;
  readonly moduleVersion?: string;
  readonly region?: string;
  /** Nanoseconds since 1970. */
  now(): bigint;
}

export interface NewEvent {
  readonly eventType: EventType;
  readonly symbol: string;
  readonly tsEvent: bigint;
  /** An object, or its JSON text where the module already has that. */
  readonly payload: Readonly<Record<string, unknown>> | string;
}

export interface Envelope {
  readonly id: string;
  readonly bytes: Buffer;
}

export class EventProducer {
  readonly #identity: ProducerIdentity;
  readonly #nextId = ulidFactory();
  readonly #meta: string;

  constructor(identity: ProducerIdentity) {
    this.#identity = identity;
    this.#meta = JSON.stringify({
      connection_id: identity.connectionId,
      ...(identity.moduleVersion !== undefined && { module_version: identity.moduleVersion }),
      ...(identity.region !== undefined && { region: identity.region }),
    });
  }

  event(event: NewEvent): Envelope {
    const now = this.#identity.now();
    const payload = typeof event.payload === 'string' ? event.payload : JSON.stringify(event.payload);
    return this.#envelope(
      'data',
      now,
      `{"event_type":"${event.eventType}","source":${JSON.stringify(this.#identity.source)},` +
        `"symbol":${JSON.stringify(event.symbol)},"ts_event":"${event.tsEvent}","ts_collector":"${now}",` +
        `"payload":${payload},"meta":${this.#meta}}`,
    );
  }

  /** Tells how the module does. A status is about the module, so it names no symbol. */
  status(payload: Readonly<Record<string, unknown>>): Envelope {
    const now = this.#identity.now();
    return this.#envelope(
      'data',
      now,
      `{"event_type":"status","source":${JSON.stringify(this.#identity.source)},"ts_event":"${now}",` +
        `"ts_collector":"${now}","payload":${JSON.stringify(payload)},"meta":${this.#meta}}`,
    );
  }

  /** Says that the module lives; send one every few seconds. */
  heartbeat(payload: Readonly<Record<string, unknown>> = {}): Envelope {
    const data = { source: this.#identity.source, payload };
    return this.#envelope(
      'heartbeat',
      this.#identity.now(),
      `${JSON.stringify(data).slice(0, -1)},"meta":${this.#meta}}`,
    );
  }

  /** Asks the kernel something; the answer arrives in the stream `<stream>:replies` with `re` set to this id. */
  control(operation: 'ping' | 'describe'): Envelope {
    const data = { source: this.#identity.source, op: operation };
    return this.#envelope('control', this.#identity.now(), JSON.stringify(data));
  }

  #envelope(type: EnvelopeType, now: bigint, data: string): Envelope {
    const id = this.#nextId(Number(now / 1_000_000n));
    const text = `{"type":"${type}","version":"${PROTOCOL_VERSION}","id":"${id}","ts":"${now}","data":${data}}`;
    return { id, bytes: Buffer.from(text) };
  }
}

/** The stream for a key. One key always goes to one stream, so order within the key is kept; use the connection id. */
export function streamFor(streams: readonly string[], key: string): string {
  return streams[crc32(key) % streams.length]!;
}

/** The arguments of an XADD that appends an envelope. */
export function appendArguments(stream: string, envelope: Envelope): [string, string, string, Buffer] {
  return [stream, '*', ENVELOPE_FIELD, envelope.bytes];
}
