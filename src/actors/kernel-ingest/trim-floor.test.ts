import { describe, expect, it } from 'vitest';
import { trimFloor } from './trim-floor.ts';

const facts = { groupFloors: ['900-5'], oldestSpilled: undefined, damagePending: false, nowMs: 1_000, keepMs: 10 };

describe('the trim floor', () => {
  it.each([
    ['the age limit, when every group is past it', { groupFloors: ['995-0'] }, '990-0'],
    ['the oldest pending or unread id of a group', {}, '900-5'],
    ['the slowest of several groups', { groupFloors: ['900-5', '900-4'] }, '900-4'],
    ['the oldest spilled entry', { oldestSpilled: '800-1' }, '800-1'],
    ['nothing while damage is to be repaired from the stream', { damagePending: true }, undefined],
    ['nothing without a group', { groupFloors: [] }, undefined],
    ['0 for a group that has read nothing', { groupFloors: ['0-0'] }, '0-0'],
  ])('is %s', (_, change, expected) => {
    expect(trimFloor({ ...facts, ...change })).toBe(expected);
  });
});
