import type { ControlFrame, Ticker } from '../../protocols/venue.ts';
import { asArray, asInteger, asObject, asStrings, asText, type JsonObject, parseObject } from '../json.ts';
import type { Dialect } from '../venue.ts';

export const binanceDialect: Dialect = {
  encode(action, streams, id) {
    return JSON.stringify({ method: action === 'subscribe' ? 'SUBSCRIBE' : 'UNSUBSCRIBE', params: streams, id });
  },

  groupOf: () => '',

  classify(text): ControlFrame {
    if (text.startsWith('[')) return { kind: 'data', streams: [] };
    const frame = parseObject(text);
    if (frame === undefined) return { kind: 'unknown' };
    if (isShutdown(frame) || isShutdown(asObject(frame['data']))) return { kind: 'notice', reason: 'serverShutdown' };
    if ('stream' in frame || 'e' in frame || 'lastUpdateId' in frame) {
      return { kind: 'data', streams: asStrings([frame['stream']]) };
    }
    const error = asObject(frame['error']) ?? ('code' in frame ? frame : undefined);
    const id = asInteger(frame['id']);
    if (error !== undefined) {
      return { kind: 'refusal', id, stream: undefined, reason: asText(error['msg']) ?? 'no reason given' };
    }
    return 'result' in frame && id !== undefined ? { kind: 'ack', id } : { kind: 'unknown' };
  },

  readTickers(text) {
    const tickers = new Map<string, Ticker>();
    for (const item of asArray(parseObject(text)?.['data'])) {
      const ticker = asObject(item);
      const symbol = asText(ticker?.['s']);
      if (symbol !== undefined) tickers.set(symbol, { close: String(ticker?.['c']), volume: String(ticker?.['v']) });
    }
    return tickers;
  },
};

function isShutdown(frame: JsonObject | undefined): boolean {
  return frame?.['e'] === 'serverShutdown';
}
