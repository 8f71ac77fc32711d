import type { TopologyConfig } from './topology-schema.ts';
import type { ConfigPath } from './yaml-document.ts';

/** One actor's claim on a thread, as the topology file words it. */
export interface ThreadUse {
  /** Where the file says it, or would. */
  readonly path: ConfigPath;
  readonly actor: string;
  readonly thread: string;
  /** The thread that the actor gets without a word in the file. */
  readonly ownThread: string;
  readonly needs: 'loop' | 'pinned';
}

export const workerThread = (index: number) => `klines-${index}`;
export const feedThread = (venue: string) => `feed-${venue}`;
const MERGER_THREAD = 'merger';
const INGEST_THREAD = 'kernel';

/** The name of a venue's n-th connection: binance, binance-2, binance-3. */
export const connectionName = (venue: string, index: number) => (index === 0 ? venue : `${venue}-${index + 1}`);

/** Which actor runs on which thread; what is switched off claims none. */
export function threadUses({ feeds, book, klines, ingest }: TopologyConfig): readonly ThreadUse[] {
  const uses: ThreadUse[] = [];
  if (ingest.enabled) {
    const { thread } = ingest;
    uses.push({ path: ['ingest', 'thread'], actor: 'ingest', thread, ownThread: INGEST_THREAD, needs: 'loop' });
  }
  for (let index = 0; klines.enabled && index < klines.workers; index++) {
    const thread = workerThread(index);
    const actor = `partition-worker ${index}`;
    uses.push({ path: ['klines', 'workers'], actor, thread, ownThread: thread, needs: 'pinned' });
  }
  if (book.enabled) {
    const { thread } = book;
    uses.push({ path: ['book', 'thread'], actor: 'the merger', thread, ownThread: MERGER_THREAD, needs: 'pinned' });
  }
  for (const [venue, feed] of Object.entries(feeds)) {
    const ownThread = feedThread(venue);
    const thread = feed.thread ?? ownThread;
    uses.push({ path: ['feeds', venue, 'thread'], actor: `exchange ${venue}`, thread, ownThread, needs: 'loop' });
  }
  return uses;
}
