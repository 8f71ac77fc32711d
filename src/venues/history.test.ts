import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { fromDecimal } from '../protocols/kline.ts';
import { bitstampHistory } from './bitstamp/history.ts';
import { VENUES } from './index.ts';
import { closeAll, connect, START_MS, simulator } from './simulation/rig.ts';
import { knownVenue, streamName, type Venue } from './venue.ts';

const STEPS = 3_000;
const UNKNOWN = { name: 'NOSUCHPAIR', index: 7 };

afterEach(closeAll);

async function market({ facts }: Venue) {
  const sim = await simulator({ symbols: ['BTC-USD'] });
  sim.advance(STEPS);
  const name = sim.truth.symbols(facts.id)[0]!;
  return { sim, name, restUrl: sim.endpoints(facts.id).restUrl };
}

const named = (venues: readonly Venue[]) => venues.map((venue) => [venue.facts.title, venue] as const);
const withPart = (part: keyof NonNullable<Venue['history']>) =>
  named(VENUES.filter(({ history }) => history?.[part] !== undefined));

describe.each(withPart('tradesById'))('the trades of %s by number', (_title, venue) => {
  const { weight, pageMax, fetch } = venue.history!.tradesById!;

  it('come page by page, all of them once, with the weight that the venue counts', async () => {
    const { sim, name, restUrl } = await market(venue);
    const sequences: bigint[] = [];
    let counted: number | undefined;
    for (let from = 0n; ; from = sequences.at(-1)! + 1n) {
      const page = await fetch(`${restUrl}/`, { name, index: 7 }, from, 100);
      if (!page.ok) throw new Error(page.reason);
      expect(page.value.every((trade) => trade.symbol === 7 && trade.amount > 0n && trade.price > 0n)).toBe(true);
      sequences.push(...page.value.map(({ sequence }) => sequence));
      // The venue counts by the minute.
      if (counted !== undefined) expect([counted + weight, weight]).toContain(page.usedWeight);
      counted = page.usedWeight;
      if (page.value.length < 100) break;
    }
    expect(sequences).toHaveLength(sim.truth.trades(venue.facts.id, name).length);
    expect(sequences).toEqual(sequences.map((_, at) => sequences[0]! + BigInt(at)));
    const whole = await fetch(restUrl, { name, index: 7 }, 0n, 1_000_000);
    expect(whole).toMatchObject({ ok: true, value: { length: Math.min(pageMax, sequences.length) } });
  });

  it('of a symbol that is not there are refused, and of nobody are no answer', async () => {
    const { restUrl } = await market(venue);
    expect(await fetch(restUrl, UNKNOWN, 0n, 1)).toMatchObject({ ok: false, status: 400 });
    expect(await fetch('http://127.0.0.1:1', UNKNOWN, 0n, 1)).toMatchObject({ ok: false, status: 0 });
  });
});

describe.each(withPart('windows'))('the last trades of %s', (_title, venue) => {
  const { fetch } = venue.history!.windows!;

  it('are all of the window, in order', async () => {
    const { sim, name, restUrl } = await market(venue);
    const day = await fetch(`${restUrl}/`, { name, index: 7 }, 'day');
    if (!day.ok) throw new Error(day.reason);
    const sequences = day.value.map(({ sequence }) => sequence);
    expect(sequences).toHaveLength(sim.truth.trades(venue.facts.id, name).length);
    expect(sequences).toEqual(sequences.toSorted((a, b) => (a < b ? -1 : 1)));
    const minute = await fetch(restUrl, { name, index: 7 }, 'minute');
    if (!minute.ok) throw new Error(minute.reason);
    expect(minute.value.length).toBeLessThan(sequences.length);
    expect(minute.value).toEqual(day.value.slice(-minute.value.length));
  });

  it('of a symbol that is not there are refused, and of nobody are no answer', async () => {
    const { restUrl } = await market(venue);
    expect(await fetch(restUrl, UNKNOWN, 'minute')).toMatchObject({ ok: false, status: expect.any(Number) });
    expect(await fetch('http://127.0.0.1:1', UNKNOWN, 'minute')).toMatchObject({ ok: false, status: 0 });
  });
});

describe('the last trades of Bitstamp', () => {
  it('that are listed twice were traded once', async () => {
    const trade = (tid: number) => ({ date: '1763000000', tid: String(tid), price: '9', amount: '1', type: '0' });
    const server = createServer((_, response) => response.end(JSON.stringify([3, 2, 3, 1, 1].map(trade))));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const answer = await bitstampHistory.windows.fetch(url, { name: 'btcusd', index: 0 }, 'hour');
    server.close();
    expect(answer.ok && answer.value.map(({ sequence }) => sequence)).toEqual([1n, 2n, 3n]);
  });
});

describe.each(withPart('bars'))('the bars of %s', (_title, venue) => {
  const { fetch, pageMax } = venue.history!.bars!;

  it('are those that it counts, quote volumes to sixteen places', async () => {
    const { sim, name, restUrl } = await market(venue);
    const fromUs = BigInt(START_MS) * 1000n;
    const theirs = await fetch(`${restUrl}/`, name, '1m', fromUs, pageMax);
    if (!theirs.ok) throw new Error(theirs.reason);
    const truth = sim.truth.bars(venue.facts.id, name, { interval: '1m', startMs: START_MS, limit: pageMax });
    expect(truth.length).toBeGreaterThan(2);
    expect(theirs.value.map(({ openUs, closeUs, trades }) => [openUs, closeUs, trades])).toEqual(
      truth.map(({ openMs, closeMs, trades }) => [
        ...[BigInt(openMs) * 1000n, BigInt(closeMs) * 1000n + 999n, BigInt(trades)],
      ]),
    );
    // The average price of a bar lies between its lowest and its highest.
    for (const { low, high, volume, quoteVolume, trades } of theirs.value) {
      if (trades === 0n) continue;
      const rounding = fromDecimal('0.00000001', 16) * trades;
      expect(quoteVolume + rounding >= low * volume && quoteVolume - rounding <= high * volume).toBe(true);
    }
  });
});

describe.each(named(VENUES))('%s', (_title, venue) => {
  it('reads tickers if, and only if, it has a stream of them', async () => {
    const { facts, dialect } = venue;
    expect(dialect.readTickers !== undefined).toBe(facts.streams.tickers !== undefined);
    if (!knownVenue(venue).tellsSymbols) return;
    const { sim, name } = await market(venue);
    const client = await connect(sim, facts.id);
    client.send(dialect.encode('subscribe', [streamName(facts, 'tickers', '')], 1));
    await client.frame('"result":null');
    sim.advance(100);
    const read = () => client.frames.map((frame) => dialect.readTickers!(frame)).find(({ size }) => size > 0);
    await client.until(() => read() !== undefined, 'a ticker');
    expect([...read()!.keys()]).toContain(name);
    for (const strange of ['', '[', '{"data":[null,1,{"s":2}]}', '{"data":"x"}']) {
      expect(dialect.readTickers!(strange).size, strange).toBe(0);
    }
  });
});
