import type { BarView } from '../../src/protocols/console-api.ts';
import type { Simulator } from '../../src/venues/simulation/simulator.ts';

/** The numbers of a bar that a venue's own bar has too. */
export function viewNumbers({ open, high, low, close, volume, quoteVolume, takerVolume, trades }: BarView) {
  return { open, high, low, close, volume, quoteVolume, takerVolume, trades };
}

/** The venue's own bar of the same second, in our spelling. */
export function exactBar(simulator: Simulator, symbol: string, openAtMs: number) {
  const [venue, name] = symbol.split(':') as [string, string];
  const { priceDecimals, amountDecimals } = simulator.truth.listing(venue, name);
  const [theirs] = simulator.truth.bars(venue, name, { interval: '1s', startMs: openAtMs, limit: 1 });
  const price = (units: bigint) => exact(units, priceDecimals);
  return {
    open: price(theirs!.open),
    high: price(theirs!.high),
    low: price(theirs!.low),
    close: price(theirs!.close),
    volume: exact(theirs!.volume, amountDecimals),
    quoteVolume: exact(theirs!.quoteVolume, priceDecimals + amountDecimals),
    takerVolume: exact(theirs!.takerBuyVolume, amountDecimals),
    trades: theirs!.trades,
  };
}

function exact(units: bigint, digits: number): string {
  const text = units.toString().padStart(digits + 1, '0');
  if (digits === 0) return text;
  return `${text.slice(0, -digits)}.${text.slice(-digits)}`.replace(/\.?0+$/, '');
}
