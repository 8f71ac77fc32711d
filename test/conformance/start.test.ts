// OTP supervisor suite: sup_start_*. One difference runs through them: in OTP a child that fails to start fails the start
// of its supervisor; here it is backed off and retried, and fails the start only when the intensity is exceeded.
import { describe, expect, it } from 'vitest';
import { supervisor } from '../../src/supervision/supervisor-spec.ts';
import { Stage } from '../../src/supervision/testing/stage.ts';
import { AT_ONCE, Case, codeOf, Probes } from './probe.ts';

const failing = (failures: number) => () => {
  if (failures-- > 0) throw new Error('no socket');
};

const TWICE = { restarts: 2, periodMs: 1000 };

describe('a supervisor starts', () => {
  it('sup_start_normal: an empty supervisor starts and stops', async () => {
    const run = await Case.started({}, () => []);
    expect(run.state).toBe('running');
    await run.stop();
    expect(run.stage.host.placeCount).toBe(0);
  });

  it('sup_start_map: its children come up in order, with what was left out filled in', async () => {
    const run = await Case.started({}, (probes) => [probes.child('a'), probes.child('b')]);
    expect(run.probes.news()).toEqual(['+a', '+b']);
    expect(run.sup.inspect().children[0]!.mailbox).toMatchObject({ capacity: 1024, policy: 'reject', depth: 0 });
    await run.stop();
  });

  it('sup_start_map_simple: a pool starts empty', async () => {
    const run = await Case.started({ strategy: 'pool' }, () => []);
    expect(run.counts).toEqual([0, 0, 0, 0]);
    await run.stop();
  });

  // OTP's `ignore` is here a normal end asked for in init: it is not needed, and nobody has failed.
  const notNeeded = (_incarnation: number, context: { stop(): void }) => context.stop();

  it('sup_start_ignore_child: a transient child that is not needed keeps its place, and the next one starts', async () => {
    const run = await Case.started({}, (probes) => [
      probes.child('a', { restart: 'transient', starting: notNeeded }),
      probes.child('b'),
    ]);
    await run.stage.settle();
    expect(run.children).toBe('a:dead b:running');
    await run.stop();
  });

  it('sup_start_ignore_temporary_child: a temporary child of the first list that is not needed is forgotten', async () => {
    const run = await Case.started({}, (probes) => [probes.child('a', { restart: 'temporary', starting: notNeeded })]);
    await run.stage.settle();
    expect(run.counts).toEqual([0, 0, 0, 0]);
    await run.stop();
  });

  it('sup_start_ignore_temporary_child_start_child: so is one that is added', async () => {
    const run = await Case.started({}, () => []);
    await run.during(run.sup.startChild(run.probes.child('a', { restart: 'temporary', starting: notNeeded })));
    expect(run.counts).toEqual([0, 0, 0, 0]);
    await run.stop();
  });

  it('sup_start_ignore_temporary_child_start_child_simple: so is one that is added to a pool', async () => {
    const run = await Case.started({ strategy: 'pool' }, () => []);
    await run.during(run.sup.startChild(run.probes.child('a', { restart: 'temporary', starting: notNeeded })));
    expect(run.counts).toEqual([0, 0, 0, 0]);
    await run.stop();
  });

  it('simple_one_for_one_restart_ignore: a transient child of a pool that is not needed after a restart is forgotten', async () => {
    const run = await Case.started({ strategy: 'pool' }, (probes) => [
      probes.child('a', {
        restart: 'transient',
        starting: (incarnation, context) => {
          if (incarnation > 1) context.stop();
        },
      }),
    ]);
    await run.tell('a', 'fail');
    expect(run.counts).toEqual([0, 0, 0, 0]);
    await run.stop();
  });
});

describe('a child does not come up', () => {
  it('sup_start_fail: a start that keeps failing fails its supervisor once the intensity is exceeded', async () => {
    const probes = new Probes();
    const run = new Case(
      { intensity: TWICE, children: [probes.child('a'), probes.child('b', { starting: failing(3) })] },
      probes,
    );
    const start = run.stage.finish(run.stage.system.start());
    await expect(start).rejects.toMatchObject({ code: 'TW_RESTART_INTENSITY' });
    expect(probes.news()).toEqual(['+a', '-a shutdown']);
    expect(run.state).toBe('idle');
    await run.stop();
  });

  it('faulty_application_shutdown: whoever starts the system is handed the failure with all its causes', async () => {
    const probes = new Probes();
    const inner = supervisor({
      id: 'inner',
      intensity: { restarts: 0, periodMs: 1000 },
      children: [probes.child('a', { starting: failing(1) })],
    });
    const stage = new Stage({ intensity: { restarts: 0, periodMs: 1000 }, children: [inner] });
    const error = await stage.finish(stage.system.start()).catch((thrown: Error) => thrown);
    expect(error).toMatchObject({
      code: 'TW_RESTART_INTENSITY',
      details: { path: '/', child: 'inner' },
      cause: { code: 'TW_RESTART_INTENSITY', details: { path: '/inner', child: 'a' }, cause: { message: 'no socket' } },
    });
    await stage.stop();
  });

  it('sup_start_error_return: a start that fails fewer times than the intensity allows succeeds late', async () => {
    const run = await Case.started({ intensity: TWICE }, (probes) => [
      probes.child('a', { starting: failing(2) }),
      probes.child('b'),
    ]);
    expect(run.probes.news()).toEqual(['+a', '+b']);
    expect(run.children).toBe('a:running b:running');
    await run.stop();
  });

  it('sup_start_child_returns_error: the caller is told the failure, and the child is retried with backoff', async () => {
    const run = await Case.started({ intensity: TWICE }, () => []);
    const backoff = { minMs: 50, maxMs: 50, jitter: 0, resetAfterMs: 1000 };
    const starting = run.sup.startChild(run.probes.child('a', { starting: failing(1), backoff }));
    await expect(run.stage.finish(starting)).rejects.toThrow('no socket');
    expect(run.children).toBe('a:failed');
    await run.stage.advance(49);
    expect(run.children).toBe('a:failed');
    await run.stage.advance(1);
    expect(run.children).toBe('a:running');
    await run.stop();
  });

  it('sup_start_child_returns_error_simple: a temporary child of a pool is forgotten and its failure told', async () => {
    const run = await Case.started({ strategy: 'pool' }, () => []);
    const starting = run.sup.startChild(run.probes.child('a', { restart: 'temporary', starting: failing(1) }));
    await expect(run.stage.finish(starting)).rejects.toThrow('no socket');
    expect(run.counts).toEqual([0, 0, 0, 0]);
    await run.stop();
  });

  it('sup_start_restart_child_returns_error: a restart that fails counts again, and so ends in escalation', async () => {
    const run = await Case.started({ intensity: TWICE }, (probes) => [
      probes.child('a', {
        starting: (incarnation) => {
          if (incarnation > 1) throw new Error('gone');
        },
      }),
    ]);
    await run.tell('a', 'fail');
    expect(await run.ended()).toBe('failure');
    expect(run.sup.inspect().children[0]!.incarnation).toBe(3);
    await run.stop();
  });

  it('an init that throws at once, rejects later, or takes too long is the same failure to the supervisor', async () => {
    const never = () => new Promise<void>(() => {});
    const late = () => Promise.reject(new Error('late'));
    const once = failing(1);
    for (const [starting, code] of [
      [once, undefined],
      [late, undefined],
      [never, 'TW_START_TIMEOUT'],
    ] as const) {
      const run = await Case.started({ intensity: TWICE }, () => []);
      const spec = run.probes.child('a', { starting, startDeadlineMs: 100, restart: 'temporary' });
      const error = await run.stage.finish(run.sup.startChild(spec)).catch((thrown: unknown) => thrown);
      expect(codeOf(error)).toBe(code);
      expect(run.counts).toEqual([0, 0, 0, 0]);
      await run.stop();
    }
  });
});

describe('a wrong specification is refused before anything runs', () => {
  const probes = new Probes();
  const refused = (make: () => unknown) => {
    try {
      make();
    } catch (error) {
      return (error as Error).message;
    }
    return undefined;
  };
  const root = (options: ConstructorParameters<typeof Stage>[0]) => refused(() => new Stage(options));

  it('sup_start_map_faulty_specs: a child that is there twice', () => {
    expect(root({ children: [probes.child('a'), probes.child('a')] })).toBe('/ already has a child "a"');
  });

  it('child_specs: an id that is no step of a path', () => {
    for (const id of ['', 'a/b', 'a b', 'ä']) {
      expect(root({ children: [probes.child(id)] })).toContain('/: child id: expected letters, digits');
    }
  });

  it('child_specs_map: options of an actor out of range', () => {
    const child = (options: Parameters<Probes['child']>[1]) => refused(() => probes.child('a', options));
    expect(child({ mailbox: { capacity: 0, policy: 'reject' } })).toBe(
      'a: mailbox.capacity: expected 1 or more messages, got 0',
    );
    expect(child({ stashCapacity: -1 })).toContain('a: stashCapacity');
    expect(child({ shutdown: -1 })).toContain('a: shutdown');
    expect(child({ startDeadlineMs: 0 })).toContain('a: startDeadlineMs');
    expect(child({ budget: { messages: 0, microseconds: 1 } })).toContain('a: budget.messages');
    expect(child({ budget: { messages: 1, microseconds: 0 } })).toContain('a: budget.microseconds');
  });

  it('child_specs_map: a backoff that cannot be', () => {
    const bad = [{ minMs: -1 }, { maxMs: 1, minMs: 2 }, { jitter: 2 }, { resetAfterMs: -1 }, { minMs: Number.NaN }];
    for (const part of bad) {
      expect(root({ children: [probes.child('a', { backoff: { ...AT_ONCE, ...part } })] })).toContain('/a: backoff.');
    }
  });

  it('child_specs_map: a significant child that is always restarted, or whose supervisor never ends for it', () => {
    const always = probes.child('a', { significant: true });
    const never = probes.child('a', { significant: true, restart: 'transient' });
    expect(root({ autoShutdown: 'any_significant', children: [always] })).toContain('/a: restart: expected transient');
    expect(root({ children: [never] })).toContain('/: autoShutdown: expected not never');
  });

  it('sup_flags: an intensity out of range', () => {
    expect(root({ intensity: { restarts: -1, periodMs: 1 } })).toContain('/: intensity.restarts');
    expect(root({ intensity: { restarts: 1.5, periodMs: 1 } })).toContain('/: intensity.restarts');
    expect(root({ intensity: { restarts: 1, periodMs: 0 } })).toContain('/: intensity.periodMs');
  });

  it('significant_simple: a pool that ends with significant children', () => {
    for (const autoShutdown of ['any_significant', 'all_significant'] as const) {
      const spec = supervisor({ id: 'pool', strategy: 'pool', autoShutdown });
      expect(root({ children: [spec] })).toContain('/pool: autoShutdown: expected never for a pool');
    }
  });

  it('a wrong child is refused by a running supervisor, which runs on', async () => {
    const run = await Case.started({}, (some) => [some.child('a')]);
    await expect(run.sup.startChild(run.probes.child('a'))).rejects.toMatchObject({ code: 'TW_DUPLICATE_CHILD' });
    await expect(run.sup.startChild(run.probes.child('b/c'))).rejects.toMatchObject({ code: 'TW_BAD_SPEC' });
    expect(run.children).toBe('a:running');
    await run.stop();
  });
});
