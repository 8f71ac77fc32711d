import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  admit,
  beginHandover,
  endHandover,
  ROTATION,
  type Rotation,
  type RotationEvent,
  rotate,
  STEADY,
} from './rotation.ts';

function run(events: readonly RotationEvent[], from: Rotation = STEADY) {
  let state = from;
  const effects = events.flatMap((event) => {
    const [next, done] = rotate(ROTATION, state, event);
    state = next;
    return done.filter((effect) => effect.kind !== 'wake');
  });
  return { state, effects };
}

const begin: RotationEvent = { kind: 'rotate', reason: 'serverShutdown', streams: ['a', 'b'], nowNs: 0 };
const covered = (stream: string): RotationEvent => ({ kind: 'covered', stream, nowNs: 1e9 });

describe('a rotation', () => {
  it('opens the successor first and closes the old connection only when every stream is covered', () => {
    expect(run([begin]).effects).toEqual([{ kind: 'open-successor' }]);
    expect(run([begin, covered('a')]).effects).toEqual([{ kind: 'open-successor' }]);
    expect(run([begin, covered('a'), covered('b')])).toEqual({
      state: STEADY,
      effects: [{ kind: 'open-successor' }, { kind: 'promote', uncovered: [] }],
    });
  });

  it('waits again for a stream whose book the successor has lost', () => {
    const uncovered: RotationEvent = { kind: 'uncovered', stream: 'a', nowNs: 1e9 };
    const waiting = run([begin, covered('a'), uncovered, covered('b')]);
    expect(waiting.effects).toEqual([{ kind: 'open-successor' }]);
    expect(run([covered('a')], waiting.state).effects).toEqual([{ kind: 'promote', uncovered: [] }]);
  });

  it('does not begin twice', () => {
    expect(run([begin, begin]).effects).toHaveLength(1);
  });

  it('does not wait for ever for a stream that is acked and silent on both', () => {
    const acked: RotationEvent = { kind: 'acked', stream: 'b', nowNs: 1e9 };
    const early = run([begin, covered('a'), acked, { kind: 'tick', nowNs: 5.9e9 }]);
    expect(early.state.phase).toBe('overlapping');
    expect(run([{ kind: 'tick', nowNs: 6e9 }], early.state).effects).toEqual([{ kind: 'promote', uncovered: [] }]);
  });

  it('waits for a stream that is silent on the successor alone, or owes a snapshot there', () => {
    const acked: RotationEvent = { kind: 'acked', stream: 'b', nowNs: 1e9 };
    const owed = new Set(['b']);
    const waiting = run([begin, covered('a'), acked, { kind: 'tick', nowNs: 20e9, owed }]);
    expect(waiting.state.phase).toBe('overlapping');
    expect(run([{ kind: 'tick', nowNs: 30e9, owed }], waiting.state).effects.at(-1)).toMatchObject({
      kind: 'close-successor',
    });
  });

  it('keeps the old connection when the successor fails or is too slow, and counts it', () => {
    expect(run([begin, { kind: 'successor-failed', nowNs: 1 }]).state).toEqual({ phase: 'steady', failures: 1 });
    const slow = run([begin, covered('a'), { kind: 'tick', nowNs: 30e9 }]);
    expect(slow.effects.at(-1)).toMatchObject({ kind: 'close-successor' });
    expect(slow.state).toEqual({ phase: 'steady', failures: 1 });
  });

  it('goes on with the successor when the old connection dies first, and says what may have a hole', () => {
    const { state, effects } = run([begin, covered('a'), { kind: 'old-lost', nowNs: 2e9 }]);
    expect(state).toEqual(STEADY);
    expect(effects.at(-1)).toEqual({ kind: 'promote', uncovered: ['b'] });
  });
});

describe('the hand-over of a stream', () => {
  it('delivers every update once and in order for any interleaving of two connections', () => {
    const seed = Number(process.env['TAPEWORKS_SEED'] ?? Date.now() % 1e9);
    fc.assert(
      fc.property(fc.array(fc.boolean(), { minLength: 200, maxLength: 200 }), fc.nat(20), (turns, successorStart) => {
        let handover = beginHandover(0n);
        const delivered: bigint[] = [];
        let old = 1n;
        let successor = BigInt(successorStart + 1);
        const offer = (from: 'old' | 'successor', id: bigint) => {
          const [next, verdict] = admit(handover, from, id, id);
          handover = next;
          if (verdict === 'next') delivered.push(id);
          expect(verdict).not.toBe('gap');
        };
        for (const oldsTurn of turns) {
          if (oldsTurn && !handover.covered) offer('old', old++);
          else if (!oldsTurn || handover.covered) offer('successor', successor++);
        }
        expect(delivered).toEqual(delivered.map((_, at) => BigInt(at + 1)));
        expect(handover.lost).toBe(0n);
      }),
      { seed, numRuns: 60 },
    );
  });

  it('counts exactly what was lost when the old connection died before the successor had caught up', () => {
    const [waiting, verdict] = admit(beginHandover(10n), 'successor', 15n, 15n);
    expect([waiting.covered, verdict]).toEqual([false, 'duplicate']);
    const [after, late] = admit(endHandover(waiting), 'successor', 16n, 18n);
    expect([after.lost, late]).toEqual([5n, 'gap']);
  });

  it('drops what the other connection has delivered already', () => {
    const [one] = admit(beginHandover(10n), 'successor', 9n, 10n);
    expect(one).toMatchObject({ covered: true, duplicates: 1 });
    const [two, verdict] = admit(one, 'successor', 10n, 12n);
    expect([two.delivered, verdict]).toEqual([12n, 'next']);
    expect(admit(two, 'old', 11n, 12n)[1]).toBe('duplicate');
  });
});
