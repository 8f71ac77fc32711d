import { describe, expect, it } from 'vitest';
import { DeadLetters, describe as describeMessage } from './dead-letters.ts';
import { LifecycleBus } from './lifecycle.ts';
import { Stage } from './testing/stage.ts';
import { toldActor } from './testing/told.ts';

describe('dead letters', () => {
  it('are all counted, and the last 256 are kept in order', () => {
    const letters = new DeadLetters(new LifecycleBus(() => 0));
    for (let index = 0; index < 300; index++) letters.add('/a', { kind: `m${index}` }, 'terminated');
    expect(letters.count).toBe(300);
    expect(letters.recent()).toHaveLength(256);
    expect([letters.recent()[0]!.message, letters.recent().at(-1)!.message]).toEqual(['m44', 'm299']);
  });

  it('say why: told to the dead, left behind, or dropped', async () => {
    const { spec } = toldActor('a', { mailbox: { capacity: 1, policy: 'drop-oldest' } });
    const stage = await Stage.started({ children: [spec] });
    stage.system.suspend('/a');
    for (let index = 0; index < 2; index++) spec.ref.tell(() => {});
    await stage.finish(stage.system.root.deleteChild('a'));
    expect(spec.ref.tell(() => {})).toBe('dead');
    expect(stage.system.deadLetters.recent().map((letter) => letter.reason)).toEqual([
      'dropped',
      'left-behind',
      'terminated',
    ]);
    expect(stage.kinds('/a').filter((kind) => kind === 'dead-letter')).toHaveLength(3);
    await stage.stop();
  });

  it('keep the kind of a message, not its payload', () => {
    class Trade {
      readonly price = 1;
    }
    const bare: unknown = Object.create(null);
    const shown = [
      { kind: 'store', rows: [1, 2] },
      new Trade(),
      bare,
      'x'.repeat(300),
      7,
      null,
      undefined,
      Symbol('s'),
    ];
    expect(shown.map(describeMessage)).toEqual([
      'store',
      'Trade',
      'object',
      'x'.repeat(200),
      '7',
      'null',
      'undefined',
      'Symbol(s)',
    ]);
  });
});

describe('lifecycle events', () => {
  it('tell of what a full mailbox did not take, with how much that is by now, and nothing of what is conflated', async () => {
    const full = toldActor('full', { mailbox: { capacity: 1, policy: 'reject' } }).spec;
    const newest = toldActor('newest', { mailbox: { capacity: 1, policy: 'conflate', keyOf: () => 1 } }).spec;
    const stage = await Stage.started({ children: [full, newest] });
    for (const path of ['/full', '/newest']) stage.system.suspend(path);
    for (let index = 0; index < 3; index++) for (const { ref } of [full, newest]) ref.tell(() => {});
    const overflows = stage.events.flatMap((event) =>
      event.kind === 'overflow' ? [`${event.path} ${event.policy} ${event.dropped}`] : [],
    );
    expect(overflows).toEqual(['/full reject 1', '/full reject 2']);
    await stage.stop();
  });

  it('are stamped, told to everyone who listens, and to nobody who left or threw', () => {
    const bus = new LifecycleBus(() => 7);
    const heard: string[] = [];
    const leave = bus.listen((event) => heard.push(`one ${event.kind} ${event.atMs}`));
    bus.listen(() => {
      throw new Error('bad listener');
    });
    bus.listen((event) => heard.push(`two ${event.kind} ${event.atMs}`));
    bus.emit({ kind: 'stopped', path: '/a', reason: 'normal' });
    leave();
    bus.emit({ kind: 'stopped', path: '/a', reason: 'normal' });
    expect(heard).toEqual(['one stopped 7', 'two stopped 7', 'two stopped 7']);
    expect([bus.failedListeners, bus.isHeard]).toEqual([1, true]);
  });
});
