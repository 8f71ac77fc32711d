import { describe, expect, it } from 'vitest';
import { DecodeKernel } from './decode.ts';
import type { OracleAnswer, OracleContext } from './oracle/frame-oracle.ts';
import { coinbaseOracle, krakenOracle } from './oracle/incremental-venues.ts';
import { kernelAnswer, sameAnswer, walk } from './oracle/kernel-answer.ts';
import { Random, testSeed } from './oracle/random.ts';
import { damage } from './oracle/random-frames.ts';
import { coinbaseFrame, krakenFrame } from './oracle/random-incremental-frames.ts';
import { binanceFrame, bitstampFrame } from './oracle/random-venue-frames.ts';
import { binanceOracle, bitstampOracle } from './oracle/snapshot-venues.ts';

const seed = testSeed();
/** 104,000 frames a run; the long form has ten times as many. */
const TIMES = process.env['TAPEWORKS_LONG'] === '1' ? 10 : 1;

const ROUTES = new Map([
  ['btcusdt@depth20@100ms', { route: 1, decimals: 8 }],
  ['ethusdt@depth10@1000ms', { route: 2, decimals: 5 }],
  ['BTCUSDT', { route: 1, decimals: 8 }],
  ['ETHUSDT', { route: 2, decimals: 12 }],
  ['order_book_btcusd', { route: 3, decimals: 8 }],
  ['order_book_ethusd-perp', { route: 4, decimals: 10 }],
  ['diff_order_book_btcusd', { route: 3, decimals: 8 }],
  ['live_trades_btcusd', { route: 3, decimals: 8 }],
  ['live_trades_ethusd-perp', { route: 4, decimals: 0 }],
  ['BTC/USD', { route: 5, decimals: 8 }],
  ['ETH/USD', { route: 6, decimals: 11 }],
  ['BTC-USD', { route: 7, decimals: 8 }],
  ['ETH-USD', { route: 8, decimals: 9 }],
]);

interface Venue {
  readonly name: string;
  readonly frames: number;
  readonly sendsWholeBooks?: true;
  readonly frame: (random: Random) => string;
  readonly oracle: (text: string, context: OracleContext) => OracleAnswer;
  readonly decode: (kernel: DecodeKernel, frame: Uint8Array, context: OracleContext) => number;
}

const VENUES: readonly Venue[] = [
  {
    name: 'Binance',
    frames: 40_000 * TIMES,
    sendsWholeBooks: true,
    frame: binanceFrame,
    oracle: binanceOracle,
    decode: (kernel, frame, { fallback }) => walk(kernel, 'binance', frame, 7, fallback.route, fallback.decimals),
  },
  {
    name: 'Bitstamp',
    frames: 40_000 * TIMES,
    sendsWholeBooks: true,
    frame: bitstampFrame,
    oracle: bitstampOracle,
    decode: (kernel, frame) => walk(kernel, 'bitstamp', frame, 7),
  },
  {
    name: 'Kraken',
    frames: 14_000 * TIMES,
    frame: krakenFrame,
    oracle: krakenOracle,
    decode: (kernel, frame) => walk(kernel, 'kraken', frame, 7),
  },
  {
    name: 'Coinbase',
    frames: 10_000 * TIMES,
    frame: coinbaseFrame,
    oracle: coinbaseOracle,
    decode: (kernel, frame) => walk(kernel, 'coinbase', frame, 7),
  },
];

function kernelFor(context: OracleContext): DecodeKernel {
  const kernel = new DecodeKernel({ depth: context.depth });
  for (const [name, { route, decimals }] of context.routes) kernel.addRoute(name, route, decimals);
  return kernel;
}

/** The frame as a socket would have left it, between what came before and what had come there earlier. */
function landed(random: Random, { landing }: DecodeKernel, frame: Buffer): Buffer {
  const from = random.pick([2, 4, 40]);
  if (from + frame.length > landing.length) return frame;
  landing.fill(
    random.pick(['"', ':', '{"', '"}', ']', '9', '\\']),
    0,
    Math.min(landing.length, from + frame.length + 200),
  );
  landing.set(frame, from);
  return landing.subarray(from, from + frame.length);
}

describe.each(VENUES)('the $name walker', (venue) => {
  it(`answers as its oracle does on random and damaged frames (seed ${seed})`, { timeout: 600_000 }, () => {
    const random = new Random(seed);
    const contexts = [1, 10, 10, 10, 100].map(
      (depth, n): OracleContext => ({ depth, routes: ROUTES, fallback: { route: 9, decimals: n === 1 ? 2 : 8 } }),
    );
    const kernels = contexts.map(kernelFor);
    const seen = { book: 0, delta: 0, trades: 0, control: 0, refused: 0 };
    for (let n = 0; n < venue.frames; n++) {
      const which = random.below(contexts.length);
      const whole = Buffer.from(venue.frame(random), 'latin1');
      const frame = random.chance(60) ? whole : damage(random, whole);
      const expected = venue.oracle(frame.toString('latin1'), contexts[which]!);
      const kernel = kernels[which]!;
      const read = random.chance(50) ? frame : landed(random, kernel, frame);
      const answer = kernelAnswer(kernel, venue.decode(kernel, read, contexts[which]!));
      seen[answer.kind]++;
      if (!sameAnswer(answer, expected))
        expect({ seed, n, frame: frame.toString('latin1'), answer }).toEqual({ answer: expected });
    }
    // Every kind of answer was among them.
    const { book, ...others } = seen;
    expect(Math.min(...Object.values(others))).toBeGreaterThan(venue.frames / 100);
    expect(book > venue.frames / 10).toBe(venue.sendsWholeBooks ?? false);
  });
});
