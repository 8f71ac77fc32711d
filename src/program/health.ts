import type { Health, HealthPart, HealthView } from '../protocols/console-api.ts';
import type { ExchangeStatus, StreamStatus } from '../protocols/exchange.ts';
import { type ActorInfo, flatten } from '../supervision/inspect.ts';
import { isUsable } from '../venues/feed.ts';

/** What the planes are judged by. */
export interface HealthEvidence {
  readonly tree: ActorInfo;
  readonly exchanges: readonly ExchangeStatus[];
  /** Paths of actors that the configuration asks for and that do not run. */
  readonly missing: readonly string[];
  /** Planes that cannot run here, and why. */
  readonly absent: readonly { readonly plane: string; readonly reason: string }[];
  /** What a plane says of itself, such as the ingest plane of its breaker and its spill. */
  readonly others: readonly HealthPart[];
}

const WORST: readonly Health[] = ['OK', 'DEGRADED', 'DOWN'];

/** OK: all is well. DEGRADED: something is out and the rest goes on. DOWN: nothing that was asked for is served. */
export function judgeHealth(evidence: HealthEvidence): HealthView {
  const parts = [
    actorsPart(evidence.tree),
    ...missingPart(evidence.missing),
    ...feedsPart(evidence.exchanges),
    ...evidence.absent.map(({ plane, reason }): HealthPart => ({ name: plane, status: 'DEGRADED', reason })),
    ...evidence.others,
  ];
  // A part that is down degrades the whole; only the books without any venue, or a tree that is not up, take it down.
  const isDown = parts.some((part) => (part.name === 'actors' || part.name === 'books') && part.status === 'DOWN');
  const worst = WORST[Math.max(...parts.map((part) => WORST.indexOf(part.status)))]!;
  return { status: isDown ? 'DOWN' : worst === 'OK' ? 'OK' : 'DEGRADED', parts };
}

function actorsPart(tree: ActorInfo): HealthPart {
  if (tree.state !== 'running') return { name: 'actors', status: 'DOWN', reason: `the system is ${tree.state}` };
  const unwell = flatten(tree).filter(({ state }) => state !== 'running' && state !== 'suspended');
  if (unwell.length === 0) return { name: 'actors', status: 'OK', reason: '' };
  const [first] = unwell;
  const more = unwell.length > 1 ? ` and ${unwell.length - 1} more` : '';
  const why = first!.lastFailure === undefined ? '' : `: ${first!.lastFailure.message}`;
  return { name: 'actors', status: 'DEGRADED', reason: `${first!.path} is ${first!.state}${why}${more}` };
}

const NAMED_MAX = 4;

/** A sentence has room for a few names. */
export function someOf(names: readonly string[]): string {
  const more = names.length - NAMED_MAX;
  return `${names.slice(0, NAMED_MAX).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** An actor that was never started is in no tree that could be looked at, so it is named here. */
function missingPart(missing: readonly string[]): HealthPart[] {
  if (missing.length === 0) return [];
  return [{ name: 'topology', status: 'DEGRADED', reason: `configured, but not running: ${someOf(missing)}` }];
}

/** Why an exchange brings nothing: no book where it has books to bring, else no stream that was joined; undefined where it does. */
export function unfedReason(exchange: ExchangeStatus | undefined): string | undefined {
  if (exchange === undefined) return 'nothing has been heard of it';
  const books = exchange.streams.filter(isBook);
  const judged = books.length > 0 ? books : exchange.streams;
  const isFed = judged.some(({ phase }) => isUsable(phase) || (books.length === 0 && phase === 'acked'));
  const [first] = judged;
  return isFed || first === undefined ? undefined : first.downReason || first.reason;
}

const isBook = ({ kind }: StreamStatus) => kind === 'book' || kind === 'book-delta';
/** One that was acked and is silent so far is nothing to worry about yet, but no book either. */
const hasBook = ({ phase, ageMs }: StreamStatus) => isUsable(phase) && ageMs !== null;

/** Whether an exchange brings a book that can be merged or, where it has no book to bring, anything else. */
export function isUp({ streams }: ExchangeStatus): boolean {
  const books = streams.filter(isBook);
  return books.length > 0 ? books.some(hasBook) : streams.some(({ phase }) => isUsable(phase));
}

/** The books are as well as the venues that feed them. */
function feedsPart(exchanges: readonly ExchangeStatus[]): HealthPart[] {
  const books = exchanges.map((exchange) => ({
    venue: exchange.venue,
    streams: exchange.streams.filter(isBook),
  }));
  const fed = books.filter(({ streams }) => streams.length > 0);
  if (fed.length === 0) return [];
  const out = fed.filter(({ streams }) => !streams.some(hasBook));
  const partly = fed.filter(
    ({ streams }) => streams.some((stream) => !hasBook(stream)) && !out.some((one) => one.streams === streams),
  );
  const whyOut = out.map(({ venue, streams }) => `${venue} is out (${streams[0]!.downReason || streams[0]!.reason})`);
  if (out.length === fed.length) {
    return [{ name: 'books', status: 'DOWN', reason: `no venue sends books: ${someOf(whyOut)}` }];
  }
  const reasons = [
    ...whyOut,
    ...partly.map(({ venue, streams }) => {
      const bad = streams.filter((stream) => !hasBook(stream));
      return `${venue} lacks ${someOf(bad.map((stream) => stream.instrument))}`;
    }),
  ];
  return [{ name: 'books', status: reasons.length === 0 ? 'OK' : 'DEGRADED', reason: reasons.join('; ') }];
}
