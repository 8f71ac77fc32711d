import { type EventLoopUtilization, monitorEventLoopDelay, PerformanceObserver, performance } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';

const DELAY_RESOLUTION_MS = 20;

export interface MainThreadLoad {
  readonly busy: number;
  readonly delayMeanUs: number;
  readonly delayMaxUs: number;
  readonly gcMsPerSecond: number;
  readonly heapUsedBytes: number;
  readonly heapLimitBytes: number;
}

/** Measures the main thread, which has nobody above it to do so. */
export class MainThreadMeter {
  readonly #delay = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS });
  readonly #collections: PerformanceObserver;
  #collectedMs = 0;
  #last: EventLoopUtilization = performance.eventLoopUtilization();
  #lastMs = performance.now();

  constructor() {
    this.#delay.enable();
    this.#collections = new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) this.#collectedMs += entry.duration;
    });
    this.#collections.observe({ entryTypes: ['gc'] });
  }

  /** The load since the last reading. */
  read(): MainThreadLoad {
    const now = performance.eventLoopUtilization();
    const elapsedMs = Math.max(1, performance.now() - this.#lastMs);
    const { used_heap_size: heapUsedBytes, heap_size_limit: heapLimitBytes } = getHeapStatistics();
    const load = {
      busy: performance.eventLoopUtilization(now, this.#last).utilization,
      delayMeanUs: this.#delay.count > 0 ? lateUs(this.#delay.mean) : 0,
      delayMaxUs: this.#delay.count > 0 ? lateUs(this.#delay.max) : 0,
      gcMsPerSecond: (this.#collectedMs * 1000) / elapsedMs,
      ...{ heapUsedBytes, heapLimitBytes },
    };
    this.#last = now;
    this.#lastMs += elapsedMs;
    this.#collectedMs = 0;
    this.#delay.reset();
    return load;
  }

  close(): void {
    this.#delay.disable();
    this.#collections.disconnect();
  }
}

/** The histogram holds the time between two ticks of its timer; what goes beyond the timer's period is the delay. */
function lateUs(ns: number): number {
  return Math.max(0, Math.round(ns / 1000) - DELAY_RESOLUTION_MS * 1000);
}
