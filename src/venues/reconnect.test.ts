import { describe, expect, it } from 'vitest';
import { type ConnectBudget, reconnectDelayMs, requestConnect } from './reconnect.ts';

const RECONNECT = { minMs: 500, maxMs: 30_000, jitter: 1, resetAfterMs: 60_000 };

describe('the wait before a reconnect', () => {
  it('doubles up to the limit and is jittered over its whole length', () => {
    const longest = [0, 1, 2, 3, 4, 5, 6, 7, 1e6].map((failures) => reconnectDelayMs(RECONNECT, failures, 1));
    expect(longest).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
    expect(reconnectDelayMs(RECONNECT, 6, 0)).toBe(0);
    expect(reconnectDelayMs(RECONNECT, 6, 0.5)).toBe(15_000);
  });

  it('is as random as the policy wants it', () => {
    expect(reconnectDelayMs({ ...RECONNECT, jitter: 0 }, 1, 0)).toBe(1_000);
    expect(reconnectDelayMs({ ...RECONNECT, jitter: 0.25 }, 1, 0)).toBe(750);
    expect(reconnectDelayMs({ ...RECONNECT, jitter: 0.25 }, 1, 1)).toBe(1_000);
  });
});

describe('the budget of connection attempts', () => {
  const limit = { count: 300, windowMs: 300_000 };

  it('grants 300 in 5 minutes, then says when the next one may be made', () => {
    let budget: ConnectBudget = [];
    for (let attempt = 0; attempt < 300; attempt++) {
      const answer = requestConnect(budget, limit, 1e9 + attempt * 1e6);
      expect(answer.granted).toBe(true);
      budget = answer.budget;
    }
    const refused = requestConnect(budget, limit, 2e9);
    expect(refused).toMatchObject({ granted: false, atNs: 301e9 });
    expect(requestConnect(refused.budget, limit, 301e9 - 1).granted).toBe(false);
    const later = requestConnect(refused.budget, limit, 301e9);
    expect(later.granted).toBe(true);
    expect(later.budget).toHaveLength(300);
  });
});
