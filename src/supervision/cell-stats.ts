import { type ActorInfo, type FailureInfo, failureInfo } from './inspect.ts';
import { LatencyRecorder } from './latency.ts';

/** What a cell counts over all its lives. */
export class CellStats {
  readonly waitMs = new LatencyRecorder();
  readonly processingMs = new LatencyRecorder();
  incarnation = 0;
  messages = 0;
  unhandled = 0;
  #lastFailure: FailureInfo | undefined;

  failed(error: Error, atMs: number): void {
    this.#lastFailure = failureInfo(error, atMs);
  }

  info(
    nowMs: number,
  ): Pick<
    ActorInfo,
    'incarnation' | 'restarts' | 'lastFailure' | 'messages' | 'unhandled' | 'waitMs' | 'processingMs'
  > {
    return {
      incarnation: this.incarnation,
      restarts: Math.max(0, this.incarnation - 1),
      lastFailure: this.#lastFailure,
      messages: this.messages,
      unhandled: this.unhandled,
      waitMs: this.waitMs.info(nowMs),
      processingMs: this.processingMs.info(nowMs),
    };
  }
}
