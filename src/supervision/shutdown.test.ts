import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { GracefulShutdown } from './shutdown.ts';
import { ManualClock } from './testing/manual-clock.ts';
import { breathe } from './testing/stage.ts';

describe('a graceful shutdown', () => {
  const withPhases = (...phases: [name: string, run: () => Promise<void>][]) => {
    const clock = new ManualClock();
    const shutdown = new GracefulShutdown(clock);
    for (const [name, run] of phases) shutdown.add({ name, deadlineMs: 100, run });
    return { clock, shutdown };
  };

  it('runs its phases one after another in the order added, once', async () => {
    const steps: string[] = [];
    const { clock, shutdown } = withPhases(
      ['ready off', async () => void steps.push('ready off')],
      [
        'drain',
        () =>
          new Promise((resolve) => {
            steps.push('drain');
            clock.after(30, resolve);
          }),
      ],
      ['stop', async () => void steps.push('stop')],
    );
    expect(shutdown.hasBegun).toBe(false);
    const report = shutdown.run();
    expect(shutdown.run()).toBe(report);
    expect(shutdown.hasBegun).toBe(true);
    await breathe();
    expect(steps).toEqual(['ready off', 'drain']);
    clock.fireNext(30);
    expect((await report).phases).toEqual([
      { name: 'ready off', tookMs: 0, error: undefined },
      { name: 'drain', tookMs: 30, error: undefined },
      { name: 'stop', tookMs: 0, error: undefined },
    ]);
    expect(steps).toEqual(['ready off', 'drain', 'stop']);
    expect(clock.pending).toBe(0);
  });

  it('goes on when a phase fails, at once or later', async () => {
    const { shutdown } = withPhases(
      [
        'throws',
        () => {
          throw new Error('now');
        },
      ],
      ['rejects', () => Promise.reject(new Error('later'))],
      ['throws no error', () => Promise.reject('text')],
      ['last', async () => {}],
    );
    const { phases } = await shutdown.run();
    expect(phases.map((phase) => phase.error?.message)).toEqual(['now', 'later', 'threw string: text', undefined]);
  });

  it('goes on when a phase is overdue, and says so', async () => {
    const { clock, shutdown } = withPhases(['hangs', () => new Promise(() => {})], ['last', async () => {}]);
    const report = shutdown.run();
    await breathe();
    clock.fireNext(100);
    const { phases } = await report;
    expect(phases[0]).toMatchObject({
      tookMs: 100,
      error: { code: 'TW_SHUTDOWN_OVERDUE', details: { phase: 'hangs' } },
    });
    expect(phases[1]!.error).toBeUndefined();
  });
});

describe('a termination signal', () => {
  const program = fileURLToPath(new URL('./testing/signalled-process.js', import.meta.url));

  async function started(kind: 'quick' | 'slow') {
    const child: ChildProcess = spawn(process.execPath, [program, kind], { stdio: ['ignore', 'pipe', 'inherit'] });
    const exited = once(child, 'close') as Promise<[number | null, string | null]>;
    const lines: string[] = [];
    const waiting = new Map<string, () => void>();
    createInterface({ input: child.stdout! }).on('line', (line) => {
      lines.push(line);
      waiting.get(line)?.();
    });
    const until = (line: string) =>
      lines.includes(line) ? Promise.resolve() : new Promise<void>((resolve) => waiting.set(line, resolve));
    await until('up');
    return { child, lines, until, exited };
  }

  it('begins the way down, which ends the process in order', async () => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const { child, lines, exited } = await started('quick');
      child.kill(signal);
      expect(await exited).toEqual([0, null]);
      expect(lines).toEqual(['up', `began on ${signal}`, 'intake off', 'draining', 'down: intake, drain']);
    }
  });

  it('that comes a second time ends the process at once', async () => {
    for (const [signal, code] of [
      ['SIGTERM', 143],
      ['SIGINT', 130],
    ] as const) {
      const { child, until, exited } = await started('slow');
      child.kill('SIGTERM');
      await until('draining');
      child.kill(signal);
      expect(await exited).toEqual([code, null]);
    }
  });
});
