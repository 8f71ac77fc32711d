// The hand-over of trade streams while two connections overlap. Both bring the same trades in the same order, so from the
// trade on that both have brought, whichever is first may deliver. Until then only the old connection does.
import { admit, beginHandover, endHandover, type Handover } from '../../venues/rotation.ts';
import type { FrameSource } from './frame-source.ts';
import type { Stream } from './stream.ts';

/** Where ids have holes, only a trade that both connections brought proves that nothing fell between them. */
interface OrderedHandover {
  /** The first trade with which the successor was ahead of the old connection. */
  aheadFrom: bigint | undefined;
  isCovered: boolean;
}

export type TradeVerdict = 'deliver' | 'duplicate';

export class TradeHandovers {
  readonly #dense = new Map<Stream, Handover>();
  readonly #ordered = new Map<Stream, OrderedHandover>();
  readonly #onCovered: (stream: Stream, atNs: number) => void;

  constructor(onCovered: (stream: Stream, atNs: number) => void) {
    this.#onCovered = onCovered;
  }

  /** A successor is being opened. */
  begin(streams: Iterable<Stream>): void {
    for (const stream of streams) {
      if (stream.kind !== 'trades' || stream.lastTrade === 0n) continue;
      if (stream.gapProof === 'dense-trade-id') this.#dense.set(stream, beginHandover(stream.lastTrade));
      else this.#ordered.set(stream, { aheadFrom: undefined, isCovered: false });
    }
  }

  /** The successor is the connection now. */
  end(): void {
    for (const [stream, handover] of this.#dense) stream.lost += Number(endHandover(handover).lost);
    for (const [stream, { aheadFrom, isCovered }] of this.#ordered)
      if (!isCovered && aheadFrom !== undefined) stream.gaps++;
    this.forget();
  }

  /** The successor failed: the old connection goes on alone. */
  forget(): void {
    this.#dense.clear();
    this.#ordered.clear();
  }

  /** Undefined where the stream is not being handed over. */
  admit(role: FrameSource['role'], stream: Stream, sequence: bigint, atNs: number): TradeVerdict | undefined {
    const dense = this.#dense.get(stream);
    if (dense !== undefined) return this.#admitDense(dense, role, stream, sequence, atNs);
    const ordered = this.#ordered.get(stream);
    return ordered === undefined ? undefined : this.#admitOrdered(ordered, role, stream, sequence, atNs);
  }

  #admitDense(
    handover: Handover,
    role: FrameSource['role'],
    stream: Stream,
    sequence: bigint,
    atNs: number,
  ): TradeVerdict {
    const from = role === 'successor' ? 'successor' : 'old';
    const [next, verdict] = admit(handover, from, sequence, sequence);
    this.#dense.set(stream, next);
    if (next.covered && !handover.covered) this.#onCovered(stream, atNs);
    if (verdict === 'gap') stream.gaps++;
    return verdict === 'duplicate' ? 'duplicate' : 'deliver';
  }

  #admitOrdered(
    handover: OrderedHandover,
    role: FrameSource['role'],
    stream: Stream,
    sequence: bigint,
    atNs: number,
  ): TradeVerdict {
    const isNew = sequence > stream.lastTrade;
    if (handover.isCovered) return isNew ? 'deliver' : 'duplicate';
    if (role === 'successor' && isNew) {
      handover.aheadFrom ??= sequence;
      return 'duplicate';
    }
    if (role === 'successor' || (handover.aheadFrom !== undefined && sequence >= handover.aheadFrom)) {
      handover.isCovered = true;
      this.#onCovered(stream, atNs);
    }
    return isNew ? 'deliver' : 'duplicate';
  }
}
