import { describe, expect, it } from 'vitest';
import { type DepthSync, receiveDiff, receiveSnapshot, UNSYNCED } from './depth-sync.ts';
import { bookChecksum, type LevelText } from './kraken/sequence.ts';
import { judgeCounted, judgeRange } from './sequence.ts';

describe('sequence rules', () => {
  it.each([
    [160n, 157n, 163n, 'next'],
    [160n, 161n, 170n, 'next'],
    [160n, 162n, 170n, 'gap'],
    [160n, 150n, 160n, 'duplicate'],
    [160n, 160n, 161n, 'next'],
  ] as const)('range: at %s, %s..%s is %s', (applied, first, last, verdict) => {
    expect(judgeRange(applied, first, last)).toBe(verdict);
  });

  it('Coinbase: whatever number the first frame of a connection has, the others follow it', () => {
    expect(judgeCounted(undefined, 0)).toBe('next');
    expect(judgeCounted(undefined, 7)).toBe('next');
    expect(judgeCounted(4, 5)).toBe('next');
    expect(judgeCounted(4, 6)).toBe('gap');
    expect(judgeCounted(4, 4)).toBe('duplicate');
  });
});

describe("Binance's diff sync", () => {
  const buffering = (firstU: bigint): DepthSync => ({ phase: 'buffering', firstU, fetches: 0 });

  it('buffers until a snapshot comes and remembers the first diff', () => {
    const [one] = receiveDiff(UNSYNCED, 157n, 160n);
    const [two, action] = receiveDiff(one, 161n, 165n);
    expect([two, action]).toEqual([buffering(157n), 'buffer']);
  });

  it.each([
    [155n, 'refetch'],
    [156n, 'use'],
    [157n, 'use'],
    [1000n, 'use'],
  ] as const)('with diffs from 157 on, a snapshot at %s is for: %s', (lastUpdateId, action) => {
    expect(receiveSnapshot(buffering(157n), lastUpdateId)[1]).toBe(action);
  });

  it('counts the snapshots that were too old', () => {
    const [state] = receiveSnapshot(buffering(157n), 1n);
    expect(state).toEqual({ phase: 'buffering', firstU: 157n, fetches: 1 });
  });

  it('ignores what the snapshot holds, applies what continues it, and starts over at a hole', () => {
    const [synced] = receiveSnapshot(buffering(157n), 160n);
    expect(receiveDiff(synced, 157n, 160n)[1]).toBe('ignore');
    const [next, action] = receiveDiff(synced, 159n, 163n);
    expect([next, action]).toEqual([{ phase: 'synced', applied: 163n }, 'apply']);
    expect(receiveDiff(next, 165n, 170n)).toEqual([buffering(165n), 'resync']);
  });
});

describe("Kraken's checksum", () => {
  const levels = (text: string): LevelText[] =>
    text.split(', ').map((level) => {
      const [price, quantity] = level.split('/');
      return [price!, quantity!];
    });
  const asks = levels(
    '45285.2/0.00100000, 45286.4/1.54571953, 45286.6/1.54571109, 45289.6/1.54560911, 45290.2/0.15890660, 45291.8/1.54553491, 45294.7/0.04454749, 45296.1/0.35380000, 45297.5/0.09945542, 45299.5/0.18772827',
  );
  const bids = levels(
    '45283.5/0.10000000, 45283.4/1.54582015, 45282.1/0.10000000, 45281.0/0.10000000, 45280.3/1.54592586, 45279.0/0.07990000, 45277.6/0.03310103, 45277.5/0.30000000, 45277.3/1.54602737, 45276.6/0.15445238',
  );

  it('agrees with the published example', () => {
    expect(bookChecksum(asks, bids)).toBe(3310070434);
  });

  it('looks at ten levels a side, and at what there is when there are fewer', () => {
    expect(bookChecksum([...asks, ['45300.0', '1.00000000']], bids)).toBe(3310070434);
    expect(bookChecksum([], [])).toBe(0);
  });

  it('needs the trailing zeros', () => {
    expect(bookChecksum([['45285.2', '0.001'], ...asks.slice(1)], bids)).not.toBe(3310070434);
  });
});
