import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Admission } from '../protocols/ref.ts';
import { Mailbox, type MailboxPolicy } from './mailbox.ts';

const seed = Number(process.env['TAPEWORKS_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const runs = process.env['TAPEWORKS_LONG'] === '1' ? 20_000 : 500;

interface Item {
  readonly key: number;
  readonly number: number;
}

/** The same mailbox as a plain list. */
class Model {
  readonly list: Item[] = [];
  readonly drops = { rejected: 0, droppedOldest: 0, droppedNewest: 0, conflated: 0 };
  readonly dropped: Item[] = [];
  readonly conflated: Item[] = [];
  highWater = 0;
  readonly #capacity: number;
  readonly #policy: MailboxPolicy;

  constructor(capacity: number, policy: MailboxPolicy) {
    this.#capacity = capacity;
    this.#policy = policy;
  }

  offer(item: Item): Admission {
    const same = this.list.findIndex((other) => other.key === item.key);
    if (this.#policy === 'conflate' && same >= 0) {
      this.conflated.push(this.list[same]!);
      this.list[same] = item;
      this.drops.conflated++;
      return 'conflated';
    }
    if (this.list.length < this.#capacity) return this.#push(item);
    if (this.#policy === 'drop-newest') {
      this.drops.droppedNewest++;
      return 'dropped-newest';
    }
    if (this.#policy !== 'drop-oldest') {
      this.drops.rejected++;
      return 'rejected';
    }
    this.drops.droppedOldest++;
    this.dropped.push(this.list.shift()!);
    this.list.push(item);
    return 'dropped-oldest';
  }

  #push(item: Item): Admission {
    this.list.push(item);
    this.highWater = Math.max(this.highWater, this.list.length);
    const isPressed = this.#policy === 'backpressure' && this.list.length >= this.#capacity * 0.75;
    return isPressed ? 'pause' : 'accepted';
  }
}

describe('a mailbox of each policy', () => {
  const policies: MailboxPolicy[] = ['reject', 'drop-oldest', 'drop-newest', 'conflate', 'backpressure'];
  for (const policy of policies) {
    it(`${policy}: behaves like a plain list with that policy (seed ${seed})`, () => {
      const offer = fc.record({ key: fc.integer({ min: 0, max: 6 }) });
      const action = fc.oneof({ weight: 3, arbitrary: offer }, { weight: 2, arbitrary: fc.constant('take' as const) });
      fc.assert(
        fc.property(fc.integer({ min: 1, max: 40 }), fc.array(action, { maxLength: 200 }), (capacity, actions) => {
          const mailbox = new Mailbox<Item>({ capacity, policy, keyOf: (item) => item.key });
          const model = new Model(capacity, policy);
          const dropped: Item[] = [];
          const conflated: Item[] = [];
          mailbox.onDropped = (item) => dropped.push(item);
          mailbox.onConflated = (item) => conflated.push(item);
          let number = 0;
          for (const next of actions) {
            if (next === 'take') expect(mailbox.take()).toBe(model.list.shift());
            else {
              const item = { key: next.key, number: number++ };
              expect(mailbox.offer(item)).toBe(model.offer(item));
            }
            expect(mailbox.depth).toBe(model.list.length);
          }
          expect(mailbox.drops).toEqual(model.drops);
          expect(mailbox.highWater).toBe(model.highWater);
          expect([dropped, conflated]).toEqual([model.dropped, model.conflated]);
          expect(mailbox.drain()).toEqual(model.list);
        }),
        { seed, numRuns: runs },
      );
    });
  }
});

describe('conflate', () => {
  it('keeps a message under the key that it had when it was told', () => {
    const mailbox = new Mailbox<{ key: string }>({ capacity: 4, policy: 'conflate', keyOf: (item) => item.key });
    const changed = { key: 'a' };
    mailbox.offer(changed);
    changed.key = 'b';
    expect(mailbox.take()).toBe(changed);
    expect(mailbox.offer({ key: 'a' })).toBe('accepted');
    expect(mailbox.depth).toBe(1);
  });

  it('takes the message itself as its key where none is named', () => {
    const mailbox = new Mailbox<string>({ capacity: 4, policy: 'conflate' });
    expect([mailbox.offer('a'), mailbox.offer('b'), mailbox.offer('a')]).toEqual(['accepted', 'accepted', 'conflated']);
  });
});

describe('backpressure', () => {
  const filled = (count: number) => {
    const mailbox = new Mailbox<number>({ capacity: 1000, policy: 'backpressure' });
    const answers = Array.from({ length: count }, (_, index) => mailbox.offer(index));
    return { mailbox, answers };
  };

  it('asks for a pause from three quarters on and refuses past the capacity', () => {
    const { answers } = filled(1001);
    expect(answers.indexOf('pause')).toBe(749);
    expect(answers.indexOf('rejected')).toBe(1000);
  });

  it('says go on once, at a quarter', () => {
    const { mailbox } = filled(750);
    let told = 0;
    mailbox.whenReady(() => told++);
    for (let left = 750; left > 251; left--) mailbox.take();
    expect(told).toBe(0);
    mailbox.take();
    expect(told).toBe(1);
    mailbox.drain();
    expect(told).toBe(1);
  });

  it('says go on at once when there is room', () => {
    let told = 0;
    filled(250).mailbox.whenReady(() => told++);
    expect(told).toBe(1);
  });

  it('says go on to everyone when it is emptied for good', () => {
    const { mailbox } = filled(900);
    let told = 0;
    mailbox.whenReady(() => told++);
    mailbox.whenReady(() => told++);
    expect(mailbox.drain()).toHaveLength(900);
    expect(told).toBe(2);
  });
});

it('a message may be undefined', () => {
  const mailbox = new Mailbox<undefined | number>({ capacity: 4, policy: 'reject' });
  for (const message of [undefined, 1, undefined]) mailbox.offer(message);
  expect(mailbox.drain()).toEqual([undefined, 1, undefined]);
});
