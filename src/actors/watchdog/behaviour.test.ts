import { describe, expect, it } from 'vitest';
import { receive, startWatchdog, type WatchdogEffect, type WatchdogMessage, type WatchdogState } from './behaviour.ts';

const RULES = { patienceMs: 5_000, tickerLagMs: 2_000, coolDownMs: 60_000 };

function run(messages: readonly WatchdogMessage[]): { readonly state: WatchdogState; readonly last: string[] } {
  let state = startWatchdog(RULES);
  let last: readonly WatchdogEffect[] = [];
  for (const message of [judge(0, 1), ...messages]) [state, last] = receive(state, message);
  const brief = (effect: WatchdogEffect) =>
    effect.kind === 'restart-worker' ? `restart ${effect.worker}` : `${effect.kind} ${effect.symbol}`;
  return { state, last: last.map(brief) };
}

/** X has had so many frames by now. */
function judge(frames: number, nowMs: number): WatchdogMessage {
  return { kind: 'judge', frames: new Map([['X', frames]]), nowMs };
}

function ticker(close: string, volume: string, nowMs: number): WatchdogMessage {
  const one = { close, volume };
  const tickers = new Map([
    ['X', one],
    ['STRANGER', one],
  ]);
  return { kind: 'tickers', tickers, nowMs };
}

describe('a symbol', () => {
  it.each<[string, readonly WatchdogMessage[], string]>([
    ['is live while trades come', [judge(1, 1_000), judge(1, 4_000)], 'live'],
    ['is unknown without a ticker', [judge(1, 1_000), judge(1, 9_000)], 'unknown'],
    ['is quiet when the ticker stands still too', [ticker('5', '1', 900), judge(1, 1_000), judge(1, 20_000)], 'quiet'],
    [
      'is quiet when the ticker was moved by the trade that came last',
      [ticker('5', '1', 900), judge(1, 1_000), ticker('6', '2', 2_900), judge(1, 20_000)],
      'quiet',
    ],
    [
      'is quiet when only old volume leaves the day',
      [ticker('5', '9', 900), judge(1, 1_000), ticker('5', '8', 9_000), judge(1, 20_000)],
      'quiet',
    ],
    [
      'is given time for a trade that the ticker shows first',
      [ticker('5', '1', 900), judge(1, 1_000), ticker('5', '2', 60_000), judge(1, 64_000)],
      'quiet',
    ],
    [
      'is live when that trade comes',
      [ticker('5', '1', 900), judge(1, 1_000), ticker('5', '2', 60_000), judge(2, 64_000), judge(2, 68_000)],
      'live',
    ],
    [
      'is dead when it does not',
      [ticker('5', '1', 900), judge(1, 1_000), ticker('5', '2', 60_000), judge(1, 65_001)],
      'dead',
    ],
    [
      'is dead when it trades there and never did here',
      [ticker('5', '1', 900), ticker('6', '1', 9_000), judge(0, 14_001)],
      'dead',
    ],
    [
      'stays dead when its stream is opened anew and silent',
      [ticker('5', '1', 900), judge(7, 1_000), ticker('5', '2', 60_000), judge(0, 66_000)],
      'dead',
    ],
  ])('%s', (_, messages, verdict) => {
    expect(run(messages).state.verdicts.get('X')).toBe(verdict);
  });

  it('that is dead is in doubt at every look, and subscribed anew once per cool-down', () => {
    const dead = [ticker('5', '1', 900), ticker('5', '2', 9_000), judge(0, 15_000)];
    expect(run(dead).last).toEqual(['doubt X', 'resubscribe X']);
    expect(run([...dead, judge(0, 16_000)]).last).toEqual(['doubt X']);
    expect(run([...dead, judge(0, 16_000), judge(0, 75_000)]).last).toEqual(['doubt X', 'resubscribe X']);
    expect(run([...dead, judge(1, 16_000)]).last).toEqual([]);
  });

  it('that has left is forgotten', () => {
    const { state } = run([{ kind: 'judge', frames: new Map(), nowMs: 5 }, ticker('5', '1', 6)]);
    expect([state.symbols.size, state.verdicts.size]).toEqual([0, 0]);
  });
});

describe('a worker that stands still', () => {
  const stalled = (worker: number, life: number) => ({ kind: 'stalled', workers: [{ worker, life }] }) as const;

  it('is restarted once in each of its lives', () => {
    expect(run([stalled(2, 1)]).last).toEqual(['restart 2']);
    expect(run([stalled(2, 1), stalled(2, 1)]).last).toEqual([]);
    expect(run([stalled(2, 1), stalled(2, 2)]).last).toEqual(['restart 2']);
    expect(run([stalled(2, 1), stalled(3, 1)]).state.restarts).toBe(2);
  });
});
