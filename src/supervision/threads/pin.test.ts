import { describe, expect, it } from 'vitest';
import { cpusOf } from './pin.ts';

describe("the kernel's list of CPUs", () => {
  it.each([
    ['', []],
    ['1', [1]],
    ['0-3', [0, 1, 2, 3]],
    ['0-1,4,6-7', [0, 1, 4, 6, 7]],
  ])('%s means %j', (list, cpus) => expect(cpusOf(list)).toEqual(cpus));
});
