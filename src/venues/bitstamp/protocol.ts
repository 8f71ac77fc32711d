import type { ControlFrame } from '../../protocols/venue.ts';
import { asObject, asText, parseObject } from '../json.ts';
import type { Dialect } from '../venue.ts';

export const bitstampDialect: Dialect = {
  encode(action, streams) {
    return JSON.stringify({ event: `bts:${action}`, data: { channel: streams[0] ?? '' } });
  },

  groupOf: (stream) => stream,

  classify(text): ControlFrame {
    const frame = parseObject(text);
    const event = asText(frame?.['event']);
    const stream = asText(frame?.['channel']) || undefined;
    if (frame === undefined || (event === undefined && !('data' in frame))) return { kind: 'unknown' };
    switch (event) {
      case 'bts:subscription_succeeded':
        return stream === undefined ? { kind: 'unknown' } : { kind: 'stream-ack', action: 'subscribe', stream };
      case 'bts:unsubscription_succeeded':
        return stream === undefined ? { kind: 'unknown' } : { kind: 'stream-ack', action: 'unsubscribe', stream };
      case 'bts:heartbeat':
        return { kind: 'heartbeat' };
      case 'bts:request_reconnect':
        return { kind: 'notice', reason: 'bts:request_reconnect' };
      case 'bts:error': {
        const reason = asText(asObject(frame['data'])?.['message']) ?? 'no reason given';
        return { kind: 'refusal', id: undefined, stream, reason };
      }
      default:
        if (event?.startsWith('bts:') === true) return { kind: 'status', text: event };
        return stream === undefined
          ? { kind: 'data', streams: [], isUnnamed: true }
          : { kind: 'data', streams: [stream] };
    }
  },
};
