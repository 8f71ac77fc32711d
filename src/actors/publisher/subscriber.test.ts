import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Subscriber } from './subscriber.ts';

/** A sink that confirms writes only when it is told to. */
function slowSink() {
  const written: Buffer[] = [];
  const confirmations: (() => void)[] = [];
  return {
    written,
    write(bytes: Buffer, confirmed: () => void) {
      written.push(bytes);
      confirmations.push(confirmed);
    },
    confirm: () => confirmations.shift()?.(),
    texts: () => written.map((bytes) => bytes.subarray(0, 2).toString()),
  };
}

const bytes = (text: string) => Buffer.from(text);
let nowMs = 0;
beforeEach(() => {
  vi.useFakeTimers();
  nowMs = 1000;
});
afterEach(() => vi.useRealTimers());

function subscriber(minIntervalMs = 0) {
  const sink = slowSink();
  return { sink, subscriber: new Subscriber(sink, { depth: 10, minIntervalMs, now: () => nowMs }) };
}

describe('a subscriber', () => {
  it('gets every summary while it keeps up', () => {
    const { sink, subscriber: one } = subscriber();
    for (const text of ['a1', 'a2', 'a3', 'a4', 'a5', 'a6']) {
      one.offer(0, bytes(text));
      sink.confirm();
    }
    expect(sink.texts()).toEqual(['a1', 'a2', 'a3', 'a4', 'a5', 'a6']);
    expect(one.skipped).toBe(0);
  });

  it('that is slow gets only the latest of each symbol, and is told how many it skipped', () => {
    const { sink, subscriber: one } = subscriber();
    for (let write = 1; write <= 4; write++) one.offer(0, bytes(`a${write}`));
    for (const text of ['a5', 'a6', 'a7']) one.offer(0, bytes(text));
    for (const text of ['b1', 'b2']) one.offer(1, bytes(text));
    expect(sink.written).toHaveLength(4);
    sink.confirm();
    sink.confirm();
    expect(sink.texts().slice(4)).toEqual(['a7', 'b2']);
    // Field 16, varint: 2 summaries of the first symbol were skipped, 1 of the second.
    expect([...sink.written[4]!.subarray(2)]).toEqual([0x80, 0x01, 2]);
    expect([...sink.written[5]!.subarray(2)]).toEqual([0x80, 0x01, 1]);
    expect(one.skipped).toBe(3);
  });

  it('that asks for an interval longer than a timer can wait is not looked at meanwhile', () => {
    const looks = vi.fn(() => nowMs);
    const sink = slowSink();
    const one = new Subscriber(sink, { depth: 10, minIntervalMs: 0xffff_ffff, now: looks });
    for (const text of ['a1', 'a2']) one.offer(0, bytes(text));
    const before = looks.mock.calls.length;
    vi.advanceTimersByTime(1000);
    expect(looks.mock.calls.length).toBe(before);
    expect(sink.texts()).toEqual(['a1']);
    one.close();
  });

  it('that takes nothing is known to be busy since its last write, until it takes one', () => {
    const { sink, subscriber: one } = subscriber();
    for (let write = 0; write < 4; write++) one.offer(0, bytes('a0'));
    nowMs += 700;
    expect(one.busyForMs(nowMs)).toBe(700);
    sink.confirm();
    expect(one.busyForMs(nowMs)).toBe(0);
  });

  it('with a minimum interval gets the latest of each interval, and skipped none of what it wanted', () => {
    const { sink, subscriber: one } = subscriber(100);
    one.offer(0, bytes('a1'));
    sink.confirm();
    nowMs += 20;
    one.offer(0, bytes('a2'));
    one.offer(0, bytes('a3'));
    expect(sink.texts()).toEqual(['a1']);
    nowMs += 80;
    vi.advanceTimersByTime(80);
    expect(sink.texts()).toEqual(['a1', 'a3']);
    expect(sink.written[1]).toHaveLength(2);
  });

  it('with a minimum interval waits for no symbol longer than that one asks for', () => {
    const { sink, subscriber: one } = subscriber(100);
    one.offer(1, bytes('b1'));
    nowMs += 50;
    one.offer(0, bytes('a1'));
    nowMs += 10;
    one.offer(0, bytes('a2'));
    one.offer(1, bytes('b2'));
    nowMs += 40;
    vi.advanceTimersByTime(40);
    expect(sink.texts()).toEqual(['b1', 'a1', 'b2']);
    nowMs += 50;
    vi.advanceTimersByTime(50);
    expect(sink.texts()).toEqual(['b1', 'a1', 'b2', 'a2']);
  });
});
