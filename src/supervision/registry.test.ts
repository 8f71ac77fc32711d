import { expect, it } from 'vitest';
import { Registry, serviceKey } from './registry.ts';
import { Stage } from './testing/stage.ts';
import { type Deed, toldActor } from './testing/told.ts';

const KEY = serviceKey<Deed>('helpers');

it('finds what was registered, tells subscribers of each change, and takes an actor once', async () => {
  const one = toldActor('one');
  const two = toldActor('two');
  const stage = await Stage.started({ children: [one.spec, two.spec] });
  const { registry } = stage.system;
  const told: string[][] = [];
  const leave = registry.subscribe(KEY, (refs) => told.push(refs.map((ref) => ref.path)));
  registry.register(KEY, one.spec.ref);
  registry.register(KEY, one.spec.ref);
  registry.register(KEY, two.spec.ref);
  leave();
  registry.forget(one.spec.ref);
  expect(told).toEqual([[], ['/one'], ['/one', '/two']]);
  expect(registry.find(KEY)).toEqual([two.spec.ref]);
  expect(registry.find(serviceKey('others'))).toEqual([]);
  await stage.stop();
});

it('keeps an actor through its restarts and drops it when it is down for good, by whichever ref it was registered', async () => {
  const byItself = toldActor('itself', {
    behaviour: {
      init: (context) => {
        context.registry.register(KEY, context.self);
        return 0;
      },
    },
  });
  const byOwner = toldActor('owner');
  const stage = await Stage.started({ children: [byItself.spec, byOwner.spec] });
  stage.system.registry.register(KEY, byOwner.spec.ref);
  for (const path of ['/itself', '/owner']) stage.system.restart(path);
  await stage.settle();
  const paths = () => stage.system.registry.find(KEY).map((ref) => ref.path);
  expect(paths()).toEqual(['/itself', '/owner']);
  await stage.finish(stage.system.root.stopChild('itself'));
  await stage.finish(stage.system.root.deleteChild('owner'));
  expect(paths()).toEqual([]);
  await stage.finish(stage.system.root.reviveChild('itself'));
  expect(paths()).toEqual(['/itself']);
  await stage.stop();
});

it('takes off a subscriber that throws, and goes on', () => {
  const registry = new Registry();
  registry.subscribe(KEY, () => {
    throw new Error('bad subscriber');
  });
  registry.register(KEY, { path: '/a', tell: () => 'accepted' });
  expect(registry.failedListeners).toBe(1);
  expect(registry.find(KEY)).toHaveLength(1);
});
