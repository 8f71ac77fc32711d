import { olderOf } from '../spill/segment-scan.ts';

export interface TrimFacts {
  /** For each group of the stream: its oldest pending id, or where it has read up to. */
  readonly groupFloors: readonly string[];
  /** The oldest entry that is only in the spill. */
  readonly oldestSpilled: string | undefined;
  /** Lost spill records are to be fetched from the stream again. */
  readonly damagePending: boolean;
  readonly nowMs: number;
  readonly keepMs: number;
}

/**
 * The id below which entries may go: never past an entry that some group has not read or not acknowledged, nor past one
 * that is only in the spill. It only ever rises, so what happens between reading the facts and trimming does no harm.
 */
export function trimFloor({ groupFloors, oldestSpilled, damagePending, nowMs, keepMs }: TrimFacts): string | undefined {
  if (damagePending || groupFloors.length === 0) return undefined;
  const byAge = `${Math.max(0, Math.floor(nowMs - keepMs))}-0`;
  return [...groupFloors, oldestSpilled].reduce<string | undefined>((floor, id) => olderOf(floor, id), byAge);
}
