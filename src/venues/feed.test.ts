import { describe, expect, it } from 'vitest';
import type { Cadence, FeedEvidence } from '../protocols/venue.ts';
import { type FeedEvent, NO_EVIDENCE, witness } from './feed.fixture.ts';
import { isUsable, judgeFeed } from './feed.ts';
import { VENUES } from './index.ts';

const TIMER: Cadence = { kind: 'timer', quietAfterMs: 1_000, staleAfterMs: 5_000 };
const CHANGE: Cadence = { kind: 'change', quietAfterMs: 5_000, firstFrameWithinMs: 60_000, evidenceWithinMs: 45_000 };
const ms = (value: number) => value * 1e6;

function evidence(...events: readonly [kind: 'requested' | 'acked' | 'frame' | 'alive' | 'lost', atMs: number][]) {
  return events.reduce<FeedEvidence>((known, [kind, atMs]) => {
    const event: FeedEvent = kind === 'lost' ? { kind, nowNs: ms(atMs), reason: 'closed' } : { kind, nowNs: ms(atMs) };
    return witness(known, event);
  }, NO_EVIDENCE);
}

const asked = evidence(['requested', 1]);
const acked = evidence(['requested', 1], ['acked', 100]);
const flowing = evidence(['requested', 1], ['acked', 100], ['frame', 200]);
const beating = evidence(['requested', 1], ['acked', 100], ['frame', 200], ['alive', 49_000]);
const lost = evidence(['requested', 1], ['acked', 100], ['frame', 200], ['lost', 300]);

describe('a stream', () => {
  it.each([
    ['nothing asked yet', TIMER, NO_EVIDENCE, 9_000, 'down', 'down'],
    ['just asked', TIMER, asked, 500, 'subscribing', 'waiting-for-ack'],
    ['asked and not answered', TIMER, asked, 5_001, 'stale', 'ack-overdue'],
    ['just acked', TIMER, acked, 1_099, 'acked', 'waiting-for-first-frame'],
    ['timer: acked, silent for a second', TIMER, acked, 1_100, 'quiet', 'acked-then-silent'],
    ['timer: acked, silent for 5 s', TIMER, acked, 5_100, 'stale', 'acked-then-silent'],
    ['timer: frames', TIMER, flowing, 1_199, 'live', 'frames-flow'],
    ['timer: a second without', TIMER, flowing, 1_200, 'quiet', 'timer-missed'],
    ['timer: the 5 s rule', TIMER, flowing, 5_200, 'stale', 'timer-missed'],
    ['timer: heartbeats do not excuse a missing timer', TIMER, beating, 49_100, 'stale', 'timer-missed'],
    ['change: acked and silent shows within seconds', CHANGE, acked, 5_100, 'quiet', 'acked-then-silent'],
    ['change: acked, silent, connection dead', CHANGE, acked, 45_100, 'stale', 'no-sign-of-life'],
    ['change: frames', CHANGE, flowing, 5_199, 'live', 'frames-flow'],
    ['change: silent, no proof yet that it is dead', CHANGE, flowing, 45_199, 'quiet', 'no-change-but-alive'],
    ['change: silent and no sign of life', CHANGE, flowing, 45_200, 'stale', 'no-sign-of-life'],
    ['change: silent 49 s but heartbeats come', CHANGE, beating, 60_000, 'quiet', 'no-change-but-alive'],
    ['connection lost', CHANGE, lost, 301, 'down', 'down'],
  ] as const)('%s', (_name, cadence, known, atMs, phase, reason) => {
    expect(judgeFeed(cadence, 5_000, known, ms(atMs))).toMatchObject({ phase, reason });
  });

  it('that is acked but never served is stale in the end, though the connection lives', () => {
    const known = evidence(['requested', 1], ['acked', 100], ['alive', 60_000]);
    expect(judgeFeed(CHANGE, 5_000, known, ms(60_100))).toMatchObject({ phase: 'stale', reason: 'acked-then-silent' });
  });

  it('that is asked for again has to prove itself again', () => {
    const again = witness(lost, { kind: 'requested', nowNs: ms(400) });
    expect(judgeFeed(TIMER, 5_000, again, ms(401))).toMatchObject({ phase: 'subscribing' });
  });

  it('changes its state exactly at the time that the verdict names', () => {
    for (const cadence of [
      TIMER,
      CHANGE,
      ...VENUES.flatMap((venue) => Object.values(venue.facts.streams).map((s) => s.cadence)),
    ]) {
      for (const known of [asked, acked, flowing, beating]) {
        let verdict = judgeFeed(cadence, 5_000, known, ms(200));
        for (let steps = 0; verdict.nextNs !== undefined; steps++) {
          expect(steps).toBeLessThan(5);
          const { nextNs } = verdict;
          expect(judgeFeed(cadence, 5_000, known, nextNs - 1)).toMatchObject({ phase: verdict.phase });
          const next = judgeFeed(cadence, 5_000, known, nextNs);
          expect([next.phase, next.reason]).not.toEqual([verdict.phase, verdict.reason]);
          verdict = next;
        }
        expect(verdict.phase).toBe('stale');
      }
    }
  });

  it('is merged while it is live or quiet, and at no other time', () => {
    const phases = ['subscribing', 'acked', 'live', 'quiet', 'stale', 'down'] as const;
    expect(phases.filter(isUsable)).toEqual(['live', 'quiet']);
  });
});
