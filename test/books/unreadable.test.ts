// A frame that cannot be read and does not say whose it is may have been an update of any book of its connection. Books that
// no number would show to lack it are out until they are whole again; the connection stays.
import { afterEach, describe, expect, it } from 'vitest';
import { bookChecksum, type LevelText } from '../../src/venues/kraken/sequence.ts';
import { until } from './harness.ts';
import { StandIn, type StandInOptions } from './stand-in.ts';

const TIME = '2026-01-01T00:00:00.123456Z';
const LEVELS = 20;
let standIn: StandIn;

async function stand(venue: string, options: StandInOptions): Promise<void> {
  standIn = new StandIn(venue, options);
  await standIn.start();
}
afterEach(() => standIn.stop());

const waited = (what: string) => () => `${what}: ${JSON.stringify([standIn.status(), standIn.heard.slice(-5)])}`;
const errors = () => Object.values(standIn.status().counters.errorsByCode).reduce((sum, count) => sum + count, 0);

describe('Kraken', () => {
  /** Twenty levels a side; a checksum proves the first ten. */
  const book = {
    asks: Array.from({ length: LEVELS }, (_, n): LevelText => [`${101 + n}.0`, '1.0']),
    bids: Array.from({ length: LEVELS }, (_, n): LevelText => [`${100 - n}.0`, '1.0']),
  };
  const text = (side: readonly LevelText[]) => side.map(([price, qty]) => `{"price":${price},"qty":${qty}}`).join();
  const frame = (type: string, symbol: string, bids: readonly LevelText[], asks: readonly LevelText[]) =>
    `{"channel":"book","type":"${type}","data":[{"symbol":"${symbol}","bids":[${text(bids)}],"asks":[${text(asks)}],"checksum":${bookChecksum(book.asks, book.bids)},"timestamp":"${TIME}"}]}`;
  const answer: StandInOptions['answer'] = (request, say) => {
    const { method, params, req_id } = JSON.parse(request) as {
      method: string;
      req_id: number;
      params?: { channel: string; symbol: string[] };
    };
    for (const symbol of params?.symbol ?? []) {
      say(JSON.stringify({ method, req_id, result: { channel: params!.channel, symbol }, success: true }));
      if (method !== 'subscribe' || params!.channel !== 'book') continue;
      say(frame('snapshot', symbol, book.bids, book.asks));
    }
  };
  const symbols = ['BTC/USD', 'ETH/USD'];
  /** An update far below the ten levels that the checksum is over. */
  const deep: LevelText = ['85.0', '7.5'];
  const update = frame('update', 'BTC/USD', [deep], []);

  it.each([
    ['no JSON at all', Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0])],
    ['cut', update.slice(0, 50)],
    ['without its beginning', update.slice(20)],
    ['without its channel', update.replace('"channel":"book",', '')],
    ['without its type', update.replace('"type":"update",', '')],
    ['with another type', update.replace('"update"', '"delta"')],
    ['without its symbol', update.replace('"symbol":"BTC/USD",', '')],
    ['with data that is no list', update.replace('[{"symbol"', '{"symbol"').replace('}]}', '}}')],
  ])('sends an update that is %s: what it said is in no book for long', async (_, broken) => {
    await stand('kraken', { answer, symbols, depth: LEVELS, settings: { trades: false } });
    await until(() => standIn.counting.size === 2, waited('both books'));
    book.bids[15] = deep;
    try {
      standIn.say(broken);
      // The checksum of the next update fits the book that has not had the last one.
      standIn.say(frame('update', 'BTC/USD', [book.bids[19]!], []));
      await until(() => standIn.counting.get('BTC/USD')?.bids[15] === '7.5@85', waited('the right level'));
      await until(() => standIn.counting.size === 2, waited('both books again'));
      expect(errors()).toBe(1);
      expect(standIn.status().counters.reconnections).toBe(0);
    } finally {
      book.bids[15] = ['85.0', '1.0'];
    }
  });

  it.each([
    ['an answer that nobody knows', '{"method":"amend","success":true,"result":{}}'],
    ['a channel that nobody asked for', '{"channel":"instrument","type":"snapshot","data":{"assets":[]}}'],
    ['broken trades', '{"channel":"trade","type":"update","data":{}}'],
    ['a symbol that nobody asked for', frame('update', 'XMR/USD', [deep], [])],
  ])('sends %s: no book is in doubt', async (_, strange) => {
    await stand('kraken', { answer, symbols, depth: LEVELS });
    await until(() => standIn.counting.size === 2, waited('both books'));
    standIn.say(strange);
    const changed: LevelText = ['85.0', '2.5'];
    standIn.say(frame('update', 'BTC/USD', [changed], []));
    await until(() => standIn.counting.get('BTC/USD')?.bids[15] === '2.5@85', waited('the next update'));
    expect(standIn.status().streams.map(({ gaps }) => gaps)).toEqual([0, 0, 0, 0]);
  });

  it('sends nothing else for a while: its books are joined ever more seldom', async () => {
    const reconnect = { minMs: 20, maxMs: 60_000, jitter: 0, resetAfterMs: 60_000 };
    await stand('kraken', { answer, symbols, settings: { reconnect, trades: false } });
    const joins = () => standIn.heard.filter((request) => request.includes('"subscribe"')).length;
    const times: number[] = [];
    await until(() => {
      if (standIn.counting.size === 2) standIn.say('garbage');
      if (joins() > times.length) times.push(performance.now());
      return joins() >= 6;
    }, waited('six joins'));
    // 20, 40, 80, 160, 320 ms, and what a tick adds.
    expect(times.at(-1)! - times[0]!).toBeGreaterThan(600);
    expect(standIn.status().counters.reconnections).toBe(0);
  });
});

describe('Bitstamp', () => {
  const bookOf = (micros: number, bid: string) =>
    `{"data":{"timestamp":"1700000000","microtimestamp":"${micros}","bids":[["${bid}","1"]],"asks":[["10","1"]]},"channel":"order_book_btcusd","event":"data"}`;

  it.each([
    ['cut', bookOf(2, '8').slice(0, 90)],
    ['without its channel', bookOf(2, '8').replace('"channel":"order_book_btcusd",', '')],
    ['without its event', bookOf(2, '8').replace(',"event":"data"', '')],
    ['of another event', bookOf(2, '8').replace('"event":"data"', '"event":"date"')],
  ])('sends a book that is %s: the one before it is out until the next', async (_, broken) => {
    await stand('bitstamp', {});
    standIn.say(bookOf(1, '9'));
    await until(() => standIn.counting.size === 1, waited('the book'));
    standIn.say(broken);
    await until(() => standIn.counting.size === 0, waited('the book to be out'));
    await until(() => standIn.status().streams[0]!.reason === 'frame-refused', waited('the feed to say why'));
    standIn.say(bookOf(3, '7'));
    await until(() => standIn.counting.get('btcusd')?.bids.join() === '1@7', waited('the next book'));
    expect(errors()).toBe(1);
    expect(standIn.status().counters.reconnections).toBe(0);
  });

  it('sends what may have been a trade: whoever sums them is told, because ids leave numbers out', async () => {
    await stand('bitstamp', {});
    standIn.say(
      '{"data":{"id":5,"id_str":"5","type":0,"amount_str":"1","price_str":"9","microtimestamp":"1789456400586000"},"channel":"live_trades_btcusd","event":"trade"}',
    );
    await until(() => standIn.trades.length === 1, waited('the trade'));
    const { length } = standIn.losses;
    standIn.say('{"data":{"id":9,"id_str":"9","ty');
    await until(() => standIn.losses.length > length, waited('the loss to be told'));
  });
});

describe('Binance', () => {
  const diff = (first: number, last: number, bid: string) =>
    `{"stream":"btcusdt@depth@100ms","data":{"e":"depthUpdate","E":1672515782136,"s":"BTCUSDT","U":${first},"u":${last},"b":[${bid}],"a":[]}}`;

  it('sends garbage between two changes that follow each other: no snapshot is fetched for it', async () => {
    let asked = 0;
    await stand('binance', {
      settings: { book: 'delta', trades: false },
      answer: (request, say) => say(JSON.stringify({ result: null, id: (JSON.parse(request) as { id: number }).id })),
      rest: (_, response) => {
        asked++;
        response.end('{"lastUpdateId":10,"bids":[["9","1"]],"asks":[["11","1"]]}');
      },
    });
    standIn.say(diff(9, 11, '["8","2"]'));
    await until(() => standIn.counting.size === 1, waited('the book'));
    standIn.say('garbage');
    standIn.say(diff(12, 12, '["8","3"]'));
    await until(() => standIn.books.at(-1)?.sequence === 12, waited('the next change'));
    expect([asked, errors()]).toEqual([1, 1]);
    // One that was a change is missing from the next one on.
    standIn.say(diff(13, 13, '["8","4"]').slice(0, 60));
    standIn.say(diff(14, 14, '["7","4"]'));
    await until(() => standIn.status().streams[0]!.gaps === 1, waited('the hole to be seen'));
    expect(standIn.counting.size).toBe(0);
  });
});
