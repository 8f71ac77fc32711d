import { describe, expect, it } from 'vitest';
import { Counterexample, explore } from './explorer.ts';
import { damagedMailboxes, type Mutation } from './mailboxes.ts';
import { SCENARIOS, type ScenarioName } from './scenarios.ts';

/** Defects that have been made in code like this before. Each must be caught, by the promise that it breaks. */
interface Defect extends Mutation {
  readonly caughtBy: ScenarioName;
  readonly as: RegExp;
}

const DEFECTS: Readonly<Record<string, Defect>> = {
  'a record is published before it is written': {
    file: 'ring.js',
    from: /this\.memory\.write\(offset, record\);\s*this\.publish\(\);/,
    to: 'this.publish(); this.memory.write(offset, record);',
    caughtBy: 'a ring keeps order and content',
    as: /race|torn or invented/,
  },
  'a frame is published before it is written': {
    file: 'frame-ring.js',
    from: /this\.memory\.write\(offset, payload\);\s*this\.publish\(\);/,
    to: 'this.publish(); this.memory.write(offset, payload);',
    caughtBy: 'frames pass the end of the ring',
    as: /race|not what was sent/,
  },
  'the tail is published by a plain store': {
    file: 'ring-ends.js',
    from: 'this.memory.store(this.base + RING.TAIL, this.next)',
    to: 'this.memory.set(this.base + RING.TAIL, this.next)',
    caughtBy: 'a ring keeps order and content',
    as: /race/,
  },
  'the head is given back by a plain store': {
    file: 'ring-ends.js',
    from: 'this.memory.store(this.base + RING.HEAD, head)',
    to: 'this.memory.set(this.base + RING.HEAD, head)',
    caughtBy: 'a ring keeps order and content',
    as: /race/,
  },
  'room is given back before the records are handled': {
    file: 'ring.js',
    from: 'const first = this.head;',
    to: 'const first = this.head; this.release((first + count) | 0);',
    caughtBy: 'a ring gives room back',
    as: /race|torn or invented|expected/,
  },
  'a ring takes one record more than it has room for': {
    file: 'ring-ends.js',
    from: '+ wanted <= this.capacity)',
    to: '+ wanted <= this.capacity + 1)',
    caughtBy: 'a ring keeps order and content',
    as: /race|expected/,
  },
  'a producer never looks at the head again': {
    file: 'ring-ends.js',
    from: 'if (this.room() >= wanted)',
    to: 'if (wanted < 0)',
    caughtBy: 'a ring takes records again after it was full',
    as: /refused though there was room/,
  },
  'the fill of a ring does not wrap with its counters': {
    file: 'ring-ends.js',
    from: '((this.next - this.#headSeen) | 0) + wanted',
    to: '(this.next - this.#headSeen) + wanted',
    caughtBy: 'a ring keeps them across the wrap of signed counters',
    as: /race|expected/,
  },
  'what may be read does not wrap with the counters': {
    file: 'ring-ends.js',
    from: 'return (this.#tailSeen - this.head) | 0;',
    to: 'return this.#tailSeen - this.head;',
    caughtBy: 'a ring keeps them across the wrap of signed counters',
    as: /expected/,
  },
  'the place in a ring is a remainder, which is negative after the wrap': {
    file: 'ring.js',
    from: 'const place = this.next & this.#mask;',
    to: 'const place = this.next % this.capacity;',
    caughtBy: 'a ring keeps them across the wrap of unsigned counters',
    as: /race|torn or invented|expected/,
  },
  'a frame is split at the end of the ring': {
    file: 'frame-ring.js',
    from: 'const padding = wanted > toEnd ? toEnd : 0;',
    to: 'const padding = 0;',
    caughtBy: 'frames pass the end of the ring',
    as: /outside of the memory/,
  },
  'a consumer stops at padding': {
    file: 'frame-ring.js',
    from: /position = \(position \+ this\.capacity - place\) \| 0;\s*continue;/,
    to: 'break;',
    caughtBy: 'frames pass the end of the ring',
    as: /expected/,
  },
  'the life of a producer is not checked': {
    file: 'ring-ends.js',
    from: 'return this.memory.load(this.base + RING.PRODUCER_LIFE) !== this.life;',
    to: 'return false;',
    caughtBy: 'a ring fences off earlier producers',
    as: /race|expected 1,2,3|torn or invented/,
  },
  'the life of a producer is checked when it claims but not when it publishes': {
    file: 'ring-ends.js',
    from: /if \(this\.fenced\)\s*return false;\s*this\.memory\.store\(this\.base \+ RING\.TAIL/,
    to: 'this.memory.store(this.base + RING.TAIL',
    caughtBy: 'a ring fences off earlier producers',
    as: /race|expected 1,2,3|torn or invented/,
  },
  'the life of a producer is checked when it publishes but not when it claims': {
    file: 'ring-ends.js',
    from: /if \(this\.fenced\)\s*return FENCED;/,
    to: '',
    caughtBy: 'a ring fences off earlier producers',
    as: /race|expected 1,2,3|torn or invented/,
  },
  'a consumer does not note which record it has in hand': {
    file: 'ring.js',
    from: 'this.memory.set(this.base + RING.CURSOR, (first + handled) | 0);',
    to: '',
    caughtBy: 'a ring survives the death of its consumer',
    as: /expected/,
  },
  'a consumer notes the whole batch at its first record': {
    file: 'ring.js',
    from: 'this.memory.set(this.base + RING.CURSOR, (first + handled) | 0);',
    to: 'this.memory.set(this.base + RING.CURSOR, (first + count) | 0);',
    caughtBy: 'a ring survives the death of its consumer',
    as: /only the record in hand may be/,
  },
  'a slot is published by a load and a store': {
    file: 'slot.js',
    from: 'const seen = this.memory.compareExchange(this.state, state, afterPublish(state));',
    to: 'this.memory.store(this.state, afterPublish(state)); const seen = state;',
    caughtBy: 'a slot gives the latest value',
    as: /race|torn or invented|older value|replaced/,
  },
  'a slot is taken by a load and a store': {
    file: 'slot.js',
    from: 'const seen = this.memory.compareExchange(this.state, state, afterTake(state));',
    to: 'this.memory.store(this.state, afterTake(state)); const seen = state;',
    caughtBy: 'a slot gives the latest value',
    as: /race|torn or invented|older value|replaced|last value is lost/,
  },
  'a taken slot stays fresh': {
    file: 'slot-layout.js',
    from: 'export const afterTake = (state) => frontOf(state) |',
    to: 'export const afterTake = (state) => frontOf(state) | (state & SLOT_FRESH) |',
    caughtBy: 'a slot gives the latest value',
    as: /older value|torn or invented/,
  },
  'a reader looks into the middle without taking it': {
    file: 'slot.js',
    from: 'return this.bufferOffset(this.#front);',
    to: 'return this.bufferOffset(middleOf(this.memory.load(this.state)));',
    caughtBy: 'a slot gives the latest value',
    as: /race|torn or invented|older value/,
  },
  'the life of a slot writer is not checked': {
    file: 'slot.js',
    from: /if \(this\.fenced\)\s*return FENCED;/,
    to: '',
    caughtBy: 'a slot fences off earlier writers',
    as: /a fenced writer was not told/,
  },
  'the next writer starts with the first buffer instead of the one it owns': {
    file: 'slot.js',
    from: 'this.#back = backOf(memory.load(this.state));',
    to: 'this.#back = 0;',
    caughtBy: 'a slot survives the death of its writer',
    as: /race|torn or invented|older value/,
  },
  'the consumer parks without a second look': {
    file: 'idle-strategy.js',
    from: /this\.#doorbell\.arm\(\);\s*this\.#armed = true;/,
    to: 'this.#doorbell.arm(); this.#doorbell.wait(this.#parkMs);',
    caughtBy: 'a parked consumer is woken for every record',
    as: /lost wake-up/,
  },
  'a duty cycle parks without looking at its order': {
    file: 'idle-strategy.js',
    from: /this\.#doorbell\.arm\(\);\s*this\.#armed = true;/,
    to: 'this.#doorbell.arm(); this.#doorbell.wait(this.#parkMs);',
    caughtBy: 'a stop is not slept through',
    as: /lost wake-up/,
  },
  'the consumer says that it waits only after its second look': {
    file: 'doorbell.js',
    from: /this\.#memory\.store\(this\.#waiting, 1\);([\s\S]*?)(const result = )/,
    to: '$1this.#memory.store(this.#waiting, 1); $2',
    caughtBy: 'a parked consumer is woken for every record',
    as: /lost wake-up/,
  },
  'a producer notifies without counting the ring': {
    file: 'doorbell.js',
    from: 'this.#memory.add(this.#rings, 1);',
    to: '',
    caughtBy: 'a parked consumer is woken for every record',
    as: /lost wake-up/,
  },
  'a producer counts the ring and does not notify': {
    file: 'doorbell.js',
    from: 'this.#memory.notify(this.#rings);',
    to: '',
    caughtBy: 'a parked consumer is woken for every record',
    as: /lost wake-up/,
  },
  'a producer clears the flag after it has counted': {
    file: 'doorbell.js',
    from: /if \(this\.#memory\.exchange\(this\.#waiting, 0\) === 0\)\s*return;\s*this\.#memory\.add\(this\.#rings, 1\);/,
    to: 'this.#memory.add(this.#rings, 1); this.#memory.store(this.#waiting, 0);',
    caughtBy: 'several producers wake one consumer',
    as: /lost wake-up/,
  },
};

describe('a defect is caught by the promise that it breaks', () => {
  it.each(Object.keys(DEFECTS))('%s', async (name) => {
    const defect = DEFECTS[name]!;
    const boxes = await damagedMailboxes(defect);
    let found: unknown;
    try {
      explore(SCENARIOS[defect.caughtBy](boxes));
    } catch (thrown) {
      found = thrown;
    }
    expect(found).toBeInstanceOf(Counterexample);
    expect((found as Counterexample).message.split('\n')[0]).toMatch(defect.as);
  });
});
