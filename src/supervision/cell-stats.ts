import { TapeworksError } from '../protocols/errors/index.ts';
import type { ActorInfo, FailureInfo } from './inspect.ts';
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
    const code = error instanceof TapeworksError ? error.code : undefined;
    this.#lastFailure = { message: error.message, code, atMs };
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
