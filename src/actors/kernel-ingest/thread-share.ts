// What the ingest actors of one thread hand to each other as objects rather than by message, because rows must not be
// copied on their way: the spill's folder and the sink's connections. The supervisor restarts readers after a spill or a
// sink that failed; of one that was restarted by hand a reader finds out by itself.
import { TapeworksError } from '../../protocols/errors/index.ts';
import type { Writers } from '../sink/writers.ts';
import type { SpillYard } from '../spill/yard.ts';

let yard: SpillYard | undefined;
let writers: Writers | undefined;

export function shareSpill(opened: SpillYard | undefined): void {
  yard = opened;
}

export function shareSink(opened: Writers | undefined): void {
  writers = opened;
}

export interface SharedParts {
  readonly yard: SpillYard;
  readonly writers: Writers;
}

/** Whether there are others now. While one is being replaced, those of its life before still serve. */
export function areReplaced(parts: SharedParts): boolean {
  return (yard ?? parts.yard) !== parts.yard || (writers ?? parts.writers) !== parts.writers;
}

export function sharedParts(): SharedParts {
  if (yard !== undefined && writers !== undefined) return { yard, writers };
  throw new TapeworksError('TW_INVARIANT', 'a reader started before the spill and the sink of its thread');
}

let drainUntilMs = Number.NEGATIVE_INFINITY;

/**
 * How long a reader of this thread may drain at its end. Readers end one after another, and each would wait as long for the
 * same Postgres: those that follow the first have what it has left.
 */
export function drainTime(drainMs: number, nowMs: number): number {
  if (nowMs > drainUntilMs + drainMs) drainUntilMs = nowMs + drainMs;
  return Math.max(0, drainUntilMs - nowMs);
}
