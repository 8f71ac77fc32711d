// What a venue, or a server that stands in for one, may send although nobody expects it. None of it ends the connection or
// makes a wrong book: it is understood, passed over, or refused with a code; and the next good frame counts.
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { until } from './harness.ts';
import { StandIn, SYMBOLS } from './stand-in.ts';

/** A good frame of each venue: one bid of `amount` at 9, one ask at 10. Kraken proves nothing where it sends no checksum. */
let counter = 0;
const TIME = '2026-01-01T00:00:00.000000Z';
const GOOD: Readonly<Record<string, (amount: number) => string>> = {
  binance: (amount) =>
    `{"stream":"btcusdt@depth20@100ms","data":{"lastUpdateId":${amount},"bids":[["9","${amount}"]],"asks":[["10","1"]]}}`,
  bitstamp: (amount) =>
    `{"data":{"timestamp":"1","microtimestamp":"${amount}","bids":[["9","${amount}"]],"asks":[["10","1"]]},"channel":"order_book_btcusd","event":"data"}`,
  kraken: (amount) =>
    `{"channel":"book","type":"snapshot","data":[{"symbol":"BTC/USD","bids":[{"price":9,"qty":${amount}}],"asks":[{"price":10,"qty":1}],"timestamp":"${TIME}"}]}`,
  coinbase: (amount) =>
    `{"channel":"l2_data","client_id":"","timestamp":"${TIME}","sequence_num":${counter++},"events":[{"type":"snapshot","product_id":"BTC-USD","updates":[{"side":"bid","event_time":"${TIME}","price_level":"9","new_quantity":"${amount}"},{"side":"offer","event_time":"${TIME}","price_level":"10","new_quantity":"1"}]}]}`,
};

type Strange = readonly [what: string, frame: string | Buffer | (() => string), code: string | undefined];
const EVERYWHERE: readonly Strange[] = [
  ['nothing at all', '', 'TW_FRAME_JSON'],
  ['white space', ' \n\t ', 'TW_FRAME_JSON'],
  ['a number', '12', 'TW_FRAME_JSON'],
  ['null', 'null', 'TW_FRAME_JSON'],
  ['text that is not JSON', 'pong', 'TW_FRAME_JSON'],
  ['bytes that are no text', Buffer.from([0, 255, 254, 1, 2, 3]), 'TW_FRAME_JSON'],
  ['an object that says nothing', '{}', 'TW_FRAME_UNKNOWN'],
  ['a cut frame', '{"stream":"btcusdt@dep', 'TW_FRAME_JSON'],
];
const STRANGE: Readonly<Record<string, readonly Strange[]>> = {
  binance: [
    ['an array of tickers', '[{"e":"24hrMiniTicker","s":"BTCUSDT"}]', undefined],
    ['an event of another kind', '{"stream":"btcusdt@kline_1m","data":{"e":"kline","s":"BTCUSDT"}}', undefined],
    [
      'a stream that nobody asked for',
      '{"stream":"ethusdt@depth20","data":{"lastUpdateId":1,"bids":[],"asks":[]}}',
      'TW_FRAME_ROUTE',
    ],
    ['an ack of a request never made', '{"result":null,"id":999}', undefined],
    ['an ack whose id is text', '{"result":null,"id":"1"}', 'TW_FRAME_UNKNOWN'],
    ['a list of subscriptions', '{"result":["btcusdt@depth20@100ms"],"id":77}', undefined],
    ['an error that answers nothing', '{"error":{"code":3,"msg":"Invalid JSON"},"id":null}', undefined],
    [
      'an id that is text',
      '{"stream":"btcusdt@depth20@100ms","data":{"lastUpdateId":"x","bids":[],"asks":[]}}',
      'TW_FRAME_DECIMAL',
    ],
    [
      'levels out of order',
      '{"stream":"btcusdt@depth20@100ms","data":{"lastUpdateId":5,"bids":[["1","1"],["2","1"]],"asks":[]}}',
      'TW_FRAME_ORDER',
    ],
    [
      'a negative amount',
      '{"stream":"btcusdt@depth20@100ms","data":{"lastUpdateId":5,"bids":[["1","-1"]],"asks":[]}}',
      'TW_FRAME_DECIMAL',
    ],
  ],
  bitstamp: [
    ['a heartbeat', '{"event":"bts:heartbeat","channel":"","data":{"status":"success"}}', undefined],
    [
      'an ack of what nobody asked for',
      '{"event":"bts:subscription_succeeded","channel":"order_book_ethusd","data":{}}',
      undefined,
    ],
    ['an unknown bts event', '{"event":"bts:news","channel":"","data":{}}', undefined],
    [
      'an order of another channel',
      '{"data":{"id":1},"channel":"live_orders_btcusd","event":"order_created"}',
      undefined,
    ],
    [
      'a pair that nobody asked for',
      '{"data":{"microtimestamp":"1","bids":[],"asks":[]},"channel":"order_book_ethusd","event":"data"}',
      'TW_FRAME_ROUTE',
    ],
    ['data that is text', '{"data":"","channel":"order_book_btcusd","event":"data"}', 'TW_FRAME_SHAPE'],
    [
      'a number where text belongs',
      '{"data":{"microtimestamp":"1","bids":[[9,1]],"asks":[]},"channel":"order_book_btcusd","event":"data"}',
      undefined,
    ],
  ],
  kraken: [
    ['a status', '{"channel":"status","type":"update","data":[{"system":"online"}]}', undefined],
    ['a heartbeat', '{"channel":"heartbeat"}', undefined],
    ['a channel that nobody knows', '{"channel":"ticker","type":"update","data":[{"symbol":"BTC/USD"}]}', undefined],
    [
      'an update before any snapshot',
      `{"channel":"book","type":"update","data":[{"symbol":"BTC/USD","bids":[{"price":8,"qty":1}],"asks":[],"checksum":1,"timestamp":"${TIME}"}]}`,
      undefined,
    ],
    [
      'a symbol that nobody asked for',
      `{"channel":"book","type":"update","data":[{"symbol":"ETH/USD","bids":[],"asks":[],"checksum":1,"timestamp":"${TIME}"}]}`,
      'TW_FRAME_ROUTE',
    ],
    ['no data', '{"channel":"book","type":"update","data":[]}', undefined],
    ['data that is no list', '{"channel":"book","type":"update","data":{}}', 'TW_FRAME_SHAPE'],
    ['an answer to nothing', '{"method":"pong","req_id":9,"time_in":"","time_out":""}', undefined],
    ['an error that answers nothing', '{"error":"Malformed request","method":"error","success":false}', undefined],
  ],
  coinbase: [
    [
      'a list of subscriptions',
      () => `{"channel":"subscriptions","sequence_num":${counter++},"events":[{"subscriptions":{}}]}`,
      undefined,
    ],
    [
      'a heartbeat',
      () => `{"channel":"heartbeats","sequence_num":${counter++},"events":[{"heartbeat_counter":1}]}`,
      undefined,
    ],
    ['a channel that nobody knows', () => `{"channel":"status","sequence_num":${counter++},"events":[]}`, undefined],
    [
      'no events',
      () => `{"channel":"l2_data","timestamp":"${TIME}","sequence_num":${counter++},"events":[]}`,
      undefined,
    ],
    ['an error', '{"type":"error","message":"authentication failure"}', undefined],
  ],
};

describe.each(Object.keys(SYMBOLS))('%s may send', (venue) => {
  let standIn: StandIn;
  let amount = 100;

  beforeEach(async () => {
    counter = 0;
    standIn = new StandIn(venue);
    await standIn.start();
  });
  afterEach(() => standIn.stop());

  async function expectNextIsRight(): Promise<void> {
    amount++;
    standIn.say(GOOD[venue]!(amount));
    await until(
      () => standIn.books.at(-1)?.bids.join() === `${amount}@9`,
      () => `the good book: ${JSON.stringify([standIn.books.at(-1), standIn.status()])}`,
    );
    expect(standIn.books.at(-1)!.asks).toEqual(['1@10']);
    expect(standIn.status().counters.reconnections).toBe(0);
  }

  it.each([...EVERYWHERE, ...STRANGE[venue]!])('%s', async (_, frame, code) => {
    standIn.say(typeof frame === 'function' ? frame() : frame);
    const before = standIn.books.length;
    await expectNextIsRight();
    const { errorsByCode } = standIn.status().counters;
    if (code !== undefined) expect(errorsByCode).toEqual({ [code]: 1 });
    else expect(Object.keys(errorsByCode).filter((one) => one.startsWith('TW_FRAME'))).toEqual([]);
    expect(standIn.books.slice(before).length).toBeLessThanOrEqual(2);
  });

  it('a good book as a binary frame, and after a ping with a payload that it gets back', async () => {
    const pong = once(standIn.socket, 'pong') as Promise<[Buffer]>;
    standIn.socket.ping('1771234567890');
    expect(String((await pong)[0])).toBe('1771234567890');
    amount++;
    standIn.say(Buffer.from(GOOD[venue]!(amount)));
    await until(() => standIn.books.at(-1)?.bids.join() === `${amount}@9`, 'the binary book');
    await expectNextIsRight();
  });
});

describe('Binance may send', () => {
  let standIn: StandIn;
  beforeEach(async () => {
    standIn = new StandIn('binance');
    await standIn.start();
  });
  afterEach(() => standIn.stop());

  it('a partial book without the envelope, where one symbol alone is wanted', async () => {
    standIn.say('{"lastUpdateId":160,"bids":[["9","2"]],"asks":[["10","3"]]}');
    await until(() => standIn.books.length === 1, 'the raw book');
    expect(standIn.books).toEqual([{ sequence: 160, bids: ['2@9'], asks: ['3@10'] }]);
  });

  it('an empty book', async () => {
    standIn.say('{"stream":"btcusdt@depth20@100ms","data":{"lastUpdateId":161,"bids":[],"asks":[]}}');
    await until(() => standIn.books.length === 1, 'the empty book');
    expect(standIn.books[0]).toEqual({ sequence: 161, bids: [], asks: [] });
  });

  it('acks in any order, also after the data', async () => {
    standIn.say(GOOD['binance']!(5));
    await until(() => standIn.books.length === 1, 'the book');
    standIn.say('{"result":null,"id":1}');
    const phaseOf = (wanted: string) => standIn.status().streams.find(({ kind }) => kind === wanted)!.phase;
    await until(() => phaseOf('book') === 'live' && phaseOf('trades') === 'acked', 'the ack to count');
  });
});
