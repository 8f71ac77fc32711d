import { afterEach, describe, expect, it } from 'vitest';
import { receiveDiff, receiveSnapshot, UNSYNCED } from '../depth-sync.ts';
import { ClientBook, closeAll, connect, type Level, rest, START_MS, sideOf, simulator } from '../simulation/rig.ts';

afterEach(closeAll);

describe('simulated Binance', () => {
  it('acks, lists and leaves streams, and refuses what is not a request', async () => {
    const client = await connect(await simulator(), 'binance');
    client.send(
      { method: 'SUBSCRIBE', params: ['btcusdt@depth20@100ms', 'nosuch@aggTrade'], id: 1 },
      { method: 'UNSUBSCRIBE', params: ['nosuch@aggTrade'], id: 2 },
      { method: 'LIST_SUBSCRIPTIONS', id: 3 },
      { method: 'SHOUT', id: 4 },
      'no json',
    );
    await client.until(() => client.frames.length === 5, 'five answers');
    expect(client.frames.slice(0, 3)).toEqual([
      '{"result":null,"id":1}',
      '{"result":null,"id":2}',
      '{"result":["btcusdt@depth20@100ms"],"id":3}',
    ]);
    expect(JSON.parse(client.frames[3]!)).toMatchObject({ code: 2, id: 4 });
    expect(JSON.parse(client.frames[4]!)).toMatchObject({ code: 3 });
  });

  it('sends the top 20 at every step, changed or not, in the combined envelope', async () => {
    const sim = await simulator();
    const client = await connect(sim, 'binance', '/stream?streams=btcusdt@depth20@100ms/ltcbtc@depth20@100ms');
    sim.advance(10);
    const frames = await client.parsed<{ data: { lastUpdateId: number; bids: Level[]; asks: Level[] } }>('btcusdt', 10);
    const listing = sim.truth.listing('binance', 'BTCUSDT');
    const last = frames.at(-1)!.data;
    expect(last.bids).toEqual(sideOf(listing, listing.book.bids, 20, 8));
    expect(last.asks).toEqual(sideOf(listing, listing.book.asks, 20, 8));
    expect(frames.map((frame) => frame.data.lastUpdateId)).toEqual(
      frames.map((frame) => frame.data.lastUpdateId).toSorted((a, b) => a - b),
    );
    expect(await client.parsed('ltcbtc', 10)).toHaveLength(10);
  });

  it('sends diffs that turn a REST snapshot into its book', async () => {
    const sim = await simulator();
    const client = await connect(sim, 'binance', '/ws/btcusdt@depth@100ms');
    sim.advance(3);
    type Diff = { U: number; u: number; b: Level[]; a: Level[] };
    await client.parsed<Diff>('depthUpdate', 3);
    const { body } = await rest<{ lastUpdateId: number; bids: Level[]; asks: Level[] }>(
      sim,
      '/binance/api/v3/depth?symbol=BTCUSDT&limit=5000',
    );
    sim.advance(200);
    const diffs = await client.parsed<Diff>('depthUpdate', 203);
    const book = new ClientBook();
    for (const [price, amount] of body.bids) book.set('bids', price, amount);
    for (const [price, amount] of body.asks) book.set('asks', price, amount);
    let [state] = receiveSnapshot(
      receiveDiff(UNSYNCED, BigInt(diffs[0]!.U), BigInt(diffs[0]!.u))[0],
      BigInt(body.lastUpdateId),
    );
    const actions = diffs.map((diff) => {
      const [next, action] = receiveDiff(state, BigInt(diff.U), BigInt(diff.u));
      state = next;
      if (action !== 'apply') return action;
      for (const [price, amount] of diff.b) book.set('bids', price, amount);
      for (const [price, amount] of diff.a) book.set('asks', price, amount);
      return action;
    });
    expect(actions.filter((action) => action === 'ignore')).toHaveLength(3);
    expect(actions.filter((action) => action === 'apply')).toHaveLength(200);
    const listing = sim.truth.listing('binance', 'BTCUSDT');
    expect(book.levels('bids')).toEqual(sideOf(listing, listing.book.bids, 1e9, 8));
    expect(book.levels('asks')).toEqual(sideOf(listing, listing.book.asks, 1e9, 8));
  });

  it('streams, serves by id and sums up the same trades', async () => {
    const sim = await simulator({ speed: 20 });
    const client = await connect(sim, 'binance', '/ws/btcusdt@aggTrade');
    sim.advance(200);
    const truth = sim.truth.trades('binance', 'BTCUSDT');
    type Trade = { a: number; p: string; q: string; f: number; l: number; T: number; m: boolean };
    const streamed = await client.parsed<Trade & { E: number }>('aggTrade', truth.length);
    const fetched: Trade[] = [];
    for (let from = streamed[0]!.a; fetched.length < truth.length; from = fetched.at(-1)!.a + 1) {
      const { body } = await rest<Trade[]>(sim, `/binance/api/v3/aggTrades?symbol=BTCUSDT&fromId=${from}&limit=1000`);
      fetched.push(...body);
    }
    const core = ({ a, p, q, f, l, T, m }: Trade) => ({ a, p, q, f, l, T, m });
    expect(fetched.map(core)).toEqual(streamed.map(core));
    expect(streamed.every((trade, at) => at === 0 || trade.a === streamed[at - 1]!.a + 1)).toBe(true);

    const scaled = (text: string) => BigInt(text.replace('.', ''));
    const { body: bars } = await rest<[number, ...string[]][]>(
      sim,
      `/binance/api/v3/klines?symbol=BTCUSDT&interval=1m&startTime=${START_MS}&limit=1000`,
    );
    expect(bars.length).toBeGreaterThan(5);
    for (const bar of bars) {
      const inside = streamed.filter((trade) => trade.T >= bar[0] && trade.T <= Number(bar[6]));
      expect(scaled(bar[5]!)).toBe(inside.reduce((sum, trade) => sum + scaled(trade.q), 0n));
      expect(scaled(bar[7]!) * 100_000_000n).toBe(
        inside.reduce((sum, trade) => sum + scaled(trade.p) * scaled(trade.q), 0n),
      );
      expect(bar[8]).toBe(inside.reduce((count, trade) => count + trade.l - trade.f + 1, 0));
      expect(scaled(bar[9]!)).toBe(inside.reduce((sum, trade) => sum + (trade.m ? 0n : scaled(trade.q)), 0n));
      expect([bar[1], bar[4]]).toEqual([inside[0]!.p, inside.at(-1)!.p]);
    }
    const byTime = await rest<Trade[]>(
      sim,
      `/binance/api/v3/aggTrades?symbol=BTCUSDT&startTime=${bars[1]![0]}&endTime=${bars[1]![6]}&limit=1000`,
    );
    expect(byTime.body.reduce((sum, trade) => sum + scaled(trade.q), 0n)).toBe(scaled(bars[1]![5]!));
  });

  it('shows new listings in the tickers of all symbols and in the exchange information', async () => {
    const sim = await simulator({ listEveryMs: 2_000 });
    const client = await connect(sim, 'binance', '/ws/!miniTicker@arr');
    sim.advance(100);
    expect(await client.frame('NEWAAUSDT')).toContain('24hrMiniTicker');
    const { body } = await rest<{ symbols: { symbol: string; status: string }[] }>(sim, '/binance/api/v3/exchangeInfo');
    expect(body.symbols).toContainEqual(expect.objectContaining({ symbol: 'NEWAAUSDT', status: 'TRADING' }));
  });

  it('ends connections that send more than five frames a second or ask for more than 1024 streams', async () => {
    const sim = await simulator();
    const [fast, greedy] = [await connect(sim, 'binance'), await connect(sim, 'binance')];
    for (let id = 0; id < 6; id++) fast.send({ method: 'LIST_SUBSCRIPTIONS', id });
    greedy.send({ method: 'SUBSCRIBE', params: Array.from({ length: 1025 }, (_, at) => `s${at}@trade`), id: 1 });
    await fast.until(() => fast.closed !== undefined, 'the close');
    await greedy.until(() => greedy.closed !== undefined, 'the close');
    expect([fast.closed!.code, fast.frames.length, greedy.closed!.code]).toEqual([1008, 5, 1008]);
  });

  it('counts request weight, then refuses with 429, then with 418', async () => {
    const sim = await simulator();
    const statuses: number[] = [];
    let retryAfter: string | null = null;
    for (let request = 0; request < 120 && statuses.at(-1) !== 418; request++) {
      const { status, headers } = await rest(sim, '/binance/api/v3/depth?symbol=BTCUSDT&limit=5000');
      statuses.push(status);
      expect(Number(headers.get('x-mbx-used-weight-1m'))).toBeGreaterThan(0);
      retryAfter = headers.get('retry-after') ?? retryAfter;
    }
    expect([...new Set(statuses)]).toEqual([200, 429, 418]);
    expect(Number(retryAfter)).toBeGreaterThan(0);
  });

  it('gives a code for bad REST requests', async () => {
    const sim = await simulator();
    for (const [query, code] of [
      ['depth?symbol=NOPE', -1121],
      ['depth', -1102],
      ['klines?symbol=BTCUSDT&interval=7m', -1120],
      ['aggTrades?symbol=BTCUSDT&fromId=1&startTime=5', -1128],
    ] as const) {
      const { status, body } = await rest<{ code: number }>(sim, `/binance/api/v3/${query}`);
      expect([status, body.code]).toEqual([400, code]);
    }
  });

  it('pings, and ends connections that do not answer', async () => {
    const sim = await simulator({ rules: { pingEveryMs: 60, pongWithinMs: 100 } });
    const [polite, rude] = [
      await connect(sim, 'binance'),
      await connect(sim, 'binance', undefined, { autoPong: false }),
    ];
    await rude.until(() => rude.closed !== undefined, 'the close');
    expect(rude.closed).toEqual({ code: 1008, reason: 'Pong timeout' });
    expect(polite.closed).toBeUndefined();
  });

  it('allows so many connections in a window and refuses the next one', async () => {
    const sim = await simulator({ rules: { connects: { count: 2, windowMs: 60_000 } } });
    await connect(sim, 'binance');
    await connect(sim, 'binance');
    const third = await connect(sim, 'binance');
    await third.until(() => third.closed !== undefined, 'the refusal');
    expect(third.closed!.code).toBe(1006);
  });
});
