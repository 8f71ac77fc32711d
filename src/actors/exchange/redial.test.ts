import { describe, expect, it } from 'vitest';
import { Redial } from './redial.ts';

const RECONNECT = { minMs: 500, maxMs: 30_000, jitter: 1, resetAfterMs: 60_000 };
const SECOND = 1e9;
const newRedial = () => new Redial({ count: 2, windowMs: 1_000 });

describe('the wait before an exchange dials again', () => {
  it('grows with each attempt that did not live for a minute, and starts over after one that did', () => {
    const { connection } = newRedial();
    const waits = [0, 59_999, 0, 60_000, 0].map((livedMs) => {
      connection.ended(RECONNECT, livedMs, 1, 100 * SECOND);
      return (connection.atNs - 100 * SECOND) / 1e6;
    });
    expect(waits).toEqual([500, 1_000, 2_000, 500, 1_000]);
  });

  it('of a successor that fails does not count against the connection', () => {
    const { connection, successor } = newRedial();
    for (let failure = 0; failure < 5; failure++) successor.ended(RECONNECT, 0, 1, 0);
    connection.ended(RECONNECT, 0, 1, 0);
    expect([successor.atNs, connection.atNs]).toEqual([8 * SECOND, SECOND / 2]);
  });

  it("is at least what the venue's budget wants, which both draw on", () => {
    const redial = newRedial();
    expect(redial.dial(redial.connection, SECOND)).toBe(true);
    expect(redial.dial(redial.successor, 1.5 * SECOND)).toBe(true);
    expect(redial.dial(redial.connection, 1.6 * SECOND)).toBe(false);
    expect(redial.connection.atNs).toBe(2 * SECOND);
    expect(redial.dial(redial.connection, 2 * SECOND)).toBe(true);
  });
});
