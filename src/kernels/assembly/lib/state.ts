// The kernel's private memory: the frame with its guard, and the records that calls fill in.
import {
  CHANGE_BYTES, DELTA_BYTES, HEAD_BYTES, HEAD_FAILED_AT, HEAD_FRAME, HEAD_NAME_LENGTH, HEAD_NAME_OFFSET, LANDING_BYTES,
} from './contract';

/**
 * Zero bytes kept behind every frame, and a few before it: the scan for a key looks back up to 16 bytes from a colon. No JSON token holds a zero byte, so a walker that steps token by token stops
 * there, and what is loaded from a place inside the frame, 128 bytes at most, ends inside the guard.
 */
export const GUARD_BYTES: usize = 128;
export const TRADE_BYTES: u32 = 64;
export const BOOK_LEVELS: usize = 32;

/** Where frames are copied to, and where a socket writes them; the one that is read lies in either. */
export let desk: usize = 0;
export let landing: usize = 0;
export let frame: usize = 0;
export let frameEnd: usize = 0;
export let frameCapacity: usize = 0;
export let head: usize = 0;
export let book: usize = 0;
export let depth: u32 = 0;
export let deltas: usize = 0;
export let deltaCapacity: u32 = 0;
export let changes: usize = 0;
export let changeCapacity: u32 = 0;
export let trades: usize = 0;
export let tradeCapacity: u32 = 0;

/** Why the frame is being refused; 0 while all is well. */
export let failure: i32 = 0;

export function allocateState(
  keptDepth: u32,
  frameBytes: u32,
  changeCount: u32,
  deltaCount: u32,
  tradeCount: u32,
): void {
  depth = keptDepth;
  frameCapacity = frameBytes;
  desk = allocate(GUARD_BYTES + frameBytes + GUARD_BYTES) + GUARD_BYTES;
  landing = allocate(GUARD_BYTES + LANDING_BYTES + GUARD_BYTES) + GUARD_BYTES;
  head = allocate(HEAD_BYTES);
  // One level more than kept: a level is written before it is known whether its amount is zero.
  book = allocate(BOOK_LEVELS + 2 * depth * 16 + 16);
  changes = allocate(changeCount * CHANGE_BYTES);
  changeCapacity = changeCount;
  deltas = allocate(deltaCount * DELTA_BYTES);
  deltaCapacity = deltaCount;
  trades = allocate(tradeCount * TRADE_BYTES);
  tradeCapacity = tradeCount;
}

export function allocate(bytes: usize): usize {
  const at = heap.alloc(bytes);
  memory.fill(at, 0, bytes);
  return at;
}

/** Puts the guard around the frame; false when it is longer than its buffer. */
export function openFrame(length: u32): bool {
  failure = 0;
  if (<usize>length > frameCapacity) return false;
  frame = load<u32>(head, HEAD_FRAME);
  frameEnd = frame + length;
  const zero = i8x16.splat(0);
  v128.store(frame - 16, zero);
  v128.store(frameEnd, zero);
  v128.store(frameEnd, zero, 16);
  v128.store(frameEnd, zero, 32);
  v128.store(frameEnd, zero, 48);
  v128.store(frameEnd, zero, 64);
  v128.store(frameEnd, zero, 80);
  v128.store(frameEnd, zero, 96);
  v128.store(frameEnd, zero, 112);
  return true;
}

/** Notes why and where, once; always answers 0, the position that means refused. */
export function refuse(code: i32, at: usize): usize {
  if (failure == 0) {
    failure = code;
    // What is missing altogether is at no place: then it is the frame as a whole.
    store<u32>(head, <u32>(max(min(at, frameEnd), frame) - frame), HEAD_FAILED_AT);
  }
  return 0;
}

/** Forgets a refusal of a first attempt, before another reading of the same frame. */
export function forgive(): void {
  failure = 0;
}

export function noteName(at: usize, length: u32): void {
  store<u32>(head, <u32>(at - frame), HEAD_NAME_OFFSET);
  store<u32>(head, length, HEAD_NAME_LENGTH);
}
