// What a partition worker is told and what it answers. The worker's thread has no event loop, so both travel as frames
// through rings: a JSON head (bigints as {"$": "123"}), then the bytes that the message carries, if any.
import type { Bar, Interval } from './kline.ts';

/** Trades first..last are missing; they happened between the two times. */
export interface Hole {
  readonly first: bigint;
  readonly last: bigint;
  readonly fromUs: bigint;
  readonly toUs: bigint;
  /** Some of them have been seen, nobody knows which: they cannot be filled in one by one. */
  readonly isCoarse: boolean;
}

/** What is not right with a symbol's bars, and what would put it right. */
export interface Trouble {
  readonly symbol: number;
  readonly holes: readonly Hole[];
  /** Set while trades from this time on may be missing: ask the venue for `expected` and what follows. */
  readonly suspectFromUs: bigint | undefined;
  readonly expected: bigint;
  /** Bars of these intervals in this span are out of the kernel's reach and must be rebuilt where they are stored. */
  readonly deep:
    | { readonly intervals: readonly Interval[]; readonly fromUs: bigint; readonly toUs: bigint }
    | undefined;
}

export interface SymbolStart {
  readonly symbol: number;
  readonly venue: number;
  /** True where the venue's sequences leave no number out, so that a hole is proof of a loss. */
  readonly dense: boolean;
  readonly sinceUs: bigint;
  /** After a restart: the last stored bar of each interval, and where to go on. */
  readonly stored?: { readonly bars: readonly Bar[]; readonly nextSequence: bigint; readonly lastUs: bigint };
}

export type SnapshotReader = 'persistence' | 'live';

export type PartitionCommand =
  | ({ readonly kind: 'add-symbol' } & SymbolStart)
  | { readonly kind: 'remove-symbol'; readonly symbol: number }
  /** Trades of the symbol that come from now on belong to a state that is still on its way. */
  | { readonly kind: 'expect-symbol'; readonly symbol: number }
  | { readonly kind: 'move-out'; readonly symbol: number }
  | { readonly kind: 'move-in'; readonly symbol: number; readonly bytes: Uint8Array }
  /** Trades fetched from the venue, as records, ascending. */
  | { readonly kind: 'apply-trades'; readonly symbol: number; readonly bytes: Uint8Array }
  | { readonly kind: 'doubt'; readonly symbol: number; readonly fromUs: bigint }
  | { readonly kind: 'confirm'; readonly symbol: number; readonly next: bigint; readonly nowUs: bigint }
  | { readonly kind: 'resolve'; readonly symbol: number; readonly first: bigint; readonly last: bigint }
  /** The venue's trades of this span are not those that were counted. */
  | { readonly kind: 'disproved'; readonly symbol: number; readonly fromUs: bigint; readonly toUs: bigint }
  /** Someone else rebuilds the deep span, if it is still this one. */
  | { readonly kind: 'rebuild-taken'; readonly symbol: number; readonly fromUs: bigint; readonly toUs: bigint }
  /** The venue's clock is this far ahead of the machine's monotonic one; windows close `graceUs` after their end. */
  | { readonly kind: 'set-clock'; readonly venue: number; readonly offsetUs: bigint; readonly graceUs: bigint }
  /** Asks what is wrong, if anything changed since the version that was last answered. */
  | { readonly kind: 'troubles'; readonly since: bigint }
  /** Asks what it has counted in its present life. */
  | { readonly kind: 'counters' }
  | { readonly kind: 'snapshot'; readonly reader: SnapshotReader }
  /** The snapshot of this number is durable. */
  | { readonly kind: 'commit'; readonly reader: SnapshotReader; readonly snapshot: number };

export type PartitionReply =
  | { readonly kind: 'done' }
  | { readonly kind: 'refused'; readonly code: string; readonly reason: string }
  | { readonly kind: 'moved-out'; readonly symbol: number; readonly bytes: Uint8Array }
  | { readonly kind: 'troubles'; readonly version: bigint; readonly troubles: readonly Trouble[] }
  | { readonly kind: 'counters'; readonly counters: Readonly<Record<string, bigint>> }
  /** The bars lie in one half of the worker's snapshot memory and stay there until the snapshot after the next. */
  | { readonly kind: 'snapshot'; readonly snapshot: number; readonly half: 0 | 1; readonly records: number };

/** A command or a reply with the number that pairs them. */
export interface Numbered<M> {
  readonly id: number;
  readonly message: M;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function encodeNumbered<M extends object>({ id, message }: Numbered<M>): Uint8Array {
  const bytes = 'bytes' in message && message.bytes instanceof Uint8Array ? message.bytes : new Uint8Array(0);
  const head = encoder.encode(
    JSON.stringify({ id, message }, (key, value: unknown) => {
      if (typeof value === 'bigint') return { $: value.toString() };
      return key === 'bytes' ? undefined : value;
    }),
  );
  const frame = new Uint8Array(4 + head.length + bytes.length);
  new DataView(frame.buffer).setUint32(0, head.length, true);
  frame.set(head, 4);
  frame.set(bytes, 4 + head.length);
  return frame;
}

export function decodeNumbered<M extends object>(frame: Uint8Array): Numbered<M> {
  const length = new DataView(frame.buffer, frame.byteOffset, frame.byteLength).getUint32(0, true);
  const text = decoder.decode(frame.subarray(4, 4 + length));
  const { id, message } = JSON.parse(text, (_, value: unknown) => {
    const big = typeof value === 'object' && value !== null && '$' in value ? value.$ : undefined;
    return typeof big === 'string' ? BigInt(big) : value;
  }) as Numbered<M>;
  const bytes = frame.slice(4 + length);
  return { id, message: bytes.length > 0 ? { ...message, bytes } : message };
}
