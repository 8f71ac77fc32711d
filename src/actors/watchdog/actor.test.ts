import { afterEach, describe, expect, it } from 'vitest';
import { pinnedActor } from '../../supervision/remote/pinned-actor.ts';
import { actor } from '../../supervision/spec.ts';
import { ActorSystem } from '../../supervision/system.ts';
import { watchdog } from './actor.ts';

const FIXTURE = new URL('../../supervision/threads/threads.fixture.js', import.meta.url);
const SETTINGS = { stallAfterMs: 200, deadAfterMs: 1_000 };

const systems: ActorSystem[] = [];
afterEach(async () => {
  for (const system of systems.splice(0)) await system.stop();
});

function thread(id: string, exportName: string, args: unknown) {
  return pinnedActor({
    id,
    module: FIXTURE,
    exportName,
    prepare: () => ({ args }),
    idle: { kind: 'park', parkMs: 10 },
    hangMs: 600_000,
    backoff: { minMs: 1, maxMs: 10, jitter: 0, resetAfterMs: 60_000 },
  });
}

describe('a worker that stands still', () => {
  it('begins a new life through its supervisor, and the others do not notice', async () => {
    const hung = thread('worker-0', 'misbehaves', 'hang');
    const well = thread('worker-1', 'clock', new SharedArrayBuffer(16));
    const threads = new Map([hung, well].map(({ thread: one }, worker) => [worker, one]));
    const behaviour = watchdog({
      settings: SETTINGS,
      workers: () => threads,
      frames: () => new Map(),
      perform: (effect) => {
        if (effect.kind === 'restart-worker') void threads.get(effect.worker)?.kill('hung');
      },
      onVerdicts: () => {},
    });
    const system = new ActorSystem({ children: [hung, well, actor({ id: 'watchdog', behaviour })] });
    systems.push(system);
    const seen = new Promise<string>((resolve) => {
      system.runtime.events.listen((event) => {
        if (event.kind === 'started' && event.path === '/worker-0' && event.incarnation === 2) resolve('again');
      });
    });
    await system.start();
    await expect(seen).resolves.toBe('again');
    const [first, second] = system.tree().children;
    expect(first?.lastFailure?.message).toContain('hung');
    expect(second).toMatchObject({ state: 'running', incarnation: 1, lastFailure: undefined });
    expect(await system.summary('/watchdog')).toMatchObject({ restarts: 1 });
  }, 30_000);
});
