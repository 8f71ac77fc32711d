import { type Accepted, PROTOCOL_VERSION } from '../../protocols/envelope.ts';
import { ulidFactory } from '../../protocols/ulid.ts';

const nextId = ulidFactory();

/** What a kernel says of itself when it is asked. */
export interface KernelDescription {
  readonly stream: string;
  readonly group: string;
  readonly consumer: string;
}

/** The answer to a control message, as an envelope of type ack or error whose `re` is the message's id. */
export function controlReply(event: Accepted, kernel: KernelDescription, nowNs: bigint): Buffer {
  const base = { source: 'tapeworks', re: event.id, op: event.operation };
  const known = event.operation === 'ping' || event.operation === 'describe';
  const data = known
    ? { ...base, ok: true, ...(event.operation === 'describe' && { kernel: { ...kernel, version: PROTOCOL_VERSION } }) }
    : { ...base, ok: false, reason: 'unknown operation; known are ping and describe' };
  const envelope = {
    type: known ? 'ack' : 'error',
    version: PROTOCOL_VERSION,
    id: nextId(Number(nowNs / 1_000_000n)),
    ts: String(nowNs),
    data,
  };
  return Buffer.from(JSON.stringify(envelope));
}
