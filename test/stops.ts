import { afterEach } from 'vitest';

/** What was begun in a test is stopped after it, the last first. */
export function stoppedAfterEach(): (stop: () => unknown) => void {
  const stops: (() => unknown)[] = [];
  afterEach(async () => {
    for (const stop of stops.splice(0).reverse()) await stop();
  });
  return (stop) => stops.push(stop);
}
