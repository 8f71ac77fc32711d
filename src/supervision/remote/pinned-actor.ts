import type { ActorInfo, ThreadInfo } from '../inspect.ts';
import { type ChildSpec, policyOf } from '../spec.ts';
import { CountsWindow } from '../telemetry/counts-window.ts';
import { percentileNs } from '../telemetry/histogram.ts';
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

class PinnedChild extends ThreadChild<PinnedThread> {
  readonly #window = new CountsWindow();

  protected override work(): Pick<ActorInfo, 'messages' | 'processingMs'> {
    const { handled, processing: ever } = this.thread.work();
    const counts = this.#window.of(ever.counts, performance.now());
    const processing = { ...ever, counts, count: counts.reduce((sum, each) => sum + each, 0) };
    const ms = (share: number) => (percentileNs(processing, share) ?? 0) / 1e6;
    const processingMs = { count: processing.count, p50: ms(0.5), p99: ms(0.99), max: ms(1) };
    return { messages: handled, processingMs: processing.count === 0 ? undefined : processingMs };
  }

  protected override health(): Pick<ThreadInfo, 'duty'> {
    const { handled, processing } = this.thread.work();
    return { duty: { handled, samples: processing.count, sampledNs: processing.sumNs } };
  }
}

/** One actor's duty cycle on a thread of its own, reached through shared memory alone. */
export function pinnedActor(options: PinnedActorOptions): PinnedActorSpec {
  const thread = new PinnedThread({ ...options, name: options.id });
  return {
    ...policyOf(options),
    thread,
    place: (runtime, _parent, path) =>
      new PinnedChild(runtime, path, thread, 'pinned', options.shutdownMs ?? SHUTDOWN_MS),
  };
}
