import type { ChildSpec } from '../spec.ts';
import { PinnedThread, type PinnedThreadOptions } from '../threads/pinned-thread.ts';
import { ThreadChild } from './thread-child.ts';

export interface PinnedActorOptions extends Omit<PinnedThreadOptions, 'name'> {
  readonly id: string;
  readonly restart?: ChildSpec['restart'];
  readonly backoff?: NonNullable<ChildSpec['backoff']>;
  readonly shutdownMs?: number;
}

export interface PinnedActorSpec extends ChildSpec {
  readonly thread: PinnedThread;
}

const SHUTDOWN_MS = 2_000;

/** One actor's duty cycle on a thread of its own, reached through shared memory alone. */
export function pinnedActor(options: PinnedActorOptions): PinnedActorSpec {
  const thread = new PinnedThread({ ...options, name: options.id });
  return {
    id: options.id,
    restart: options.restart ?? 'permanent',
    ...(options.backoff !== undefined && { backoff: options.backoff }),
    thread,
    place: (runtime, _parent, path) =>
      new ThreadChild(runtime, path, thread, 'pinned', options.shutdownMs ?? SHUTDOWN_MS),
  };
}
