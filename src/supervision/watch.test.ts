import { describe, expect, it } from 'vitest';
import { actor } from './spec.ts';
import { Stage } from './testing/stage.ts';
import { type Deed, toldActor } from './testing/told.ts';

const pair = async () => {
  const watcher = toldActor('watcher');
  const target = toldActor('target', { restart: 'transient' });
  const stage = await Stage.started({ children: [watcher.spec, target.spec] });
  const tell = async (deed: Deed) => {
    watcher.spec.ref.tell(deed);
    await stage.settle();
  };
  return { watcher, target, stage, tell };
};

describe('a watcher', () => {
  it('is told once when the other ends normally and for good', async () => {
    const { watcher, target, stage, tell } = await pair();
    await tell((context) => {
      context.watch(target.spec.ref);
      context.watch(target.spec.ref);
    });
    target.spec.ref.tell((context) => context.stop());
    await stage.settle();
    expect(watcher.signals).toEqual([{ kind: 'terminated', path: '/target', reason: 'normal' }]);
    await stage.stop();
  });

  it('is told that the other was shut down, or that it failed', async () => {
    const { watcher, target, stage, tell } = await pair();
    await tell((context) => context.watch(target.spec.ref));
    await stage.finish(stage.system.root.stopChild('target'));
    expect(watcher.signals).toEqual([{ kind: 'terminated', path: '/target', reason: 'shutdown' }]);
    const brief = toldActor('brief', { restart: 'temporary' });
    await stage.finish(stage.system.root.startChild(brief.spec));
    await tell((context) => context.watch(brief.spec.ref));
    brief.spec.ref.tell(() => {
      throw new Error('fails');
    });
    await stage.settle();
    expect(watcher.signals.at(-1)).toEqual({ kind: 'terminated', path: '/brief', reason: 'failure' });
    await stage.stop();
  });

  it('is told at once when the other is already down for good, or was never there', async () => {
    const { watcher, target, stage, tell } = await pair();
    await stage.finish(stage.system.root.deleteChild('target'));
    await tell((context) => context.watch(target.spec.ref));
    await tell((context) => context.watch(toldActor('nowhere').spec.ref));
    expect(watcher.signals.map((signal) => signal.path)).toEqual(['/target', 'nowhere']);
    await stage.stop();
  });

  it('is not told of a restart', async () => {
    const { watcher, target, stage, tell } = await pair();
    await tell((context) => context.watch(target.spec.ref));
    target.spec.ref.tell(() => {
      throw new Error('fails');
    });
    await stage.settle();
    expect(target.contexts).toHaveLength(2);
    expect(watcher.signals).toEqual([]);
    await stage.stop();
  });

  it('is not told after it changed its mind', async () => {
    const { watcher, target, stage, tell } = await pair();
    await tell((context) => context.watch(target.spec.ref));
    await tell((context) => context.unwatch(target.spec.ref));
    await stage.finish(stage.system.root.deleteChild('target'));
    expect(watcher.signals).toEqual([]);
    await stage.stop();
  });

  it('watches again when the other was revived', async () => {
    const { watcher, target, stage, tell } = await pair();
    await stage.finish(stage.system.root.stopChild('target'));
    await stage.finish(stage.system.root.reviveChild('target'));
    await tell((context) => context.watch(target.spec.ref));
    expect(watcher.signals).toEqual([]);
    await stage.finish(stage.system.root.stopChild('target'));
    expect(watcher.signals).toHaveLength(1);
    await stage.stop();
  });

  it('that does not take signals fails with the one that it watches', async () => {
    const target = toldActor('target', { restart: 'temporary' });
    const bound = actor<string, number>({
      id: 'bound',
      restart: 'temporary',
      behaviour: {
        init: (context) => {
          context.watch(target.spec.ref);
          return 0;
        },
        receive: (state) => state,
      },
    });
    const stage = await Stage.started({ children: [target.spec, bound] });
    await stage.finish(stage.system.root.deleteChild('target'));
    await stage.settle();
    const failure = stage.events.find((event) => event.kind === 'failed');
    expect(failure).toMatchObject({ path: '/bound', error: { code: 'TW_DEATH_PACT' } });
    await stage.stop();
  });
});

describe('a paused sender', () => {
  const paused = async () => {
    const sender = toldActor('sender');
    const slow = toldActor('slow', { mailbox: { capacity: 8, policy: 'backpressure' } });
    const stage = await Stage.started({ children: [sender.spec, slow.spec] });
    stage.system.suspend('/slow');
    const answers = Array.from({ length: 8 }, () => slow.spec.ref.tell(() => {}));
    expect(answers.indexOf('pause')).toBe(5);
    // It asks once for each pause it was answered, and is told once.
    sender.spec.ref.tell((context) => {
      for (const answer of answers) if (answer === 'pause') context.whenReady(slow.spec.ref);
    });
    await stage.settle();
    expect(sender.signals).toEqual([]);
    return { sender, slow, stage };
  };

  it('is told once when there is room again', async () => {
    const { sender, stage } = await paused();
    stage.system.resume('/slow');
    await stage.settle();
    expect(sender.signals).toEqual([{ kind: 'ready', path: '/slow' }]);
    await stage.stop();
  });

  it('is told when nobody will ever take it, so that it can find out', async () => {
    const { sender, slow, stage } = await paused();
    await stage.finish(stage.system.root.deleteChild('slow'));
    await stage.settle();
    expect(sender.signals).toEqual([{ kind: 'ready', path: '/slow' }]);
    expect(slow.spec.ref.tell(() => {})).toBe('dead');
    await stage.stop();
  });
});
