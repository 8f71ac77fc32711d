// nact hosts the tree, and has known traps. Each of them is set here, and shown to be out of reach of whoever uses our API.
// The host is the real one; only the clock is turned by hand.
import { describe, expect, it } from 'vitest';
import type { Behaviour } from '../../src/supervision/actor.ts';
import { actor } from '../../src/supervision/spec.ts';
import { supervisor } from '../../src/supervision/supervisor-spec.ts';
import { breathe, Stage } from '../../src/supervision/testing/stage.ts';
import { AT_ONCE, Case, Probes } from './probe.ts';

const gate = () => {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open: () => open(), opened };
};

/** Fails the test when anything escapes to the process while the body runs. */
async function nothingEscapes(body: () => Promise<void>): Promise<void> {
  const escaped: unknown[] = [];
  const note = (error: unknown) => void escaped.push(error);
  process.on('uncaughtException', note);
  process.on('unhandledRejection', note);
  try {
    await body();
    await breathe();
    await breathe();
  } finally {
    process.off('uncaughtException', note);
    process.off('unhandledRejection', note);
  }
  expect(escaped).toEqual([]);
}

describe('stopping', () => {
  it('leaves no descendant running: every actor below is ended, the lowest first, and takes no message any more', async () => {
    const probes = new Probes();
    const low = supervisor({ id: 'low', children: [probes.child('c')] });
    const mid = supervisor({ id: 'mid', children: [probes.child('b'), low] });
    const stage = await Stage.started({ children: [probes.child('a'), mid] });
    probes.news();
    await stage.stop();
    expect(probes.news()).toEqual(['-c shutdown', '-b shutdown', '-a shutdown']);
    expect(probes.refs.get('c')!.tell('note')).toBe('dead');
    await breathe();
    expect(probes.news()).toEqual([]);
    expect(stage.host.placeCount).toBe(0);
  });

  it('of one supervisor in the middle leaves no descendant running either', async () => {
    const probes = new Probes();
    const low = supervisor({ id: 'low', children: [probes.child('c')] });
    const mid = supervisor({ id: 'mid', children: [low] });
    const stage = await Stage.started({ children: [mid, probes.child('a')] });
    probes.news();
    await stage.finish(stage.system.root.deleteChild('mid'));
    expect(probes.news()).toEqual(['-c shutdown']);
    expect(probes.refs.get('c')!.tell('note')).toBe('dead');
    expect(stage.system.tree().children.map((child) => child.path)).toEqual(['/a']);
    await stage.stop();
  });
});

describe('a group restart', () => {
  it('never runs two messages of one actor at once, although a handler is in flight', async () => {
    const { open, opened } = gate();
    let inFlight = 0;
    let inFlightMax = 0;
    const seen: string[] = [];
    const busy: Behaviour<string, number> = {
      init: (context) => context.incarnation,
      receive: async (state, message) => {
        inFlight++;
        inFlightMax = Math.max(inFlightMax, inFlight);
        if (message === 'slow') await opened;
        seen.push(`${message} in life ${state}`);
        inFlight--;
        return state;
      },
    };
    const probes = new Probes();
    const slow = actor({ id: 'busy', behaviour: busy, backoff: AT_ONCE });
    const stage = await Stage.started({ strategy: 'one_for_all', children: [slow, probes.child('other')] });
    for (const message of ['slow', 'next', 'last']) slow.ref.tell(message);
    await stage.settle();
    probes.tell('other', 'fail');
    await stage.settle();
    expect(seen).toEqual([]);
    open();
    await stage.settle();
    // The handler in flight finished in its own life; what waited was handled by the next, in order.
    expect(seen).toEqual(['slow in life 1', 'next in life 2', 'last in life 2']);
    expect(inFlightMax).toBe(1);
    expect(stage.host.overlaps).toBe(0);
    await stage.stop();
  });

  it('is not undone by a handler that was abandoned: its late state never reaches the new life', async () => {
    const { open, opened } = gate();
    const behaviour: Behaviour<string, string> = {
      init: (context) => `fresh ${context.incarnation}`,
      receive: async (state, message) => {
        if (message !== 'hang') return state;
        await opened;
        return 'stale';
      },
      summary: (state) => state,
    };
    const stuck = actor({ id: 'stuck', behaviour, backoff: AT_ONCE, shutdown: 100 });
    const stage = await Stage.started({ children: [stuck] });
    stuck.ref.tell('hang');
    await stage.settle();
    stage.system.restart('/stuck');
    await stage.advance(100);
    expect(await stage.system.summary('/stuck')).toBe('fresh 2');
    open();
    await stage.settle();
    expect(await stage.system.summary('/stuck')).toBe('fresh 2');
    expect(stage.kinds('/stuck')).toContain('abandoned');
    await stage.stop();
  });
});

describe('an init that throws', () => {
  it('does not freeze the process: other actors and the event loop go on while it is retried', async () => {
    let attempts = 0;
    const run = await Case.started({ intensity: { restarts: 1000, periodMs: 1e9 } }, (probes) => [probes.child('b')]);
    const broken = run.probes.child('a', {
      backoff: { minMs: 10, maxMs: 10, jitter: 0, resetAfterMs: 1000 },
      starting: () => {
        attempts++;
        throw new Error('never');
      },
    });
    await expect(run.stage.finish(run.sup.startChild(broken))).rejects.toThrow('never');
    await run.stage.advance(1000);
    expect(attempts).toBe(101);
    expect(await run.tell('b', 'note')).toEqual(['b!']);
    await run.stop();
  });

  it('does not freeze the process without any backoff: the intensity ends it', async () => {
    let attempts = 0;
    const probes = new Probes();
    const child = probes.child('a', {
      starting: () => {
        attempts++;
        throw new Error('never');
      },
    });
    const stage = new Stage({ intensity: { restarts: 5, periodMs: 1000 }, children: [child] });
    await expect(stage.finish(stage.system.start())).rejects.toMatchObject({ code: 'TW_RESTART_INTENSITY' });
    expect(attempts).toBe(6);
    await stage.stop();
  });
});

describe('nothing that an actor throws reaches the process', () => {
  const failing = (parts: Partial<Behaviour<string, number>>, id = 'a') =>
    actor<string, number>({
      id,
      backoff: AT_ONCE,
      behaviour: { init: () => 0, receive: (state) => state, ...parts },
    });

  it('not from receive, init, onSignal or end, thrown at once or later', async () => {
    const now = () => {
      throw new Error('now');
    };
    const later = () => Promise.reject(new Error('later'));
    await nothingEscapes(async () => {
      for (const bad of [now, later]) {
        for (const parts of [{ receive: bad }, { receive: bad, end: bad }, { init: bad }, { end: bad }]) {
          const stage = new Stage({ intensity: { restarts: 2, periodMs: 1000 }, children: [failing(parts)] });
          await stage.finish(stage.system.start()).catch(() => {});
          await stage.settle();
          await stage.stop();
        }
      }
    });
  });

  it('not from whoever listens to lifecycle events, although events are told amid the decisions', async () => {
    await nothingEscapes(async () => {
      const run = await Case.started({}, (probes) => [probes.child('a')]);
      run.stage.system.events.listen(() => {
        throw new Error('bad listener');
      });
      expect(await run.tell('a', 'fail')).toEqual(['-a failure', '+a']);
      expect(run.stage.system.events.failedListeners).toBe(1);
      await run.stop();
    });
  });

  it('not from a handler that fails after its actor was stopped, and its end runs once', async () => {
    await nothingEscapes(async () => {
      const { open, opened } = gate();
      const ends: string[] = [];
      const spec = failing({
        receive: async () => {
          await opened;
          throw new Error('too late');
        },
        end: (_state, reason) => void ends.push(reason.kind),
      });
      const stage = await Stage.started({ children: [spec] });
      spec.ref.tell('work');
      await stage.settle();
      const stopping = stage.system.root.deleteChild('a');
      await stage.settle();
      open();
      await stage.finish(stopping);
      expect(ends).toEqual(['shutdown']);
      await stage.stop();
    });
  });

  it('not from a handler that fails after it was abandoned', async () => {
    await nothingEscapes(async () => {
      const { open, opened } = gate();
      const spec = failing({
        receive: async () => {
          await opened;
          throw new Error('much too late');
        },
      });
      const stage = await Stage.started({ children: [spec] });
      spec.ref.tell('work');
      await stage.settle();
      await stage.finish(stage.system.root.deleteChild('a'));
      open();
      await stage.settle();
      await stage.stop();
    });
  });
});

describe('end', () => {
  const watched = () => {
    const steps: string[] = [];
    const { open, opened } = gate();
    const behaviour: Behaviour<string, number> = {
      init: () => 0,
      receive: async (state, message, context) => {
        steps.push('begin');
        if (message === 'fail') context.fail(new Error('from within'));
        await opened;
        steps.push('finish');
        return state + 1;
      },
      end: (state) => void steps.push(`end with ${state}`),
    };
    return { steps, open, spec: actor({ id: 'a', behaviour, restart: 'temporary' }) };
  };

  it('waits for the handler in flight and sees the state that it left', async () => {
    const { steps, open, spec } = watched();
    const stage = await Stage.started({ children: [spec] });
    spec.ref.tell('work');
    await stage.settle();
    const stopping = stage.system.stop();
    await stage.settle();
    expect(steps).toEqual(['begin']);
    open();
    await stage.finish(stopping);
    expect(steps).toEqual(['begin', 'finish', 'end with 1']);
  });

  it('waits also when the handler itself reported the failure', async () => {
    const { steps, open, spec } = watched();
    const stage = await Stage.started({ children: [spec] });
    spec.ref.tell('fail');
    await stage.settle();
    expect(steps).toEqual(['begin']);
    open();
    await stage.settle();
    expect(steps).toEqual(['begin', 'finish', 'end with 1']);
    await stage.stop();
  });
});

it('an old ref never reaches a new actor of the same name', async () => {
  const run = await Case.started({}, (probes) => [probes.child('a')]);
  const oldRef = run.probes.refs.get('a')!;
  await run.during(run.sup.deleteChild('a'));
  await run.during(run.sup.startChild(run.probes.child('a')));
  run.probes.news();
  expect(oldRef.path).toBe('/sup/a');
  expect(oldRef.tell('note')).toBe('dead');
  await run.stage.settle();
  expect(run.probes.news()).toEqual([]);
  expect(await run.tell('a', 'note')).toEqual(['a!']);
  await run.stop();
});

it('a question whose handler throws is answered at once, without the clock moving', async () => {
  const { spec, stage } = await failingAnswerer();
  const asked = stage.system.ask(spec.ref, (replyTo) => ({ replyTo }), 60_000);
  await expect(stage.finish(asked)).rejects.toMatchObject({ code: 'TW_ASK_FAILED' });
  expect(stage.clock.now()).toBe(0);
  expect(stage.clock.pending).toBe(0);
  await stage.stop();
});

async function failingAnswerer() {
  const spec = actor<{ replyTo: unknown }, number>({
    id: 'a',
    backoff: AT_ONCE,
    behaviour: {
      init: () => 0,
      receive: () => {
        throw new Error('no idea');
      },
    },
  });
  return { spec, stage: await Stage.started({ children: [spec] }) };
}

it('one place never holds more than one wake token, however much it is told', async () => {
  const run = await Case.started({ intensity: { restarts: 100, periodMs: 1000 } }, (probes) => [probes.child('a')]);
  for (let round = 0; round < 20; round++) {
    for (let message = 0; message < 50; message++) run.probes.tell('a', message === 25 ? 'fail' : 'note');
    await run.stage.settle();
  }
  expect(run.stage.host.tokensMax).toBe(1);
  expect(run.stage.host.overlaps).toBe(0);
  await run.stop();
});
