// OTP supervisor suite: the restart strategies, each with its base case, its escalation, and a failure in mid-restart.
import { describe, expect, it } from 'vitest';
import type { Strategy } from '../../src/supervision/strategy.ts';
import { supervisor } from '../../src/supervision/supervisor-spec.ts';
import { Stage } from '../../src/supervision/testing/stage.ts';
import { AT_ONCE, Case, Probes } from './probe.ts';

const TWICE = { restarts: 2, periodMs: 3600_000 };
const NEVER = { restarts: 0, periodMs: 1000 };

const ofThree = (strategy: Strategy, intensity = TWICE) =>
  Case.started({ strategy, intensity }, (probes) => [probes.child('a'), probes.child('b'), probes.child('c')]);

/** Two more failures after a first are one too many for an intensity of two: everything ends, last started first. */
async function failsTooOften(run: Case, id: string): Promise<void> {
  await run.tell(id, 'fail');
  const last = await run.tell(id, 'fail');
  expect(last[0]).toBe(`-${id} failure`);
  expect(last.slice(1)).toEqual(['c', 'b', 'a'].filter((other) => other !== id).map((other) => `-${other} shutdown`));
  expect(await run.ended()).toBe('failure');
}

describe('one_for_one', () => {
  it('one_for_one: only the child that failed is restarted', async () => {
    const run = await ofThree('one_for_one');
    expect(await run.tell('b', 'fail')).toEqual(['-b failure', '+b']);
    expect(run.children).toBe('a:running b:running c:running');
    await failsTooOften(run, 'b');
    await run.stop();
  });

  it('one_for_one_escalation: a supervisor that gives up stops the others and fails its own supervisor', async () => {
    const run = await ofThree('one_for_one', NEVER);
    expect(await run.tell('b', 'fail')).toEqual(['-b failure', '-c shutdown', '-a shutdown']);
    expect(run.sup.inspect().lastFailure?.code).toBe('TW_RESTART_INTENSITY');
    expect(await run.ended()).toBe('failure');
    await run.stop();
  });
});

describe('one_for_all', () => {
  it('one_for_all: all are stopped in reverse and started in order', async () => {
    const run = await ofThree('one_for_all');
    expect(await run.tell('b', 'fail')).toEqual(['-b failure', '-c shutdown', '-a shutdown', '+a', '+b', '+c']);
    await failsTooOften(run, 'a');
    await run.stop();
  });

  it('one_for_all_escalation: a supervisor that gives up stops the others and fails its own supervisor', async () => {
    const run = await ofThree('one_for_all', NEVER);
    expect(await run.tell('a', 'fail')).toEqual(['-a failure', '-c shutdown', '-b shutdown']);
    expect(await run.ended()).toBe('failure');
    await run.stop();
  });

  it('one_for_all_other_child_fails_restart: what was restarted is stopped again when a later one fails to start', async () => {
    let failures = 1;
    const run = await Case.started({ strategy: 'one_for_all', intensity: TWICE }, (probes) => [
      probes.child('a'),
      probes.child('b', {
        starting: (incarnation) => {
          if (incarnation > 1 && failures-- > 0) throw new Error('not yet');
        },
      }),
      probes.child('c'),
    ]);
    const restart = await run.tell('a', 'fail');
    // The first attempt brings up a, then b fails; so a is stopped, and the second attempt brings up all three.
    expect(restart).toEqual(['-a failure', '-c shutdown', '-b shutdown', '+a', '-a shutdown', '+a', '+b', '+c']);
    expect(run.children).toBe('a:running b:running c:running');
    await run.stop();
  });
});

describe('rest_for_one', () => {
  it('rest_for_one: the child and those started after it are stopped in reverse and started in order', async () => {
    const run = await ofThree('rest_for_one');
    expect(await run.tell('b', 'fail')).toEqual(['-b failure', '-c shutdown', '+b', '+c']);
    expect(await run.tell('c', 'fail')).toEqual(['-c failure', '+c']);
    expect(await run.tell('a', 'fail')).toEqual(['-a failure', '-c shutdown', '-b shutdown']);
    expect(await run.ended()).toBe('failure');
    await run.stop();
  });

  it('rest_for_one_escalation: a supervisor that gives up stops the others and fails its own supervisor', async () => {
    const run = await ofThree('rest_for_one', NEVER);
    expect(await run.tell('a', 'fail')).toEqual(['-a failure', '-c shutdown', '-b shutdown']);
    expect(await run.ended()).toBe('failure');
    await run.stop();
  });

  it('rest_for_one_other_child_fails_restart: the one that fails to start takes only those after it along', async () => {
    let failures = 1;
    const run = await Case.started({ strategy: 'rest_for_one', intensity: TWICE }, (probes) => [
      probes.child('a'),
      probes.child('b', {
        starting: (incarnation) => {
          if (incarnation > 1 && failures-- > 0) throw new Error('not yet');
        },
      }),
      probes.child('c'),
    ]);
    expect(await run.tell('a', 'fail')).toEqual(['-a failure', '-c shutdown', '-b shutdown', '+a', '+b', '+c']);
    expect(run.sup.inspect().children.map((child) => child.incarnation)).toEqual([2, 3, 2]);
    await run.stop();
  });
});

describe('pool (simple_one_for_one)', () => {
  const pool = async (intensity = TWICE) => {
    const run = await Case.started({ strategy: 'pool', intensity }, () => []);
    for (const id of ['a', 'b', 'c']) await run.during(run.sup.startChild(run.probes.child(id)));
    return run;
  };

  it('simple_one_for_one: only the child that failed is restarted', async () => {
    const run = await pool();
    expect(await run.tell('b', 'fail')).toEqual(['-b failure', '+b']);
    await run.tell('b', 'fail');
    const last = await run.tell('b', 'fail');
    expect(last[0]).toBe('-b failure');
    expect(last.slice(1).sort()).toEqual(['-a shutdown', '-c shutdown']);
    expect(await run.ended()).toBe('failure');
    await run.stop();
  });

  it('simple_one_for_one_escalation: a pool that gives up stops the others and fails its own supervisor', async () => {
    const run = await pool(NEVER);
    expect((await run.tell('a', 'fail')).sort()).toEqual(['-a failure', '-b shutdown', '-c shutdown']);
    expect(await run.ended()).toBe('failure');
    await run.stop();
  });

  it('simple_one_for_one_shutdown: children are stopped side by side, so the slowest alone says how long it takes', async () => {
    const run = await Case.started({ strategy: 'pool' }, () => []);
    const { clock } = run.stage;
    const slow = () => new Promise<void>((resolve) => clock.after(1000, resolve));
    for (const id of ['a', 'b', 'c']) {
      await run.during(run.sup.startChild(run.probes.child(id, { ending: slow, shutdown: 5000 })));
    }
    const beganMs = clock.now();
    expect(await run.during(run.sup.halt())).toEqual(['-c shutdown', '-b shutdown', '-a shutdown']);
    expect(clock.now() - beganMs).toBe(1000);
    await run.stop();
  });

  it('simple_one_for_one_corruption: children that fail again and again while others come and go do not confuse it', async () => {
    const run = await Case.started({ strategy: 'pool', intensity: { restarts: 100, periodMs: 1000 } }, () => []);
    for (let round = 0; round < 20; round++) {
      const adding = run.sup.startChild(run.probes.child(`n${round}`));
      if (round > 0) run.probes.tell(`n${round - 1}`, 'fail');
      if (round > 1) void run.sup.stopChild(`n${round - 2}`);
      await run.during(adding);
      await run.stage.settle();
    }
    expect(run.children).toBe('n18:running n19:running');
    await run.stop();
  });

  it('a pool that is restarted by its supervisor begins empty', async () => {
    const run = await pool();
    run.stage.system.restart('/sup');
    await run.stage.settle();
    expect(run.state).toBe('running');
    expect(run.sup.childIds).toEqual([]);
    await run.stop();
  });
});

it('tree: a failure is handled at the lowest supervisor that can, and climbs one level each time it cannot', async () => {
  const probes = new Probes();
  const low = supervisor({
    id: 'low',
    strategy: 'one_for_all',
    intensity: { restarts: 1, periodMs: 1000 },
    backoff: AT_ONCE,
    children: [probes.child('c'), probes.child('d')],
  });
  const mid = supervisor({
    id: 'mid',
    intensity: { restarts: 1, periodMs: 1000 },
    backoff: AT_ONCE,
    children: [probes.child('b'), low],
  });
  const stage = await Stage.started({ intensity: { restarts: 1, periodMs: 1000 }, children: [probes.child('a'), mid] });
  const fail = async () => {
    probes.news();
    probes.tell('c', 'fail');
    await stage.settle();
    return probes.news();
  };
  expect(await fail()).toEqual(['-c failure', '-d shutdown', '+c', '+d']);
  // Twice within the period is too often for low; mid restarts low.
  expect(await fail()).toEqual(['-c failure', '-d shutdown', '+c', '+d']);
  expect(low.supervisor.inspect().incarnation).toBe(2);
  expect(await fail()).toEqual(['-c failure', '-d shutdown', '+c', '+d']);
  // Too often for low again, and with that for mid; the root restarts mid, which stops b and starts all of it again.
  expect(await fail()).toEqual(['-c failure', '-d shutdown', '-b shutdown', '+b', '+c', '+d']);
  expect(mid.supervisor.inspect().incarnation).toBe(2);
  expect(stage.kinds('/a')).toEqual(['started']);
  await stage.stop();
});
