import { describe, expect, it } from 'vitest';
import { BAD_CLASSES_MIN, neverMet } from './coverage.ts';
import { disorderIn, type StoredRow } from './oracle.ts';

const EVERYTHING = {
  ...{ redelivered: 1, duplicates: 0, replayDuplicates: 1, spilled: 1, replayed: 1, tornTails: 1, claimed: 1 },
  ...{ groupRecreations: 1, spillRecovered: 1 },
};

describe('a chaos run', () => {
  it('passes its own check when every path was met', () => {
    expect(neverMet(EVERYTHING, BAD_CLASSES_MIN)).toEqual([]);
  });

  it.each([
    ['redelivered', 'redelivery'],
    ['replayDuplicates', 'conflict'],
    ['spilled', 'spill'],
    ['replayed', 'replay'],
    ['tornTails', 'torn tail'],
    ['claimed', 'claim from a dead consumer'],
    ['groupRecreations', 'group made again'],
    ['spillRecovered', 'lost records found in Redis'],
  ] as const)('fails its own check when %s stayed 0', (count, path) => {
    expect(neverMet({ ...EVERYTHING, [count]: 0 }, BAD_CLASSES_MIN)).toEqual([path]);
  });

  it('fails its own check when it sent too few classes of bad input', () => {
    expect(neverMet(EVERYTHING, BAD_CLASSES_MIN - 1)).toEqual(['20 classes of bad input']);
  });
});

describe('the order of a connection', () => {
  const row = (connection: string, sequence: number, transaction: number): StoredRow => ({
    ...{ id: `${connection}-${sequence}`, connection, payload: { sequence }, transaction },
  });

  it('is kept by rows that were committed together or later', () => {
    const rows = [row('a', 1, 7), row('a', 2, 7), row('b', 1, 9), row('a', 3, 8), row('b', 2, 9)];
    expect(disorderIn(rows)).toBe(0);
  });

  it('is broken by a row that was committed before an older one', () => {
    expect(disorderIn([row('a', 2, 7), row('a', 1, 8), row('b', 1, 9)])).toBe(1);
  });
});
