import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { VENUES } from '../index.ts';
import { symbolOf } from '../venue.ts';
import type { Book } from './book.ts';
import { formatUnits, trimUnits } from './decimal.ts';
import { DEFAULT_SYMBOLS, nameOf } from './instruments.ts';
import { barsOf, INTERVALS, nextOpenTime, openTime } from './klines.ts';
import { Market } from './market.ts';
import { TradeLog } from './trade-log.ts';

const START_US = 1_770_000_000_000_000;
const seed = Number(process.env['TAPEWORKS_SEED'] ?? Date.now() % 1e9);

function market(options: { seed?: number; stepUs?: number; retain?: number } = {}): Market {
  const made = new Market({ seed: 7, startUs: START_US, stepUs: 100_000, retain: 100_000, ...options });
  for (const { facts, simulation } of VENUES) {
    made.addVenue(facts.id, simulation.profile, (base, quote) => symbolOf(facts, base, quote));
  }
  for (const name of DEFAULT_SYMBOLS) made.list(name);
  return made;
}

function fingerprint(from: Market): string {
  return JSON.stringify(
    [...from.venues.values()].flatMap((venue) =>
      [...venue.listings.values()].map(({ symbol, book, trades }) => [
        symbol,
        [book.bids.prices, book.bids.lots, book.asks.prices, book.asks.lots, book.version],
        trades.from(1, 1e9),
      ]),
    ),
  );
}

function isSound({ bids, asks }: Book): boolean {
  return (
    bids.prices[0]! < asks.prices[0]! &&
    bids.depth >= 100 &&
    asks.depth >= 100 &&
    bids.prices.at(-1)! > 0 &&
    [...bids.lots, ...asks.lots].every((lots) => Number.isSafeInteger(lots) && lots > 0) &&
    bids.prices.every((price, at) => at === 0 || price < bids.prices[at - 1]!) &&
    asks.prices.every((price, at) => at === 0 || price > asks.prices[at - 1]!)
  );
}

describe('the market', () => {
  it('is the same for the same seed and another for another', () => {
    const [one, same, other] = [market(), market(), market({ seed: 8 })];
    for (const each of [one, same, other]) for (let step = 0; step < 300; step++) each.step();
    expect(fingerprint(same)).toBe(fingerprint(one));
    expect(fingerprint(other)).not.toBe(fingerprint(one));
  });

  it('has venues that seldom cross, and then by little', () => {
    const made = market({ seed });
    const top = (instrument: string) =>
      [...made.venues.values()].map((venue) => {
        const listing = [...venue.listings.values()].find((one) => nameOf(one.instrument) === instrument)!;
        const unit = 10 ** -listing.priceDecimals;
        return { bid: listing.book.bids.prices[0]! * unit, ask: listing.book.asks.prices[0]! * unit };
      });
    const spreads = DEFAULT_SYMBOLS.map(() => [] as number[]);
    for (let step = 0; step < 1000; step++) {
      made.step();
      DEFAULT_SYMBOLS.forEach((name, at) => {
        const tops = top(name);
        const ask = Math.min(...tops.map((one) => one.ask));
        spreads[at]!.push((ask - Math.max(...tops.map((one) => one.bid))) / ask);
      });
    }
    for (const [at, shares] of spreads.entries()) {
      const crossed = shares.filter((share) => share < 0);
      expect(crossed.length / shares.length, `${DEFAULT_SYMBOLS[at]}, seed ${seed}`).toBeLessThan(0.1);
      expect(Math.min(...shares), `${DEFAULT_SYMBOLS[at]}, seed ${seed}`).toBeGreaterThan(-5e-4);
    }
  });

  it('is not disturbed by a listing that comes later', () => {
    const [plain, grown] = [market(), market()];
    for (let step = 0; step < 200; step++) {
      if (step === 100) grown.list('NEWAA-USD');
      plain.step();
      grown.step();
    }
    const trades = (from: Market) => from.venues.get('binance')!.listings.get('BTCUSDT')!.trades.from(1, 1e9);
    expect(trades(grown)).toEqual(trades(plain));
    expect(grown.venues.get('kraken')!.listings.get('NEWAA/USD')!.trades.next).toBeGreaterThan(1);
  });

  it('keeps every book sorted, uncrossed, deep enough and positive, at any speed', () => {
    for (const stepUs of [2_000, 100_000, 6_000_000]) {
      const made = market({ seed, stepUs });
      for (let step = 0; step < 200; step++) {
        made.step();
        for (const { book, symbol } of [...made.venues.values()].flatMap((venue) => [...venue.listings.values()])) {
          if (!isSound(book)) expect.fail(`seed ${seed}, ${stepUs} us a step, step ${step}: ${symbol} is not sound`);
        }
      }
    }
  });

  it('quotes nearly the same price on all venues', () => {
    const made = market();
    for (let step = 0; step < 500; step++) made.step();
    const mids = [...made.venues.values()].map((venue) => {
      const { book, priceDecimals } = [...venue.listings.values()][0]!;
      return (book.bids.prices[0]! + book.asks.prices[0]!) / 2 / 10 ** priceDecimals;
    });
    expect(Math.max(...mids) / Math.min(...mids)).toBeLessThan(1.002);
  });

  it('has trades with dense ids and ordered times', () => {
    const made = market();
    for (let step = 0; step < 500; step++) made.step();
    const { trades } = made.venues.get('binance')!.listings.get('BTCUSDT')!;
    const all = trades.from(1, 1e9);
    expect(all.length).toBeGreaterThan(100);
    expect(all.some((trade) => trade.lastId > trade.firstId)).toBe(true);
    for (const [at, trade] of all.entries()) {
      expect(trade.sequence).toBe(at + 1);
      if (at > 0) expect(trade.firstId).toBe(all[at - 1]!.lastId + 1);
      if (at > 0) expect(trade.timeUs).toBeGreaterThanOrEqual(all[at - 1]!.timeUs);
    }
  });
});

describe('the trade log', () => {
  it('keeps the newest trades and no more', () => {
    const log = new TradeLog(1000);
    for (let trade = 1; trade <= 2500; trade++) log.push(trade, 10, trade * 1000, trade % 2 === 0, 1);
    expect([log.first, log.next]).toEqual([1501, 2501]);
    expect(log.from(1, 2).map((trade) => trade.price)).toEqual([1501, 1502]);
    expect(log.between(2_000_000, 2_003_000, 10).map((trade) => trade.price)).toEqual([2000, 2001, 2002]);
    expect(log.lastBefore(2_000_000)?.price).toBe(1999);
    expect(log.lastBefore(1)).toBeUndefined();
  });

  it('still finds trades by time after the clock was set back', () => {
    const log = new TradeLog(100);
    for (const timeUs of [1000, 5000, 2000, 3000]) log.push(timeUs, 1, timeUs, true, 1);
    expect(log.between(2000, 4000, 10).map((trade) => trade.timeUs)).toEqual([2000, 3000]);
  });
});

describe('the bars', () => {
  it('open where calendars say', () => {
    const at = Date.UTC(2026, 8, 16, 13, 47, 12, 345); // a Wednesday
    const utc = (ms: number) => new Date(ms).toISOString().slice(0, 19);
    expect(utc(openTime('1s', at))).toBe('2026-09-16T13:47:12');
    expect(utc(openTime('15m', at))).toBe('2026-09-16T13:45:00');
    expect(utc(openTime('1w', at))).toBe('2026-09-14T00:00:00');
    expect(utc(openTime('1M', at))).toBe('2026-09-01T00:00:00');
    expect(utc(nextOpenTime('1M', Date.UTC(2026, 11, 1)))).toBe('2027-01-01T00:00:00');
  });

  it('equal a recomputation that knows nothing of the log, on random trades and all intervals', () => {
    const trade = fc.record({
      price: fc.integer({ min: 1, max: 1e12 }),
      lots: fc.integer({ min: 1, max: 1e14 }),
      gapUs: fc.oneof(fc.integer({ min: 0, max: 2e6 }), fc.integer({ min: 0, max: 4e11 })),
      buys: fc.boolean(),
      raw: fc.integer({ min: 1, max: 5 }),
    });
    fc.assert(
      fc.property(
        fc.array(trade, { minLength: 1, maxLength: 40 }),
        fc.constantFrom(...INTERVALS),
        (trades, interval) => {
          const log = new TradeLog(1000);
          let timeUs = START_US;
          const groups = new Map<number, { price: bigint; lots: bigint; buys: boolean; raw: number }[]>();
          for (const one of trades) {
            timeUs += one.gapUs;
            log.push(one.price, one.lots, timeUs, one.buys, one.raw);
            const open = openTime(interval, Math.floor(timeUs / 1000));
            groups.set(open, [
              ...(groups.get(open) ?? []),
              { ...one, price: BigInt(one.price), lots: BigInt(one.lots) },
            ]);
          }
          for (const [open, group] of groups) {
            const [bar] = barsOf(log, { interval, startMs: open, limit: 1 }, timeUs / 1000);
            const prices = group.map((one) => one.price);
            const sorted = [...prices].sort((a, b) => Number(a - b));
            const sum = (value: (one: (typeof group)[number]) => bigint) =>
              group.reduce((total, one) => total + value(one), 0n);
            expect(bar).toMatchObject({
              openMs: open,
              open: prices[0],
              close: prices.at(-1),
              high: sorted.at(-1),
              low: sorted[0],
              volume: sum((one) => one.lots),
              quoteVolume: sum((one) => one.lots * one.price),
              takerBuyVolume: sum((one) => (one.buys ? one.lots : 0n)),
              takerBuyQuoteVolume: sum((one) => (one.buys ? one.lots * one.price : 0n)),
              trades: group.reduce((total, one) => total + one.raw, 0),
            });
          }
        },
      ),
      { seed, numRuns: 200 },
    );
  });

  it('are flat where nothing was traded, and absent where trades are no longer kept', () => {
    const log = new TradeLog(3);
    for (const minute of [0, 1, 2, 5]) log.push(100 + minute, 1, (minute * 60 + 1) * 1e6, true, 1);
    const bars = barsOf(log, { interval: '1m', startMs: 0, limit: 100 }, 6 * 60_000);
    expect(bars.map((bar) => [bar.openMs / 60_000, bar.close, bar.trades])).toEqual([
      [2, 102n, 1],
      [3, 102n, 0],
      [4, 102n, 0],
      [5, 105n, 1],
      [6, 105n, 0],
    ]);
  });

  it('without a start are the newest ones', () => {
    const log = new TradeLog(10);
    log.push(100, 1, 1e6, true, 1);
    const bars = barsOf(log, { interval: '1m', limit: 2 }, 10 * 60_000);
    expect(bars.map((bar) => bar.openMs / 60_000)).toEqual([9, 10]);
  });
});

describe('decimals', () => {
  it.each([
    [9723411, 2, 8, '97234.11000000'],
    [5, 8, 8, '0.00000005'],
    [97234, 0, 0, '97234'],
    [0, 8, 8, '0.00000000'],
  ])('%s units of 10^-%s with %s shown are %s', (units, decimals, shown, text) => {
    expect(formatUnits(units, decimals, shown)).toBe(text);
  });

  it('are trimmed for plain JSON numbers', () => {
    expect([trimUnits(921_000, 8), trimUnits(77_204, 0), trimUnits(100_000_000, 8)]).toEqual(['0.00921', '77204', '1']);
  });
});
