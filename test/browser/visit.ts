import { existsSync, mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Browser, Locator, Page } from 'playwright-core';
import { expect } from 'vitest';

const SCREENSHOTS = fileURLToPath(new URL('../../../docs/screenshots/', import.meta.url));

export interface Visit {
  readonly page: Page;
  /** What the browser complained about. */
  readonly complaints: string[];
  /** Requests to anywhere but the system under test. */
  readonly strangers: string[];
  show(path: string): Promise<void>;
  /** Answers the token dialog when it comes up. */
  giveToken(token: string): Promise<void>;
  /** The actor's row in the tree. */
  row(path: string): Locator;
  /** Keeps a picture for the docs when TAPEWORKS_SCREENSHOTS is set; else there must be one from before. */
  picture(name: string): Promise<void>;
  close(): Promise<void>;
}

export interface VisitOptions {
  readonly width?: number;
  readonly height?: number;
  readonly colorScheme?: 'light' | 'dark';
}

/** A tab of its own, with nothing remembered from others. */
export async function visit(
  browser: Browser,
  site: { readonly url: string },
  options: VisitOptions = {},
): Promise<Visit> {
  const { width = 1360, height = 860, colorScheme = 'light' } = options;
  const context = await browser.newContext({ viewport: { width, height }, colorScheme });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const complaints: string[] = [];
  const strangers: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => {
    if (!request.url().startsWith(`${site.url}/`)) strangers.push(request.url());
  });
  return {
    ...{ page, complaints, strangers },
    show: async (path) => {
      await page.goto(`${site.url}/#/${path}`);
    },
    row: (path) => page.locator(`tr[data-path="${path}"]`),
    async giveToken(token) {
      await page.getByLabel('Token', { exact: true }).last().fill(token);
      await page.getByRole('button', { name: 'Use it' }).click();
    },
    async picture(name) {
      const path = `${SCREENSHOTS}${name}.png`;
      if (process.env['TAPEWORKS_SCREENSHOTS'] === undefined) {
        expect(existsSync(path), `the docs have a picture of ${name}`).toBe(true);
        return;
      }
      mkdirSync(SCREENSHOTS, { recursive: true });
      await page.screenshot({ path, animations: 'disabled' });
    },
    close: () => context.close(),
  };
}
