import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { launch, provideChromium } from './chromium.ts';
import { type Visit, visit } from './visit.ts';

export const POLL = { timeout: 60_000, interval: 100 };

interface Site {
  readonly url: string;
  stop(): Promise<void>;
}

/** What a test in the browser has at hand. */
export interface Stage<S extends Site> {
  readonly site: S;
  readonly browser: Browser;
  /** A tab of this test's own. */
  readonly tab: Visit;
  /** Complaints of the browser that this test asks for; any other fails it. */
  readonly expected: RegExp[];
}

const found = provideChromium();

/** A site, a browser, and a tab for each test, in which nothing may be complained about and nobody else be contacted. */
export function describeInBrowser<S extends Site>(
  name: string,
  start: () => Promise<S>,
  tests: (stage: Stage<S>) => void,
): void {
  if (found.path === undefined) {
    it.skip(`${name}: ${found.reason}`, () => {});
    return;
  }
  const { path } = found;
  describe(name, () => {
    const stage = {} as { -readonly [K in keyof Stage<S>]: Stage<S>[K] };
    beforeAll(async () => {
      [stage.site, stage.browser] = await Promise.all([start(), launch(path)]);
    }, 120_000);
    afterAll(async () => {
      await stage.browser?.close();
      await stage.site?.stop();
    }, 60_000);
    beforeEach(async () => {
      stage.expected = [];
      stage.tab = await visit(stage.browser, stage.site);
    });
    afterEach(async () => {
      const { tab, expected } = stage;
      await tab.close();
      expect(tab.complaints.filter((text) => !expected.some((pattern) => pattern.test(text)))).toEqual([]);
      expect(tab.strangers).toEqual([]);
    });
    tests(stage);
  });
}
