import { describe, expect, it } from 'vitest';
import { type LadderSummary, renderLadder } from './book-ladder.ts';
import { painted, unpainted } from './terminal.ts';

const level = (exchange: string, price_exact: string, amount_exact: string) => ({
  exchange,
  amount: Number(amount_exact),
  price_exact,
  amount_exact,
});
const summary: LadderSummary = {
  symbol: 'BTC-USD',
  sequence: '42',
  spread_exact: '0.5',
  latency_ns: '7400',
  skipped: '0',
  bids: [level('binance', '100', '2'), level('bitstamp', '99.5', '1'), level('binance', '99', '4')],
  asks: [level('bitstamp', '100.5', '1'), level('binance', '101', '3')],
  venues: [
    { name: 'binance', live: true, age_us: '1500' },
    { name: 'bitstamp', live: false, age_us: '0' },
  ],
};

describe('the ladder', () => {
  it('has the best prices around the spread, asks above and bids below', () => {
    const lines = renderLadder(summary, 'q quits', { columns: 80, rows: undefined }, unpainted);
    const prices = lines.map((line) => line.trim().split(/\s+/)[0]);
    expect(prices.slice(3, -1)).toEqual(['101', '100.5', 'spread', '100', '99.5', '99']);
    expect(lines[0]).toContain('BTC-USD   summary 42   merged in 7.4us');
    expect(lines[1]).toContain('binance 1.5ms old   bitstamp out');
  });

  it('does not pass an old book off as a live one', () => {
    const lines = renderLadder(summary, 'q quits', { columns: 60, rows: 9 }, unpainted, 'NOT LIVE: no answer');
    expect(lines.slice(0, 2).map((line) => line.trimEnd())).toEqual(['NOT LIVE: no answer', 'BTC-USD as it was last']);
  });

  it('fits any terminal, best levels first', () => {
    for (const columns of [1, 20, 57, 200]) {
      const lines = renderLadder(summary, '', { columns, rows: 8 }, unpainted);
      expect(lines.every((line) => line.length === columns)).toBe(true);
    }
    const narrow = renderLadder(summary, '', { columns: 40, rows: undefined }, unpainted);
    expect(narrow.filter((line) => /\d +(binance|bitstamp) /.test(line)).length).toBe(5);
    const lines = renderLadder(summary, '', { columns: 80, rows: 7 }, unpainted);
    expect(lines.map((line) => line.trim().split(/\s+/)[0]).slice(3, -1)).toEqual(['100.5', 'spread', '100']);
  });

  it('says so when the venues cross or a side is empty, and lets no text move the cursor', () => {
    const odd = { ...summary, symbol: 'A\u001b[2J', spread_exact: '-1.5', asks: [] };
    const text = renderLadder(odd, '', { columns: 80, rows: undefined }, unpainted).join('\n');
    expect(text).toContain('the venues cross');
    expect(text).not.toContain('\u001b');
    expect(renderLadder(odd, '', { columns: 80, rows: undefined }, painted).join('')).toContain('\u001b[32m');
  });
});
