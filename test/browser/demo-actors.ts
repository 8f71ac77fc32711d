import type { Behaviour } from '../../src/supervision/actor.ts';

export type WorkMessage = 'work' | 'crash';

const BEAT_MS = 40;

/** Messages that an actor of each kind gives itself at a beat, so that the tree has something to show. */
const PER_BEAT: Readonly<Record<string, number>> = {
  exchange: 24,
  merger: 60,
  publisher: 30,
  'partition-worker': 40,
  'kernel-ingest': 12,
  sink: 3,
};

/** An actor that works as it is told and crashes when it is told. */
export function worker(kind: string): Behaviour<WorkMessage | 'beat', number> {
  return {
    init(context) {
      context.timers.every('beat', BEAT_MS, 'beat');
      return 0;
    },
    receive(done, message, context) {
      if (message === 'crash') throw new Error('connection reset by the venue');
      if (message === 'beat') {
        for (let at = 0; at < (PER_BEAT[kind] ?? 1); at++) context.self.tell('work');
        return done;
      }
      return done + 1;
    },
    summary: (done) => ({ kind, done }),
  };
}
