// OTP supervisor suite: significant children and supervisors that end with them.
import { describe, expect, it } from 'vitest';
import type { AutoShutdown, RestartType, Strategy } from '../../src/supervision/strategy.ts';
import { supervisor } from '../../src/supervision/supervisor-spec.ts';
import { Case, type ProbeCommand, type Probes } from './probe.ts';

const OFTEN = { restarts: 5, periodMs: 1000 };
const MODES: readonly AutoShutdown[] = ['never', 'any_significant', 'all_significant'];

/** a and b are significant, c is not. */
const ofThree = (autoShutdown: AutoShutdown, restart: RestartType) =>
  Case.started({ autoShutdown, intensity: OFTEN }, (probes) => [
    probes.child('a', { restart, significant: true }),
    probes.child('b', { restart, significant: true }),
    probes.child('c', { restart }),
  ]);

const stateAfter = async (run: Case, id: string, command: ProbeCommand) => {
  await run.tell(id, command);
  return run.state;
};

describe('children that are not significant', () => {
  for (const restart of ['temporary', 'transient'] as const) {
    it(`nonsignificant_${restart}: however they end, their supervisor goes on`, async () => {
      for (const autoShutdown of MODES) {
        for (const command of ['exit', 'fail'] as const) {
          const run = await Case.started({ autoShutdown, intensity: OFTEN }, (probes) => [
            probes.child('c', { restart }),
          ]);
          expect(await stateAfter(run, 'c', command)).toBe('running');
          await run.stop();
        }
        const run = await Case.started({ autoShutdown }, (probes) => [probes.child('c', { restart })]);
        await run.during(run.sup.stopChild('c'));
        expect(run.state).toBe('running');
        await run.stop();
      }
    });
  }
});

describe('any_significant', () => {
  it('significant_temporary: any end by itself ends the supervisor, and all that is left in it', async () => {
    for (const command of ['exit', 'fail'] as const) {
      const run = await ofThree('any_significant', 'temporary');
      const reason = command === 'exit' ? 'normal' : 'failure';
      expect(await run.tell('a', command)).toEqual([`-a ${reason}`, '-c shutdown', '-b shutdown']);
      expect(run.state).toBe('idle');
      expect(await run.ended()).toBeUndefined();
      await run.stop();
    }
  });

  it('significant_transient: a failure is restarted, a normal end ends the supervisor', async () => {
    const run = await ofThree('any_significant', 'transient');
    expect(await run.tell('a', 'fail')).toEqual(['-a failure', '+a']);
    expect(await run.tell('a', 'exit')).toEqual(['-a normal', '-c shutdown', '-b shutdown']);
    expect(run.state).toBe('idle');
    await run.stop();
  });

  it('significant_temporary, significant_transient: a child stopped by its supervisor ends nothing', async () => {
    for (const restart of ['temporary', 'transient'] as const) {
      const run = await ofThree('any_significant', restart);
      expect(await run.during(run.sup.stopChild('a'))).toEqual(['-a shutdown']);
      expect(run.state).toBe('running');
      await run.stop();
    }
  });
});

describe('all_significant', () => {
  for (const restart of ['temporary', 'transient'] as const) {
    it(`significant_${restart}: only the end of the last one ends the supervisor`, async () => {
      const run = await ofThree('all_significant', restart);
      expect(await stateAfter(run, 'a', 'exit')).toBe('running');
      expect(await run.tell('b', 'exit')).toEqual(['-b normal', '-c shutdown']);
      expect(run.state).toBe('idle');
      await run.stop();
    });
  }
});

it('significant_bystander: a significant child that goes down with its group ends nothing', async () => {
  const strategies: Strategy[] = ['one_for_one', 'one_for_all', 'rest_for_one'];
  for (const strategy of strategies) {
    for (const autoShutdown of ['any_significant', 'all_significant'] as const) {
      const run = await Case.started({ strategy, autoShutdown, intensity: OFTEN }, (probes) => [
        probes.child('a', { restart: 'transient', significant: true }),
        probes.child('b', { restart: 'transient' }),
        probes.child('c', { restart: 'transient', significant: true }),
      ]);
      await run.tell('b', 'fail');
      expect(run.children).toBe('a:running b:running c:running');
      await run.stop();
    }
  }
});

describe('supervisors as significant children', () => {
  const nested = async (significant: boolean) => {
    const inner = (probes: Probes) =>
      supervisor({
        id: 'inner',
        restart: 'transient',
        significant,
        autoShutdown: 'any_significant',
        children: [probes.child('c', { restart: 'transient', significant: true })],
      });
    return Case.started({ autoShutdown: 'any_significant' }, (probes) => [inner(probes), probes.child('d')]);
  };

  it('significant_escalation: a significant supervisor that ends with its child ends its own supervisor', async () => {
    const run = await nested(true);
    expect(await run.tell('c', 'exit')).toEqual(['-c normal', '-d shutdown']);
    expect(run.state).toBe('idle');
    await run.stop();
  });

  it('significant_escalation: one that is not significant does not', async () => {
    const run = await nested(false);
    expect(await run.tell('c', 'exit')).toEqual(['-c normal']);
    expect(run.state).toBe('running');
    expect(run.children).toBe('inner:idle d:running');
    await run.stop();
  });
});
