import { afterEach, describe, expect, it } from 'vitest';
import { FAULT_KINDS, type FaultKind, parseFault } from './faults.ts';
import type { Probe } from './probe.ts';
import { closeAll, connect, rest, simulator } from './rig.ts';
import type { Simulator } from './simulator.ts';

afterEach(closeAll);

/** What was sent before a control frame's answer has arrived once that answer has. */
async function settle(client: Probe): Promise<void> {
  client.socket.ping();
  await new Promise((resolve) => client.socket.once('pong', resolve));
}

const idOf = (frame: string) => Number(/"(?:lastUpdateId|a)":(\d+)/.exec(frame)![1]);
const ids = (client: Probe) => client.frames.filter((frame) => /lastUpdateId|aggTrade/.test(frame)).map(idOf);

async function bookClient(): Promise<{ sim: Simulator; client: Probe }> {
  const sim = await simulator({ symbols: ['BTC-USD', 'ETH-USD'] });
  const client = await connect(sim, 'binance', '/ws/btcusdt@depth20@100ms');
  return { sim, client };
}

/** Every kind has its test here; the list below is checked against the kinds. */
const TESTS: Readonly<Record<FaultKind, () => Promise<void>>> = {
  async disconnect() {
    const { sim, client } = await bookClient();
    const polite = await connect(sim, 'kraken');
    sim.fault({ kind: 'disconnect', venue: 'binance' });
    sim.fault({ kind: 'disconnect', venue: 'kraken', value: 1012 });
    await client.until(() => client.closed !== undefined, 'the cut');
    await polite.until(() => polite.closed !== undefined, 'the close');
    expect([client.closed!.code, polite.closed!.code]).toEqual([1006, 1012]);
  },

  async stall() {
    const { sim, client } = await bookClient();
    sim.fault({ kind: 'stall', venue: 'binance', durationMs: 60_000 });
    sim.advance(5);
    await settle(client);
    expect(client.frames).toEqual([]);
    sim.clearFaults();
    await client.until(() => client.frames.length === 5, 'the frames that were held back');
    expect(ids(client)).toEqual(ids(client).toSorted((a, b) => a - b));
  },

  async 'still-market'() {
    const { sim, client } = await bookClient();
    const other = await connect(sim, 'bitstamp');
    other.send({ event: 'bts:subscribe', data: { channel: 'order_book_btcusd' } });
    await other.frame('succeeded');
    sim.advance(1);
    sim.fault({ kind: 'still-market', venue: 'binance', durationMs: 60_000 });
    sim.advance(5);
    await settle(client);
    await settle(other);
    // The timer goes on and says the same; the other venue's market goes on too.
    expect(new Set(ids(client).slice(1)).size).toBe(1);
    expect(ids(client)).toHaveLength(6);
    expect(new Set(other.frames.filter((frame) => frame.includes('"data"}'))).size).toBeGreaterThan(1);
    sim.clearFaults();
    sim.advance(5);
    await settle(client);
    expect(new Set(ids(client)).size).toBeGreaterThan(2);
  },

  async 'ack-then-silence'() {
    const sim = await simulator();
    sim.fault({ kind: 'ack-then-silence', venue: 'bitstamp', symbol: 'btcusd' });
    const client = await connect(sim, 'bitstamp');
    for (const pair of ['btcusd', 'ethusd'])
      client.send({ event: 'bts:subscribe', data: { channel: `order_book_${pair}` } });
    await client.parsed('succeeded', 2);
    sim.advance(3);
    await settle(client);
    expect(client.frames.filter((frame) => frame.includes('"data"}')).map((frame) => frame.includes('ethusd'))).toEqual(
      [true, true, true],
    );
  },

  async duplicate() {
    const { sim, client } = await bookClient();
    sim.fault({ kind: 'duplicate', venue: 'binance', count: 2 });
    sim.advance(3);
    await settle(client);
    const [first, , second, , third] = ids(client);
    expect(ids(client)).toEqual([first, first, second, second, third]);
  },

  async 'out-of-order'() {
    const { sim, client } = await bookClient();
    sim.fault({ kind: 'out-of-order', venue: 'binance' });
    sim.advance(3);
    await settle(client);
    const [one, two, three] = ids(client).toSorted((a, b) => a - b);
    expect(ids(client)).toEqual([two, one, three]);
  },

  async gap() {
    const sim = await simulator();
    const client = await connect(sim, 'binance', '/ws/btcusdt@depth@100ms');
    sim.advance(1);
    sim.fault({ kind: 'gap', venue: 'binance', symbol: 'BTCUSDT', count: 2 });
    sim.advance(3);
    await settle(client);
    const [before, after] = client.frames.map((frame) => JSON.parse(frame) as { U: number; u: number });
    expect(client.frames).toHaveLength(2);
    expect(after!.U).toBeGreaterThan(before!.u + 1);
  },

  async 'dropped-trades'() {
    const sim = await simulator();
    const client = await connect(sim, 'binance', '/ws/btcusdt@aggTrade');
    sim.fault({ kind: 'dropped-trades', venue: 'binance', symbol: 'BTCUSDT', count: 2 });
    sim.advance(50);
    await settle(client);
    const truth = sim.truth.trades('binance', 'BTCUSDT').length;
    expect(client.frames).toHaveLength(truth - 2);
    const { body } = await rest<{ a: number }[]>(sim, '/binance/api/v3/aggTrades?symbol=BTCUSDT&fromId=0&limit=1000');
    expect(body.map((trade) => trade.a).slice(2)).toEqual(ids(client));
  },

  async 'late-trades'() {
    const sim = await simulator();
    const client = await connect(sim, 'binance', '/ws/btcusdt@aggTrade');
    sim.fault({ kind: 'late-trades', venue: 'binance', count: 1, value: 50 });
    sim.advance(50);
    const truth = sim.truth.trades('binance', 'BTCUSDT').length;
    await client.until(() => client.frames.length === truth, 'all trades');
    expect(ids(client).at(-1)).toBe(Math.min(...ids(client)));
  },

  async 'corrupt-checksum'() {
    const runs = [];
    for (const faulty of [false, true]) {
      const sim = await simulator();
      const client = await connect(sim, 'kraken');
      client.send({ method: 'subscribe', params: { channel: 'book', symbol: ['BTC/USD'], depth: 10 } });
      await client.frame('"snapshot","data"');
      if (faulty) sim.fault({ kind: 'corrupt-checksum', venue: 'kraken', symbol: 'BTC/USD' });
      sim.advance(30);
      await settle(client);
      runs.push(client.frames);
      expect(() => sim.fault({ kind: 'corrupt-checksum', venue: 'binance' })).toThrow('has no corrupt-checksum');
    }
    const [good, bad] = runs;
    const different = bad!.filter((frame, at) => frame !== good![at]);
    const plain = (frames: readonly string[]) => frames.map((frame) => frame.replace(/"checksum":\d+/, ''));
    expect(different).toHaveLength(1);
    expect(plain(bad!)).toEqual(plain(good!));
  },

  async garbage() {
    const { sim, client } = await bookClient();
    sim.fault({ kind: 'garbage', venue: 'binance', count: 3 });
    sim.advance(1);
    await settle(client);
    const broken = client.frames.slice(0, 3);
    for (const frame of broken) expect(() => JSON.parse(frame)).toThrow();
    expect(client.frames).toHaveLength(4);
    expect(client.closed).toBeUndefined();
  },

  async oversized() {
    const { sim } = await bookClient();
    const [strict, lax] = [
      await connect(sim, 'binance', '/ws', { maxPayload: 1 << 20 }),
      await connect(sim, 'binance', '/ws'),
    ];
    sim.fault({ kind: 'oversized', venue: 'binance', value: 5 << 20 });
    await strict.until(() => strict.closed !== undefined, 'the client to give up');
    await lax.until(() => lax.frames.length === 1, 'the whole frame');
    expect(lax.frames[0]!.length).toBeGreaterThan(5 << 20);
  },

  async fragmented() {
    const { sim, client } = await bookClient();
    const stream = '/ws/btcusdt@depth20@100ms';
    const fragile = await connect(sim, 'binance', stream, { maxFragments: 2 });
    sim.advance(1);
    await settle(fragile);
    sim.fault({ kind: 'fragmented', venue: 'binance', symbol: 'BTCUSDT', count: 2 });
    sim.advance(3);
    await settle(client);
    await fragile.until(() => fragile.closed !== undefined, 'the client that takes no fragments to give up');
    expect(fragile.frames).toHaveLength(1);
    expect(client.frames.map((frame) => 'lastUpdateId' in (JSON.parse(frame) as object))).toEqual(Array(4).fill(true));
  },

  async 'slow-drip'() {
    const { sim, client } = await bookClient();
    sim.fault({ kind: 'slow-drip', venue: 'binance', durationMs: 60_000, value: 400 });
    sim.advance(2);
    await client.until(() => client.frames.length === 1, 'the first frame, piece by piece');
    expect('lastUpdateId' in (JSON.parse(client.frames[0]!) as object)).toBe(true);
    sim.clearFaults();
    sim.advance(1);
    await client.until(() => client.frames.length === 3, 'the rest');
    expect(ids(client)).toEqual(ids(client).toSorted((a, b) => a - b));
  },

  async 'ping-silence'() {
    const sim = await simulator();
    const [bitstamp, kraken] = [await connect(sim, 'bitstamp'), await connect(sim, 'kraken')];
    sim.fault({ kind: 'ping-silence', durationMs: 60_000 });
    let pongs = 0;
    bitstamp.socket.on('pong', () => pongs++);
    bitstamp.socket.ping();
    bitstamp.send({ event: 'bts:heartbeat' }, { event: 'bts:subscribe', data: { channel: 'order_book_btcusd' } });
    kraken.send(
      { method: 'ping', req_id: 1 },
      { method: 'subscribe', params: { channel: 'trade', symbol: ['BTC/USD'] } },
    );
    await bitstamp.frame('succeeded');
    await kraken.frame('"success":true');
    sim.advance(20);
    await bitstamp.frame('"event":"data"');
    expect([pongs, [...bitstamp.frames, ...kraken.frames].filter((frame) => /heartbeat|pong/.test(frame))]).toEqual([
      0,
      [],
    ]);
    sim.clearFaults();
    bitstamp.send({ event: 'bts:heartbeat' });
    await bitstamp.frame('bts:heartbeat');
  },

  async 'shutdown-notice'() {
    const sim = await simulator();
    const [combined, bitstamp] = [await connect(sim, 'binance'), await connect(sim, 'bitstamp')];
    sim.fault({ kind: 'shutdown-notice', durationMs: 20 });
    expect(await combined.frame('serverShutdown')).toContain(
      '{"stream":"!serverShutdown","data":{"e":"serverShutdown","E":',
    );
    expect(await bitstamp.frame('request_reconnect')).toBe(
      '{"event":"bts:request_reconnect","channel":"","data":null}',
    );
    const late = await connect(sim, 'bitstamp');
    await bitstamp.until(() => bitstamp.closed !== undefined, 'the close that was announced');
    await combined.until(() => combined.closed !== undefined, 'the close that was announced');
    expect(late.closed).toBeUndefined();
    expect(() => sim.fault({ kind: 'shutdown-notice', venue: 'kraken' })).toThrow('has no shutdown-notice');
  },

  async 'refuse-connections'() {
    const sim = await simulator();
    sim.fault({ kind: 'refuse-connections', venue: 'kraken', count: 2 });
    const states = [];
    for (let attempt = 0; attempt < 3; attempt++) states.push((await connect(sim, 'kraken')).socket.readyState === 1);
    expect(states).toEqual([false, false, true]);
  },

  async 'successor-refused'() {
    const { sim, client } = await bookClient();
    sim.fault({ kind: 'successor-refused', venue: 'binance' });
    const refused = await connect(sim, 'binance');
    expect(refused.socket.readyState).not.toBe(refused.socket.OPEN);
    expect(client.closed).toBeUndefined();
    const { socket } = await connect(sim, 'binance');
    expect(socket.readyState).toBe(socket.OPEN);
  },

  async 'successor-silence'() {
    const { sim, client } = await bookClient();
    sim.fault({ kind: 'successor-silence', venue: 'binance', durationMs: 60_000 });
    const silent = await connect(sim, 'binance');
    silent.send({ method: 'SUBSCRIBE', params: ['btcusdt@depth20@100ms'], id: 1 });
    await silent.frame('"result":null');
    sim.advance(3);
    await settle(client);
    await settle(silent);
    expect([client.frames.length, silent.frames.length]).toEqual([3, 1]);
    sim.clearFaults();
    await silent.until(() => silent.closed !== undefined, 'the cut');
    expect(client.closed).toBeUndefined();
  },

  async 'successor-behind'() {
    const { sim, client } = await bookClient();
    sim.fault({ kind: 'successor-behind', venue: 'binance', durationMs: 60_000, value: 30_000 });
    const behind = await connect(sim, 'binance', '/ws/btcusdt@depth20@100ms');
    sim.advance(3);
    await settle(client);
    await settle(behind);
    expect([client.frames.length, behind.frames.length]).toEqual([3, 0]);
    sim.clearFaults();
    sim.advance(1);
    await behind.until(() => behind.frames.length === 4, 'all frames');
    expect(ids(behind)).toEqual(ids(client));
  },

  async 'successor-no-snapshot'() {
    const { sim } = await bookClient();
    sim.fault({ kind: 'successor-no-snapshot', venue: 'binance' });
    const status = async () => (await rest(sim, '/binance/api/v3/depth?symbol=BTCUSDT')).status;
    expect(await status()).toBe(200);
    await connect(sim, 'binance');
    expect([await status(), await status()]).toEqual([500, 200]);
    expect(() => sim.fault({ kind: 'successor-no-snapshot', venue: 'kraken' })).toThrow('kraken has no');
  },

  'http-429': () => httpFault('http-429', 429, '7'),
  'http-418': () => httpFault('http-418', 418, '7'),
  'http-500': () => httpFault('http-500', 500, null),

  async 'clock-offset'() {
    const sim = await simulator();
    const client = await connect(sim, 'binance', '/ws/btcusdt@aggTrade');
    const time = async () => (await rest<{ serverTime: number }>(sim, '/binance/api/v3/time')).body.serverTime;
    const before = await time();
    sim.fault({ kind: 'clock-offset', venue: 'binance', value: 90_000 });
    expect(await time()).toBe(before + 90_000);
    sim.advance(20);
    const [trade] = await client.parsed<{ T: number }>('aggTrade', 1);
    expect(trade!.T).toBeGreaterThan(before + 90_000 - 1);
    const bars = sim.truth.bars('binance', 'BTCUSDT', { interval: '1m', startMs: 0, limit: 10 });
    expect(bars[0]!.openMs).toBeGreaterThanOrEqual(before + 60_000);
  },

  async 'new-listing'() {
    const sim = await simulator();
    sim.fault({ kind: 'new-listing', venue: 'binance', symbol: 'DOGE-USD' });
    sim.fault({ kind: 'new-listing', venue: 'binance' });
    expect(sim.truth.symbols('binance')).toEqual(expect.arrayContaining(['DOGEUSDT', 'NEWAAUSDT']));
    expect(sim.truth.symbols('kraken')).not.toContain('DOGE/USD');
    sim.advance(100);
    expect(sim.truth.trades('binance', 'DOGEUSDT').length).toBeGreaterThan(0);
  },

  async delisting() {
    const { sim, client } = await bookClient();
    sim.fault({ kind: 'delisting', venue: 'binance', symbol: 'BTC-USD' });
    sim.advance(3);
    await settle(client);
    expect(client.frames).toEqual([]);
    const { body } = await rest<{ symbols: object[] }>(sim, '/binance/api/v3/exchangeInfo');
    expect(body.symbols).toContainEqual(expect.objectContaining({ symbol: 'BTCUSDT', status: 'BREAK' }));
    expect(() => sim.fault({ kind: 'delisting', venue: 'binance', symbol: 'NO-USD' })).toThrow('does not list NO-USD');
  },
};

async function httpFault(kind: FaultKind, status: number, retryAfter: string | null): Promise<void> {
  const sim = await simulator();
  sim.fault({ kind, venue: 'binance', count: 2, value: 7 });
  const answers = [];
  for (let request = 0; request < 3; request++) answers.push(await rest(sim, '/binance/api/v3/time'));
  expect(answers.map((answer) => answer.status)).toEqual([status, status, 200]);
  expect(answers[0]!.headers.get('retry-after')).toBe(retryAfter);
}

describe('the fault', () => {
  it.each(Object.keys(FAULT_KINDS) as FaultKind[])('%s does what it says', async (kind) => {
    await TESTS[kind]();
  });
});

describe('the control interface', () => {
  const post = (sim: Simulator, body: string, type = 'application/json') =>
    fetch(`${sim.url}/_sim/faults`, { method: 'POST', body, headers: { 'content-type': type } });

  it('starts, lists and ends faults', async () => {
    const sim = await simulator();
    expect((await post(sim, '{"kind":"gap","venue":"kraken","count":5}')).status).toBe(200);
    expect((await rest(sim, '/_sim/status')).body).toMatchObject({
      venues: { kraken: { faults: [{ kind: 'gap', count: 5 }] }, binance: { faults: [] } },
    });
    await fetch(`${sim.url}/_sim/faults`, { method: 'DELETE' });
    expect((await rest(sim, '/_sim/status')).body).toMatchObject({ venues: { kraken: { faults: [] } } });
    expect((await rest(sim, '/_sim/faults')).body).toEqual(FAULT_KINDS);
  });

  it.each([
    '{"kind":"nope"}',
    '{"kind":"gap","venue":"x"}',
    '{"kind":"gap","count":0}',
    '{"kind":"gap","size":1}',
    'x',
    '[]',
  ])('refuses %s with a code and what is wrong', async (body) => {
    const answer = await post(await simulator(), body);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ code: 'TW_SIM_BAD_FAULT' });
  });

  it('takes JSON only, so that no web page can reach it by a form', async () => {
    expect((await post(await simulator(), '{"kind":"gap"}', 'text/plain')).status).toBe(400);
  });

  it('names the fields that do not fit', () => {
    expect(() => parseFault({ kind: 'gap', count: 'many' }, [])).toThrow('count: expected a number');
    expect(() => parseFault({ kind: 'oversized', value: 1e12 }, [])).toThrow(
      'value: expected 0..268435456 bytes, got 1000000000000',
    );
  });
});
