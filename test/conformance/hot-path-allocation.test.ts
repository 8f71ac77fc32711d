import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

interface Report {
  readonly frames: number;
  readonly summaries: number;
  readonly helped: number;
  readonly observerWorks: boolean;
  readonly majorCollections: number;
  readonly minorCollections: number;
  readonly heapGrowthBytes: number;
}

describe('the hot path', () => {
  it('takes 1,000,000 frames from decode to summary without heap growth or a major collection', {
    timeout: 120_000,
  }, () => {
    const child = fileURLToPath(new URL('./hot-path-frames.js', import.meta.url));
    // Code is compiled where it is called, so that a busy machine does not leave it interpreted for longer.
    const flags = ['--expose-gc', '--max-semi-space-size=1', '--no-concurrent-recompilation'];
    const report = JSON.parse(execFileSync(process.execPath, [...flags, child], { encoding: 'utf8' })) as Report;
    expect(report.frames).toBe(1_000_000);
    expect(report.summaries).toBe(1_000_000);
    expect(report.helped).toBe(500_000);
    expect(report.observerWorks).toBe(true);
    expect(report.majorCollections).toBe(0);
    // Young space is collected when a megabyte of it is used up: 77 times by the numbers that the clock answers, and 16
    // times more by the smallest object that is made for each frame.
    expect(report.minorCollections).toBeLessThan(86);
    // A quarter of a byte a frame: far below one object that stays.
    expect(report.heapGrowthBytes).toBeLessThan(256 * 1024);
  });
});
