import { describe, expect, it } from 'vitest';
import { receive, startWindows, type WindowEffect, type WindowMessage, type WindowState } from './window-behaviour.ts';

const SETTINGS = {
  limits: { perMinute: 10, share: 0.5 },
  requestWeight: 1,
  concurrency: 2,
  waitingMax: 3,
  retryMinMs: 2_000,
  retryMaxMs: 60_000,
  silentMaxMs: 10_000,
};
const NOW_US = 1_763_000_000_000_000n;
const SECOND_US = 1_000_000n;

class Windows {
  state: WindowState = startWindows(SETTINGS);

  tell(message: WindowMessage): string[] {
    const [state, effects] = receive(this.state, message);
    this.state = state;
    return effects.map(brief);
  }

  /** Holes as [first, last, seconds ago]. */
  want(symbol: number, holes: readonly (readonly [number, number, number])[], nowMs = 0): string[] {
    const missing = holes.map(([first, last, ago]) => ({
      first: BigInt(first),
      last: BigInt(last),
      fromUs: NOW_US - BigInt(ago) * SECOND_US,
    }));
    return this.tell({ kind: 'wanted', wants: [{ symbol, holes: missing }], nowMs, nowUs: NOW_US });
  }

  page(id: number, oldest: number, newest: number, count: number, nowMs = 0): string[] {
    const page = { oldest: BigInt(oldest), newest: BigInt(newest), count };
    return this.tell({ kind: 'page', id, page, nowMs, nowUs: NOW_US });
  }

  fail(id: number, status: number, retryAfterS: number | undefined, nowMs: number): string[] {
    return this.tell({ kind: 'failed', id, status, retryAfterS, nowMs, nowUs: NOW_US });
  }
}

function brief(effect: WindowEffect): string {
  if (effect.kind === 'fetch') return `fetch#${effect.id} ${effect.symbol} ${effect.window}`;
  return `fill#${effect.id} ${effect.symbol}:${effect.first}..${effect.last}`;
}

describe('a hole', () => {
  it.each([
    [30, 'minute'],
    [57, 'hour'],
    [3_000, 'hour'],
    [3_598, 'day'],
    [86_000, 'day'],
  ])('%i seconds ago is looked for in the last %s', (ago, window) => {
    expect(new Windows().want(7, [[100, 200, ago]])).toEqual([`fetch#1 7 ${window}`]);
  });

  it('older than every window stays a gap, and is counted', () => {
    const windows = new Windows();
    expect(windows.want(7, [[100, 200, 90_000]])).toEqual([]);
    expect(windows.state.beyondReach.get(7)).toBe(1);
    expect(windows.want(7, [])).toEqual([]);
    expect(windows.state.beyondReach.size).toBe(0);
  });

  it('is filled from a window with a trade on either side of it', () => {
    const windows = new Windows();
    windows.want(7, [[100, 200, 30]]);
    expect(windows.page(1, 99, 201, 5_000)).toEqual(['fill#1 7:100..200']);
  });

  it('is filled from a short window that begins before it, even without an older trade', () => {
    const windows = new Windows();
    windows.want(7, [[100, 200, 30]]);
    expect(windows.page(1, 150, 201, 12)).toEqual(['fill#1 7:100..200']);
  });

  it.each([
    ['ends before the hole does', 99, 200, 10],
    ['may have been cut', 150, 201, 10_000],
    ['is empty', 0, 0, 0],
  ])('is not filled from a window that %s, and asked for again later', (_, oldest, newest, count) => {
    const windows = new Windows();
    windows.want(7, [[100, 200, 30]]);
    expect(windows.page(1, oldest, newest, count)).toEqual([]);
    expect(windows.want(7, [[100, 200, 30]], 1_999)).toEqual([]);
    expect(windows.want(7, [[100, 200, 30]], 2_000)).toEqual(['fetch#2 7 minute']);
    windows.page(2, oldest, newest, count, 2_000);
    expect(windows.want(7, [[100, 200, 30]], 5_999)).toEqual([]);
    expect(windows.want(7, [[100, 200, 30]], 6_000)).toEqual(['fetch#3 7 minute']);
  });

  it('is asked for once, however often it is told, and together with the others of its symbol', () => {
    const windows = new Windows();
    const two = [
      [100, 200, 30],
      [300, 400, 1_000],
    ] as const;
    expect(windows.want(7, two)).toEqual(['fetch#1 7 hour']);
    expect(windows.want(7, two)).toEqual([]);
    expect(windows.page(1, 250, 401, 9_999)).toEqual(['fill#1 7:300..400']);
  });
});

describe('requests', () => {
  it('are bounded in flight, in waiting and by the share of the budget', () => {
    const windows = new Windows();
    const asked = Array.from({ length: 6 }, (_, symbol) => windows.want(symbol, [[1, 5, 10]])).flat();
    expect(asked).toEqual(['fetch#1 0 minute', 'fetch#2 1 minute']);
    expect([windows.state.waiting.length, windows.state.turnedAway]).toEqual([3, 1]);
    expect(windows.page(1, 0, 6, 3)).toEqual(['fill#1 0:1..5', 'fetch#3 2 minute']);
    expect(windows.page(2, 0, 6, 3)).toEqual(['fill#2 1:1..5', 'fetch#4 3 minute']);
    expect(windows.page(3, 0, 6, 3)).toEqual(['fill#3 2:1..5', 'fetch#5 4 minute']);
    windows.page(4, 0, 6, 3);
    expect(windows.want(8, [[1, 5, 10]])).toEqual([]);
    expect(windows.want(9, [], 60_000)).toEqual(['fetch#6 8 minute']);
  });

  it('stop after 429 until the venue allows more', () => {
    const windows = new Windows();
    windows.want(1, [[1, 5, 10]]);
    expect(windows.fail(1, 429, 7, 1_000)).toEqual([]);
    expect(windows.want(2, [[1, 5, 10]], 7_999)).toEqual([]);
    expect(windows.want(2, [[1, 5, 10]], 8_000)).toEqual(['fetch#2 2 minute']);
  });

  it('that the venue does not answer make all wait, at most 10 s, and the first answer ends it', () => {
    const windows = new Windows();
    const hole = [[1, 5, 10]] as const;
    let nowMs = 0;
    for (const pauseMs of [2_000, 4_000, 8_000, 10_000, 10_000]) {
      windows.want(1, hole, nowMs);
      const { id } = windows.state.flights[0]!;
      windows.fail(id, 0, undefined, nowMs);
      expect(windows.want(2, hole, nowMs + pauseMs - 1)).toEqual([]);
      windows.want(2, [], nowMs);
      nowMs += 60_000;
    }
    expect(windows.want(1, hole, nowMs)).toEqual(['fetch#6 1 minute']);
    expect(windows.page(6, 0, 6, 3, nowMs)).toEqual(['fill#6 1:1..5']);
    windows.want(1, hole, nowMs);
    windows.fail(7, 0, undefined, nowMs);
    expect(windows.want(1, hole, nowMs + 2_000)).toEqual(['fetch#8 1 minute']);
  });

  it('of a symbol that the venue refuses wait longer and longer, and others do not', () => {
    const windows = new Windows();
    windows.want(1, [[1, 5, 10]]);
    windows.fail(1, 404, undefined, 0);
    expect(windows.want(2, [[1, 5, 10]], 1)).toEqual(['fetch#2 2 minute']);
    expect(windows.want(1, [[1, 5, 10]], 1_999)).toEqual([]);
    expect(windows.want(1, [[1, 5, 10]], 2_000)).toEqual(['fetch#3 1 minute']);
  });

  it('begin to wait anew for a symbol of which some was filled', () => {
    const windows = new Windows();
    const two = [
      [1, 5, 10],
      [8, 9, 5],
    ] as const;
    windows.want(7, two);
    windows.page(1, 0, 5, 3, 0);
    windows.want(7, two, 2_000);
    expect(windows.page(2, 0, 6, 3, 2_000)).toEqual(['fill#2 7:1..5']);
    expect(windows.want(7, [two[1]], 4_000)).toEqual(['fetch#3 7 minute']);
  });
});
