import { describe, expect, it } from 'vitest';
import { type RepairEffect, type RepairMessage, type RepairState, receive, startRepair } from './behaviour.ts';

const SETTINGS = {
  limits: { perMinute: 100, share: 0.5 },
  requestWeight: 4,
  pageTrades: 1000,
  concurrency: 2,
  waitingMax: 3,
  retryMs: 500,
  refusedMaxMs: 4_000,
};

class Repair {
  state: RepairState = startRepair(SETTINGS);

  tell(message: RepairMessage): string[] {
    const [state, effects] = receive(this.state, message);
    this.state = state;
    return effects.map(brief);
  }

  want(symbol: number, first: number, last: number | undefined, nowMs = 0): string[] {
    const range = { symbol, first: BigInt(first), last: last === undefined ? undefined : BigInt(last) };
    return this.tell({ kind: 'wanted', ranges: [range], nowMs });
  }

  page(id: number, first: number, last: number, nowMs = 0): string[] {
    const page = { first: BigInt(first), last: BigInt(last), count: last - first + 1 };
    return this.tell({ kind: 'page', id, page, usedWeight: undefined, nowMs });
  }

  fail(id: number, status: number, retryAfterS: number | undefined, nowMs: number): string[] {
    return this.tell({ kind: 'failed', id, status, retryAfterS, nowMs });
  }
}

function brief(effect: RepairEffect): string {
  if (effect.kind === 'fetch') return `fetch#${effect.id} ${effect.symbol}:${effect.from}+${effect.limit}`;
  if (effect.kind === 'resolve') return `resolve ${effect.symbol}:${effect.first}..${effect.last}`;
  if (effect.kind === 'doubt') return `doubt ${effect.symbol}`;
  return effect.kind === 'confirm' ? `confirm ${effect.symbol}:${effect.next}` : `timer ${effect.delayMs}`;
}

describe('a missing range', () => {
  it('is fetched exactly, page after page', () => {
    const repair = new Repair();
    expect(repair.want(7, 100, 1299)).toEqual(['fetch#1 7:100+1000']);
    expect(repair.page(1, 100, 1099)).toEqual(['fetch#2 7:1100+200']);
    expect(repair.page(2, 1100, 1299)).toEqual(['resolve 7:1100..1299']);
    expect(repair.state.flights).toEqual([]);
  });

  it('that the venue does not have, as trades behind it show, is resolved and not asked for again', () => {
    const repair = new Repair();
    repair.want(7, 100, 120);
    expect(repair.page(1, 121, 141)).toEqual(['resolve 7:100..120']);
    expect(repair.state.waiting).toEqual([]);
  });

  it('that the venue does not show yet is asked for again, later each time', () => {
    const repair = new Repair();
    repair.want(7, 100, 120);
    expect(repair.page(1, 100, 99, 0)).toEqual(['timer 500']);
    repair.tell({ kind: 'go-on', nowMs: 500 });
    expect(repair.page(2, 100, 109, 500)).toEqual(['fetch#3 7:110+11']);
    expect(repair.page(3, 110, 109, 600)).toEqual(['timer 500']);
    expect(repair.tell({ kind: 'go-on', nowMs: 1100 })).toEqual(['fetch#4 7:110+11']);
    expect(repair.page(4, 110, 109, 1100)).toEqual(['timer 1000']);
    repair.tell({ kind: 'go-on', nowMs: 2100 });
    expect(repair.page(5, 110, 120, 2100)).toEqual(['resolve 7:110..120']);
  });

  it('of a symbol that has left is forgotten', () => {
    const repair = new Repair();
    repair.want(7, 100, 120);
    expect(repair.tell({ kind: 'page', id: 1, page: undefined, usedWeight: undefined, nowMs: 0 })).toEqual([]);
    expect(repair.state.waiting).toEqual([]);
  });

  it('without an end is read to the end of the tape, which confirms it', () => {
    const repair = new Repair();
    expect(repair.want(7, 100, undefined)).toEqual(['fetch#1 7:100+1000']);
    expect(repair.page(1, 100, 1099)).toEqual(['doubt 7', 'fetch#2 7:1100+1000']);
    expect(repair.page(2, 1100, 1104)).toEqual(['confirm 7:1105']);
  });

  it('is asked for once, however often it is told', () => {
    const repair = new Repair();
    repair.want(7, 100, 200);
    expect(repair.want(7, 150, 160)).toEqual([]);
    expect(repair.want(8, 150, 160)).toEqual(['fetch#2 8:150+11']);
  });
});

describe('requests', () => {
  it('are bounded in flight and in waiting', () => {
    const repair = new Repair();
    const asked = Array.from({ length: 8 }, (_, symbol) => repair.want(symbol, 1, 5)).flat();
    expect(asked).toHaveLength(2);
    expect([repair.state.waiting.length, repair.state.turnedAway]).toEqual([3, 3]);
    expect(repair.page(1, 1, 5)).toEqual(['resolve 0:1..5', 'fetch#3 2:1+5']);
  });

  it('stay within the share of the weight, and go on in the next minute', () => {
    const repair = new Repair();
    repair.tell({ kind: 'wanted', ranges: [], nowMs: 61_000 });
    repair.want(1, 1, 5, 61_000);
    const page = { first: 1n, last: 5n, count: 5 };
    expect(repair.tell({ kind: 'page', id: 1, page, usedWeight: 48, nowMs: 62_000 })).toEqual(['resolve 1:1..5']);
    expect(repair.want(2, 1, 5, 63_000)).toEqual(['timer 57000']);
    expect(repair.tell({ kind: 'go-on', nowMs: 120_000 })).toEqual(['fetch#2 2:1+5']);
  });

  it.each([
    [429, 7, 7000],
    [429, undefined, 10_000],
    [418, 180, 180_000],
    [418, undefined, 120_000],
  ])('stop after %i with Retry-After %s for %i ms, everything included', (status, retryAfterS, pauseMs) => {
    const repair = new Repair();
    repair.want(1, 1, 5);
    expect(repair.fail(1, status, retryAfterS, 1000)).toEqual([`timer ${pauseMs}`]);
    expect(repair.want(2, 1, 5, 2000)).toEqual([`timer ${pauseMs - 1000}`]);
    expect(repair.tell({ kind: 'go-on', nowMs: 180_000 + 120_000 })).toEqual(['fetch#2 1:1+5', 'fetch#3 2:1+5']);
  });

  it('that fail otherwise are tried again', () => {
    const repair = new Repair();
    repair.want(1, 1, 5);
    expect(repair.fail(1, 0, undefined, 0)).toEqual(['timer 500']);
    expect(repair.want(2, 1, 5, 200)).toEqual(['timer 300']);
    expect(repair.tell({ kind: 'go-on', nowMs: 500 })).toEqual(['fetch#2 1:1+5', 'fetch#3 2:1+5']);
  });

  it.each([200, 400, 404])(
    'that the venue refuses with %i wait alone, longer each time, and let the others go',
    (status) => {
      const repair = new Repair();
      const ids = () => repair.state.flights.map(({ id }) => id);
      repair.want(1, 1, 5);
      repair.want(2, 1, 5);
      repair.want(3, 1, 5);
      expect(repair.fail(1, status, undefined, 0)).toEqual(['fetch#3 3:1+5']);
      expect(repair.fail(2, status, undefined, 0)).toEqual(['timer 500']);
      expect(repair.page(3, 1, 5, 100)).toEqual(['resolve 3:1..5', 'timer 400']);
      for (const [fromMs, delayMs] of [
        [500, 1000],
        [1500, 2000],
        [3500, 4000],
        [7500, 4000],
      ] as const) {
        repair.tell({ kind: 'go-on', nowMs: fromMs });
        const [one, other] = ids();
        repair.fail(one!, status, undefined, fromMs);
        expect(repair.fail(other!, status, undefined, fromMs)).toEqual([`timer ${delayMs}`]);
        expect(ids()).toEqual([]);
      }
    },
  );

  it('that fail do not keep the others from being asked', () => {
    const repair = new Repair();
    for (const symbol of [1, 2, 3, 4]) repair.want(symbol, 1, 5);
    repair.fail(1, 503, undefined, 0);
    repair.fail(2, 503, undefined, 0);
    expect(repair.tell({ kind: 'go-on', nowMs: 500 })).toEqual(['fetch#3 3:1+5', 'fetch#4 4:1+5']);
    repair.fail(3, 503, undefined, 500);
    repair.fail(4, 503, undefined, 500);
    expect(repair.tell({ kind: 'go-on', nowMs: 1000 })).toEqual(['fetch#5 1:1+5', 'fetch#6 2:1+5']);
  });
});
