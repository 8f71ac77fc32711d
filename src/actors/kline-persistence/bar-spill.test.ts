import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import type { Bar } from '../../protocols/kline.ts';
import { BarSpill } from './bar-spill.ts';
import { BARS_PER_RECORD, recoveredFrom, type SymbolState, SymbolStates } from './symbol-state.ts';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function bar(minute: number, more: Partial<Bar> = {}): Bar {
  const openUs = BigInt(minute) * 60_000_000n;
  const prices = { open: 1n, high: 2n ** 63n + 1n, low: 1n, close: 5n };
  const sums = { volume: 2n ** 90n, quoteVolume: 2n ** 100n + 1n, takerVolume: 0n, takerQuoteVolume: 7n };
  const ids = { firstId: 2n ** 63n + 5n, lastId: 2n ** 63n + 9n, trades: 5n, nextSequence: BigInt(minute) };
  const times = { openUs, closeUs: openUs + 59_999_999n };
  return {
    symbol: 0,
    interval: '1m',
    ...times,
    ...prices,
    ...sums,
    ...ids,
    quality: 'complete',
    closed: true,
    revision: 1,
    ...more,
  };
}

const state = (symbol: string, ...bars: Bar[]): SymbolState => ({
  ...{ venue: 'binance', symbol, nextSequence: 2n ** 63n, lastUs: 9n, sinceUs: 1n, bars },
});

function spillIn(folder?: string, maxBytes = 1 << 26) {
  const path = folder ?? mkdtempSync(join(tmpdir(), 'tapeworks-bar-spill-'));
  folders.push(path);
  const limits = { segmentBytes: 1 << 20, segmentAgeMs: 60_000, maxBytes, minFreeBytes: 0, whenFull: 'block' } as const;
  return { path, spill: new BarSpill({ settings: () => ({ folder: path, ...limits }) }) };
}

it('gives back every digit, in order, to this life or the next', async () => {
  const first = spillIn();
  const states = [
    state('A', bar(1), bar(2, { closed: false, revision: 0 })),
    state('B', bar(1)),
    state('A', bar(2), bar(3)),
  ];
  await first.spill.append(states.slice(0, 2));
  await first.spill.append(states.slice(2));
  await first.spill.close();
  const { spill } = spillIn(first.path);
  expect(await spill.open()).toBe(3);
  expect(spill.standing).toMatchObject({ bars: 4 });
  expect(await spill.stateOf('binance', 'A')).toEqual(states[2]);
  const failing = spill.replay(() => Promise.reject(new Error('out')));
  await expect(failing).rejects.toThrow('out');
  const kept: SymbolState[] = [];
  expect(await spill.replay(async (some) => void kept.push(...some))).toBe(0);
  expect(kept).toEqual(states);
  expect(spill.standing).toMatchObject({ bars: 0, bytes: 0 });
  await spill.close();
});

it('refuses what the quota does not allow, and says so', async () => {
  const { spill } = spillIn(undefined, 1000);
  await expect(spill.append([state('A', bar(1), bar(2))])).rejects.toMatchObject({ code: 'TW_SPILL_FULL' });
  expect(spill.standing).toMatchObject({ bars: 0 });
  await spill.close();
});

it('takes a symbol with more bars than a record holds, and lets only the last record be gone on from', async () => {
  const { spill } = spillIn();
  const many = Array.from({ length: BARS_PER_RECORD * 2 + 5 }, (_, minute) => bar(minute));
  await spill.append([state('A', ...many)]);
  const kept: SymbolState[] = [];
  await spill.replay(async (some) => void kept.push(...some));
  expect(kept.flatMap(({ bars }) => bars)).toEqual(many);
  expect(kept.map(({ nextSequence }) => nextSequence)).toEqual([0n, 0n, 2n ** 63n]);
  await spill.close();
});

it('adds the newest bars of every interval to what closed, as a restart needs all of them at one sequence', () => {
  const states = new SymbolStates(() => 1n);
  const named = (one: Bar) => ({ venue: 'binance', symbol: 'A', bar: one });
  const hour = bar(0, { interval: '1h', closed: false, revision: 0, nextSequence: 40n });
  states.take([hour, bar(1, { closed: false, revision: 0, nextSequence: 40n })].map(named));
  const closed = bar(1, { nextSequence: 41n });
  const open = bar(2, { closed: false, revision: 0, nextSequence: 41n });
  const [taken] = states.take([closed, open].map(named));
  const whole = states.whole(taken!);
  expect(whole).toMatchObject({ nextSequence: 41n, bars: [hour, closed, open] });
  expect(recoveredFrom(whole).bars).toEqual([hour, closed, open]);
});
