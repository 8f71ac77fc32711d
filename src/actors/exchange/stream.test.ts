import { describe, expect, it } from 'vitest';
import { venueNamed } from '../../venues/index.ts';
import { streamFacts } from '../../venues/venue.ts';
import { Stream } from './stream.ts';

const SECOND = 1e9;

/** A stream of Bitstamp's that was acked after a second and is alive, but has sent nothing. */
function silentStream(kind: 'book' | 'trades') {
  const { facts } = venueNamed('bitstamp');
  const mapped = { instrument: 'BTC-USD', symbol: 'btcusd', scale: 8 };
  const stream = new Stream('silent', kind, streamFacts(facts, kind), 0, mapped);
  stream.requested(SECOND);
  stream.acked(SECOND);
  /** The first second of the next `seconds` in which it is to be joined again. */
  return (seconds: number) => {
    for (let now = 1; now <= seconds; now++) {
      stream.aliveNs = now * SECOND;
      stream.judge(5_000, now * SECOND);
      if (stream.isDueForRetry(now * SECOND)) return now;
    }
    return undefined;
  };
}

describe('a stream that was acked and sends nothing', () => {
  it('is joined again within seconds if it is a book', () => {
    expect(silentStream('book')(60)).toBe(6);
  });

  it('is left alone for minutes if it is of trades: most symbols trade seldom', () => {
    expect(silentStream('trades')(299)).toBe(undefined);
    expect(silentStream('trades')(600)).toBe(301);
  });
});
