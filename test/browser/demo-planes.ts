// Sources for the planes with made-up but consistent data: books that move, bars of every quality, a ledger that balances.

import type { BarsSource, BooksSource, IngestSource } from '../../src/console/sources.ts';
import type {
  BarQuality,
  BarView,
  BookLevelView,
  DeadLetterView,
  IngestView,
} from '../../src/protocols/console-api.ts';

/** The same numbers at every run: screenshots do not change for no reason. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const VENUES = ['binance', 'bitstamp', 'kraken', 'coinbase'];
const MIDS: Readonly<Record<string, number>> = {
  'BTC-USD': 94_310,
  'ETH-USD': 3182,
  'SOL-USD': 141,
  'ETH-BTC': 0.0337,
};
const DEPTH = 10;

export function demoBooks(): BooksSource {
  const random = numbers(7);
  const boundsUs = [10, 20, 30, 50, 75, 100, 150, 250, 500, 1000, 2500];
  const counts = [120, 5210, 18_830, 14_020, 6240, 2310, 840, 260, 71, 18, 4, 1];
  let sequence = 0;
  return {
    catalogue: () => ({ symbols: Object.keys(MIDS), venues: VENUES }),
    latest(symbol) {
      sequence++;
      const mid = MIDS[symbol]! * (1 + (random() - 0.5) * 0.0002);
      const digits = mid < 1 ? 6 : 2;
      const side = (sign: number): BookLevelView[] =>
        Array.from({ length: DEPTH }, (_, at) => ({
          price: (mid * (1 + sign * (0.00004 + at * 0.00003 + random() * 0.00001))).toFixed(digits),
          amount: (0.02 + random() * 2.4).toFixed(4),
          venue: [0, 1, 3][Math.floor(random() * 3)]!,
        }));
      const [bids, asks] = [side(-1), side(1)];
      return {
        ...{ symbol, sequence, bids, asks },
        spread: (Number(asks[0]!.price) - Number(bids[0]!.price)).toFixed(digits),
        venues: [
          { name: 'binance', phase: 'live', reason: '', ageMs: 20 + random() * 80, merged: true },
          {
            name: 'bitstamp',
            phase: 'quiet',
            reason: 'silent for a while, its connection answers',
            ageMs: 11_400,
            merged: true,
          },
          { name: 'kraken', phase: 'stale', reason: 'acked, then no data', ageMs: null, merged: false },
          { name: 'coinbase', phase: 'live', reason: '', ageMs: 30 + random() * 120, merged: true },
        ],
      };
    },
    latency() {
      counts[2]! += 17;
      const count = counts.reduce((sum, value) => sum + value, 0);
      return { boundsUs, counts: [...counts], count, p50Us: 34, p99Us: 182, maxUs: 3140 };
    },
  };
}

const LENGTH_MS: Readonly<Record<string, number>> = { '1m': 60_000, '5m': 300_000, '15m': 900_000, '1h': 3_600_000 };

const BARS = 120;

export interface DemoBars extends BarsSource {
  /** Turns the newest gap into a repaired bar, as a fetched hole does. */
  repair(): void;
}

export function demoBars(): DemoBars {
  const listeners = new Set<(bar: BarView) => void>();
  let repaired = 0;
  const make = (interval: string, count: number): BarView[] => {
    const random = numbers(11);
    const length = LENGTH_MS[interval]!;
    const now = Math.floor(Date.now() / length);
    let price = 94_000;
    return Array.from({ length: count }, (_, at) => {
      const fromEnd = count - 1 - at;
      const open = price;
      const quality = qualityOf(fromEnd, count);
      price = quality === 'quiet' ? open : open * (1 + (random() - 0.49) * 0.002);
      const [high, low] = [
        Math.max(open, price) * (1 + random() * 0.0006),
        Math.min(open, price) * (1 - random() * 0.0006),
      ];
      const trades = quality === 'quiet' ? 0 : Math.round(40 + random() * 400);
      const text = (value: number) => (quality === 'quiet' ? open : value).toFixed(2);
      return {
        openAtMs: (now - fromEnd) * length,
        closeAtMs: (now - fromEnd + 1) * length - 1,
        ...{ open: open.toFixed(2), high: text(high), low: text(low), close: text(price) },
        volume: (trades * 0.013).toFixed(4),
        quoteVolume: (trades * 0.013 * price).toFixed(2),
        takerVolume: (trades * 0.006).toFixed(4),
        trades,
        quality,
        revision: fromEnd === 0 ? 0 : quality === 'repaired' ? 2 : 1,
        closed: fromEnd > 0,
      };
    });
  };
  const qualityOf = (fromEnd: number, count: number): BarQuality => {
    if (fromEnd === count - 1) return 'partial-first';
    if (fromEnd === 9) return repaired > 0 ? 'repaired' : 'gap';
    if (fromEnd === 26 || fromEnd === 27) return 'repaired';
    return fromEnd === 40 || fromEnd === 41 ? 'quiet' : 'complete';
  };
  const tick = setInterval(() => {
    const open = make('1m', BARS).at(-1)!;
    const close = (Number(open.close) * (1 + Math.sin(Date.now() / 3000) * 0.0004)).toFixed(2);
    for (const listener of listeners) listener({ ...open, close });
  }, 500);
  tick.unref();
  return {
    catalogue: () => ({
      symbols: ['binance:BTCUSDT', 'bitstamp:btcusd', 'kraken:BTC/USD'],
      intervals: Object.keys(LENGTH_MS),
    }),
    history: async (_symbol, interval, limit) => make(interval, BARS).slice(-limit),
    listen(_symbol, _interval, listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    repair() {
      repaired++;
      const bar = { ...make('1m', BARS).at(-10)!, revision: 2 };
      for (const listener of listeners) listener(bar);
    },
  };
}

export function demoIngest(): IngestSource {
  const startedAtMs = Date.now();
  let letters: DeadLetterView[] = [
    letter(
      1,
      'bad_ts',
      'event',
      'data.ts_event',
      'is not a positive whole number of nanoseconds',
      '{"id":"01J…","ts_event":-5',
    ),
    letter(2, 'not_json', 'json', 'byte 17', 'is not JSON', '{"type":"data",,"id":'),
    letter(3, 'bad_symbol', 'event', 'data.symbol', 'has control characters', '<img src=x onerror=alert(1)>'),
  ];
  return {
    view(): IngestView {
      const added = 1_204_331 + Math.floor((Date.now() - startedAtMs) / 3);
      const pending = { undelivered: 40 + (added % 17), delivered: 512, spilled: 0 };
      const stored = added - letters.length - pending.undelivered - pending.delivered;
      return {
        ledgers: [
          {
            ...{ stream: 'events', added, stored, pending },
            deadLettered: letters.length,
            dropped: 0,
            lagMs: 38,
            perSecond: 333,
          },
        ],
        batches: { count: 4821, rowsP50: 412, writeP50Ms: 6.1, writeP99Ms: 21.4 },
        spill: { bytes: 0, maxBytes: 4 * 2 ** 30, segments: 0, quarantined: 0 },
        breaker: { state: 'closed', reason: '', sinceAtMs: null },
        modules: [
          { name: 'collector', streams: ['events'], state: 'alive', lastHeardAtMs: Date.now() - 800 },
          { name: 'news', streams: ['events'], state: 'silent', lastHeardAtMs: Date.now() - 190_000 },
        ],
      };
    },
    deadLetters: async (limit) => letters.slice(0, limit),
    async retry(ids) {
      const known = letters.filter(({ id }) => ids.includes(id)).map(({ id }) => id);
      letters = letters.filter(({ id }) => !known.includes(id));
      const refused = ids.filter((id) => !known.includes(id)).map((id) => ({ id, reason: 'is not there any more' }));
      return { retried: known, refused };
    },
  };
}

function letter(at: number, code: string, stage: string, path: string, reason: string, raw: string): DeadLetterView {
  const id = `17632000000${at}-0`;
  return { id, atMs: 1_763_200_000_000 + at * 1000, stream: 'events', entryId: id, stage, code, path, reason, raw };
}
