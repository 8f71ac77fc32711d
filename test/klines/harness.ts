import { expect } from 'vitest';
import type { Program } from '../../src/program/program.ts';
import type { BarView } from '../../src/protocols/console-api.ts';
import type { Simulator } from '../../src/venues/simulation/simulator.ts';

/** The venue's own bar of the same window, in our spelling. */
function truthOf(simulator: Simulator, symbol: string, bar: BarView) {
  const [venue, name] = symbol.split(':') as [string, string];
  const { priceDecimals, amountDecimals } = simulator.truth.listing(venue, name);
  const [theirs] = simulator.truth.bars(venue, name, { interval: '1s', startMs: bar.openAtMs, limit: 1 });
  const price = (units: bigint) => exact(units, priceDecimals);
  return {
    open: price(theirs!.open),
    high: price(theirs!.high),
    low: price(theirs!.low),
    close: price(theirs!.close),
    volume: exact(theirs!.volume, amountDecimals),
    quoteVolume: exact(theirs!.quoteVolume, priceDecimals + amountDecimals),
    takerVolume: exact(theirs!.takerBuyVolume, amountDecimals),
  };
}

function exact(units: bigint, digits: number): string {
  const text = units.toString().padStart(digits + 1, '0');
  if (digits === 0) return text;
  return `${text.slice(0, -digits)}.${text.slice(-digits)}`.replace(/\.?0+$/, '');
}

export async function completeBars(program: Program, symbol: string): Promise<readonly BarView[]> {
  const bars = await program.klines.bars.history(symbol, '1s', 500);
  return bars.filter(({ closed, quality }) => closed && (quality === 'complete' || quality === 'quiet'));
}

/** All that has closed since the first whole bar, with the gaps. */
export async function closedBars(program: Program, symbol: string): Promise<readonly BarView[]> {
  const bars = await program.klines.bars.history(symbol, '1s', 500);
  return bars.filter(({ closed, quality }) => closed && quality !== 'partial-first');
}

export function expectTruth(simulator: Simulator, symbol: string, bars: readonly BarView[]): void {
  for (const bar of bars) {
    const { open, high, low, close, volume, quoteVolume, takerVolume } = bar;
    const ours = { open, high, low, close, volume, quoteVolume, takerVolume };
    expect(ours, `${symbol} ${bar.quality} ${bar.openAtMs}`).toEqual(truthOf(simulator, symbol, bar));
  }
}
