import { describe, expect, it } from 'vitest';
import { type PersistenceEffect, type PersistenceMessage, receive, startPersistence } from './behaviour.ts';

const SETTINGS = {
  ...{ answerWithinMs: 50, storeWithinMs: 70, probeMs: 200, pendingBars: 4 },
  latest: (bars: readonly string[]) => [...new Set(bars)],
};

/** Runs messages and tells for each what was wanted, in short. */
function run(messages: readonly PersistenceMessage<string>[]): string[] {
  let [state] = startPersistence<string>([1, 2], SETTINGS, 0);
  return messages.map((message) => {
    const [next, effects] = receive(state, message);
    state = next;
    return `${state.turn.kind}: ${effects.map(brief).join(' ')}`.trim();
  });
}

function brief(effect: PersistenceEffect<string>): string {
  if (effect.kind === 'ask-snapshot') return `ask${effect.worker}`;
  if (effect.kind === 'commit') return `commit${effect.worker}#${effect.snapshot}`;
  if (effect.kind === 'set-timer') return `timer(${effect.timer})`;
  if (effect.kind === 'probe' || effect.kind === 'replay') return `${effect.kind}()`;
  const first = effect.kind === 'spill' && effect.isFirst ? 'first-' : '';
  return `${first}${effect.kind}(${effect.bars})`;
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
      'storing: store(a,b,c) timer(store-late)',
      'idle: commit1#7 commit2#4',
    ]);
  });

  it('asks for nothing new while a batch is under way', () => {
    expect(run([...gathered, period]).at(-1)).toBe('storing:');
  });

  it('stores what it has when a worker does not answer, and ignores that worker when it answers late', () => {
    const messages = [period, snapshot(1, 7, 'a'), { kind: 'answer-deadline' } as const, snapshot(2, 4, 'b')];
    expect(run([...messages, { kind: 'stored' }]).slice(2)).toEqual([
      'storing: store(a) timer(store-late)',
      'storing:',
      'idle: commit1#7',
    ]);
  });

  it('does not wait for a worker that is gone', () => {
    const messages = [period, snapshot(1, 7, 'a'), { kind: 'workers', workers: [1, 3] } as const];
    expect(run([...messages, { kind: 'stored' }, period]).slice(2)).toEqual([
      'storing: store(a) timer(store-late)',
      'idle: commit1#7',
      'gathering: ask1 ask3 timer(answer-deadline)',
    ]);
  });

  it('has nothing to store when nothing changed', () => {
    expect(run([period, snapshot(1, 7), snapshot(2, 4)]).at(-1)).toBe('idle: commit1#7 commit2#4');
  });
});

const failed = { kind: 'store-failed' } as const;
const spilled = { kind: 'spilled' } as const;
const refused = { kind: 'spill-refused' } as const;
const up = { kind: 'probed', ok: true } as const;
const again = (first: number, ...bars: string[]) => [period, snapshot(1, first, ...bars), snapshot(2, first)];

describe('while Postgres is out', () => {
  it('spills what could not be stored, or not in time, and commits it then', () => {
    for (const trouble of [failed, { kind: 'store-late' } as const]) {
      expect(run([...gathered, trouble, spilled]).slice(3)).toEqual([
        'spilling: first-spill(a,b,c) timer(probe)',
        'idle: commit1#7 commit2#4',
      ]);
    }
  });

  it('stores nothing past the spill until all of it is stored', () => {
    const out = [...gathered, failed, spilled, ...again(8, 'd')];
    expect(run(out).at(-1)).toBe('spilling: spill(d)');
    const draining = [...out, spilled, { kind: 'probe' } as const, up];
    expect(run(draining).slice(-2)).toEqual(['idle: probe()', 'replaying: replay()']);
    const meanwhile = [
      ...draining,
      period,
      { kind: 'replayed', left: 3 } as const,
      snapshot(1, 9, 'e'),
      snapshot(2, 9),
    ];
    expect(run([...meanwhile, spilled]).slice(-5)).toEqual([
      'replaying:',
      'gathering: ask1 ask2 timer(answer-deadline)',
      'gathering:',
      'spilling: spill(e)',
      'replaying: commit1#9 commit2#9 replay()',
    ]);
    const over = [...meanwhile, spilled, { kind: 'replayed', left: 0 } as const, ...again(10, 'f')];
    expect(run(over).at(-1)).toBe('storing: store(f) timer(store-late)');
  });

  it('asks again later when Postgres does not answer, or goes while the spill is stored', () => {
    const out = [...gathered, failed, spilled];
    expect(run([...out, { kind: 'probed', ok: false }]).at(-1)).toBe('idle: timer(probe)');
    const gone = [...out, up, { kind: 'replay-failed' } as const];
    expect(run([...gone, ...again(8, 'd')]).slice(-4)).toEqual([
      'idle: timer(probe)',
      'gathering: ask1 ask2 timer(answer-deadline)',
      'gathering:',
      'spilling: spill(d)',
    ]);
  });

  it('holds in memory what the spill refuses, and hands it over first', () => {
    const held = [...gathered, failed, refused];
    expect(run(held).at(-1)).toBe('idle: commit1#7 commit2#4');
    expect(run([...held, ...again(8, 'd')]).at(-1)).toBe('spilling: spill(a,b,c,d)');
    expect(run([...held, up, { kind: 'replayed', left: 0 }, ...again(8, 'd')]).at(-1)).toBe(
      'storing: store(a,b,c,d) timer(store-late)',
    );
  });

  it('lets the workers keep what is beyond its own memory', () => {
    const full = [...gathered, failed, refused, ...again(8, 'd', 'e'), refused];
    expect(run(full).at(-1)).toBe('idle:');
    expect(run([...full, ...again(9, 'd2', 'e')]).at(-1)).toBe('spilling: spill(a,b,c,d2,e)');
  });

  it('starts with what an earlier life has left in the spill', () => {
    const [state, effects] = startPersistence<string>([1, 2], SETTINGS, 5);
    expect([state.mode, ...effects.map(brief)]).toEqual(['draining', 'replay()']);
  });
});
