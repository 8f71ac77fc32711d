import { decodeHeader, HEADER_BYTES, nextCandidate, readAt, type SpillRecord } from '../../protocols/spill-layout.ts';
import type { SpillFs } from './file-system.ts';

/** One read from the disk. The window grows past it only for a record that is larger: 16 MiB at most. */
const WINDOW_BYTES = 1024 * 1024;

/** A run of bytes in a segment that is neither record nor seal. */
export interface DamagedRange {
  readonly from: number;
  readonly to: number;
}

export type SegmentItem =
  | { readonly kind: 'record'; readonly record: SpillRecord; readonly end: number }
  | { readonly kind: 'seal'; readonly count: number; readonly end: number }
  | { readonly kind: 'damage'; readonly range: DamagedRange };

/**
 * The items of a segment up to `bytes`, in bounded memory. Damage is stepped over: reading goes on at the next place
 * whose checksum holds. It never throws for what is in the file, and never reads past `bytes`.
 */
export async function* segmentItems(fs: SpillFs, path: string, bytes: number): AsyncGenerator<SegmentItem> {
  const header = decodeHeader(await fs.read(path, 0, Math.min(bytes, HEADER_BYTES)));
  let window: Buffer = Buffer.alloc(0);
  let windowStart = header === undefined ? 0 : HEADER_BYTES;
  let at = 0;
  let damageFrom = -1;
  while (windowStart + at < bytes) {
    const found = readAt(window, at, windowStart + window.length >= bytes);
    if (found.kind === 'more') {
      const rest = window.subarray(at);
      windowStart += at;
      at = 0;
      const from = windowStart + rest.length;
      const more = await fs.read(path, from, Math.min(WINDOW_BYTES, bytes - from));
      // The file is shorter than it was: what came is all there is.
      if (more.length === 0) break;
      window = Buffer.concat([rest, more]);
      continue;
    }
    if (found.kind === 'damage') {
      if (damageFrom < 0) damageFrom = windowStart + at;
      at = nextCandidate(window, at + 1);
      continue;
    }
    if (damageFrom >= 0) yield { kind: 'damage', range: { from: damageFrom, to: windowStart + at } };
    damageFrom = -1;
    at = found.next;
    const end = windowStart + at;
    yield found.kind === 'record'
      ? { kind: 'record', record: found.record, end }
      : { kind: 'seal', count: found.count, end };
  }
  if (damageFrom >= 0) yield { kind: 'damage', range: { from: damageFrom, to: bytes } };
}

export interface SegmentScan {
  /** From the header; undefined when the header is damaged. */
  readonly sequence: bigint | undefined;
  readonly bytes: number;
  readonly records: number;
  /** One more than the largest ordinal seen: how many records were written, as far as the file itself can tell. */
  readonly ordinals: number;
  readonly sealedCount: number | undefined;
  readonly damaged: readonly DamagedRange[];
  /** Where the last whole record or seal ends. */
  readonly wholeBytes: number;
  readonly oldestEntryId: string | undefined;
  /** The entry of the last whole record. */
  readonly lastEntryId: string | undefined;
}

/** Reads a segment from end to end and says what is in it. */
export async function scanSegment(
  fs: SpillFs,
  path: string,
  visit: (record: SpillRecord) => void = () => undefined,
): Promise<SegmentScan> {
  const bytes = await fs.size(path);
  const sequence = decodeHeader(await fs.read(path, 0, HEADER_BYTES));
  const damaged: DamagedRange[] = [];
  const ordinals = new Set<number>();
  let sealedCount: number | undefined;
  let wholeBytes = sequence === undefined ? 0 : HEADER_BYTES;
  let oldest: string | undefined;
  let last: string | undefined;
  for await (const item of segmentItems(fs, path, bytes)) {
    if (item.kind === 'damage') damaged.push(item.range);
    else {
      wholeBytes = item.end;
      if (item.kind === 'seal') sealedCount = item.count;
      else {
        visit(item.record);
        ordinals.add(item.record.ordinal);
        oldest = olderOf(oldest, item.record.entryId);
        last = item.record.entryId;
      }
    }
  }
  const highest = [...ordinals].reduce((most, ordinal) => Math.max(most, ordinal + 1), 0);
  const records = ordinals.size;
  return {
    ...{ sequence, bytes, records, ordinals: highest, sealedCount, damaged, wholeBytes },
    ...{ oldestEntryId: oldest, lastEntryId: last },
  };
}

/** The smaller of two entry ids as Redis orders them; either may be unknown. */
export function olderOf(left: string | undefined, right: string | undefined): string | undefined {
  if (left === undefined || right === undefined) return left ?? right;
  const [leftMs, leftSeq] = left.split('-');
  const [rightMs, rightSeq] = right.split('-');
  const order = Number(leftMs) - Number(rightMs) || Number(leftSeq) - Number(rightSeq);
  return order <= 0 ? left : right;
}
