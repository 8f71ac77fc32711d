import { describe, expect, it } from 'vitest';
import { DecodeKernel } from './decode.ts';
import type { OracleAnswer, OracleContext } from './oracle/frame-oracle.ts';
import { kernelAnswer, sameAnswer } from './oracle/kernel-answer.ts';
import { Random, testSeed } from './oracle/random.ts';
import { damage } from './oracle/random-frames.ts';
import { binanceFrame, bitstampFrame } from './oracle/random-venue-frames.ts';
import { binanceOracle, bitstampOracle } from './oracle/snapshot-venues.ts';

const seed = testSeed();
const FRAMES = process.env['TAPEWORKS_LONG'] === '1' ? 1_000_000 : 30_000;

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
]);

interface Venue {
  readonly name: string;
  readonly frame: (random: Random) => string;
  readonly oracle: (text: string, context: OracleContext) => OracleAnswer;
  readonly decode: (kernel: DecodeKernel, frame: Uint8Array, context: OracleContext) => number;
}

const VENUES: readonly Venue[] = [
  {
    name: 'Binance',
    frame: binanceFrame,
    oracle: binanceOracle,
    decode: (kernel, frame, { fallback }) => kernel.binance(frame, 7, fallback.route, fallback.decimals),
  },
  {
    name: 'Bitstamp',
    frame: bitstampFrame,
    oracle: bitstampOracle,
    decode: (kernel, frame) => kernel.bitstamp(frame, 7),
  },
];

function kernelFor(context: OracleContext): DecodeKernel {
  const kernel = new DecodeKernel({ depth: context.depth });
  for (const [name, { route, decimals }] of context.routes) kernel.addRoute(name, route, decimals);
  return kernel;
}

describe.each(VENUES)('the $name walker', (venue) => {
  it(`answers as its oracle does on ${FRAMES} random and damaged frames (seed ${seed})`, { timeout: 600_000 }, () => {
    const random = new Random(seed);
    const contexts = [1, 10, 10, 10, 100].map(
      (depth, n): OracleContext => ({ depth, routes: ROUTES, fallback: { route: 9, decimals: n === 1 ? 2 : 8 } }),
    );
    const kernels = contexts.map(kernelFor);
    const seen = { book: 0, delta: 0, trades: 0, control: 0, refused: 0 };
    for (let n = 0; n < FRAMES; n++) {
      const which = random.below(contexts.length);
      const whole = Buffer.from(venue.frame(random), 'latin1');
      const frame = random.chance(60) ? whole : damage(random, whole);
      const expected = venue.oracle(frame.toString('latin1'), contexts[which]!);
      const kernel = kernels[which]!;
      const answer = kernelAnswer(kernel, venue.decode(kernel, frame, contexts[which]!));
      seen[answer.kind]++;
      if (!sameAnswer(answer, expected))
        expect({ seed, n, frame: frame.toString('latin1'), answer }).toEqual({ answer: expected });
    }
    expect(Math.min(seen.book, seen.delta, seen.trades, seen.control, seen.refused)).toBeGreaterThan(FRAMES / 1000);
  });
});
