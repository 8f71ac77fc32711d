// OTP supervisor suite: permanent, transient and temporary children x normal, shutdown and abnormal ends.
import { describe, expect, it } from 'vitest';
import type { RestartType } from '../../src/supervision/strategy.ts';
import { Case } from './probe.ts';

const withChild = (restart: RestartType) =>
  Case.started({ intensity: { restarts: 3, periodMs: 1000 } }, (probes) => [
    probes.child('a', { restart }),
    probes.child('b'),
  ]);

describe('a normal end', () => {
  it('permanent_normal: a permanent child is restarted', async () => {
    const run = await withChild('permanent');
    expect(await run.tell('a', 'exit')).toEqual(['-a normal', '+a']);
    expect(run.counts).toEqual([2, 2, 0, 2]);
    expect(await run.tell('a', 'note')).toEqual(['a!']);
    await run.stop();
  });

  it('transient_normal: a transient child stays down and keeps its place', async () => {
    const run = await withChild('transient');
    expect(await run.tell('a', 'exit')).toEqual(['-a normal']);
    expect(run.children).toBe('a:dead b:running');
    expect(run.counts).toEqual([2, 1, 0, 2]);
    await run.stop();
  });

  it('temporary_normal: a temporary child is forgotten', async () => {
    const run = await withChild('temporary');
    expect(await run.tell('a', 'exit')).toEqual(['-a normal']);
    expect(run.children).toBe('b:running');
    expect(run.counts).toEqual([1, 1, 0, 1]);
    await run.stop();
  });
});

// An actor cannot end itself with the reason `shutdown`: only its supervisor does that, by halting it.
describe('a shutdown', () => {
  it('permanent_shutdown: a permanent child that is stopped stays down until it is revived', async () => {
    const run = await withChild('permanent');
    expect(await run.during(run.sup.stopChild('a'))).toEqual(['-a shutdown']);
    expect(run.children).toBe('a:dead b:running');
    expect(await run.during(run.sup.reviveChild('a'))).toEqual(['+a']);
    expect(run.children).toBe('a:running b:running');
    await run.stop();
  });

  it('transient_shutdown: a transient child that is stopped stays down until it is revived', async () => {
    const run = await withChild('transient');
    expect(await run.during(run.sup.stopChild('a'))).toEqual(['-a shutdown']);
    expect(run.children).toBe('a:dead b:running');
    expect(await run.during(run.sup.reviveChild('a'))).toEqual(['+a']);
    await run.stop();
  });

  it('temporary_shutdown: a temporary child that is stopped is forgotten', async () => {
    const run = await withChild('temporary');
    expect(await run.during(run.sup.stopChild('a'))).toEqual(['-a shutdown']);
    expect(run.children).toBe('b:running');
    await run.stop();
  });
});

describe('a failure', () => {
  it('permanent_abnormal: a permanent child is restarted', async () => {
    const run = await withChild('permanent');
    expect(await run.tell('a', 'fail')).toEqual(['-a failure', '+a']);
    expect(run.counts).toEqual([2, 2, 0, 2]);
    await run.stop();
  });

  it('transient_abnormal: a transient child is restarted', async () => {
    const run = await withChild('transient');
    expect(await run.tell('a', 'fail')).toEqual(['-a failure', '+a']);
    expect(run.counts).toEqual([2, 2, 0, 2]);
    await run.stop();
  });

  it('temporary_abnormal: a temporary child is forgotten', async () => {
    const run = await withChild('temporary');
    expect(await run.tell('a', 'fail')).toEqual(['-a failure']);
    expect(run.children).toBe('b:running');
    await run.stop();
  });
});

it('temporary_bystander: a temporary child that goes down with its group does not come back', async () => {
  for (const strategy of ['one_for_all', 'rest_for_one'] as const) {
    const run = await Case.started({ strategy, intensity: { restarts: 2, periodMs: 300 } }, (probes) => [
      probes.child('a'),
      probes.child('b', { restart: 'temporary' }),
    ]);
    expect(await run.tell('a', 'exit')).toEqual(['-a normal', '-b shutdown', '+a']);
    await run.stage.advance(350);
    expect(run.children).toBe('a:running');
    expect(run.state).toBe('running');
    await run.stop();
  }
});

it('multiple_restarts: restarts that stay below the intensity never end the supervisor', async () => {
  const run = await Case.started({ intensity: { restarts: 1, periodMs: 1000 } }, (probes) => [probes.child('a')]);
  for (let round = 0; round < 10; round++) {
    expect(await run.tell('a', 'fail')).toEqual(['-a failure', '+a']);
    await run.stage.advance(1000);
  }
  expect(run.state).toBe('running');
  expect(run.sup.inspect().children[0]!.restarts).toBe(10);
  await run.stop();
});

it('do_not_save_child_specs_for_temporary_children: the name of a temporary child that ended is free again', async () => {
  const run = await withChild('temporary');
  for (const end of ['exit', 'fail'] as const) {
    await run.tell('a', end);
    expect(run.sup.childIds).toEqual(['b']);
    expect(await run.during(run.sup.startChild(run.probes.child('a', { restart: 'temporary' })))).toEqual(['+a']);
    expect(run.sup.childIds).toEqual(['b', 'a']);
  }
  await run.stop();
});

it('do_not_save_start_parameters_for_temporary_children: nothing of a temporary child that ended is kept', async () => {
  const run = await Case.started({ strategy: 'pool' }, () => []);
  const placesBefore = run.stage.host.placeCount;
  for (let round = 0; round < 50; round++) {
    const starting = run.sup.startChild(run.probes.child(`job${round}`, { restart: 'temporary' }));
    await run.during(starting);
    await run.tell(`job${round}`, round % 2 === 0 ? 'exit' : 'fail');
  }
  expect(run.sup.childIds).toEqual([]);
  expect(run.stage.host.placeCount).toBe(placesBefore);
  expect(run.stage.clock.pending).toBe(0);
  await run.stop();
});
