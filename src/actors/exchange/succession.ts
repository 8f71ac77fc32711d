// Which streams a change of connections waits for, and what becomes of those that it has not waited for.
import { ROTATION } from '../../venues/rotation.ts';
import type { FrameSource } from './frame-source.ts';
import type { Link } from './link.ts';
import type { Stream } from './stream.ts';

const NS_PER_MS = 1e6;

/** Whether the connection carries it, and a successor must carry it on. A book that is being begun anew anyway holds up none. */
export function isCarried({ ackedNs, kind, lastFrameNs, downNs }: Stream): boolean {
  return ackedNs > 0 && (kind !== 'book-delta' || (lastFrameNs > 0 && downNs === 0));
}

export function carriedStreams(streams: Iterable<Stream>): string[] {
  return [...streams].filter(isCarried).map(({ name }) => name);
}

/** What a successor must have before it takes over: whole books, and whatever the old connection still brings. */
export function owedStreams(
  streams: Iterable<Stream>,
  successor: FrameSource | undefined,
  nowNs: number,
): ReadonlySet<string> {
  const speaks = ({ lastFrameNs }: Stream) => nowNs - lastFrameNs < ROTATION.silentGraceMs * NS_PER_MS;
  const lacksBook = (stream: Stream) =>
    stream.kind === 'book-delta' && successor?.reading?.deltas.hasBook(stream) !== true;
  return new Set([...streams].filter((stream) => speaks(stream) || lacksBook(stream)).map(({ name }) => name));
}

/** A successor is the connection now: what it lacks begins anew there, and what was refused to it is refused. Answers what it lacks. */
export function takeOver(
  promoted: Link,
  streams: ReadonlyMap<string, Stream>,
  uncovered: readonly string[],
  nowNs: number,
): readonly Stream[] {
  const lacking = uncovered.map((name) => streams.get(name)).filter((one) => one !== undefined);
  const why = 'the old connection ended before its successor had the book';
  for (const stream of lacking) if (stream.isBook) stream.beginAnew(nowNs, promoted.acked.has(stream.name), why);
  for (const [name, { code, reason }] of promoted.refused) streams.get(name)?.refused(nowNs, code, reason);
  promoted.refused.clear();
  return lacking;
}
