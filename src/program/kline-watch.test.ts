import { describe, expect, it } from 'vitest';
import { KlineSymbols } from './kline-symbols.ts';
import { KlineWatch } from './kline-watch.ts';

describe('the end of the feeds', () => {
  it('puts every symbol in doubt from when it began, once nothing comes in any more', async () => {
    const symbols = new KlineSymbols();
    symbols.assign(0, [
      { venue: 'binance', symbol: 'BTCUSDT', instrument: 'BTC-USD', scale: 8, index: 0 },
      { venue: 'bitstamp', symbol: 'btcusd', instrument: 'BTC-USD', scale: 8, index: 1 },
    ]);
    const done: string[] = [];
    let nowUs = 100n;
    const watch = new KlineWatch({
      ...{ symbols, statuses: () => [], threads: () => new Map(), resubscribe: () => {}, onWarning: () => {} },
      nowUs: (venue) => nowUs + (venue === 'binance' ? 0n : 5n),
      doubt: async ({ symbol }, fromUs) => {
        done.push(`${symbol} ${fromUs}`);
        if (symbol === 'BTCUSDT') throw new Error('its worker does not answer');
      },
    });
    await watch.endIntake(async () => {
      nowUs = 900n;
      done.push('stopped');
    });
    expect(done).toEqual(['stopped', 'BTCUSDT 100', 'btcusd 105']);
  });
});
