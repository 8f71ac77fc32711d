import { describe, expect, it } from 'vitest';
import { initialReader, type ReaderMessage, type ReaderState, receiveReader, recoveryCount } from './behaviour.ts';

const settings = { readCount: 10, inFlightMessages: 20, inFlightBytes: 1_000, mayDrop: false };
const read = (rows: number, last?: string, careful = false): ReaderMessage => ({
  kind: 'read',
  rows,
  bytes: rows * 10,
  last,
  careful,
});
const prepared: ReaderMessage = { kind: 'prepared' };

function play(messages: readonly ReaderMessage[], with_ = settings): { state: ReaderState; said: unknown[] } {
  let [state, effects] = initialReader();
  for (const message of messages) [state, effects] = receiveReader(state, message, with_);
  return { state, said: [...effects] };
}

describe('a reader', () => {
  it('makes sure of the group, then reads its own pending entries from the start', () => {
    expect(play([]).said).toEqual([{ kind: 'prepare' }]);
    expect(play([prepared]).said).toEqual([{ kind: 'read-pending', after: '0-0', count: 10 }]);
    expect(play([prepared, read(10, '7-0')]).said).toEqual([{ kind: 'read-pending', after: '7-0', count: 10 }]);
  });

  it('reads new entries once nothing of its own is pending', () => {
    expect(play([prepared, read(0)]).said).toEqual([{ kind: 'read-new', count: 10, dropping: false }]);
  });

  it('stops reading when messages or bytes are at their limit, and goes on when there is room', () => {
    const full = [prepared, read(0), read(10), read(10)];
    expect(play(full).said).toEqual([]);
    expect(play([...full, { kind: 'released', rows: 5, bytes: 50 }]).said).toEqual([
      { kind: 'read-new', count: 5, dropping: false },
    ]);
    const heavy: ReaderMessage = { kind: 'read', rows: 1, bytes: 1_000, last: undefined, careful: false };
    expect(play([prepared, read(0), heavy]).said).toEqual([]);
  });

  it('settles a careful recovery read before the next', () => {
    const suspicious = [prepared, read(1, '7-0', true)];
    expect(play(suspicious).said).toEqual([]);
    expect(play([...suspicious, { kind: 'released', rows: 1, bytes: 10 }]).said).toEqual([
      { kind: 'read-pending', after: '7-0', count: 10 },
    ]);
  });

  it('rests longer and longer while Redis is out, and recovers from the start afterwards', () => {
    const out: ReaderMessage = { kind: 'failed', reason: 'NOGROUP' };
    expect(play([prepared, read(0), out]).said).toEqual([{ kind: 'rest', afterMs: 100 }]);
    const rested: ReaderMessage = { kind: 'rested' };
    expect(play([prepared, out, rested, out, rested, out]).said).toEqual([{ kind: 'rest', afterMs: 400 }]);
    expect(play([prepared, read(5, '7-0'), out, rested, prepared]).said).toEqual([
      { kind: 'read-pending', after: '0-0', count: 10 },
    ]);
  });

  it('reads on under pressure only where something may be dropped, up to twice the room', () => {
    const pressed: ReaderMessage[] = [prepared, read(0), read(10), read(10), { kind: 'pressure', on: true }];
    expect(play(pressed).said).toEqual([]);
    const dropping = { ...settings, mayDrop: true };
    expect(play(pressed, dropping).said).toEqual([{ kind: 'read-new', count: 10, dropping: true }]);
    expect(play([...pressed, read(10), read(10)], dropping).said).toEqual([]);
  });

  it('reads nothing more once it is stopping', () => {
    expect(play([prepared, read(0), { kind: 'stop' }, read(3)]).said).toEqual([]);
  });
});

describe('the size of a recovery read', () => {
  it.each([
    [1, 1_000],
    [4, 1_000],
    [5, 500],
    [6, 250],
    [14, 1],
    [1_000, 1],
  ])('after %i deliveries is %i', (deliveries, count) => {
    expect(recoveryCount(1_000, deliveries, 5)).toBe(count);
  });
});
