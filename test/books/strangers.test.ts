// Servers that keep to a venue's protocol, in ways that the simulated venues do not show.
import { afterEach, describe, expect, it } from 'vitest';
import { until } from './harness.ts';
import { StandIn, type StandInOptions } from './stand-in.ts';

const TIME = '2026-01-01T00:00:00.123456789Z';
let standIn: StandIn;

async function stand(venue: string, options: StandInOptions): Promise<StandIn> {
  standIn = new StandIn(venue, options);
  await standIn.start();
  return standIn;
}
afterEach(() => standIn.stop());

const waited = (what: string) => () => `${what}: ${JSON.stringify([standIn.status(), standIn.heard.slice(-5)])}`;

/** Numbers its frames and lists what is subscribed after each request, a book's snapshot before that. */
function coinbase(snapshotOf: (product: string) => readonly object[]) {
  let number = 0;
  const have: Record<string, string[]> = {};
  const frame = (body: object) => JSON.stringify({ client_id: '', timestamp: TIME, sequence_num: number++, ...body });
  const answer: StandInOptions['answer'] = (text, say) => {
    const {
      type,
      channel,
      product_ids: products = ['heartbeats'],
    } = JSON.parse(text) as {
      type: string;
      channel: string;
      product_ids?: string[];
    };
    const others = (have[channel] ?? []).filter((one) => !products.includes(one));
    have[channel] = type === 'subscribe' ? [...others, ...products] : others;
    for (const product_id of type === 'subscribe' && channel === 'level2' ? products : []) {
      const events = [{ type: 'snapshot', product_id, updates: snapshotOf(product_id) }];
      say(frame({ channel: 'l2_data', events }));
    }
    say(frame({ channel: 'subscriptions', events: [{ subscriptions: have }] }));
  };
  return { answer, frame };
}

const level = (side: 'bid' | 'offer', price: string, amount = '1') => ({
  side,
  event_time: '1970-01-01T00:00:00Z',
  price_level: price,
  new_quantity: amount,
});

describe('Coinbase may begin', () => {
  it('with a book of fifty thousand levels', async () => {
    const { answer } = coinbase(() => [
      ...Array.from({ length: 25_000 }, (_, n) => level('bid', (30_000 - n / 100).toFixed(2))),
      ...Array.from({ length: 25_000 }, (_, n) => level('offer', (30_000 + (n + 1) / 100).toFixed(2))),
    ]);
    await stand('coinbase', { answer, settings: { maxFrameBytes: 8 << 20 } });
    await until(() => standIn.books.length > 0, waited('the book'));
    expect(standIn.books[0]).toMatchObject({ bids: expect.arrayContaining(['1@30000', '1@29999.91']) });
    expect(standIn.books[0]!.asks).toHaveLength(10);
  });
});

describe('Binance may send changes', () => {
  const diff = (first: number, last: number, bids: string) =>
    `{"stream":"btcusdt@depth@100ms","data":{"e":"depthUpdate","E":1672515782136,"s":"BTCUSDT","U":${first},"u":${last},"b":${bids},"a":[]}}`;

  it('with a hole among those that wait for the snapshot, and the book is out', async () => {
    const asked: (() => void)[] = [];
    await stand('binance', {
      settings: { book: 'delta' },
      answer: (text, say) => say(JSON.stringify({ result: null, id: (JSON.parse(text) as { id: number }).id })),
      rest: (_, response) => asked.push(() => response.end('{"lastUpdateId":10,"bids":[["9","1"]],"asks":[]}')),
    });
    standIn.say(diff(9, 11, '[["8","2"]]'));
    standIn.say(diff(14, 15, '[["8","3"]]'));
    await until(() => asked.length === 1, waited('the question for a snapshot'));
    asked[0]!();
    await until(() => standIn.status().streams[0]!.gaps === 1, waited('the hole to be seen'));
    expect(standIn.books.map(({ sequence }) => sequence)).toEqual([11]);
    expect(standIn.counting.size).toBe(0);
  });

  it('of a book that has fewer levels than are kept', async () => {
    let asked = 0;
    await stand('binance', {
      settings: { book: 'delta' },
      answer: (text, say) => say(JSON.stringify({ result: null, id: (JSON.parse(text) as { id: number }).id })),
      rest: (_, response) => {
        asked++;
        response.end('{"lastUpdateId":10,"bids":[["9","1"]],"asks":[["11","1"],["12","1"]]}');
      },
    });
    standIn.say(diff(8, 11, '[["8","2"]]'));
    await until(() => standIn.counting.size === 1, waited('the book'));
    standIn.say(diff(12, 13, '[["7","3"],["9","0"]]'));
    await until(() => standIn.books.at(-1)?.sequence === 13, waited('the change'));
    expect(standIn.books.at(-1)).toEqual({ sequence: 13, bids: ['2@8', '3@7'], asks: ['1@11', '1@12'] });
    expect(asked).toBe(1);
  });
});

const bitstampBook = (micros: number, bid: string, more = '') =>
  `{"data":{"timestamp":"1","microtimestamp":"${micros}","bids":[["${bid}","1"]],"asks":[["10","1"]]${more}},"channel":"order_book_btcusd","event":"data"}`;

describe('A frame that cannot be read', () => {
  const phaseOf = (kind: string) => standIn.status().streams.find((one) => one.kind === kind)!;

  it('takes a book out that nothing else would show to be old, until one can be read', async () => {
    await stand('bitstamp', {});
    standIn.say(bitstampBook(1, '9'));
    await until(() => standIn.counting.size === 1, waited('the book'));
    standIn.say(bitstampBook(2, '8.123456789'));
    await until(() => standIn.counting.size === 0, waited('the book to be out'));
    await until(() => phaseOf('book').reason === 'frame-refused', waited('the feed to say why'));
    // The same once more is no news.
    standIn.say(bitstampBook(1, '9'));
    standIn.say(bitstampBook(3, '8.5'));
    await until(() => standIn.counting.get('btcusd')?.bids.join() === '1@8.5', waited('the next book'));
    await until(() => phaseOf('book').phase === 'live', waited('the feed to be live'));
    expect(standIn.status().counters.errorsByCode).toEqual({ TW_FRAME_PRECISION: 1 });
  });

  it('is a loss to whoever sums trades, where ids leave numbers out', async () => {
    await stand('bitstamp', {});
    const trade = (id: number, amount: string) =>
      `{"data":{"id":${id},"id_str":"${id}","type":0,"amount_str":"${amount}","price_str":"9","microtimestamp":"1789456400586000"},"channel":"live_trades_btcusd","event":"trade"}`;
    standIn.say(trade(5, '1'));
    await until(() => phaseOf('trades').frames === 1, waited('the trade'));
    const { length } = standIn.losses;
    standIn.say(trade(9, '1e-8'));
    await until(() => standIn.losses.length > length, waited('the loss to be told'));
  });

  it('costs only the book that it names, on a connection whose frames are numbered', async () => {
    const symbols = ['BTC-USD', 'ETH-USD'];
    const { answer, frame } = coinbase(() => [level('bid', '9'), level('offer', '10')]);
    await stand('coinbase', { answer, symbols });
    await until(() => standIn.counting.size === 2, waited('both books'));
    const update = (product_id: string, price: string) =>
      standIn.say(
        frame({ channel: 'l2_data', events: [{ type: 'update', product_id, updates: [level('bid', price)] }] }),
      );
    update('ETH-USD', '9.123456789');
    update('BTC-USD', '9.5');
    await until(() => standIn.counting.get('BTC-USD')?.bids[0] === '1@9.5', waited('the other book'));
    expect(standIn.counting.has('ETH-USD')).toBe(false);
    await until(() => standIn.counting.has('ETH-USD'), waited('the book to be joined again'));
    expect(standIn.counting.get('ETH-USD')!.bids).toEqual(['1@9']);
    expect(standIn.status().counters.reconnections).toBe(0);
  });
});

describe('A book that breaks again and again', () => {
  it('is joined ever more seldom', async () => {
    await stand('kraken', {
      settings: { reconnect: { minMs: 20, maxMs: 60_000, jitter: 0, resetAfterMs: 60_000 } },
      answer: (text, say) => {
        const { method, params, req_id } = JSON.parse(text) as {
          method: string;
          req_id: number;
          params?: { channel: string; symbol: string[] };
        };
        if (params === undefined) return;
        const [symbol] = params.symbol;
        say(JSON.stringify({ method, req_id, result: { channel: params.channel, symbol }, success: true }));
        if (method === 'subscribe' && params.channel === 'book')
          say(
            `{"channel":"book","type":"snapshot","data":[{"symbol":"${symbol}","bids":[{"price":9,"qty":1}],"asks":[],"checksum":1,"timestamp":"${TIME}"}]}`,
          );
      },
    });
    const joins: number[] = [];
    const isJoin = (text: string) => text.includes('"subscribe"') && text.includes('"book"');
    await until(() => {
      const count = standIn.heard.filter(isJoin).length;
      if (count > joins.length) joins.push(performance.now());
      return joins.length >= 6;
    }, waited('six joins'));
    // 20, 40, 80, 160, 320 ms, and what a tick adds.
    expect(joins.at(-1)! - joins[0]!).toBeGreaterThan(600);
    expect(standIn.books).toEqual([]);
  });
});

describe('A venue that numbers its trades anew', () => {
  it('is followed once nothing but old numbers come', async () => {
    await stand('binance', {});
    const trade = (id: number) =>
      standIn.say(
        `{"stream":"btcusdt@aggTrade","data":{"e":"aggTrade","E":1672515782136,"s":"BTCUSDT","a":${id},"p":"1","q":"1","f":${id},"l":${id},"T":1672515782136,"m":true,"M":true}}`,
      );
    trade(1000);
    trade(1001);
    trade(1001);
    await until(() => standIn.trades.length === 2, waited('two trades'));
    let next = 1;
    await until(() => {
      trade(next++);
      return standIn.trades.length > 4;
    }, waited('the new numbers'));
    const [first] = standIn.trades.slice(2);
    expect(standIn.trades).toEqual([1000n, 1001n, ...standIn.trades.slice(2).map((_, n) => first! + BigInt(n))]);
    expect(standIn.status().streams.find(({ kind }) => kind === 'trades')).toMatchObject({ gaps: 1 });
  });
});

describe('A venue that refuses a stream', () => {
  it('is asked again after a while, on the same connection', async () => {
    let asked = 0;
    await stand('kraken', {
      answer: (text, say) => {
        const { method, params, req_id } = JSON.parse(text) as {
          method: string;
          req_id: number;
          params?: { channel: string; symbol: string[] };
        };
        if (method !== 'subscribe' || params?.channel !== 'book') return;
        const [symbol] = params.symbol;
        if (asked++ === 0) {
          say(JSON.stringify({ error: 'Service unavailable', method, req_id, success: false, symbol }));
          return;
        }
        say(JSON.stringify({ method, req_id, result: { channel: 'book', symbol }, success: true }));
        say(
          `{"channel":"book","type":"snapshot","data":[{"symbol":"${symbol}","bids":[{"price":9,"qty":1}],"asks":[]}]}`,
        );
      },
    });
    await until(() => standIn.books.length === 1, waited('the book'));
    expect(standIn.status().counters.reconnections).toBe(0);
  });
});
