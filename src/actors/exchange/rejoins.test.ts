import { describe, expect, it } from 'vitest';
import { Rejoins } from './rejoins.ts';

const POLICY = { minMs: 500, maxMs: 4_000, jitter: 0, resetAfterMs: 60_000 };
const MS = 1e6;

/** How long a stream is out after each break, if it lives for `livedMs` in between. */
function waits(livedMs: number, breaks: number): number[] {
  const rejoins = new Rejoins();
  let nowMs = 0;
  return Array.from({ length: breaks }, () => {
    rejoins.leave('book', POLICY, 0, nowMs * MS);
    const leftMs = nowMs;
    while (rejoins.isOut('book')) rejoins.release(++nowMs * MS);
    const waitedMs = nowMs - leftMs;
    nowMs += livedMs;
    return waitedMs;
  });
}

describe('a stream whose book breaks', () => {
  it('at once again and again is out for longer each time', () => {
    expect(waits(100, 5)).toEqual([500, 1000, 2000, 4000, 4000]);
  });

  it('now and then is out as shortly as ever', () => {
    expect(waits(5_000, 4)).toEqual([500, 500, 500, 500]);
  });

  it('does not hold up others', () => {
    const rejoins = new Rejoins();
    rejoins.leave('book', POLICY, 0, 0);
    expect([rejoins.isOut('book'), rejoins.isOut('other')]).toEqual([true, false]);
    expect([rejoins.release(499 * MS), rejoins.release(500 * MS), rejoins.release(501 * MS)]).toEqual([
      false,
      true,
      false,
    ]);
  });
});
