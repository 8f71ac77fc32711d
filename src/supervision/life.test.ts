import { describe, expect, it } from 'vitest';
import { StashBuffer } from './life.ts';
import { Stage } from './testing/stage.ts';
import { type Deed, toldActor } from './testing/told.ts';

describe('a timer', () => {
  const withTimers = async (set: Deed) => {
    const { spec } = toldActor('a');
    const stage = await Stage.started({ children: [spec] });
    spec.ref.tell(set);
    await stage.settle();
    return { stage, spec };
  };

  it('comes once after its delay, or each period, as a message', async () => {
    const seen: string[] = [];
    const { stage } = await withTimers((context) => {
      context.timers.once('once', 30, () => void seen.push(`once@${context.now()}`));
      context.timers.every('every', 20, () => void seen.push(`every@${context.now()}`));
    });
    await stage.advance(60);
    expect(seen).toEqual(['every@20', 'once@30', 'every@40', 'every@60']);
    await stage.stop();
    expect(stage.clock.pending).toBe(0);
  });

  it('replaces the one of the same key', async () => {
    const seen: string[] = [];
    const { stage } = await withTimers((context) => {
      context.timers.once('key', 10, () => void seen.push('old'));
      context.timers.once('key', 20, () => void seen.push('new'));
    });
    await stage.advance(100);
    expect(seen).toEqual(['new']);
    await stage.stop();
  });

  it('that is cancelled or replaced after it has fired is never handled', async () => {
    for (const kind of ['once', 'every'] as const) {
      const seen: string[] = [];
      const { stage } = await withTimers((context) => {
        context.timers[kind]('cancelled', 10, () => void seen.push('cancelled'));
        context.timers[kind]('replaced', 10, () => void seen.push('replaced'));
        context.timers.once('first', 5, (own) => {
          // Both fire while this handler holds the turn.
          stage.clock.fireNext(10);
          stage.clock.fireNext(10);
          own.timers.cancel('cancelled');
          own.timers.once('replaced', 5, () => void seen.push('replacement'));
        });
      });
      await stage.advance(100);
      expect(seen).toEqual(['replacement']);
      await stage.stop();
    }
  });

  it('that is periodic does not pile up while its actor is busy', async () => {
    let ticks = 0;
    const { stage, spec } = await withTimers((context) => context.timers.every('t', 10, () => void ticks++));
    let open = () => {};
    spec.ref.tell(
      () =>
        new Promise<void>((resolve) => {
          open = resolve;
        }),
    );
    await stage.advance(55);
    expect(ticks).toBe(0);
    open();
    await stage.settle();
    expect(ticks).toBe(1);
    await stage.advance(10);
    expect(ticks).toBe(2);
    await stage.stop();
  });

  it('too many fail the actor rather than grow without end', async () => {
    const { stage } = await withTimers((context) => {
      for (let index = 0; index <= 1024; index++) context.timers.once(`key${index}`, 10, () => {});
    });
    expect(stage.system.tree().children[0]!.lastFailure?.code).toBe('TW_TIMERS_OVERFLOW');
    expect(stage.clock.pending).toBe(0);
    await stage.stop();
  });
});

describe('the stash', () => {
  it('puts back in order, ahead of the mailbox', async () => {
    const { spec } = toldActor('a');
    const stage = await Stage.started({ children: [spec] });
    const seen: string[] = [];
    for (const name of ['one', 'two']) {
      spec.ref.tell((context) => context.stash.put(() => void seen.push(name)));
    }
    spec.ref.tell((context) => {
      expect(context.stash.size).toBe(2);
      context.stash.release();
    });
    spec.ref.tell(() => void seen.push('waiting'));
    await stage.settle();
    expect(seen).toEqual(['one', 'two', 'waiting']);
    await stage.stop();
  });

  it('survives a failure: what is in it is handled by the next life', async () => {
    const { spec } = toldActor('a');
    const stage = await Stage.started({ children: [spec] });
    const seen: number[] = [];
    spec.ref.tell((context) => context.stash.put((later) => void seen.push(later.incarnation)));
    spec.ref.tell(() => {
      throw new Error('fails');
    });
    await stage.settle();
    expect(seen).toEqual([2]);
    await stage.stop();
  });

  it('that is full fails the actor', async () => {
    const { spec } = toldActor('a', { stashCapacity: 1 });
    const stage = await Stage.started({ children: [spec] });
    for (let index = 0; index < 2; index++) spec.ref.tell((context) => context.stash.put(() => {}));
    await stage.settle();
    expect(stage.system.tree().children[0]!.lastFailure?.code).toBe('TW_STASH_OVERFLOW');
    await stage.stop();
  });

  it('leaves dead letters when its actor is down for good', async () => {
    const { spec } = toldActor('a');
    const stage = await Stage.started({ children: [spec] });
    spec.ref.tell((context) => context.stash.put(() => {}));
    await stage.settle();
    await stage.stop();
    expect(stage.system.deadLetters.recent().map((letter) => letter.reason)).toEqual(['left-behind']);
  });

  it('counts what was put back and not yet handled towards its capacity', () => {
    const stash = new StashBuffer<number>(2, () => {});
    stash.put(1);
    stash.release();
    stash.put(2);
    expect(() => stash.put(3)).toThrow(expect.objectContaining({ code: 'TW_STASH_OVERFLOW' }));
    expect(stash.drain()).toEqual([1, 2]);
  });
});
