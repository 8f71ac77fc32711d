import { describe, expect, it } from 'vitest';
import type { Accepted } from '../../protocols/envelope.ts';
import { type EventRow, rowBytes } from '../../protocols/ingest.ts';
import { initialSink, receiveSink, type SinkEffect, type SinkMessage, type SinkState } from './behaviour.ts';
import type { WriteFailure } from './sqlstate.ts';

const settings = {
  batchRows: 4,
  batchBytes: 1_000,
  batchTimeMs: 50,
  contentionRetries: 2,
  breaker: { failures: 2, probeMinMs: 100, probeMaxMs: 400 },
};
const row = (n: number): EventRow => ({
  event: { raw: Buffer.from(`row ${n}`) } as Accepted,
  entryId: `${n}-0`,
  tsKernel: 1n,
  deliveries: 1,
});
const rows = (...numbers: number[]) => numbers.map(row);
const store = (...numbers: number[]): SinkMessage => {
  const batch = rows(...numbers);
  return { kind: 'store', batch: { rows: batch, bytes: batch.reduce((sum, one) => sum + rowBytes(one), 0) } };
};
const failure = (kind: WriteFailure['class'], timedOut = false): WriteFailure => ({
  class: kind,
  timedOut,
  reason: `some ${kind}`,
});
const failed = (kind: WriteFailure['class'], timedOut = false): SinkMessage => ({
  kind: 'write-failed',
  failure: failure(kind, timedOut),
});
const written: SinkMessage = { kind: 'written', duplicates: 0, elapsedMs: 5 };

/** Plays messages and tells what the lane wanted, in short: `write 1,2`, `settle stored 1,2`, `arm probe`. */
function play(
  postgresUp: boolean,
  backlog: number,
  ...messages: SinkMessage[]
): { state: SinkState; said: string[][] } {
  let [state, effects] = initialSink(settings, postgresUp ? undefined : failure('outage'), backlog);
  const said = [effects.map(spell)];
  for (const message of messages) {
    [state, effects] = receiveSink(state, message, settings);
    said.push(effects.map(spell));
  }
  return { state, said };
}

const ids = (list: readonly EventRow[]) => list.map(({ entryId }) => entryId.slice(0, -2)).join();

function spell(effect: SinkEffect): string {
  switch (effect.kind) {
    case 'write':
    case 'spill':
      return `${effect.kind} ${ids(effect.rows)}`;
    case 'settle': {
      const { stored, spilled, refused } = effect.settlement;
      return `settle stored ${ids(stored)} spilled ${ids(spilled)} refused ${ids(refused.map((one) => one.row))}`;
    }
    case 'bury':
      return `bury ${ids(effect.refused.map((one) => one.row))}`;
    case 'arm':
      return `arm ${effect.timer}`;
    case 'pressure':
      return `pressure ${effect.on}`;
    default:
      return effect.kind;
  }
}

describe('a flowing lane', () => {
  it('waits for a batch to fill, or for its time', () => {
    expect(play(true, 0, store(1), store(2), { kind: 'lingered' }).said).toEqual([
      [],
      ['arm lingered'],
      [],
      ['write 1,2'],
    ]);
    expect(play(true, 0, store(1, 2, 3, 4, 5)).said[1]).toEqual(['write 1,2,3,4']);
  });

  it('lets rows wait for half of what a write takes, and never longer than configured', () => {
    const waits = (elapsedMs: number) => {
      let [state] = initialSink(settings, undefined, 0);
      for (let n = 0; n < 40; n++) {
        [state] = receiveSink(state, store(1, 2, 3, 4), settings);
        [state] = receiveSink(state, { kind: 'written', duplicates: 0, elapsedMs }, settings);
      }
      return receiveSink(state, store(5), settings)[1];
    };
    expect(waits(0.5)).toEqual([{ kind: 'arm', timer: 'lingered', afterMs: 1 }]);
    expect(waits(20)).toEqual([{ kind: 'arm', timer: 'lingered', afterMs: 10 }]);
    expect(waits(5_000)).toEqual([{ kind: 'arm', timer: 'lingered', afterMs: settings.batchTimeMs }]);
  });

  it('writes one batch at a time and settles what is stored, in order', () => {
    const { said } = play(true, 0, store(1, 2, 3, 4), store(5, 6, 7, 8), written, written);
    expect(said.slice(2)).toEqual([
      [],
      ['settle stored 1,2,3,4 spilled  refused ', 'write 5,6,7,8'],
      ['settle stored 5,6,7,8 spilled  refused '],
    ]);
  });

  it('halves a batch until the bad row stands alone, and stores the others', () => {
    const data = failed('data');
    const { said } = play(true, 0, store(1, 2, 3, 4), data, written, data, data, written);
    expect(said.slice(2)).toEqual([
      ['write 1,2'],
      ['settle stored 1,2 spilled  refused ', 'write 3,4'],
      ['write 3'],
      ['write 4'],
      ['settle stored 4 spilled  refused ', 'settle stored  spilled  refused 3'],
    ]);
  });

  it('tries again after contention, and spills when it does not end', () => {
    const busy = failed('contention');
    const again: SinkMessage = { kind: 'retry' };
    const { said, state } = play(true, 0, store(1, 2, 3, 4), busy, again, busy, again, busy, failed('contention'));
    expect(said[2]).toEqual(['arm retry']);
    expect(said[3]).toEqual(['write 1,2,3,4']);
    expect(state.mode).toBe('spilling');
  });

  it('tries once more after an outage, then opens the breaker and spills', () => {
    const { said } = play(true, 0, store(1, 2, 3, 4), failed('outage'), failed('outage'), {
      kind: 'spilled',
      backlog: 4,
    });
    expect(said.slice(2)).toEqual([
      ['write 1,2,3,4'],
      ['arm probe', 'spill 1,2,3,4'],
      ['settle stored  spilled 1,2,3,4 refused '],
    ]);
  });

  it('opens at once after a timeout or a table that does not fit', () => {
    expect(play(true, 0, store(1, 2, 3, 4), failed('outage', true)).state.mode).toBe('spilling');
    expect(play(true, 0, store(1, 2, 3, 4), failed('schema')).state).toMatchObject({
      mode: 'spilling',
      trouble: { fault: 'schema', reason: 'some schema' },
    });
  });
});

describe('a batch of which Postgres refuses every row', () => {
  it('is spilled, not dead-lettered: the tables are at fault', () => {
    const wide = { ...settings, batchRows: 32 };
    let [state] = initialSink(wide, undefined, 0);
    [state] = receiveSink(state, store(...Array.from({ length: 32 }, (_, n) => n)), wide);
    const said: string[] = [];
    for (let n = 0; n < 100 && state.mode === 'flowing'; n++) {
      const [next, effects] = receiveSink(state, n === 0 ? { kind: 'lingered' } : failed('data'), wide);
      said.push(...effects.map(spell).filter((text) => text.startsWith('settle')));
      state = next;
    }
    expect(said).toEqual([]);
    expect(state.mode).toBe('spilling');
    expect((state.appending?.length ?? 0) + state.waiting.length).toBe(32);
  });
});

describe('a spilling lane', () => {
  it('asks after Postgres less and less often', () => {
    const no: SinkMessage = { kind: 'probed', failure: failure('outage'), backlog: 0 };
    const { state } = play(false, 0, { kind: 'probe' }, no, { kind: 'probe' }, no, { kind: 'probe' }, no);
    expect(state.probeMs).toBe(400);
  });

  it('blocks when the spill refuses, and settles nothing', () => {
    const { said, state } = play(false, 0, store(1, 2), { kind: 'spill-refused', reason: 'full' }, store(3), {
      kind: 'spill-retry',
    });
    expect(said.slice(1)).toEqual([
      ['spill 1,2'],
      ['pressure true', 'arm spill-retry'],
      [],
      ['pressure false', 'spill 1,2,3'],
    ]);
    expect(state.blocked).toBeUndefined();
  });

  it('goes straight back to flowing when nothing was spilled', () => {
    const { said, state } = play(false, 0, { kind: 'probe' }, { kind: 'probed', failure: undefined, backlog: 0 });
    expect(state.mode).toBe('flowing');
    expect(said[1]).toEqual(['probe']);
  });
});

describe('a draining lane', () => {
  it('replays the backlog before anything newer, and then flows', () => {
    const replay: SinkMessage = { kind: 'replayed', rows: rows(1, 2) };
    const { said, state } = play(true, 2, store(3), replay, written, { kind: 'replay-committed', backlog: 0 });
    expect(said).toEqual([['replay'], [], ['write 1,2'], ['stored-replayed', 'commit-replay'], ['write 3']]);
    expect(state.mode).toBe('flowing');
  });

  it('appends new rows to the tail of a long backlog', () => {
    expect(play(true, 100, store(101, 102)).said).toEqual([['replay'], ['spill 101,102']]);
  });

  it('offers the head of the backlog again after another outage', () => {
    const replay: SinkMessage = { kind: 'replayed', rows: rows(1, 2) };
    const { said, state } = play(true, 2, replay, failed('outage', true));
    expect(said[2]).toEqual(['rewind', 'arm probe']);
    expect(state).toMatchObject({ mode: 'spilling', waiting: [], replaying: false });
  });

  it('asks less and less often after a server that answers and does not take the rows, and stays in trouble', () => {
    const replay: SinkMessage = { kind: 'replayed', rows: rows(1, 2) };
    const answers: SinkMessage = { kind: 'probed', failure: undefined, backlog: 2 };
    const { state } = play(true, 2, replay, failed('schema'), answers, replay, failed('schema'), answers);
    expect(state).toMatchObject({ mode: 'draining', probeMs: 400, trouble: { fault: 'schema' } });
    expect(receiveSink(receiveSink(state, replay, settings)[0], written, settings)[0].trouble).toBeUndefined();
  });

  it('buries a replayed row that Postgres refuses', () => {
    const { said } = play(true, 1, { kind: 'replayed', rows: rows(1) }, failed('data'));
    expect(said[2]).toEqual(['bury 1', 'commit-replay']);
  });
});
