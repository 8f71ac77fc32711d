// Which streams a change of connections waits for.
import { ROTATION } from '../../venues/rotation.ts';
import type { Stream } from './stream.ts';

const NS_PER_MS = 1e6;

/** What the connection carries, and a successor must carry on. A book that is being begun anew anyway holds up no successor. */
export function carriedStreams(streams: Iterable<Stream>): string[] {
  const isCarried = ({ ackedNs, kind, lastFrameNs, downNs }: Stream) =>
    ackedNs > 0 && (kind !== 'book-delta' || (lastFrameNs > 0 && downNs === 0));
  return [...streams].filter(isCarried).map(({ name }) => name);
}

/** What a successor must have before it takes over: whole books, and whatever the old connection still brings. */
export function owedStreams(streams: Iterable<Stream>, nowNs: number): ReadonlySet<string> {
  const speaks = ({ kind, lastFrameNs }: Stream) =>
    kind === 'book-delta' || nowNs - lastFrameNs < ROTATION.silentGraceMs * NS_PER_MS;
  return new Set([...streams].filter(speaks).map(({ name }) => name));
}
