import { expect } from 'vitest';
import type { Program } from '../../src/program/program.ts';
import type { BarView } from '../../src/protocols/console-api.ts';
import type { Simulator } from '../../src/venues/simulation/simulator.ts';
import { exactBar, viewNumbers } from './view-truth.ts';

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
    const theirs = exactBar(simulator, symbol, bar.openAtMs);
    expect(viewNumbers(bar), `${symbol} ${bar.quality} ${bar.openAtMs}`).toEqual(theirs);
  }
}
