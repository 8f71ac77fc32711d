import { TapeworksError } from '../../protocols/errors/index.ts';
import type { Memory } from './memory.ts';

/**
 * What all shared-memory layouts agree on.
 *
 * Words that different threads write stand at least 128 bytes apart: a cache line is 64 bytes, and x64 fetches lines in
 * pairs, so 64 would still let one side's writes slow the other's.
 */
export const SEPARATION_BYTES = 128;
export const SEPARATION_WORDS = SEPARATION_BYTES / 4;
export const WORD_BYTES = 4;

/** Refusals of a mailbox, as values: never thrown on the hot path. All are negative, so an offset can share the return. */
export const NO_ROOM = -1;
export const FENCED = -2;
export const TOO_LONG = -3;

export function roundUp(bytes: number, multiple: number): number {
  return Math.ceil(bytes / multiple) * multiple;
}

export function isPowerOfTwo(value: number): boolean {
  return Number.isInteger(value) && value > 0 && value <= 0x4000_0000 && (value & (value - 1)) === 0;
}

/** Refuses a layout that cannot work, and says which rule it breaks and by what value. */
export function requireLayout(holds: boolean, rule: string, got: number): asserts holds {
  if (!holds) throw new TapeworksError('TW_LAYOUT', `${rule}, got ${got}`, { rule, got });
}

export function requireOffset(at: number): void {
  requireLayout(
    Number.isInteger(at) && at >= 0 && at % SEPARATION_BYTES === 0,
    `a layout starts at a multiple of ${SEPARATION_BYTES} bytes`,
    at,
  );
}

/** The first word of a formatted region names its kind, so that attaching to the wrong place fails at once. */
export function requireKind(memory: Memory, word: number, kind: number, what: string): void {
  requireLayout(
    memory.load(word) === kind,
    `byte ${word * WORD_BYTES} does not hold a formatted ${what}`,
    memory.load(word),
  );
}
