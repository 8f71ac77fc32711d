import type { Program, Scenario } from './explorer.ts';
import type { Mailboxes } from './mailboxes.ts';
import type { SimulatedMemory } from './simulated-memory.ts';

const SLOT_AT = 128;
const PAYLOAD_BYTES = 8;
const sealOf = (value: number) => value * 17 + 3;

function slotTools(boxes: Mailboxes) {
  const { slot } = boxes;
  const setup = (memory: SimulatedMemory) => {
    slot.formatSlot(memory, SLOT_AT, PAYLOAD_BYTES);
    slot.admitToSlot(memory, SLOT_AT, 'writer');
    slot.admitToSlot(memory, SLOT_AT, 'reader');
  };
  const writer = (memory: SimulatedMemory, life = 1) => new slot.SlotWriter(memory, SLOT_AT, life);
  const reader = (memory: SimulatedMemory, life = 1) => new slot.SlotReader(memory, SLOT_AT, life);
  const put = (memory: SimulatedMemory, into: ReturnType<typeof writer>, value: number) => {
    memory.set(into.offset / 4, value);
    memory.set(into.offset / 4 + 1, sealOf(value));
    return into.publish();
  };
  const take = (memory: SimulatedMemory, from: ReturnType<typeof reader>, note: (value: number) => void) => {
    if (!from.take()) return;
    const value = memory.get(from.offset / 4);
    if (memory.get(from.offset / 4 + 1) !== sealOf(value)) throw new Error(`a torn or invented value: ${value}`);
    note(value);
  };
  return { setup, writer, reader, put, take };
}

function expectRising(values: readonly number[]): void {
  values.forEach((value, index) => {
    if (index > 0 && value <= values[index - 1]!)
      throw new Error(`an older value came after a newer: ${values.join()}`);
  });
}

/** Values arrive whole and never out of order, the last one always; each is taken, replaced (and said so), or waiting. */
export function latestWins(boxes: Mailboxes, values: number, takes: number): Scenario {
  const tools = slotTools(boxes);
  const writing: Program = (memory, self) => {
    const writer = tools.writer(memory);
    for (let value = 1; value <= values; value++) self.note(tools.put(memory, writer, value));
  };
  const reading: Program = (memory, self) => {
    const reader = tools.reader(memory);
    for (let take = 0; take < takes; take++) tools.take(memory, reader, self.note);
    self.join(0);
    tools.take(memory, reader, self.note);
    tools.take(memory, reader, self.note);
  };
  return {
    setup: tools.setup,
    threads: [writing, reading],
    check: ([outcomes, got]) => {
      expectRising(got!);
      if (got!.at(-1) !== values) throw new Error(`the last value is lost: got ${got!.join()}`);
      const replaced = outcomes!.filter((outcome) => outcome === boxes.slot.CONFLATED).length;
      if (replaced + got!.length !== values)
        throw new Error(`${replaced} replaced + ${got!.length} taken of ${values}`);
    },
    preemptions: 4,
  };
}

/** A writer of an earlier life replaces nothing. */
export function fencesEarlierWriters(boxes: Mailboxes): Scenario {
  const tools = slotTools(boxes);
  const writing: Program = (memory) => {
    const old = tools.writer(memory);
    tools.put(memory, old, 1);
    const life = boxes.slot.admitToSlot(memory, SLOT_AT, 'writer');
    const next = tools.writer(memory, life);
    tools.put(memory, next, 2);
    if (old.publish() !== -2) throw new Error('a fenced writer was not told');
  };
  const reading: Program = (memory, self) => {
    const reader = tools.reader(memory);
    for (let take = 0; take < 2; take++) tools.take(memory, reader, self.note);
    self.join(0);
    tools.take(memory, reader, self.note);
  };
  return {
    setup: tools.setup,
    threads: [writing, reading],
    check: ([, got]) => {
      expectRising(got!);
      if (got!.at(-1) !== 2) throw new Error(`expected 2 last, got ${got!.join()}`);
    },
  };
}

/** One side dies anywhere and its next life finds a whole slot while the other goes on. */
export function survivesDeath(boxes: Mailboxes, side: 'writer' | 'reader'): Scenario {
  const tools = slotTools(boxes);
  const write = (memory: SimulatedMemory, life: number, values: readonly number[]) => {
    const writer = tools.writer(memory, life);
    for (const value of values) tools.put(memory, writer, value);
  };
  const read = (memory: SimulatedMemory, life: number, takes: number, note: (value: number) => void) => {
    const reader = tools.reader(memory, life);
    for (let take = 0; take < takes; take++) tools.take(memory, reader, note);
  };
  const mortal: Program = (memory, self) =>
    side === 'writer' ? write(memory, 1, [1, 2]) : read(memory, 1, 2, self.note);
  const nextLife: Program = (memory, self) => {
    self.join(0);
    const life = boxes.slot.admitToSlot(memory, SLOT_AT, side);
    if (side === 'writer') write(memory, life, [11, 12]);
    else read(memory, life, 2, self.note);
  };
  const peer: Program = (memory, self) => {
    if (side === 'writer') read(memory, 1, 3, self.note);
    else write(memory, 1, [1, 2, 3]);
  };
  return {
    setup: tools.setup,
    threads: [mortal, nextLife, peer],
    check: ([first, second, third]) => expectRising(side === 'writer' ? third! : [...first!, ...second!]),
    mortal: [0],
    preemptions: 2,
  };
}
