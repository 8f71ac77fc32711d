// OTP supervisor suite: sup_stop_*, hanging_restart_loop*, order_of_children.
import { describe, expect, it } from 'vitest';
import type { Strategy } from '../../src/supervision/strategy.ts';
import { AT_ONCE, Case } from './probe.ts';

const LONG = { restarts: 100, periodMs: 1000 };

/** A child's `end` that takes so long. */
const slowEnd = (run: () => Case, ms: number) => () =>
  new Promise<void>((resolve) => run().stage.clock.after(ms, resolve));

describe('a supervisor stops', () => {
  it('sup_stop_infinity: a child without a deadline is waited for as long as it takes', async () => {
    const run: Case = await Case.started({}, (probes) => [
      probes.child('a', { shutdown: Number.POSITIVE_INFINITY, ending: slowEnd(() => run, 1e6) }),
    ]);
    expect(await run.stop()).toEqual(['-a shutdown']);
    expect(run.stage.clock.now()).toBe(1e6);
  });

  it('sup_stop_timeout: a child that takes longer than its deadline is abandoned, and said so', async () => {
    const run: Case = await Case.started({}, (probes) => [
      probes.child('quick', { shutdown: 1000, ending: slowEnd(() => run, 999) }),
      probes.child('slow', { shutdown: 1000, ending: slowEnd(() => run, 5000) }),
    ]);
    expect(await run.stop()).toEqual(['-quick shutdown']);
    expect(run.stage.clock.now()).toBe(1999);
    expect(run.stage.events).toContainEqual({
      kind: 'abandoned',
      path: '/sup/slow',
      what: 'end',
      afterMs: 1000,
      atMs: 1000,
    });
  });

  it('sup_stop_timeout_dynamic: children of a pool have their deadlines side by side', async () => {
    const run: Case = await Case.started({ strategy: 'pool' }, (probes) =>
      ['a', 'b', 'c'].map((id) => probes.child(id, { shutdown: 1000, ending: slowEnd(() => run, 5000) })),
    );
    expect(await run.stop()).toEqual([]);
    expect(run.stage.clock.now()).toBe(1000);
    expect(run.stage.events.filter((event) => event.kind === 'abandoned')).toHaveLength(3);
  });

  it('sup_stop_brutal_kill: a child that is killed is not waited for and its end does not run', async () => {
    const run = await Case.started({}, (probes) => [probes.child('a', { shutdown: 'brutal' }), probes.child('b')]);
    run.probes.tell('a', 'hang');
    await run.stage.settle();
    expect(await run.stop()).toEqual(['-b shutdown']);
    expect(run.stage.clock.now()).toBe(0);
  });

  it('sup_stop_brutal_kill_dynamic: the same in a pool', async () => {
    const run = await Case.started({ strategy: 'pool' }, (probes) =>
      ['a', 'b'].map((id) => probes.child(id, { shutdown: 'brutal' })),
    );
    run.probes.tell('a', 'hang');
    await run.stage.settle();
    expect(await run.stop()).toEqual([]);
    expect(run.stage.clock.now()).toBe(0);
  });

  it('a child that may be killed still runs its end when it ends by itself', async () => {
    const run = await Case.started({}, (probes) => [probes.child('a', { shutdown: 'brutal' })]);
    expect(await run.tell('a', 'exit')).toEqual(['-a normal', '+a']);
    expect(await run.tell('a', 'fail')).toEqual(['-a failure', '+a']);
    await run.stop();
  });

  it('sup_stop_race: children that end by themselves while their supervisor stops are neither restarted nor waited for', async () => {
    const ids = (['temporary', 'transient', 'permanent'] as const).flatMap((restart) =>
      (['exit', 'fail', 'note'] as const).map((command) => ({ id: `${restart}-${command}`, restart, command })),
    );
    const run: Case = await Case.started({}, (probes) => [
      probes.child('first'),
      ...ids.map(({ id, restart }) => probes.child(id, { restart })),
      probes.child('last', { ending: slowEnd(() => run, 1000) }),
    ]);
    run.probes.news();
    const stopping = run.sup.halt();
    await run.stage.settle();
    for (const { id, command } of ids) run.probes.tell(id, command);
    await run.stage.finish(stopping);
    const news = run.probes.news();
    expect(news.filter((line) => line.startsWith('+'))).toEqual([]);
    expect(news.filter((line) => line.startsWith('-'))).toHaveLength(ids.length + 2);
    expect(news.at(-1)).toBe('-first shutdown');
    expect(run.state).toBe('idle');
    await run.stop();
  });

  it('sup_stop_non_shutdown_exit_dynamic: a pool stops although its children end in other ways meanwhile', async () => {
    for (const restart of ['temporary', 'transient', 'permanent'] as const) {
      const run = await Case.started({ strategy: 'pool' }, (probes) =>
        ['a', 'b', 'c'].map((id) => probes.child(id, { restart })),
      );
      run.probes.tell('a', 'exit');
      run.probes.tell('b', 'fail');
      const news = await run.during(run.sup.halt());
      expect(news.filter((line) => line.startsWith('-'))).toHaveLength(3);
      expect(run.sup.childIds).toEqual([]);
      await run.stop();
    }
  });

  it('sup_stop_manual: the owner stops the system, and all of it is down', async () => {
    const run = await Case.started({}, (probes) => [probes.child('a'), probes.child('b')]);
    expect(await run.stop()).toEqual(['-b shutdown', '-a shutdown']);
    expect(run.stage.host.placeCount).toBe(0);
    expect(run.stage.clock.pending).toBe(0);
    expect(run.probes.refs.get('a')!.tell('note')).toBe('dead');
  });

  it('sup_stop_manual_timeout: stopping goes on when whoever asked for it does not wait, and twice is once', async () => {
    const run: Case = await Case.started({}, (probes) => [
      probes.child('a'),
      probes.child('b', { ending: slowEnd(() => run, 1000) }),
    ]);
    run.probes.news();
    void run.stage.system.stop();
    await run.stage.settle();
    expect(run.probes.news()).toEqual([]);
    expect(await run.during(run.stage.system.stop())).toEqual(['-b shutdown', '-a shutdown']);
    expect(run.stage.host.placeCount).toBe(0);
  });
});

describe('a supervisor stops in the middle of a restart', () => {
  const hanging = async (strategy: Strategy) => {
    const run = await Case.started({ strategy, intensity: LONG }, (probes) => [
      probes.child('a'),
      probes.child('b', {
        shutdown: 'brutal',
        startDeadlineMs: 1e9,
        starting: (incarnation) => (incarnation > 1 ? new Promise<void>(() => {}) : undefined),
      }),
      probes.child('c'),
    ]);
    await run.tell('b', 'fail');
    expect(run.children).toContain('b:starting');
    return run;
  };

  it('hanging_restart_loop: while a child hangs in its restart', async () => {
    const run = await hanging('one_for_one');
    expect(await run.stop()).toEqual(['-c shutdown', '-a shutdown']);
  });

  it('hanging_restart_loop: while a child fails each restart and waits for the next', async () => {
    const run = await Case.started({ intensity: LONG }, (probes) => [
      probes.child('a', {
        backoff: { ...AT_ONCE, minMs: 100, maxMs: 100 },
        starting: (incarnation) => {
          if (incarnation > 1) throw new Error('again');
        },
      }),
      probes.child('b'),
    ]);
    await run.tell('a', 'fail');
    await run.stage.advance(1000);
    expect(run.sup.inspect().children[0]!.incarnation).toBe(11);
    expect(await run.stop()).toEqual(['-b shutdown']);
    expect(run.stage.clock.now()).toBe(1000);
  });

  it('hanging_restart_loop: a child that hangs in its restart can be stopped and deleted', async () => {
    const run = await hanging('one_for_one');
    expect(await run.during(run.sup.stopChild('b'))).toEqual([]);
    expect(run.children).toBe('a:running b:dead c:running');
    await run.during(run.sup.deleteChild('b'));
    expect(run.children).toBe('a:running c:running');
    await run.stop();
  });

  it('hanging_restart_loop_rest_for_one: those after it are down, those before it are stopped', async () => {
    const run = await hanging('rest_for_one');
    expect(await run.stop()).toEqual(['-a shutdown']);
  });

  it('hanging_restart_loop_simple: in a pool', async () => {
    const run = await hanging('pool');
    expect(await run.stop()).toEqual(['-c shutdown', '-a shutdown']);
  });

  it('count_restarting_children: a child that waits for its restart is counted, and not as active', async () => {
    let isDown = false;
    const run = await Case.started({ strategy: 'pool', intensity: LONG }, (probes) =>
      ['a', 'b', 'c'].map((id) =>
        probes.child(id, {
          backoff: { ...AT_ONCE, minMs: 100, maxMs: 100 },
          starting: () => {
            if (isDown) throw new Error('the server is down');
          },
        }),
      ),
    );
    expect(run.counts).toEqual([3, 3, 0, 3]);
    isDown = true;
    await run.tell('a', 'fail');
    await run.tell('b', 'fail');
    await run.stage.advance(250);
    expect(run.counts).toEqual([3, 1, 0, 3]);
    isDown = false;
    await run.stage.advance(100);
    expect(run.counts).toEqual([3, 3, 0, 3]);
    await run.stop();
  });
});

describe('order', () => {
  it('order_of_children: started in the order given, stopped in the opposite order, also when some were added', async () => {
    const run = await Case.started({}, (probes) => ['a', 'b', 'c'].map((id) => probes.child(id)));
    expect(run.probes.news()).toEqual(['+a', '+b', '+c']);
    await run.during(run.sup.startChild(run.probes.child('d')));
    await run.during(run.sup.deleteChild('b'));
    expect(run.sup.childIds).toEqual(['a', 'c', 'd']);
    expect(await run.stop()).toEqual(['-d shutdown', '-c shutdown', '-a shutdown']);
  });

  it('order_of_children: a new life of the supervisor begins with the same order', async () => {
    const run = await Case.started({}, (probes) => ['a', 'b', 'c'].map((id) => probes.child(id)));
    await run.during(run.sup.startChild(run.probes.child('d')));
    run.probes.news();
    run.stage.system.restart('/sup');
    await run.stage.settle();
    expect(run.probes.news()).toEqual([
      ...['-d shutdown', '-c shutdown', '-b shutdown', '-a shutdown'],
      ...['+a', '+b', '+c', '+d'],
    ]);
    await run.stop();
  });

  it('a child waits until the one before it is up', async () => {
    let open = () => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const run = await Case.started({}, () => []);
    const probes = run.probes;
    const first = run.sup.startChild(probes.child('a', { starting: () => gate }));
    await run.stage.settle();
    expect(run.children).toBe('a:starting');
    open();
    await run.stage.finish(first);
    expect(run.children).toBe('a:running');
    await run.stop();
  });

  it('scale_start_stop_many_children: a thousand children start, and stop, in order', async () => {
    const ids = Array.from({ length: 1000 }, (_, index) => `n${index}`);
    const run = await Case.started({}, (probes) => ids.map((id) => probes.child(id)));
    expect(run.probes.news()).toEqual(ids.map((id) => `+${id}`));
    expect(await run.stop()).toEqual(ids.reverse().map((id) => `-${id} shutdown`));
  });

  it('simple_one_for_one_scale_many_temporary_children: a thousand temporary children come and go', async () => {
    const run = await Case.started({ strategy: 'pool' }, () => []);
    const ids = Array.from({ length: 1000 }, (_, index) => `n${index}`);
    await run.during(Promise.all(ids.map((id) => run.sup.startChild(run.probes.child(id, { restart: 'temporary' })))));
    expect(run.counts).toEqual([1000, 1000, 0, 1000]);
    for (const id of ids) run.probes.tell(id, 'exit');
    await run.stage.settle();
    expect(run.counts).toEqual([0, 0, 0, 0]);
    await run.stop();
  });
});
