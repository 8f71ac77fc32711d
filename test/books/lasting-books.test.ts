// Books that stay, come back or leave for the right reason, seen through a server that says what a test wants.
import { afterEach, describe, expect, it } from 'vitest';
import { until } from './harness.ts';
import { StandIn, type StandInOptions } from './stand-in.ts';

let standIn: StandIn | undefined;
afterEach(() => standIn?.stop());

async function started(venue: string, options: StandInOptions): Promise<StandIn> {
  standIn = new StandIn(venue, options);
  await standIn.start();
  return standIn;
}

const channelOf = (text: string) => (JSON.parse(text) as { data: { channel: string } }).data.channel;
const granted = (channel: string) => `{"event":"bts:subscription_succeeded","channel":"${channel}","data":{}}`;
const bitstampBook = (at: number) =>
  `{"data":{"timestamp":"1","microtimestamp":"${at}","bids":[["9","${at}"]],"asks":[["10","1"]]},"channel":"order_book_btcusd","event":"data"}`;

const krakenBook =
  '{"channel":"book","type":"snapshot","data":[{"symbol":"BTC/USD","bids":[{"price":9,"qty":1}],"asks":[{"price":10,"qty":1}],"timestamp":"2026-01-01T00:00:00.000000Z"}]}';
const krakenGrants: StandInOptions['answer'] = (text, say) => {
  const { method, params, req_id: id } = JSON.parse(text) as { method: string; params: object; req_id: number };
  if (method === 'subscribe') {
    const result = JSON.stringify({ ...params, symbol: 'BTC/USD', snapshot: true });
    say(`{"method":"subscribe","req_id":${id},"result":${result},"success":true}`);
  }
};

describe('a book', () => {
  it('comes back with a good frame that repeats the number of the last one', async () => {
    const it = await started('bitstamp', {});
    it.say(bitstampBook(5));
    await until(() => it.counting.has('btcusd'), 'the book');
    it.say(bitstampBook(6).replace('"6"]', '"x"]'));
    await until(() => !it.counting.has('btcusd'), 'the doubt');
    it.say(bitstampBook(5));
    await until(() => it.counting.has('btcusd'), 'the book again');
  });

  it('that does not change stays while other books of its connection do', async () => {
    const diff = (symbol: string, at: number) =>
      `{"stream":"${symbol}@depth@100ms","data":{"e":"depthUpdate","E":1,"s":"${symbol.toUpperCase()}","U":${at},"u":${at},"b":[["9","${at}"]],"a":[["10","1"]]}}`;
    const rest: StandInOptions['rest'] = (_, response) =>
      response.end('{"lastUpdateId":1,"bids":[["9","1"]],"asks":[["10","1"]]}');
    const answer: StandInOptions['answer'] = (text, say) => {
      const { id } = JSON.parse(text) as { id: number };
      say(`{"result":null,"id":${id}}`);
    };
    const symbols = ['QUIETUSDT', 'BUSYUSDT'];
    const settings = { book: 'delta', trades: false, aliveWithinMs: 1_000 } as const;
    const it = await started('binance', { symbols, settings, rest, answer });
    let at = 2;
    for (const symbol of symbols) it.say(diff(symbol.toLowerCase(), at));
    await until(() => symbols.every((symbol) => it.counting.has(symbol)), 'both books');
    const busy = setInterval(() => it.say(diff('busyusdt', ++at)), 50);
    const outs: string[] = [];
    const deadline = performance.now() + 2_500;
    while (performance.now() < deadline) {
      if (!it.counting.has('QUIETUSDT'))
        outs.push(
          it
            .status()
            .streams.map(({ phase }) => phase)
            .join(),
        );
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    clearInterval(busy);
    expect(outs).toEqual([]);
    expect(it.counting.get('BUSYUSDT')!.bids).not.toEqual(['1@9']);
  });

  it('never goes back in time with a successor that is behind', async () => {
    const diff = (at: number) =>
      `{"stream":"btcusdt@depth@100ms","data":{"e":"depthUpdate","E":1,"s":"BTCUSDT","U":${at},"u":${at},"b":[["9","${at}"]],"a":[]}}`;
    const rest: StandInOptions['rest'] = (_, response) =>
      response.end('{"lastUpdateId":1,"bids":[["9","1"]],"asks":[["10","1"]]}');
    let requests = 0;
    const answer: StandInOptions['answer'] = (text, say) => {
      requests++;
      say(`{"result":null,"id":${(JSON.parse(text) as { id: number }).id}}`);
    };
    const it = await started('binance', { settings: { book: 'delta', trades: false }, rest, answer });
    for (let at = 2; at <= 10; at++) it.say(diff(at));
    await until(() => it.counting.get('BTCUSDT')?.bids.join() === '10@9', 'the book');
    const before = requests;
    it.say('{"stream":"serverShutdown","data":{"e":"serverShutdown","E":1}}');
    await until(() => requests > before, 'the successor');
    for (let at = 2; at <= 9; at++) it.say(diff(at));
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(it.status().counters.rotations).toBe(0);
    for (const at of [10, 11]) it.say(diff(at));
    await until(() => it.counting.get('BTCUSDT')?.bids.join() === '11@9', 'the book of the successor');
    expect(it.status().counters.rotations).toBe(1);
    const amounts = it.books.map(({ bids }) => Number.parseInt(bids[0]!, 10));
    expect(amounts).toEqual(amounts.toSorted((one, other) => one - other));
  });

  it('leaves when the successor of its connection is refused it, and is asked for again', async () => {
    let requests = 0;
    const answer: StandInOptions['answer'] = (text, say) => {
      const channel = channelOf(text);
      const isRefused = ++requests === 2;
      say(
        isRefused
          ? `{"event":"bts:error","channel":"${channel}","data":{"code":4009,"message":"no"}}`
          : granted(channel),
      );
    };
    const it = await started('bitstamp', { settings: { trades: false }, answer });
    it.say(bitstampBook(5));
    await until(() => it.counting.has('btcusd'), 'the book');
    it.say('{"event":"bts:request_reconnect","channel":"","data":""}');
    await until(
      () => it.status().counters.rotations === 1,
      () => JSON.stringify(it.status()),
    );
    await until(() => !it.counting.has('btcusd'), 'the book to leave');
    await until(() => requests >= 3, 'another request');
    it.say(bitstampBook(7));
    await until(() => it.counting.has('btcusd'), 'the book again');
  });

  it('stays with the old connection while the successor has none', async () => {
    const it = await started('kraken', { settings: { trades: false, rotateAfterMs: 300 }, answer: krakenGrants });
    const first = it.socket;
    it.say(krakenBook);
    await until(() => it.counting.has('BTC/USD'), 'the book');
    await until(() => it.status().connection.state === 'rotating', 'the successor');
    // Longer than a stream that is silent on both connections is waited for.
    await new Promise((resolve) => setTimeout(resolve, 6_000));
    expect(it.counting.has('BTC/USD')).toBe(true);
    expect([it.status().counters.rotations, first.readyState]).toEqual([0, first.OPEN]);
    it.say(krakenBook);
    await until(() => it.status().counters.rotations === 1, 'the change');
  });

  it('leaves when the old connection ends before the successor has one', async () => {
    const it = await started('kraken', { settings: { trades: false, rotateAfterMs: 300 }, answer: krakenGrants });
    const first = it.socket;
    it.say(krakenBook);
    await until(() => it.counting.has('BTC/USD'), 'the book');
    await until(() => it.socket !== first && it.status().connection.state === 'rotating', 'the successor');
    await until(() => it.heard.length === 2, 'what the successor asks for');
    first.terminate();
    await until(() => !it.counting.has('BTC/USD'), 'the book to leave');
    it.say(krakenBook);
    await until(() => it.counting.has('BTC/USD'), 'the book of the successor');
  });
});
