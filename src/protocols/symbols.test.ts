import { describe, expect, it } from 'vitest';
import { isWanted } from './symbols.ts';

describe('patterns of symbols', () => {
  it.each([
    ['*', 'BTCUSDT', true],
    ['BTC*', 'BTCUSDT', true],
    ['*USDT', 'USDT', true],
    ['B*S*T', 'BTCUSDT', true],
    ['BTC*TC', 'BTC', false],
    ['*a*', 'bab', true],
    ['a*a', 'a', false],
    ['BTC/USD', 'BTC/USD', true],
    ['A.B', 'AXB', false],
    ['btc*', 'BTCUSDT', false],
    ['**', '', true],
    ['*a'.repeat(20), `${'a'.repeat(39)}b`, false],
  ])('%s on %s: %s', (pattern, symbol, fits) => {
    expect(isWanted({ include: [pattern], exclude: [] }, symbol)).toBe(fits);
    expect(isWanted({ include: ['*'], exclude: [pattern] }, symbol)).toBe(!fits);
  });
});
