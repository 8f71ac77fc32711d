import { describe, expect, it } from 'vitest';
import { settleVenues } from './kline-venues.ts';
import { configurationFrom } from './testing.ts';

const BOTH = { makesBars: true, tellsSymbols: true };
const known = [
  { id: 'binance', ...BOTH },
  { id: 'kraken', makesBars: false, tellsSymbols: true },
  { id: 'bitstamp', makesBars: true, tellsSymbols: false },
  { id: 'coinbase', ...BOTH },
  { id: 'unconnected', ...BOTH },
];

function settled(topology: string) {
  const { klines, ...rest } = configurationFrom({ topology }).topology;
  const { venues, discovery, ...others } = klines;
  const file = { ...rest, klines: { ...others, discovery: { ...discovery, venues: undefined } } };
  return settleVenues(file, known).klines;
}

describe('where the file does not say which venues make bars', () => {
  it('those do that are connected, show holes and fill them; of these all that tell their symbols are looked at', () => {
    const { venues, discovery } = settled('{}');
    expect([venues, discovery.venues]).toEqual([
      ['binance', 'bitstamp', 'coinbase'],
      ['binance', 'coinbase'],
    ]);
  });

  it('those do not whose trades are not listened to', () => {
    const { venues, discovery } = settled('feeds: { binance: { trades: false }, coinbase: {}, kraken: {} }');
    expect([venues, discovery.venues]).toEqual([['coinbase'], ['coinbase']]);
  });

  it('nothing is looked at where discovery is off', () => {
    expect(settled('klines: { discovery: { enabled: false } }').discovery.venues).toEqual([]);
  });
});

describe('venues that the file names', () => {
  it('make bars, whatever they can', () => {
    const { klines } = configurationFrom({ topology: 'klines: { venues: [kraken] }' }).topology;
    expect([klines.venues, klines.discovery.venues]).toEqual([['kraken'], []]);
  });
});
