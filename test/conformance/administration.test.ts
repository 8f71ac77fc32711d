// OTP supervisor suite: what the owner of a supervisor can ask of it while it runs.
import { describe, expect, it } from 'vitest';
import { supervisor } from '../../src/supervision/supervisor-spec.ts';
import { Stage } from '../../src/supervision/testing/stage.ts';
import { AT_ONCE, Case, Probes } from './probe.ts';

describe('children are added, stopped, revived and deleted', () => {
  it('child_adm: each step shows in the tree, and a wrong one is refused by its code', async () => {
    const run = await Case.started({ intensity: { restarts: 1, periodMs: 1000 } }, (probes) => [probes.child('a')]);
    expect(run.counts).toEqual([1, 1, 0, 1]);
    await expect(run.sup.startChild(run.probes.child('a'))).rejects.toMatchObject({ code: 'TW_DUPLICATE_CHILD' });

    await expect(run.sup.stopChild('x')).rejects.toMatchObject({ code: 'TW_UNKNOWN_ACTOR' });
    expect(await run.during(run.sup.stopChild('a'))).toEqual(['-a shutdown']);
    expect(run.counts).toEqual([1, 0, 0, 1]);
    expect(await run.during(run.sup.stopChild('a'))).toEqual([]);
    await expect(run.sup.startChild(run.probes.child('a'))).rejects.toMatchObject({ code: 'TW_DUPLICATE_CHILD' });

    await expect(run.sup.reviveChild('x')).rejects.toMatchObject({ code: 'TW_UNKNOWN_ACTOR' });
    await run.during(run.sup.reviveChild('a'));
    expect(run.counts).toEqual([1, 1, 0, 1]);
    expect(await run.during(run.sup.reviveChild('a'))).toEqual([]);

    await expect(run.sup.deleteChild('x')).rejects.toMatchObject({ code: 'TW_UNKNOWN_ACTOR' });
    await run.during(run.sup.deleteChild('a'));
    expect(run.counts).toEqual([0, 0, 0, 0]);
    await expect(run.sup.reviveChild('a')).rejects.toMatchObject({ code: 'TW_UNKNOWN_ACTOR' });

    expect(await run.during(run.sup.startChild(run.probes.child('a')))).toEqual(['+a']);
    expect(run.counts).toEqual([1, 1, 0, 1]);
    await run.stop();
  });

  it('child_adm: deleting a running child ends it first', async () => {
    const run = await Case.started({}, (probes) => [probes.child('a'), probes.child('b')]);
    expect(await run.during(run.sup.deleteChild('a'))).toEqual(['-a shutdown']);
    expect(run.children).toBe('b:running');
    await run.stop();
  });

  it('child_adm_simple: a child of a pool that is stopped is forgotten', async () => {
    const run = await Case.started({ strategy: 'pool' }, () => []);
    await run.during(run.sup.startChild(run.probes.child('a')));
    await run.during(run.sup.startChild(run.probes.child('b')));
    expect(run.counts).toEqual([2, 2, 0, 2]);
    expect(await run.during(run.sup.stopChild('a'))).toEqual(['-a shutdown']);
    expect(run.counts).toEqual([1, 1, 0, 1]);
    await expect(run.sup.reviveChild('a')).rejects.toMatchObject({ code: 'TW_UNKNOWN_ACTOR' });
    await run.stop();
  });

  it('a child that is stopped while it waits for its restart is down for good at once', async () => {
    const run = await Case.started({ intensity: { restarts: 9, periodMs: 1000 } }, (probes) => [
      probes.child('a', { backoff: { ...AT_ONCE, minMs: 100, maxMs: 100 } }),
    ]);
    await run.tell('a', 'fail');
    run.probes.tell('a', 'note');
    await run.during(run.sup.stopChild('a'));
    expect(run.children).toBe('a:dead');
    expect(run.probes.refs.get('a')!.tell('note')).toBe('dead');
    expect(run.stage.system.deadLetters.recent().map((letter) => letter.reason)).toEqual(['left-behind', 'terminated']);
    await run.stage.advance(1000);
    expect(run.children).toBe('a:dead');
    await run.stop();
  });

  it('another intensity, strategy and backoff hold from the next failure on, also in the next life', async () => {
    const run = await Case.started({ intensity: { restarts: 0, periodMs: 1000 } }, (probes) => [
      ...[probes.child('a'), probes.child('b')],
    ]);
    run.sup.reconfigure({ intensity: { restarts: 1, periodMs: 1000 }, strategy: 'rest_for_one' });
    expect(await run.tell('a', 'fail')).toEqual(['-a failure', '-b shutdown', '+a', '+b']);
    run.sup.setBackoff('b', { ...AT_ONCE, minMs: 500, maxMs: 500 });
    await run.stage.advance(1000);
    expect(await run.tell('b', 'fail')).toEqual(['-b failure']);
    await run.stage.advance(500);
    expect(run.probes.news()).toEqual(['+b']);
    run.stage.system.restart('/sup');
    await run.stage.advance(1000);
    expect(await run.tell('b', 'fail')).toEqual(['-b failure']);
    expect(() => run.sup.reconfigure({ intensity: { restarts: -1, periodMs: 1 } })).toThrow('0 or more');
    await run.stop();
  });

  it('a child that is stopped and revived in one breath goes down and comes back, and both callers are answered', async () => {
    const run = await Case.started({}, (probes) => [probes.child('a')]);
    const both = Promise.all([run.sup.stopChild('a'), run.sup.reviveChild('a')]);
    expect(await run.during(both)).toEqual(['-a shutdown', '+a']);
    await run.stop();
  });

  it('which_children: the tree lists children in start order with their kind, state and thread', async () => {
    const probes = new Probes();
    const inner = supervisor({ id: 'inner', children: [probes.child('b')] });
    const stage = await Stage.started({ children: [probes.child('a'), inner] });
    const { children } = stage.system.tree();
    expect(children.map(({ path, kind, state, thread }) => [path, kind, state, thread])).toEqual([
      ['/a', 'actor', 'running', 'main'],
      ['/inner', 'supervisor', 'running', 'main'],
    ]);
    expect(children[1]!.children[0]!.path).toBe('/inner/b');
    await stage.stop();
    expect(stage.system.tree().children).toEqual([]);
  });

  it('which_children_simple_one_for_one: a pool lists whoever is in it', async () => {
    const run = await Case.started({ strategy: 'pool' }, () => []);
    for (const id of ['a', 'b']) await run.during(run.sup.startChild(run.probes.child(id)));
    expect(run.children).toBe('a:running b:running');
    await run.stop();
  });

  it('count_children: specs, active, supervisors and workers are counted apart', async () => {
    const run = await Case.started({}, (probes) => [
      probes.child('a'),
      probes.child('b', { restart: 'transient' }),
      supervisor({ id: 'inner' }),
    ]);
    await run.tell('b', 'exit');
    expect(run.counts).toEqual([3, 2, 1, 2]);
    await run.stop();
  });

  it('count_children_supervisor: children of a pool may be supervisors', async () => {
    const run = await Case.started({ strategy: 'pool' }, () => []);
    await run.during(run.sup.startChild(supervisor({ id: 'inner', children: [run.probes.child('a')] })));
    expect(run.counts).toEqual([1, 1, 1, 0]);
    expect(await run.stop()).toEqual(['-a shutdown']);
  });

  it('already_started_outside_supervisor: a name belongs to one child at a time, below one supervisor', async () => {
    const probes = new Probes();
    const one = supervisor({ id: 'one', children: [probes.child('a')] });
    const two = supervisor({ id: 'two', children: [probes.child('a')] });
    const stage = await Stage.started({ children: [one, two] });
    await expect(one.supervisor.startChild(probes.child('a'))).rejects.toMatchObject({ code: 'TW_DUPLICATE_CHILD' });
    expect(two.supervisor.inspect().children[0]!.path).toBe('/two/a');
    await stage.stop();
  });

  it('child_unlink: a child that ignores everything is abandoned at its deadline, and the supervisor goes on', async () => {
    const run = await Case.started({}, (probes) => [probes.child('a', { shutdown: 1000 }), probes.child('b')]);
    run.probes.tell('a', 'hang');
    await run.stage.settle();
    expect(await run.during(run.sup.deleteChild('a'))).toEqual([]);
    expect(run.stage.clock.now()).toBe(1000);
    expect(await run.tell('b', 'note')).toEqual(['b!']);
    await run.stop();
  });

  it('a child that is added to a supervisor which stops is turned away', async () => {
    const run = await Case.started({}, (probes) => [probes.child('a')]);
    const halting = run.sup.halt();
    const late = run.sup.startChild(run.probes.child('late'));
    await run.stage.finish(Promise.allSettled([halting, late]));
    await expect(late).rejects.toMatchObject({ code: 'TW_ASK_TERMINATED' });
    expect(run.sup.childIds).toEqual(['a']);
    await run.stop();
    await expect(run.sup.startChild(run.probes.child('later'))).rejects.toMatchObject({ code: 'TW_UNKNOWN_ACTOR' });
  });

  it('a temporary child of the first list belongs to each new life of its supervisor', async () => {
    const run = await Case.started({}, (probes) => [probes.child('a'), probes.child('job', { restart: 'temporary' })]);
    await run.tell('job', 'exit');
    expect(run.sup.childIds).toEqual(['a']);
    run.stage.system.restart('/sup');
    await run.stage.settle();
    expect(run.children).toBe('a:running job:running');
    expect(await run.tell('job', 'note')).toEqual(['job!']);
    await run.stop();
  });
});
