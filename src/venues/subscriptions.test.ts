import { describe, expect, it } from 'vitest';
import type { SubscriptionEffect, SubscriptionEvent } from '../protocols/venue.ts';
import { binance } from './binance/index.ts';
import { bitstamp } from './bitstamp/index.ts';
import { coinbase } from './coinbase/index.ts';
import { VENUES } from './index.ts';
import { kraken } from './kraken/index.ts';
import { NO_SUBSCRIPTIONS, type Subscriptions, subscriptionProtocol } from './subscriptions.ts';
import type { Venue } from './venue.ts';

const SECOND = 1e9;

/** Runs events through a venue's protocol and keeps what came out of the last one. */
function connection(venue: Venue) {
  const protocol = subscriptionProtocol(venue.facts, venue.dialect);
  let state: Subscriptions = NO_SUBSCRIPTIONS;
  let nowNs = SECOND;
  const receive = (event: DistributiveOmit<SubscriptionEvent, 'nowNs'>): readonly SubscriptionEffect[] => {
    const [next, effects] = protocol.receive(state, { ...event, nowNs });
    state = next;
    return effects;
  };
  return {
    receive,
    frame: (text: string) => receive({ kind: 'control', frame: venue.dialect.classify(text) }),
    after(ns: number) {
      nowNs += ns;
      return receive({ kind: 'tick' });
    },
    get state() {
      return state;
    },
  };
}

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

const sent = (effects: readonly SubscriptionEffect[]) =>
  effects.flatMap((one) => (one.kind === 'send' ? one.text : []));
const streamsOf = (effects: readonly SubscriptionEffect[], kind: 'acked' | 'left' | 'refused' | 'requested') =>
  effects.flatMap((one) => (one.kind === kind ? one.stream : []));
const names = (count: number) => Array.from({ length: count }, (_, at) => `s${at}usdt@aggTrade`);

describe('what is desired', () => {
  it('is asked for when the connection opens, and acked by request id', () => {
    const binanceLink = connection(binance);
    binanceLink.receive({ kind: 'desire', streams: ['btcusdt@depth20@100ms', 'btcusdt@aggTrade'] });
    const opened = binanceLink.receive({ kind: 'opened' });
    expect(sent(opened)).toEqual([
      '{"method":"SUBSCRIBE","params":["btcusdt@depth20@100ms","btcusdt@aggTrade"],"id":1}',
    ]);
    expect(streamsOf(binanceLink.frame('{"result":null,"id":7}'), 'acked')).toEqual([]);
    expect(streamsOf(binanceLink.frame('{"result":null,"id":1}'), 'acked')).toEqual([
      'btcusdt@depth20@100ms',
      'btcusdt@aggTrade',
    ]);
  });

  it('is what a reconnect asks for: streams of now, not streams of the start', () => {
    const link = connection(binance);
    link.receive({ kind: 'desire', streams: ['a@trade', 'b@trade'] });
    link.receive({ kind: 'opened' });
    link.frame('{"result":null,"id":1}');
    link.receive({ kind: 'desire', streams: ['b@trade', 'c@trade'] });
    link.receive({ kind: 'closed' });
    link.after(SECOND);
    expect(sent(link.receive({ kind: 'opened' }))).toEqual([
      '{"method":"SUBSCRIBE","params":["b@trade","c@trade"],"id":1}',
    ]);
  });

  it('shares frames with what waits already, so that many streams that leave one by one do not take a frame each', () => {
    const link = connection(kraken);
    const books = Array.from({ length: 60 }, (_, at) => `book.100:S${at}/USD`);
    link.receive({ kind: 'desire', streams: books });
    link.receive({ kind: 'opened' });
    for (const stream of books) {
      const symbol = stream.slice('book.100:'.length);
      link.frame(JSON.stringify({ method: 'subscribe', result: { channel: 'book', symbol }, success: true }));
    }
    const leave = books.map((_, at) => sent(link.receive({ kind: 'desire', streams: books.slice(at + 1) })));
    const rest = sent(link.after(2 * SECOND));
    // Nine at once less the two that subscribed, then one frame of fifty and one of three.
    expect([leave.flat().length, rest.length]).toEqual([7, 2]);
    const left = [...leave.flat(), ...rest].flatMap(
      (text) => (JSON.parse(text) as { params: { symbol: string[] } }).params.symbol,
    );
    expect(left.map((symbol) => `book.100:${symbol}`)).toEqual(books);
  });

  it('changes by what is missing and what is too many, never by asking again', () => {
    const link = connection(binance);
    link.receive({ kind: 'desire', streams: ['a@trade', 'b@trade'] });
    link.receive({ kind: 'opened' });
    link.frame('{"result":null,"id":1}');
    expect(sent(link.receive({ kind: 'desire', streams: ['b@trade', 'c@trade'] }))).toEqual([
      '{"method":"UNSUBSCRIBE","params":["a@trade"],"id":2}',
      '{"method":"SUBSCRIBE","params":["c@trade"],"id":3}',
    ]);
    expect(streamsOf(link.frame('{"result":null,"id":2}'), 'left')).toEqual(['a@trade']);
    expect([...link.state.joined]).toEqual(['b@trade']);
  });

  it('that is dropped and wanted again while it is being left is joined again', () => {
    const link = connection(bitstamp);
    link.receive({ kind: 'desire', streams: ['order_book_btcusd'] });
    link.receive({ kind: 'opened' });
    link.frame('{"event":"bts:subscription_succeeded","channel":"order_book_btcusd","data":{}}');
    link.receive({ kind: 'desire', streams: [] });
    link.receive({ kind: 'desire', streams: ['order_book_btcusd'] });
    const left = link.frame('{"event":"bts:unsubscription_succeeded","channel":"order_book_btcusd","data":{}}');
    expect(sent(left)).toEqual(['{"event":"bts:subscribe","data":{"channel":"order_book_btcusd"}}']);
  });
});

describe("the venue's limits", () => {
  it('hold frames back to four in a good second on Binance: one in reserve for the pong, and a margin for the road', () => {
    const window = 1.25 * SECOND;
    const link = connection(binance);
    link.receive({ kind: 'desire', streams: names(900) });
    const opened = link.receive({ kind: 'opened' });
    expect(sent(opened)).toHaveLength(4);
    expect(opened.at(-1)).toEqual({ kind: 'wake', atNs: SECOND + window });
    expect(sent(link.after(window - 1))).toHaveLength(0);
    expect(sent(link.after(1))).toHaveLength(4);
    expect(sent(link.after(window))).toHaveLength(1);
    expect(link.state.queue).toHaveLength(0);
  });

  it('refuse the 1025th stream with a code, and take it once there is room', () => {
    const link = connection(binance);
    link.receive({ kind: 'opened' });
    const effects = link.receive({ kind: 'desire', streams: names(1025) });
    expect(effects.filter((one) => one.kind === 'refused')).toEqual([
      expect.objectContaining({ stream: 's1024usdt@aggTrade', code: 'TW_VENUE_TOO_MANY_STREAMS' }),
    ]);
    link.receive({ kind: 'desire', streams: names(1025).slice(900) });
    for (let second = 0; second < 5; second++) link.after(SECOND);
    expect([...link.state.inFlight].flatMap((one) => one.streams)).toContain('s1024usdt@aggTrade');
  });

  it('put one channel in a frame on Bitstamp, and never 512 bytes', () => {
    const link = connection(bitstamp);
    link.receive({ kind: 'opened' });
    const long = `order_book_${'x'.repeat(480)}`;
    const effects = link.receive({ kind: 'desire', streams: ['order_book_btcusd', 'live_trades_btcusd', long] });
    expect(sent(effects)).toEqual([
      '{"event":"bts:subscribe","data":{"channel":"order_book_btcusd"}}',
      '{"event":"bts:subscribe","data":{"channel":"live_trades_btcusd"}}',
    ]);
    expect(effects).toContainEqual(expect.objectContaining({ stream: long, code: 'TW_VENUE_FRAME_TOO_LONG' }));
  });

  it('are kept in every frame of every venue, whatever is wanted', () => {
    for (const venue of VENUES) {
      const link = connection(venue);
      const streams = Object.values(venue.facts.streams).flatMap((facts) =>
        Array.from({ length: 300 }, (_, at) => facts.name.replace('{symbol}', `sym${at}usd`)),
      );
      link.receive({ kind: 'desire', streams });
      let frames = sent(link.receive({ kind: 'opened' }));
      for (let round = 0; round < 100; round++) {
        expect(frames.length).toBeLessThanOrEqual(venue.facts.limits.framesPerSecond);
        for (const frame of frames) {
          expect(Buffer.byteLength(frame)).toBeLessThanOrEqual(venue.facts.limits.frameBytes);
        }
        frames = sent(link.after(SECOND));
      }
    }
  });
});

describe('a refusal', () => {
  it('of a batch halves it until the bad stream stands alone', () => {
    const link = connection(binance);
    link.receive({ kind: 'desire', streams: ['a@trade', 'b@trade', 'bad', 'd@trade'] });
    let frames = sent(link.receive({ kind: 'opened' }));
    const refused: string[] = [];
    for (let round = 0; round < 20 && (frames.length > 0 || link.state.inFlight.length > 0); round++) {
      const answers = frames.map((text) => {
        const { id, params } = JSON.parse(text) as { id: number; params: string[] };
        return params.includes('bad')
          ? `{"error":{"code":2,"msg":"bad stream"},"id":${id}}`
          : `{"result":null,"id":${id}}`;
      });
      const effects = [...answers.flatMap((answer) => link.frame(answer)), ...link.after(SECOND)];
      refused.push(...streamsOf(effects, 'refused'));
      frames = sent(effects);
    }
    expect(refused).toEqual(['bad']);
    expect([...link.state.joined].sort()).toEqual(['a@trade', 'b@trade', 'd@trade']);
  });

  it('that names nothing is laid to the oldest request, and a late ack heals the mistake', () => {
    const link = connection(bitstamp);
    link.receive({ kind: 'desire', streams: ['order_book_btcusd', 'order_book_BTCUSD'] });
    link.receive({ kind: 'opened' });
    const error = '{"event":"bts:error","channel":"","data":{"code":null,"message":"Invalid channel provided."}}';
    expect(streamsOf(link.frame(error), 'refused')).toEqual(['order_book_btcusd']);
    const ack = link.frame('{"event":"bts:subscription_succeeded","channel":"order_book_btcusd","data":{}}');
    expect(streamsOf(ack, 'acked')).toEqual(['order_book_btcusd']);
  });

  it('by symbol takes only that symbol out of a Kraken batch', () => {
    const link = connection(kraken);
    link.receive({ kind: 'desire', streams: ['book.100:BTC/USD', 'book.100:XBT/USD'] });
    expect(sent(link.receive({ kind: 'opened' }))).toEqual([
      '{"method":"subscribe","params":{"channel":"book","symbol":["BTC/USD","XBT/USD"],"depth":100,"snapshot":true},"req_id":1}',
    ]);
    const refusal =
      '{"error":"Currency pair not supported XBT/USD","method":"subscribe","req_id":1,"success":false,"symbol":"XBT/USD"}';
    expect(streamsOf(link.frame(refusal), 'refused')).toEqual(['book.100:XBT/USD']);
    const ack =
      '{"method":"subscribe","result":{"channel":"book","depth":100,"snapshot":true,"symbol":"BTC/USD"},"success":true,"req_id":1}';
    expect(streamsOf(link.frame(ack), 'acked')).toEqual(['book.100:BTC/USD']);
    expect(link.state.inFlight).toEqual([]);
  });

  it('is what three unanswered requests end in, while the other streams go on', () => {
    const link = connection(bitstamp);
    link.receive({ kind: 'desire', streams: ['order_book_btcusd', 'order_book_ethusd'] });
    link.receive({ kind: 'opened' });
    link.frame('{"event":"bts:subscription_succeeded","channel":"order_book_btcusd","data":{}}');
    expect(sent(link.after(5 * SECOND))).toHaveLength(1);
    expect(sent(link.after(5 * SECOND))).toHaveLength(1);
    const effects = link.after(5 * SECOND);
    expect(effects).toContainEqual(expect.objectContaining({ stream: 'order_book_ethusd', code: 'TW_VENUE_NO_ACK' }));
    expect([...link.state.joined]).toEqual(['order_book_btcusd']);
  });

  it('that answers no request is a complaint', () => {
    const link = connection(binance);
    link.receive({ kind: 'opened' });
    expect(link.frame('{"code":3,"msg":"Invalid JSON"}')).toEqual([{ kind: 'complain', reason: 'Invalid JSON' }]);
  });
});

describe('keepalive', () => {
  it('sends the heartbeat frame on time and takes the answer as a sign of life', () => {
    const link = connection(bitstamp);
    const opened = link.receive({ kind: 'opened' });
    expect(opened).toEqual([{ kind: 'wake', atNs: 21 * SECOND }]);
    expect(sent(link.after(19 * SECOND))).toEqual([]);
    expect(sent(link.after(SECOND))).toEqual(['{"event":"bts:heartbeat"}']);
    const answer = link.frame('{"event":"bts:heartbeat","channel":"","data":{"status":"success"}}');
    expect(answer).toContainEqual({ kind: 'alive' });
  });

  it('on Coinbase is a stream of its own, asked for first, so that the 5 s deadline is met with nothing desired', () => {
    const link = connection(coinbase);
    expect(sent(link.receive({ kind: 'opened' }))).toEqual(['{"type":"subscribe","channel":"heartbeats"}']);
    link.receive({ kind: 'desire', streams: ['level2:BTC-USD', 'level2:ETH-USD'] });
    const listed =
      '{"channel":"subscriptions","sequence_num":1,"events":[{"subscriptions":{"heartbeats":["heartbeats"],"level2":["BTC-USD"]}}]}';
    expect(streamsOf(link.frame(listed), 'acked')).toEqual(['heartbeats', 'level2:BTC-USD']);
  });

  it('turns a notice into a rotation', () => {
    const notices: readonly [Venue, string][] = [
      [binance, '{"stream":"!serverShutdown","data":{"e":"serverShutdown","E":1770123456789}}'],
      [binance, '{"e":"serverShutdown","E":1770123456789}'],
      [bitstamp, '{"event":"bts:request_reconnect","channel":"","data":null}'],
    ];
    for (const [venue, text] of notices) {
      const link = connection(venue);
      link.receive({ kind: 'opened' });
      expect(link.frame(text)).toContainEqual(expect.objectContaining({ kind: 'rotate' }));
    }
  });
});
