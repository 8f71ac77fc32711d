// Streams are named CHANNEL:PRODUCT, for example level2:BTC-USD; the heartbeats channel has no product.
import type { ControlFrame } from '../../protocols/venue.ts';
import { asArray, asInteger, asObject, asStrings, asText, parseObject } from '../json.ts';
import type { Dialect } from '../venue.ts';

export function coinbaseStream(channel: string, product: string): string {
  return channel === 'heartbeats' ? channel : `${channel}:${product}`;
}

export const coinbaseDialect: Dialect = {
  encode(action, streams) {
    const channel = channelOf(streams[0] ?? '');
    const products = streams.map((stream) => stream.slice(channel.length + 1)).filter((product) => product !== '');
    return JSON.stringify({ type: action, ...(products.length > 0 ? { product_ids: products } : {}), channel });
  },

  groupOf: channelOf,

  classify(text): ControlFrame {
    const frame = parseObject(text);
    if (frame === undefined) return { kind: 'unknown' };
    if (frame['type'] === 'error') {
      const reason = asText(frame['message']) ?? 'no reason given';
      return { kind: 'refusal', id: undefined, stream: undefined, reason };
    }
    const number = asInteger(frame['sequence_num']);
    const sequence = number === undefined ? {} : { sequence: number };
    const channel = asText(frame['channel']);
    switch (channel) {
      case undefined:
        return { kind: 'unknown' };
      case 'subscriptions':
        return { kind: 'subscriptions', streams: subscribedStreams(frame['events']), ...sequence };
      case 'heartbeats':
        return { kind: 'heartbeat', ...sequence };
      default:
        return { kind: 'data', streams: streamsIn(channel, frame['events']), ...sequence };
    }
  },
};

function channelOf(stream: string): string {
  return stream.split(':', 1)[0] ?? '';
}

/** A book's events name their product, those of trades each trade; and the data of level2 comes as l2_data. */
function streamsIn(channel: string, events: unknown): readonly string[] {
  const products = asArray(events).flatMap((event) => {
    const { product_id, trades } = asObject(event) ?? {};
    return [product_id, ...asArray(trades).map((trade) => asObject(trade)?.['product_id'])];
  });
  return asStrings(products).map((product) => coinbaseStream(channel === 'l2_data' ? 'level2' : channel, product));
}

function subscribedStreams(events: unknown): readonly string[] {
  return asArray(events).flatMap((event) => {
    const channels = asObject(asObject(event)?.['subscriptions']) ?? {};
    return Object.entries(channels).flatMap(([channel, products]) =>
      asStrings(products).map((product) => coinbaseStream(channel, product)),
    );
  });
}
