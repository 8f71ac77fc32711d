import { describe, expect, it } from 'vitest';
import { receive, startWatchdog, type WatchdogEffect, type WatchdogMessage } from './behaviour.ts';

const SETTINGS = { patienceMs: 5000, coolDownMs: 60_000 };

function run(messages: readonly WatchdogMessage[]): string[] {
  let state = startWatchdog(SETTINGS);
  let last: readonly WatchdogEffect[] = [];
  for (const message of [{ kind: 'symbols', symbols: ['X'] } as const, ...messages])
    [state, last] = receive(state, message);
  return last.map((effect) => {
    if (effect.kind === 'restart-worker') return `restart ${effect.worker}`;
    return effect.kind === 'resubscribe'
      ? `resubscribe ${effect.symbol}`
      : `${effect.symbol} ${effect.from}>${effect.to}`;
  });
}

const traded = (nowMs: number) => ({ kind: 'traded', symbols: ['X', 'Y'], nowMs }) as const;
const ticker = (total: string, nowMs: number) =>
  ({
    kind: 'ticker',
    totals: new Map([
      ['X', total],
      ['Z', total],
    ]),
    nowMs,
  }) as const;
const look = (nowMs: number, ...stalled: number[]) => ({ kind: 'look', stalled, nowMs }) as const;

describe('a symbol', () => {
  it.each<[string, readonly WatchdogMessage[], string[]]>([
    ['is live while trades come', [traded(1000), look(4000)], ['X unknown>live']],
    [
      'is quiet when the ticker stands still too',
      [ticker('5', 900), traded(1000), ticker('5', 9000), look(20_000)],
      ['X unknown>quiet'],
    ],
    [
      'is dead when the ticker moves without it',
      [ticker('5', 900), traded(1000), ticker('6', 9000), look(9000)],
      ['X unknown>dead', 'resubscribe X'],
    ],
    [
      'is dead when it never traded here but does there',
      [ticker('5', 900), ticker('6', 9000), look(9000)],
      ['X unknown>dead', 'resubscribe X'],
    ],
    [
      'is not dead for a ticker that runs ahead a little',
      [ticker('5', 900), traded(1000), ticker('6', 5000), look(9000)],
      ['X unknown>quiet'],
    ],
    ['stays unknown without a ticker', [look(9000)], []],
  ])('%s', (_, messages, effects) => {
    expect(run(messages)).toEqual(effects);
  });

  it('is resubscribed once per cool-down, and told about only when the verdict changes', () => {
    const dead = [ticker('5', 900), ticker('6', 9000), look(9000)];
    expect(run([...dead, look(20_000)])).toEqual([]);
    expect(run([...dead, look(20_000), look(70_000)])).toEqual(['resubscribe X']);
    expect(run([...dead, traded(21_000), look(22_000)])).toEqual(['X dead>live']);
  });
});

describe('a worker', () => {
  it('that stands still is restarted once per cool-down', () => {
    expect(run([look(1000, 2)])).toEqual(['restart 2']);
    expect(run([look(1000, 2), look(2000, 2, 3)])).toEqual(['restart 3']);
    expect(run([look(1000, 2), look(61_001, 2)])).toEqual(['restart 2']);
  });
});
