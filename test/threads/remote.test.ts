import { afterEach, describe, expect, it } from 'vitest';
import { TapeworksError } from '../../src/protocols/errors/index.ts';
import { flatten } from '../../src/supervision/inspect.ts';
import { loopThread } from '../../src/supervision/remote/loop-thread-child.ts';
import { threadedActor } from '../../src/supervision/remote/threaded-actor.ts';
import { actor } from '../../src/supervision/spec.ts';
import { ActorSystem } from '../../src/supervision/system.ts';
import type { ProbeMessage } from './probe-actor.ts';

const PROBE = new URL('./probe-actor.js', import.meta.url);
const AT_ONCE = { minMs: 0, maxMs: 0, jitter: 0, resetAfterMs: 1000 };
let system: ActorSystem;
afterEach(() => system.stop());

async function startProbe(options: { hangMs?: number; memoryLimitMb?: number } = {}) {
  const greetings: string[] = [];
  const heard = { notify: () => {} };
  const listener = actor<string, undefined>({
    id: 'listener',
    behaviour: {
      init: () => undefined,
      receive(_state, greeting) {
        greetings.push(greeting);
        heard.notify();
        return undefined;
      },
    },
  });
  const thread = loopThread({ id: 'worker', backoff: AT_ONCE, ...options });
  const probe = threadedActor<ProbeMessage>({
    id: 'probe',
    thread,
    module: PROBE,
    exportName: 'probe',
    args: () => ({ greeting: listener.ref }),
    backoff: AT_ONCE,
  });
  system = new ActorSystem({ children: [listener, thread, probe] });
  await system.start();
  const count = () =>
    system.ask<ProbeMessage, { count: number; incarnation: number }>(
      probe.ref,
      (replyTo) => ({ kind: 'count', replyTo }),
      5000,
    );
  const greeted = (times: number) =>
    new Promise<void>((resolve) => {
      const check = () => greetings.length >= times && resolve();
      heard.notify = check;
      check();
    });
  return { probe, greetings, count, greeted };
}

describe('an actor on a loop thread', () => {
  it('is told and asked like any other, and its messages may carry refs both ways', async () => {
    const { probe, greetings, greeted } = await startProbe();
    const echo = await system.ask<ProbeMessage, unknown>(
      probe.ref,
      (replyTo) => ({ kind: 'echo', value: { deep: [1, 2n] }, replyTo }),
      5000,
    );
    expect(echo).toEqual({ deep: [1, 2n] });
    await greeted(1);
    expect(greetings).toEqual(['hello from life 1']);
    expect(system.tree().children.map((child) => [child.path, child.thread, child.state])).toEqual([
      ['/listener', 'main', 'running'],
      ['/worker', 'worker', 'running'],
      ['/probe', 'worker', 'running'],
    ]);
    expect(await system.summary('/probe')).toEqual({ count: 1 });
  });

  it('that throws answers its asker at once, and lives again with its mailbox kept', async () => {
    const { probe, count, greeted } = await startProbe();
    probe.ref.tell({ kind: 'throw' });
    expect(await count()).toEqual({ count: 0, incarnation: 2 });
    await greeted(2);
  });

  it('that throws what cannot travel fails alone, and its supervisor learns the code', async () => {
    const { probe, count } = await startProbe();
    const failures: (string | undefined)[] = [];
    system.events.listen((event) => {
      if (event.kind === 'restarting') failures.push((event.error as TapeworksError | undefined)?.code);
    });
    probe.ref.tell({ kind: 'throw-what-cannot-travel' });
    expect(await count()).toEqual({ count: 0, incarnation: 2 });
    expect(failures).toEqual(['TW_DISK_FULL']);
  });

  it('whose reply cannot travel refuses the question, and lives on', async () => {
    const { probe, count } = await startProbe();
    const ask = system.ask<ProbeMessage, unknown>(
      probe.ref,
      (replyTo) => ({ kind: 'reply-with-function', replyTo }),
      5000,
    );
    await expect(ask).rejects.toMatchObject({ code: 'TW_ASK_FAILED' });
    expect(await count()).toEqual({ count: 1, incarnation: 1 });
  });

  it.each([
    ['exits', { kind: 'exit-thread' } as const, {}],
    ['hangs', { kind: 'spin' } as const, { hangMs: 400 }],
    ['runs out of memory', { kind: 'hoard' } as const, { memoryLimitMb: 32 }],
  ])('comes back with a new thread when its thread %s', async (_how, order, options) => {
    const { probe, count, greeted } = await startProbe(options);
    const pending = system.ask<ProbeMessage, unknown>(probe.ref, (replyTo) => ({ kind: 'silent', replyTo }), 20_000);
    const failure = pending.catch((error: unknown) => error);
    probe.ref.tell(order);
    const error = await failure;
    expect(error).toBeInstanceOf(TapeworksError);
    expect((error as TapeworksError).code).toBe('TW_ASK_TERMINATED');
    await greeted(2);
    expect(await count()).toEqual({ count: 0, incarnation: 1 });
    // Its lives on the thread before count as well.
    const shown = () => flatten(system.tree()).find(({ path }) => path === '/probe');
    await expect.poll(shown).toMatchObject({ restarts: 1, lastFailure: { code: 'TW_THREAD_ENDED' } });
  });

  it('pauses and refuses senders that are ahead of it, and tells them when to go on', async () => {
    const { probe } = await startProbe();
    system.suspend('/probe');
    const seen = new Set<string>();
    let told = 0;
    let admission = probe.ref.tell({ kind: 'silent', replyTo: probe.ref as never });
    while (admission !== 'rejected' && told < 5000) {
      seen.add(admission);
      told++;
      admission = probe.ref.tell({ kind: 'silent', replyTo: probe.ref as never });
    }
    expect([...seen]).toEqual(['accepted', 'pause']);
    expect(told).toBe(1024);
    await new Promise<void>((resolve) => {
      (probe.ref as unknown as { whenReady(go: () => void): void }).whenReady(resolve);
      system.resume('/probe');
    });
    expect(probe.ref.tell({ kind: 'throw' })).toBe('accepted');
  });
});
