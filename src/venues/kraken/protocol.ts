// Streams are named CHANNEL[.DEPTH]:SYMBOL, for example book.100:BTC/USD and trade:BTC/USD.
import type { ControlFrame } from '../../protocols/venue.ts';
import { asArray, asInteger, asObject, asStrings, asText, type JsonObject, parseObject } from '../json.ts';
import type { Dialect } from '../venue.ts';
import { BOOK_DEPTH } from './facts.ts';

interface Channel {
  readonly channel: string;
  readonly depth: number | undefined;
  readonly symbol: string;
}

function parseStream(stream: string): Channel {
  const colon = stream.indexOf(':');
  const [channel = '', depth] = stream.slice(0, colon).split('.');
  return { channel, depth: depth === undefined ? undefined : Number(depth), symbol: stream.slice(colon + 1) };
}

export function krakenStream(channel: string, depth: number | undefined, symbol: string): string {
  return depth === undefined ? `${channel}:${symbol}` : `${channel}.${depth}:${symbol}`;
}

export const krakenDialect: Dialect = {
  encode(action, streams, id) {
    const { channel, depth } = parseStream(streams[0] ?? ':');
    const symbol = streams.map((stream) => parseStream(stream).symbol);
    const snapshot = action === 'subscribe' ? { snapshot: channel === 'book' } : {};
    const params = { channel, symbol, ...(depth === undefined ? {} : { depth }), ...snapshot };
    return JSON.stringify({ method: action, params, req_id: id });
  },

  groupOf: (stream) => stream.slice(0, stream.indexOf(':')),

  classify(text): ControlFrame {
    const frame = parseObject(text);
    if (frame === undefined) return { kind: 'unknown' };
    const method = asText(frame['method']);
    if (method !== undefined) return classifyAnswer(method, frame);
    const channel = asText(frame['channel']);
    switch (channel) {
      case undefined:
        return 'data' in frame ? dataOf('book', frame['data']) : { kind: 'unknown' };
      case 'heartbeat':
        return { kind: 'heartbeat' };
      case 'status':
        return { kind: 'status', text };
      default:
        return dataOf(channel, frame['data']);
    }
  },
};

/** Data of a book that is of no symbol may be of any, and so may data that does not say of which channel it is. */
function dataOf(channel: string, data: unknown): ControlFrame {
  const items = asArray(data);
  const symbols = asStrings(items.map((item) => asObject(item)?.['symbol']));
  const isUnnamed = channel === 'book' && (symbols.length < items.length || !Array.isArray(data));
  const streams = symbols.map((symbol) => streamOf(channel, symbol));
  return { kind: 'data', streams, ...(isUnnamed && { isUnnamed }) };
}

/** Books come at one depth alone, whether an answer says it or not. */
function streamOf(channel: string, symbol: string): string {
  return krakenStream(channel, channel === 'book' ? BOOK_DEPTH : undefined, symbol);
}

function classifyAnswer(method: string, frame: JsonObject): ControlFrame {
  if (method === 'pong') return { kind: 'heartbeat' };
  const reason = asText(frame['error']);
  if (reason !== undefined) {
    const symbol = asText(frame['symbol']);
    const id = asInteger(frame['req_id']);
    return {
      kind: 'refusal',
      id,
      stream: undefined,
      reason,
      ...(symbol === undefined ? {} : { ending: `:${symbol}` }),
    };
  }
  const result = asObject(frame['result']);
  const channel = asText(result?.['channel']);
  const symbol = asText(result?.['symbol']);
  if (channel === undefined || symbol === undefined || (method !== 'subscribe' && method !== 'unsubscribe')) {
    return { kind: 'unknown' };
  }
  return { kind: 'stream-ack', action: method, stream: streamOf(channel, symbol) };
}
