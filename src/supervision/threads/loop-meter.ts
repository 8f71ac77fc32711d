import { type EventLoopUtilization, monitorEventLoopDelay, PerformanceObserver, performance } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import type { LoopInfo } from '../inspect.ts';

const DELAY_RESOLUTION_MS = 20;

/** Measures the event loop and the heap of the thread that it is made on. */
export class LoopMeter {
  readonly #delay = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS });
  readonly #observer: PerformanceObserver;
  #collections = 0;
  #collectedMs = 0;
  #last: EventLoopUtilization = performance.eventLoopUtilization();

  constructor() {
    this.#delay.enable();
    this.#observer = new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) {
        this.#collections++;
        this.#collectedMs += entry.duration;
      }
    });
    this.#observer.observe({ entryTypes: ['gc'] });
  }

  /** Load and delay since the last reading, collections since the meter was made, the heap as it is. */
  read(): LoopInfo {
    const now = performance.eventLoopUtilization();
    const { used_heap_size: heapUsedBytes, heap_size_limit: heapLimitBytes } = getHeapStatistics();
    const info = {
      busy: performance.eventLoopUtilization(now, this.#last).utilization,
      delayMeanUs: this.#delay.count > 0 ? lateUs(this.#delay.mean) : 0,
      delayMaxUs: this.#delay.count > 0 ? lateUs(this.#delay.max) : 0,
      collections: this.#collections,
      collectedUs: Math.round(this.#collectedMs * 1000),
      ...{ heapUsedBytes, heapLimitBytes },
    };
    this.#last = now;
    this.#delay.reset();
    return info;
  }

  close(): void {
    this.#delay.disable();
    this.#observer.disconnect();
  }
}

/** The histogram holds the time between two ticks of its timer; what goes beyond the timer's period is the delay. */
function lateUs(ns: number): number {
  return Math.max(0, Math.round(ns / 1000) - DELAY_RESOLUTION_MS * 1000);
}
