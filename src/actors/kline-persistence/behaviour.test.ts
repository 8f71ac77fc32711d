import { describe, expect, it } from 'vitest';
import { type PersistenceEffect, type PersistenceMessage, receive, startPersistence } from './behaviour.ts';

const SETTINGS = { spillAfterMs: 1000, answerWithinMs: 50, retryMs: 200 };

/** Runs messages and tells for each what was wanted, in short. */
function run(messages: readonly PersistenceMessage<string>[]): string[] {
  let state = startPersistence<string>([1, 2], SETTINGS);
  return messages.map((message) => {
    const [next, effects] = receive(state, message);
    state = next;
    return `${state.phase}: ${effects.map(brief).join(' ')}`.trim();
  });
}

function brief(effect: PersistenceEffect<string>): string {
  if (effect.kind === 'ask-snapshot') return `ask${effect.worker}`;
  if (effect.kind === 'commit') return `commit${effect.worker}#${effect.snapshot}`;
  if (effect.kind === 'set-timer') return `timer(${effect.timer})`;
  return `${effect.kind}(${effect.bars})`;
}

const snapshot = (worker: number, number: number, ...bars: string[]) =>
  ({ kind: 'snapshot', worker, snapshot: number, bars }) as const;
const period = { kind: 'period' } as const;
const gathered = [period, snapshot(1, 7, 'a'), snapshot(2, 4, 'b', 'c')];

describe('persistence', () => {
  it('asks every worker, stores one batch, and commits only when it is stored', () => {
    expect(run([...gathered, { kind: 'stored' }])).toEqual([
      'gathering: ask1 ask2 timer(answer-deadline)',
      'gathering:',
      'storing: store(a,b,c)',
      'idle: commit1#7 commit2#4',
    ]);
  });

  it('asks for nothing new while a batch is under way', () => {
    expect(run([...gathered, period]).at(-1)).toBe('storing:');
  });

  it('stores what it has when a worker does not answer, and ignores that worker when it answers late', () => {
    const messages = [period, snapshot(1, 7, 'a'), { kind: 'answer-deadline' } as const, snapshot(2, 4, 'b')];
    expect(run([...messages, { kind: 'stored' }]).slice(2)).toEqual([
      'storing: store(a)',
      'storing:',
      'idle: commit1#7',
    ]);
  });

  it('does not wait for a worker that is gone', () => {
    const messages = [period, snapshot(1, 7, 'a'), { kind: 'workers', workers: [1, 3] } as const];
    expect(run([...messages, { kind: 'stored' }, period]).slice(2)).toEqual([
      'storing: store(a)',
      'idle: commit1#7',
      'gathering: ask1 ask3 timer(answer-deadline)',
    ]);
  });

  it('keeps the batch through an outage, spills it when that lasts, and commits after either', () => {
    const outage = (nowMs: number) => ({ kind: 'store-failed', nowMs }) as const;
    const lasting = [...gathered, outage(5000), { kind: 'retry' } as const, outage(6000), { kind: 'spilled' } as const];
    expect(run(lasting).slice(3)).toEqual([
      'waiting: timer(retry)',
      'storing: store(a,b,c)',
      'spilling: spill(a,b,c)',
      'idle: commit1#7 commit2#4',
    ]);
    expect(run([...gathered, outage(5000), { kind: 'retry' }, { kind: 'stored' }]).at(-1)).toBe(
      'idle: commit1#7 commit2#4',
    );
  });

  it('commits nothing when the spill is full too, and tries again', () => {
    const failed = (nowMs: number) => ({ kind: 'store-failed', nowMs }) as const;
    const messages = [
      ...gathered,
      failed(0),
      { kind: 'retry' } as const,
      failed(2000),
      { kind: 'spill-refused' } as const,
    ];
    expect(run([...messages, { kind: 'retry' }]).slice(-2)).toEqual(['waiting: timer(retry)', 'storing: store(a,b,c)']);
  });

  it('has nothing to store when nothing changed', () => {
    expect(run([period, snapshot(1, 7), snapshot(2, 4)]).at(-1)).toBe('idle: commit1#7 commit2#4');
  });
});
