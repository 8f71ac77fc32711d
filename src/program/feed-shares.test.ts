import { expect, it } from 'vitest';
import { FeedShares } from './feed-shares.ts';
import { KlineSymbols } from './kline-symbols.ts';

function sharesOf(count: number) {
  const symbols = new KlineSymbols();
  const shares = new FeedShares(symbols);
  const find = (more: number) => {
    for (let at = symbols.all().length; more > 0; at++, more--) {
      symbols.discover(0, { venue: 'binance', symbol: `S${at}`, index: at, instrument: `binance:S${at}`, scale: 8 });
    }
  };
  find(count);
  const of = (path: string, room: number) => shares.of(path, 'binance', room).map(({ symbol }) => symbol);
  return { symbols, shares, find, of };
}

it('deals symbols to the emptiest connection, and leaves each where it is', () => {
  const { shares, find, of } = sharesOf(2);
  expect(of('/feeds/a', 3)).toEqual(['S0', 'S1']);
  find(2);
  expect(of('/feeds/b', 5)).toEqual(['S2', 'S3']);
  expect(of('/feeds/a', 3)).toEqual(['S0', 'S1']);
  expect(shares.unserved()).toEqual([]);
});

it('names the symbols for which no stream is left, and serves them when there is room again', () => {
  const { symbols, shares, of } = sharesOf(4);
  of('/feeds/a', 2);
  expect(shares.unserved()).toEqual(['binance:S2', 'binance:S3']);
  symbols.remove(0);
  expect(shares.unserved()).toEqual(['binance:S3']);
  of('/feeds/b', 10);
  expect(shares.unserved()).toEqual([]);
});

it('gives what a connection had to the others when it leaves', () => {
  const { shares, of } = sharesOf(2);
  of('/feeds/a', 2);
  of('/feeds/b', 2);
  shares.leave('/feeds/a');
  expect(of('/feeds/b', 2)).toEqual(['S0', 'S1']);
});
