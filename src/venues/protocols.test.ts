import { describe, expect, it } from 'vitest';
import type { ControlFrame } from '../protocols/venue.ts';
import { VENUES, venueNamed } from './index.ts';
import { isSymbolShaped, streamName, symbolOf } from './venue.ts';

const TABLE: readonly [venue: string, text: string, expected: ControlFrame][] = [
  ['binance', '{"result":null,"id":312}', { kind: 'ack', id: 312 }],
  ['binance', '{"code":2,"msg":"Invalid request"}', refusal(undefined, undefined, 'Invalid request')],
  ['binance', '{"error":{"code":1,"msg":"no"},"id":4}', refusal(4, undefined, 'no')],
  ['binance', '{"stream":"a@depth20","data":{"lastUpdateId":1,"bids":[],"asks":[]}}', data('a@depth20')],
  ['binance', '[{"e":"24hrMiniTicker","s":"BNBBTC"}]', data()],
  ['binance', '{"e":"serverShutdown","E":1}', { kind: 'notice', reason: 'serverShutdown' }],
  ['bitstamp', '{"event":"bts:error","channel":"x","data":{"code":1,"message":"m"}}', refusal(undefined, 'x', 'm')],
  ['bitstamp', '{"event":"trade","channel":"live_trades_btcusd","data":{}}', data('live_trades_btcusd')],
  ['bitstamp', '{"event":"bts:heartbeat","channel":"","data":{"status":"success"}}', { kind: 'heartbeat' }],
  ['kraken', '{"channel":"heartbeat"}', { kind: 'heartbeat' }],
  ['kraken', '{"method":"pong","req_id":42}', { kind: 'heartbeat' }],
  ['kraken', '{"channel":"book","type":"update","data":[]}', data()],
  [
    'kraken',
    '{"channel":"book","type":"update","data":[{"symbol":"BTC/USD"},{"symbol":"ETH/USD"}]}',
    data('book.100:BTC/USD', 'book.100:ETH/USD'),
  ],
  ['kraken', '{"channel":"trade","type":"update","data":[{"symbol":"BTC/USD"}]}', data('trade:BTC/USD')],
  // The example in the venue's documents has the depth, that of others has not.
  [
    'kraken',
    '{"method":"subscribe","result":{"channel":"book","symbol":"BTC/USD","snapshot":true},"success":true,"req_id":1}',
    { kind: 'stream-ack', action: 'subscribe', stream: 'book.100:BTC/USD' },
  ],
  [
    'kraken',
    '{"method":"unsubscribe","result":{"channel":"trade","symbol":"BTC/USD"},"success":true}',
    { kind: 'stream-ack', action: 'unsubscribe', stream: 'trade:BTC/USD' },
  ],
  ['coinbase', '{"channel":"heartbeats","sequence_num":9,"events":[]}', { kind: 'heartbeat', sequence: 9 }],
  ['coinbase', '{"channel":"l2_data","sequence_num":3,"events":[]}', { ...data(), sequence: 3 }],
  ['coinbase', '{"channel":"l2_data","events":[{"type":"update","product_id":"BTC-USD"}]}', data('level2:BTC-USD')],
  [
    'coinbase',
    '{"channel":"market_trades","events":[{"trades":[{"product_id":"BTC-USD"},{"product_id":"ETH-USD"}]}]}',
    data('market_trades:BTC-USD', 'market_trades:ETH-USD'),
  ],
  ['coinbase', '{"type":"error","message":"bad product"}', refusal(undefined, undefined, 'bad product')],
];

function data(...streams: string[]): ControlFrame {
  return { kind: 'data', streams };
}

function refusal(id: number | undefined, stream: string | undefined, reason: string): ControlFrame {
  return { kind: 'refusal', id, stream, reason };
}

describe('control frames', () => {
  it.each(TABLE)('of %s: %s', (venue, text, expected) => {
    expect(venueNamed(venue).dialect.classify(text)).toEqual(expected);
  });

  it('that make no sense are unknown, in every venue, and never throw', () => {
    for (const venue of VENUES) {
      for (const text of ['', '{', 'null', '7', '"x"', '{}', '{"id":{}}', '\u0000', '{"event":5}', '{"method":7}']) {
        expect(venue.dialect.classify(text)).toEqual({ kind: 'unknown' });
      }
    }
  });
});

describe('names', () => {
  it.each([
    ['binance', 'BTCUSDT', 'btcusdt@aggTrade'],
    ['bitstamp', 'btcusdt', 'live_trades_btcusdt'],
    ['kraken', 'BTC/USDT', 'trade:BTC/USDT'],
    ['coinbase', 'BTC-USDT', 'market_trades:BTC-USDT'],
  ])('of %s are %s and %s', (id, symbol, stream) => {
    const { facts } = venueNamed(id);
    expect(symbolOf(facts, 'btc', 'usdt')).toBe(symbol);
    expect(streamName(facts, 'trades', symbol)).toBe(stream);
  });

  it('that are symbols are told from what is none, of whatever script and length', () => {
    const { facts } = venueNamed('binance');
    const symbols = ['BTCUSDT', '1000SATSUSDT', '币安人生USDT'];
    const others = [
      '',
      'X',
      'btcusdt',
      'BTC USDT',
      'BTC/USD',
      'BTCUSDT_260327',
      '__proto__',
      'A'.repeat(31),
      '币'.repeat(20),
    ];
    expect([...symbols, ...others].filter((text) => isSymbolShaped(facts, text))).toEqual(symbols);
  });

  it('of unknown venues and missing streams are coded errors', () => {
    expect(() => venueNamed('nowhere')).toThrow(expect.objectContaining({ code: 'TW_VENUE_UNKNOWN' }));
    expect(() => streamName(venueNamed('kraken').facts, 'tickers', 'BTC/USD')).toThrow(
      expect.objectContaining({ code: 'TW_VENUE_NO_SUCH_STREAM' }),
    );
  });
});
