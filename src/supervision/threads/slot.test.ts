import { describe, expect, it } from 'vitest';
import { FENCED } from './layout.ts';
import { SharedMemory } from './memory.ts';
import { admitToSlot, CONFLATED, formatSlot, PUBLISHED, SlotReader, SlotWriter } from './slot.ts';
import { slotBytes } from './slot-layout.ts';

// The type library for servers does not describe WebAssembly.
type SharedWasmMemory = new (pages: {
  initial: number;
  maximum: number;
  shared: true;
}) => {
  readonly buffer: SharedArrayBuffer;
};
const { Memory } = (globalThis as unknown as { WebAssembly: { Memory: SharedWasmMemory } }).WebAssembly;

function slotAt(at: number, payloadBytes = 344) {
  const memory = new SharedMemory(new SharedArrayBuffer(at + slotBytes(payloadBytes)));
  formatSlot(memory, at, payloadBytes);
  const writer = new SlotWriter(memory, at, admitToSlot(memory, at, 'writer'));
  const reader = new SlotReader(memory, at, admitToSlot(memory, at, 'reader'));
  const put = (value: number) => {
    memory.bytes.fill(value, writer.offset, writer.offset + payloadBytes);
    return writer.publish();
  };
  const taken = () => (reader.take() ? memory.bytes[reader.offset + payloadBytes - 1] : undefined);
  return { memory, writer, reader, put, taken };
}

describe('a slot', () => {
  it('gives the reader nothing before the first value and each value once', () => {
    const { put, taken } = slotAt(0);
    expect(taken()).toBeUndefined();
    expect(put(7)).toBe(PUBLISHED);
    expect(taken()).toBe(7);
    expect(taken()).toBeUndefined();
  });

  it('keeps the latest value and tells the writer that it replaced an untaken one', () => {
    const { put, taken } = slotAt(1280);
    expect([put(1), put(2), put(3)]).toEqual([PUBLISHED, CONFLATED, CONFLATED]);
    expect(taken()).toBe(3);
  });

  it('leaves the reader its buffer while the writer goes on', () => {
    const { memory, put, taken, reader } = slotAt(0);
    put(1);
    taken();
    for (let value = 2; value < 20; value++) put(value);
    expect(memory.bytes[reader.offset]).toBe(1);
  });

  it('works in a shared WebAssembly memory', () => {
    const memory = new SharedMemory(new Memory({ initial: 1, maximum: 1, shared: true }).buffer);
    formatSlot(memory, 4096, 344);
    const writer = new SlotWriter(memory, 4096, admitToSlot(memory, 4096, 'writer'));
    const reader = new SlotReader(memory, 4096, admitToSlot(memory, 4096, 'reader'));
    memory.set(writer.offset / 4, 42);
    writer.publish();
    expect(reader.take()).toBe(true);
    expect(memory.get(reader.offset / 4)).toBe(42);
  });

  it('fences off the writer and the reader of an earlier life', () => {
    const { memory, writer, reader, put, taken } = slotAt(0);
    put(1);
    admitToSlot(memory, 0, 'writer');
    expect(writer.fenced).toBe(true);
    expect(put(2)).toBe(FENCED);
    expect(taken()).toBe(1);
    const next = new SlotWriter(memory, 0, 2);
    admitToSlot(memory, 0, 'reader');
    next.publish();
    expect(reader.take()).toBe(false);
    expect(() => new SlotWriter(memory, 0, 1)).toThrow('only life 2 of the writer may attach, got 1');
  });

  it('hands its buffers over to the next life of either side', () => {
    const { memory, put, taken, reader } = slotAt(0);
    put(1);
    taken();
    put(2);
    const next = new SlotWriter(memory, 0, admitToSlot(memory, 0, 'writer'));
    expect(next.offset).not.toBe(reader.offset);
    const nextReader = new SlotReader(memory, 0, admitToSlot(memory, 0, 'reader'));
    expect(nextReader.offset).toBe(reader.offset);
    expect(memory.bytes[nextReader.offset]).toBe(1);
    expect(nextReader.take()).toBe(true);
    expect(memory.bytes[nextReader.offset]).toBe(2);
  });

  it('is refused where it cannot lie', () => {
    const memory = new SharedMemory(new SharedArrayBuffer(4096));
    expect(() => formatSlot(memory, 100, 8)).toThrow('a layout starts at a multiple of 128 bytes, got 100');
    expect(() => formatSlot(memory, 3968, 8)).toThrow('a slot ending at byte 4736 must fit its buffer, got 4096');
    expect(() => formatSlot(memory, 0, 0)).toThrow("a slot's payload is 1..67108864 bytes, got 0");
    expect(() => new SlotReader(memory, 0, 1)).toThrow('byte 0 does not hold a formatted slot, got 0');
  });
});
