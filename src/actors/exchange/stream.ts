import type { MappedSymbol } from '../../protocols/topology.ts';
import type { FeedEvidence, FeedPhase, FeedReason, StreamFacts, StreamKind } from '../../protocols/venue.ts';
import { judgeFeed } from '../../venues/feed.ts';

/**
 * One stream of a venue: what is known of it, in fields that the hot path writes without allocating. The state is not
 * stored but judged from these (venues/feed.ts says how).
 */
export class Stream implements FeedEvidence {
  readonly name: string;
  readonly kind: StreamKind;
  readonly facts: StreamFacts;
  /** Index of the instrument in the merged book; -1 for streams that are not merged. */
  readonly symbol: number;
  readonly mapped: MappedSymbol;

  requestedNs = 0;
  ackedNs = 0;
  firstFrameNs = 0;
  lastFrameNs = 0;
  aliveNs = 0;
  downNs = 0;
  downReason = 'not requested yet';

  /** The venue's number of the last frame or trade that was passed on. */
  lastSequence = 0;
  lastTrade = 0n;
  /** Its book cannot be trusted until it is rebuilt. */
  isBroken = false;
  frames = 0;
  duplicates = 0;
  gaps = 0;
  /** Updates that no connection delivered. */
  lost = 0;
  phase: FeedPhase = 'down';
  reason: FeedReason = 'down';

  constructor(name: string, kind: StreamKind, facts: StreamFacts, symbol: number, mapped: MappedSymbol) {
    this.name = name;
    this.kind = kind;
    this.facts = facts;
    this.symbol = symbol;
    this.mapped = mapped;
  }

  requested(nowNs: number): void {
    // A stream that another connection still carries keeps what that connection proves.
    if (this.downNs === 0 && this.requestedNs > 0) return;
    this.requestedNs = nowNs;
    this.ackedNs = 0;
    this.firstFrameNs = 0;
    this.lastFrameNs = 0;
    this.aliveNs = nowNs;
    this.downNs = 0;
    this.downReason = '';
  }

  acked(nowNs: number): void {
    if (this.ackedNs === 0) this.ackedNs = nowNs;
    this.aliveNs = nowNs;
    this.downNs = 0;
    this.downReason = '';
  }

  heard(nowNs: number): void {
    this.frames++;
    if (this.firstFrameNs === 0) this.firstFrameNs = nowNs;
    this.lastFrameNs = nowNs;
    this.aliveNs = nowNs;
  }

  lose(nowNs: number, reason: string): void {
    this.downNs = nowNs;
    this.downReason = reason;
  }

  /** Judges the stream; true when its phase is another than before. */
  judge(ackWithinMs: number, nowNs: number): boolean {
    const { phase, reason } = judgeFeed(this.facts.cadence, ackWithinMs, this, nowNs);
    const hasChanged = phase !== this.phase;
    this.phase = phase;
    this.reason = reason;
    return hasChanged;
  }

  /** Until when its book counts if nothing more is heard, in milliseconds of the threads' clock. */
  get countsUntilMs(): number {
    const { cadence } = this.facts;
    return cadence.kind === 'timer'
      ? this.lastFrameNs / 1e6 + cadence.staleAfterMs
      : this.aliveNs / 1e6 + cadence.evidenceWithinMs;
  }
}
