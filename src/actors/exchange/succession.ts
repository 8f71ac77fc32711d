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

/**
 * A successor is the connection now. Books that the old one had not handed over begin anew there, and so do those that it had lost:
 * they are down no more. What was refused to it is refused. Answers the streams that may have a hole.
 */
export function takeOver(
  promoted: Link,
  streams: ReadonlyMap<string, Stream>,
  uncovered: readonly string[],
  nowNs: number,
): readonly Stream[] {
  const all = [...streams.values()];
  const lacking = all.filter(({ name }) => uncovered.includes(name));
  for (const book of all.filter((stream) => stream.isBook && (stream.downNs > 0 || lacking.includes(stream))))
    book.beginAnew(nowNs, promoted.acked.has(book.name), 'the old connection ended before its successor had the book');
  for (const [name, { code, reason }] of promoted.refused) streams.get(name)?.refused(nowNs, code, reason);
  promoted.refused.clear();
  return lacking;
}
