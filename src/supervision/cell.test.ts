import { describe, expect, it } from 'vitest';
import { actor } from './spec.ts';
import { breathe, Stage } from './testing/stage.ts';
import { toldActor } from './testing/told.ts';

describe('a turn', () => {
  it('handles messages up to its budget, then lets the event loop go on', async () => {
    const { spec } = toldActor('a', { budget: { messages: 10, microseconds: 1e9 } });
    const stage = await Stage.started({ children: [spec] });
    const handledIn: number[] = [];
    let turns = 0;
    const watchLoop = () => {
      turns++;
      if (handledIn.length < 30) setImmediate(watchLoop);
    };
    setImmediate(watchLoop);
    for (let index = 0; index < 30; index++) spec.ref.tell(() => void handledIn.push(turns));
    while (handledIn.length < 30) await breathe();
    for (const batch of [0, 10, 20]) expect(new Set(handledIn.slice(batch, batch + 10)).size).toBe(1);
    expect(new Set(handledIn).size).toBe(3);
    await stage.stop();
  });

  it('ends when its time is spent, whatever is left of its messages', async () => {
    const { spec } = toldActor('a', { budget: { messages: 1000, microseconds: 500 } });
    const stage = await Stage.started({ children: [spec] });
    let handled = 0;
    for (let index = 0; index < 100; index++) {
      spec.ref.tell(() => {
        handled++;
        stage.clock.skip(1);
      });
    }
    await breathe();
    // The clock is read each 16 messages; the first reading says that the time is over.
    expect(handled).toBe(16);
    await stage.settle();
    expect(handled).toBe(100);
    await stage.stop();
  });

  it('handles timers and signals before the messages that wait', async () => {
    const order: string[] = [];
    const other = toldActor('other');
    const { spec } = toldActor('a', {
      behaviour: {
        onSignal: (state, signal) => {
          order.push(signal.kind);
          return state;
        },
      },
    });
    const stage = await Stage.started({ children: [spec, other.spec] });
    spec.ref.tell((context) => {
      context.watch(other.spec.ref);
      context.timers.once('t', 5, () => void order.push('timer'));
    });
    await stage.settle();
    for (const name of ['first', 'second']) spec.ref.tell(() => void order.push(name));
    stage.clock.fireNext(5);
    await stage.finish(stage.system.root.deleteChild('other'));
    expect(order).toEqual(['timer', 'first', 'second', 'terminated']);
    await stage.stop();
  });

  it('never runs inside tell', async () => {
    const { spec } = toldActor('a');
    const stage = await Stage.started({ children: [spec] });
    let isHandled = false;
    spec.ref.tell(() => {
      isHandled = true;
    });
    expect(isHandled).toBe(false);
    await stage.settle();
    expect(isHandled).toBe(true);
    await stage.stop();
  });

  it('waits for the promise of a handler before it takes the next message', async () => {
    const { spec } = toldActor('a');
    const stage = await Stage.started({ children: [spec] });
    const order: string[] = [];
    let open = () => {};
    spec.ref.tell(async () => {
      order.push('begin');
      await new Promise<void>((resolve) => {
        open = resolve;
      });
      order.push('finish');
    });
    spec.ref.tell(() => void order.push('next'));
    await stage.settle();
    expect(order).toEqual(['begin']);
    open();
    await stage.settle();
    expect(order).toEqual(['begin', 'finish', 'next']);
    await stage.stop();
  });
});

describe('a life', () => {
  it('begins with fresh state under the same ref, with the mailbox kept and the failing message gone', async () => {
    const seen: string[] = [];
    const spec = actor<string, string[]>({
      id: 'a',
      backoff: { minMs: 100, maxMs: 100, jitter: 0, resetAfterMs: 1e6 },
      behaviour: {
        init: () => [],
        receive: (state, message, context) => {
          if (message === 'poison') throw new Error('poison');
          seen.push(`${message}:${context.incarnation}:${state.length}`);
          return [...state, message];
        },
      },
    });
    const stage = await Stage.started({ children: [spec] });
    for (const message of ['a', 'b', 'poison', 'c']) spec.ref.tell(message);
    await stage.settle();
    expect(spec.ref.tell('d')).toBe('accepted');
    await stage.advance(100);
    expect(seen).toEqual(['a:1:0', 'b:1:1', 'c:2:0', 'd:2:1']);
    await stage.stop();
  });

  it('takes its timers, watches and waits with it, and its context does nothing any more', async () => {
    const other = toldActor('other');
    const { spec, contexts, signals } = toldActor('a');
    const stage = await Stage.started({ children: [spec, other.spec] });
    let ticks = 0;
    spec.ref.tell((context) => {
      context.timers.every('t', 10, () => void ticks++);
      context.watch(other.spec.ref);
    });
    await stage.settle();
    spec.ref.tell(() => {
      throw new Error('end of life');
    });
    await stage.settle();
    const old = contexts[0]!;
    expect(old.signal.aborted).toBe(true);
    expect(contexts[1]!.signal.aborted).toBe(false);
    old.timers.once('late', 1, () => void ticks++);
    old.watch(other.spec.ref);
    old.stop();
    old.fail(new Error('too late'));
    old.unhandled(() => {});
    old.stash.put(() => {});
    await stage.finish(stage.system.root.deleteChild('other'));
    await stage.advance(100);
    expect(ticks).toBe(0);
    expect(signals).toEqual([]);
    const info = stage.system.tree().children[0]!;
    expect(info).toMatchObject({ incarnation: 2, state: 'running', unhandled: 0 });
    // What an abandoned handler wants to put aside is not lost silently.
    expect(stage.system.deadLetters.recent()).toEqual([
      { to: '/a', message: expect.any(String), reason: 'left-behind' },
    ]);
    expect(stage.clock.pending).toBe(0);
    await stage.stop();
  });

  it('whose init failed leaves no timer behind', async () => {
    let attempts = 0;
    let ticks = 0;
    const spec = actor<() => void, number>({
      id: 'a',
      backoff: { minMs: 50, maxMs: 50, jitter: 0, resetAfterMs: 1e6 },
      behaviour: {
        init: (context) => {
          if (attempts++ > 0) return 0;
          context.timers.every('t', 10, () => void ticks++);
          throw new Error('not yet');
        },
        receive: (state, tick) => {
          tick();
          return state;
        },
      },
    });
    const stage = new Stage({ children: [spec] });
    await stage.finish(stage.system.start());
    await stage.advance(1000);
    expect(ticks).toBe(0);
    expect(stage.clock.pending).toBe(0);
    await stage.stop();
  });

  it('whose init is reported as failed by an event does not come up', async () => {
    let attempts = 0;
    const spec = actor<string, number>({
      id: 'a',
      backoff: { minMs: 0, maxMs: 0, jitter: 0, resetAfterMs: 1 },
      behaviour: {
        init: async (context) => {
          if (attempts++ === 0) context.fail(new Error('socket closed'));
          await undefined;
          return 0;
        },
        receive: (state) => state,
      },
    });
    const stage = await Stage.started({ children: [spec] });
    expect(attempts).toBe(2);
    expect(stage.system.tree().children[0]).toMatchObject({
      incarnation: 2,
      lastFailure: { message: 'socket closed' },
    });
    await stage.stop();
  });

  it('that is halted while it starts has its signal aborted and what it opened closed', async () => {
    const steps: string[] = [];
    const spec = actor<string, string>({
      id: 'a',
      behaviour: {
        init: (context) =>
          new Promise((resolve) => {
            context.signal.addEventListener('abort', () => {
              steps.push('aborted');
              resolve('half open');
            });
          }),
        receive: (state) => state,
        end: (state, reason) => void steps.push(`end ${state} ${reason.kind}`),
      },
    });
    const stage = new Stage({ children: [spec] });
    const starting = stage.system.start();
    starting.catch(() => {});
    await stage.settle();
    await stage.stop();
    expect(steps).toEqual(['aborted', 'end half open shutdown']);
    // It was not waited for in vain and then abandoned.
    expect(stage.clock.now()).toBe(0);
    await expect(starting).rejects.toMatchObject({ code: 'TW_ASK_TERMINATED' });
  });

  it('whose init finishes after it was given up is closed by end all the same, and nothing of it runs', async () => {
    const steps: string[] = [];
    let finish = () => {};
    const spec = actor<string, string>({
      id: 'a',
      startDeadlineMs: 100,
      shutdown: 50,
      restart: 'temporary',
      behaviour: {
        init: () =>
          new Promise((resolve) => {
            finish = () => resolve('late');
          }),
        receive: (state) => state,
        end: (state) => void steps.push(`end ${state}`),
      },
    });
    const stage = await Stage.started({ children: [spec] });
    expect(stage.clock.now()).toBe(150);
    expect(stage.events.find((event) => event.kind === 'failed')).toMatchObject({
      error: { code: 'TW_START_TIMEOUT' },
    });
    expect(stage.events.find((event) => event.kind === 'abandoned')).toMatchObject({ what: 'init', afterMs: 50 });
    finish();
    await stage.settle();
    expect(steps).toEqual(['end late']);
    await stage.stop();
  });

  it('can end itself: after the present message, or from outside of any', async () => {
    for (const isOutside of [false, true]) {
      const { spec, contexts } = toldActor('a', { restart: 'transient' });
      const stage = await Stage.started({ children: [spec] });
      if (isOutside) contexts[0]!.stop();
      else spec.ref.tell((context) => context.stop());
      await stage.settle();
      expect(stage.system.tree().children[0]!.state).toBe('dead');
      await stage.stop();
    }
  });
});

describe('an operator', () => {
  it('suspends an actor, whose messages wait and whose timers still come, and resumes it', async () => {
    const { spec } = toldActor('a');
    const stage = await Stage.started({ children: [spec] });
    const seen: string[] = [];
    spec.ref.tell((context) => context.timers.once('t', 10, () => void seen.push('timer')));
    await stage.settle();
    stage.system.suspend('/a');
    spec.ref.tell(() => void seen.push('message'));
    await stage.advance(10);
    expect(seen).toEqual(['timer']);
    expect(stage.system.tree().children[0]).toMatchObject({ state: 'suspended', mailbox: { depth: 1 } });
    stage.system.resume('/a');
    await stage.settle();
    expect(seen).toEqual(['timer', 'message']);
    await stage.stop();
  });

  it('restarts an actor without counting a failure, and a new life is never suspended', async () => {
    const { spec, contexts } = toldActor('a');
    const stage = await Stage.started({ intensity: { restarts: 0, periodMs: 1000 }, children: [spec] });
    stage.system.suspend('/a');
    stage.system.restart('/a');
    await stage.settle();
    expect(contexts).toHaveLength(2);
    expect(stage.system.tree().children[0]).toMatchObject({ state: 'running', restarts: 1, lastFailure: undefined });
    await stage.stop();
  });

  it('sees mailbox, messages, unhandled ones, failures and times of each actor', async () => {
    const { spec } = toldActor('a', { mailbox: { capacity: 3, policy: 'drop-newest' } });
    const stage = await Stage.started({ children: [spec] });
    for (let index = 0; index < 5; index++) spec.ref.tell((context) => context.unhandled(() => {}));
    await stage.settle();
    spec.ref.tell(() => {
      throw new Error('seen');
    });
    await stage.settle();
    expect(stage.system.tree().children[0]).toMatchObject({
      path: '/a',
      kind: 'actor',
      thread: 'main',
      messages: 4,
      unhandled: 3,
      restarts: 1,
      lastFailure: { message: 'seen', atMs: 0 },
      mailbox: { depth: 0, highWater: 3, capacity: 3, policy: 'drop-newest', droppedNewest: 2 },
      waitMs: { count: 2 },
      processingMs: { count: 1 },
    });
    await stage.stop();
  });

  it('reads what a behaviour says of its state, and nothing while there is none', async () => {
    const { spec } = toldActor('a', { restart: 'transient', behaviour: { summary: (state) => ({ handled: state }) } });
    const stage = await Stage.started({ children: [spec] });
    spec.ref.tell(() => {});
    await stage.settle();
    expect(await stage.system.summary('/a')).toEqual({ handled: 1 });
    spec.ref.tell((context) => context.stop());
    await stage.settle();
    expect(await stage.system.summary('/a')).toBeUndefined();
    await stage.stop();
  });

  it('is told when there is no such actor', async () => {
    const stage = await Stage.started({ children: [] });
    const { system } = stage;
    for (const call of [() => system.suspend('/x'), () => system.resume('/x/y'), () => system.restart('/x')]) {
      expect(call).toThrow(expect.objectContaining({ code: 'TW_UNKNOWN_ACTOR' }));
    }
    await expect(system.summary('/x')).rejects.toMatchObject({ code: 'TW_UNKNOWN_ACTOR' });
    expect(() => system.restart('/')).toThrow(expect.objectContaining({ code: 'TW_UNKNOWN_ACTOR' }));
    await stage.stop();
  });
});
