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
    const diff = (first: number, last: number, bids: string) =>
      `{"stream":"btcusdt@depth@100ms","data":{"e":"depthUpdate","E":1672515782136,"s":"BTCUSDT","U":${first},"u":${last},"b":${bids},"a":[]}}`;
    standIn.say(diff(8, 11, '[["8","2"]]'));
    await until(() => standIn.counting.size === 1, waited('the book'));
    standIn.say(diff(12, 13, '[["7","3"],["9","0"]]'));
    await until(() => standIn.books.at(-1)?.sequence === 13, waited('the change'));
    expect(standIn.books.at(-1)).toEqual({ sequence: 13, bids: ['2@8', '3@7'], asks: ['1@11', '1@12'] });
    expect(asked).toBe(1);
  });
});
