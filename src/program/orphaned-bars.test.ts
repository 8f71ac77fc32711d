import { describe, expect, it } from 'vitest';
import type { NamedBar } from '../actors/kline-persistence/rows.ts';
import { OrphanedBars } from './orphaned-bars.ts';

describe('bars of a worker that has ended', () => {
  const bar = { venue: 'v', symbol: 's', bar: { interval: '1s', openUs: 1n, revision: 1 } } as NamedBar;
  const begun = () => {
    const orphans = new OrphanedBars(() => [bar]);
    orphans.begin(0);
    return orphans;
  };

  it('are offered until they are stored, and not again', () => {
    const orphans = begun();
    expect(orphans.offer(0, 1)).toEqual([bar]);
    expect(orphans.offer(0, 2)).toEqual([bar]);
    orphans.stored(0, 2);
    expect(orphans.offer(0, 3)).toEqual([]);
  });

  it('are not taken for stored with a snapshot of the life before', () => {
    const orphans = begun();
    orphans.offer(0, 7);
    orphans.begin(0);
    orphans.stored(0, 7);
    expect(orphans.offer(0, 1)).toEqual([bar]);
    orphans.begin(0);
    expect(orphans.offer(0, 1)).toEqual([bar]);
    orphans.stored(0, 1);
    expect(orphans.offer(0, 2)).toEqual([]);
  });

  it('are those of that worker alone', () => {
    const orphans = begun();
    orphans.begin(1);
    orphans.offer(0, 1);
    orphans.stored(1, 1);
    expect(orphans.offer(1, 1)).toEqual([bar]);
  });
});
