import type { StreamStatus } from '../../protocols/exchange.ts';
import type { MappedSymbol } from '../../protocols/topology.ts';
import type {
  FeedEvidence,
  FeedPhase,
  FeedReason,
  FeedVerdict,
  GapProof,
  StreamFacts,
  StreamKind,
} from '../../protocols/venue.ts';
import { isUsable, judgeFeed } from '../../venues/feed.ts';
import { NEVER } from './frame-source.ts';

const RETRY_MIN_MS = 5_000;
const RETRY_MAX_MS = 300_000;
/** A checksum is over the top of a book alone, and a time or an id that leaves numbers out shows no hole. */
const PROOFS: ReadonlySet<GapProof> = new Set<GapProof>(['update-range', 'connection-sequence', 'dense-trade-id']);

/**
 * One stream of a venue: what is known of it, in fields that the hot path writes without allocating. The state is not
 * stored but judged from these (venues/feed.ts says how).
 */
export class Stream implements FeedEvidence {
  readonly name: string;
  readonly kind: StreamKind;
  facts: StreamFacts;
  /** As the facts have it: each trade asks. */
  gapProof: StreamFacts['gapProof'];
  /** How long its book counts after its frame, or after the connection's last sign of life. */
  patienceMs: number;
  #isRefused = false;
  /** Index of the instrument in the merged book; -1 for streams that are not merged. */
  readonly symbol: number;
  readonly mapped: MappedSymbol;

  requestedNs = NEVER;
  ackedNs = NEVER;
  firstFrameNs = NEVER;
  lastFrameNs = NEVER;
  aliveNs = NEVER;
  downNs = NEVER;
  downReason = 'not requested yet';

  /** The venue's number of the last frame or trade that was passed on. */
  lastSequence = NEVER;
  lastTrade = 0n;
  /** The venue's time of the last change of an incremental book. */
  venueUs = NEVER;
  /** Since when its frames have carried older numbers than one that was passed on; 0 while they do not. */
  behindNs = NEVER;
  /** Its book cannot be trusted until it is rebuilt. */
  isBroken = false;
  frames = 0;
  duplicates = 0;
  gaps = 0;
  /** Updates that no connection delivered. */
  lost = 0;
  /** Trades may be missing, and whoever sums them has not been told; a stream that begins does not know what was before. */
  hasUntoldLoss = true;
  lossToldNs = NEVER;
  /** Requests made anew because the stream was silent, since it last flowed; and when the next one may be made. */
  retries = 0;
  retryNs = NEVER;
  phase: FeedPhase = 'down';
  reason: FeedReason = 'down';

  constructor(name: string, kind: StreamKind, facts: StreamFacts, symbol: number, mapped: MappedSymbol) {
    this.name = name;
    this.kind = kind;
    this.facts = facts;
    this.gapProof = facts.gapProof;
    this.patienceMs = patienceOf(facts);
    this.symbol = symbol;
    this.mapped = mapped;
  }

  get isBook(): boolean {
    return this.kind === 'book' || this.kind === 'book-delta';
  }

  /** Whether what comes next shows that something was missing before it: by its number, or because a timer brings it anyway. */
  get showsHoles(): boolean {
    return this.facts.cadence.kind === 'timer' || PROOFS.has(this.gapProof);
  }

  /** Whether it is the other stream but for the facts that both are judged by. */
  isAs({ kind, symbol, mapped }: Stream): boolean {
    const { instrument, scale } = this.mapped;
    return kind === this.kind && symbol === this.symbol && mapped.instrument === instrument && mapped.scale === scale;
  }

  /** The same stream, judged by other facts from now on. */
  with(facts: StreamFacts): this {
    this.facts = facts;
    this.gapProof = facts.gapProof;
    this.patienceMs = patienceOf(facts);
    return this;
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

  /** Nothing carries it on: what it had counts no more, and its connection owes it a beginning. */
  beginAnew(nowNs: number, isAcked: boolean, reason: string): void {
    this.lose(nowNs, reason);
    this.requested(nowNs);
    if (isAcked) this.acked(nowNs);
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

  /** Its connection has brought something, if not of this stream. */
  proveAlive(nowNs: number): void {
    if (this.aliveNs < nowNs) this.aliveNs = nowNs;
  }

  /** A frame that says nothing new: the venue is there, but its book is no fresher for it. */
  heardOld(nowNs: number): void {
    this.frames++;
    this.duplicates++;
    this.aliveNs = nowNs;
  }

  lose(nowNs: number, reason: string): void {
    this.hasUntoldLoss = true;
    // A book that begins anew does not continue the numbers of the one before.
    if (this.kind === 'book-delta') this.lastSequence = 0;
    this.venueUs = 0;
    this.#isRefused = false;
    this.downNs = nowNs;
    this.downReason = reason;
  }

  /** The venue does not want to send it, or does not answer. */
  refused(nowNs: number, code: string, reason: string): void {
    this.lose(nowNs, `${code}: ${reason}`);
    this.#isRefused = true;
    this.retryNs = Math.max(this.retryNs, nowNs + RETRY_MIN_MS * 1e6);
  }

  /** Judges the stream; true when its phase is another than before. */
  judge(ackWithinMs: number, nowNs: number): boolean {
    const { phase, reason } = this.#judged(ackWithinMs, nowNs);
    const hasChanged = phase !== this.phase;
    this.phase = phase;
    this.reason = reason;
    return hasChanged;
  }

  /** Frames that came are no good while a later one could not be read. */
  #judged(ackWithinMs: number, nowNs: number): Pick<FeedVerdict, 'phase' | 'reason'> {
    const verdict = judgeFeed(this.facts.cadence, ackWithinMs, this, nowNs);
    const isUnread = this.isBroken && this.lastFrameNs > 0 && isUsable(verdict.phase);
    return isUnread ? { phase: 'stale', reason: 'frame-refused' } : verdict;
  }

  /**
   * True when the stream should be left and joined again: the connection lives, yet the stream was refused, has not sent
   * what it should have, or stopped though a timer drives it. Waits 5, 10, 20 ... 300 s between tries.
   */
  isDueForRetry(nowNs: number): boolean {
    if (this.phase === 'live') this.retries = 0;
    // Books begin at once or nearly so, while most symbols trade seldom: their silence says little.
    const isExpected = this.kind !== 'trades' && this.reason === 'acked-then-silent';
    const isOverdue = this.phase === 'stale' && (this.reason === 'acked-then-silent' || this.reason === 'timer-missed');
    const isRefused = this.#isRefused && this.downNs > 0;
    if (!(isExpected || isOverdue || isRefused) || nowNs < this.retryNs) return false;
    this.retryNs = nowNs + Math.min(RETRY_MIN_MS * 2 ** Math.min(this.retries, 10), RETRY_MAX_MS) * 1e6;
    this.retries++;
    return true;
  }

  status(nowNs: number): StreamStatus {
    const { name, kind, mapped, phase, reason, downReason, frames, duplicates, gaps, lost } = this;
    const ageMs = this.lastFrameNs === 0 ? null : (nowNs - this.lastFrameNs) / 1e6;
    const instrument = mapped.instrument;
    return { name, kind, instrument, phase, reason, downReason, ageMs, frames, duplicates, gaps, lost };
  }

  /** Until when its book counts if nothing more is heard, in milliseconds of the threads' clock. */
  get countsUntilMs(): number {
    return this.countsAfter(this.facts.cadence.kind === 'timer' ? this.lastFrameNs : this.aliveNs);
  }

  /** Until when a book counts that came at the given time. */
  countsAfter(receivedNs: number): number {
    return receivedNs / 1e6 + this.patienceMs;
  }
}

function patienceOf({ cadence }: StreamFacts): number {
  return cadence.kind === 'timer' ? cadence.staleAfterMs : cadence.evidenceWithinMs;
}
