import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { launch, provideChromium } from './chromium.ts';
import { type Harness, startDemo } from './harness.ts';
import { type Visit, visit } from './visit.ts';

const POLL = { timeout: 10_000, interval: 100 };
const found = provideChromium();
if (found.path === undefined) it.skip(`the dashboard in a browser: ${found.reason}`, () => {});

describe.runIf(found.path !== undefined)('the dashboard', () => {
  let harness: Harness;
  let browser: Browser;
  let tab: Visit;
  /** Complaints of the browser that a test asks for. */
  let expected: RegExp[];
  beforeAll(async () => {
    harness = await startDemo();
    browser = await launch(found.path!);
  });
  afterAll(async () => {
    await browser.close();
    await harness.stop();
  });
  beforeEach(async () => {
    expected = [];
    tab = await visit(browser, harness);
  });
  afterEach(async () => {
    await tab.close();
    expect(tab.complaints.filter((text) => !expected.some((pattern) => pattern.test(text)))).toEqual([]);
    expect(tab.strangers).toEqual([]);
  });

  const row = (path: string) => tab.page.locator(`tr[data-path="${path}"]`);
  const textChanges = async (selector: string) => {
    const place = tab.page.locator(selector).first();
    const before = await place.textContent();
    await expect.poll(() => place.textContent(), POLL).not.toBe(before);
  };

  it('shows the live tree of actors', async () => {
    await tab.show('actors');
    await row('/feeds/binance').waitFor();
    expect(await row('/feeds/binance').locator('.state').textContent()).toBe('running');
    const perSecond = async () => Number.parseFloat((await row('/book/merger').locator('td').nth(3).textContent())!);
    await expect.poll(perSecond, POLL).toBeGreaterThan(0);
    await tab.picture('actors');
  });

  it('says in words that all is well, and what is not', async () => {
    const well = harness.health;
    await tab.show('actors');
    await tab.page.locator('.strip[data-status="OK"]').waitFor();
    harness.health = {
      status: 'DEGRADED',
      parts: [
        ...well.parts.slice(0, 3),
        { name: 'ingest', status: 'DEGRADED', reason: 'Postgres is out, events spill' },
      ],
    };
    await tab.page.getByText('ingest: Postgres is out, events spill').waitFor();
    await tab.page.locator('.strip[data-status="DEGRADED"]').waitFor();
    harness.health = well;
    await tab.page.locator('.strip[data-status="OK"]').waitFor();
  });

  it('shows an actor that crashes, its failure and its restart', async () => {
    await tab.show('actors?actor=/feeds/kraken');
    await row('/feeds/kraken').waitFor();
    harness.crash('/feeds/kraken');
    await tab.page.locator('.drawer .events').getByText('life 1 failed: connection reset by the venue').waitFor();
    await tab.page.locator('.drawer .events').getByText('life 2 is up').waitFor();
    await row('/feeds/kraken').locator('.notable', { hasText: '1' }).waitFor();
    expect(await row('/feeds/kraken').locator('.state').textContent()).toBe('running');
    await tab.page.getByText('/feeds/kraken failed once in the last minute and was restarted').waitFor();
    await tab.picture('actor-restarted');
  });

  it('suspends and resumes an actor for who has the token', async () => {
    expected = [/401/];
    await tab.show('actors?actor=/feeds/coinbase');
    await tab.page.getByRole('button', { name: 'Suspend' }).click();
    await tab.giveToken('this-is-not-the-token');
    await tab.page.getByText('That token was not accepted').waitFor();
    await tab.giveToken(harness.token);
    await row('/feeds/coinbase').and(tab.page.locator('[data-state=suspended]')).waitFor();
    await tab.page.getByText('/feeds/coinbase is suspended').waitFor();
    await tab.page.getByRole('button', { name: 'Resume' }).click();
    await row('/feeds/coinbase').and(tab.page.locator('[data-state=running]')).waitFor();
  });

  it('filters, folds and is driven by keys alone', async () => {
    await tab.show('actors');
    await row('/feeds/binance').waitFor();
    await tab.page.keyboard.press('/');
    await tab.page.keyboard.type('merger');
    await row('/feeds/binance').waitFor({ state: 'detached' });
    expect(await row('/book/merger').count()).toBe(1);
    await tab.page.getByLabel('Filter actors').fill('');
    await tab.page.keyboard.press('Escape');
    await tab.page.getByLabel('Fold /feeds').click();
    await row('/feeds/binance').waitFor({ state: 'detached' });
    await tab.page.keyboard.press('?');
    await tab.page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    await tab.page.keyboard.press('Escape');
    await tab.page.keyboard.press('5');
    await tab.page.getByRole('region', { name: 'Ingest' }).waitFor();
    await tab.page.keyboard.press('1');
    await row('/feeds').waitFor();
    await tab.page.keyboard.press('ArrowDown');
    await tab.page.getByRole('complementary', { name: 'Details of /' }).waitFor();
  });

  it('shows threads and what runs on them', async () => {
    await tab.show('threads');
    const worker = tab.page.locator('.card', { has: tab.page.getByRole('heading', { name: 'worker' }) });
    await worker.getByText('beats').waitFor();
    await worker.getByRole('link', { name: 'probe' }).waitFor();
    await tab.page.getByText(/Heap/).first().waitFor();
    await tab.picture('threads');
  });

  it('shows merged books as they move, and which venue is left out', async () => {
    await tab.show('books?symbol=ETH-USD');
    await tab.page.locator('.levels.bid .price').first().waitFor();
    await textChanges('.levels.bid .price');
    const kraken = tab.page.locator('.venues li', { hasText: 'kraken' });
    expect(await kraken.textContent()).toMatch(/stale[\s\S]*left out/);
    await tab.page.locator('.uplot canvas').waitFor();
    await tab.picture('books');
  });

  it('shows a gap bar as one, until it is repaired', async () => {
    await tab.show('bars');
    await tab.page.locator('.candles canvas').first().waitFor();
    const gap = tab.page.locator('.bars tr[data-quality=gap]');
    await gap.waitFor();
    const background = (selector: string) =>
      tab.page.evaluate(`getComputedStyle(document.querySelector('${selector}')).backgroundColor`);
    expect(await background('.bars tr[data-quality=gap]')).not.toBe(
      await background('.bars tr[data-quality=complete]'),
    );
    await tab.page.locator('.legend [data-quality=gap]', { hasText: '1' }).waitFor();
    await tab.picture('bars');
    harness.repairBar();
    await gap.waitFor({ state: 'detached' });
    await tab.page.locator('.legend [data-quality=repaired]', { hasText: '3' }).waitFor();
  });

  it('shows a ledger that balances, and sends dead letters again', async () => {
    await tab.show('ingest');
    await tab.page.getByText('✓ balances').waitFor();
    await textChanges('.term.added b');
    const figure = async (term: string) =>
      Number((await tab.page.locator(`.term.${term} b`).textContent())?.replaceAll(',', ''));
    expect(await figure('dead')).toBe(3);
    const hostile = tab.page.locator('tr[data-letter]', { hasText: '<img src=x' });
    expect(await hostile.locator('img').count()).toBe(0);
    await tab.picture('ingest');
    await hostile.getByRole('checkbox').check();
    await tab.page.getByRole('button', { name: 'Retry 1' }).click();
    await tab.giveToken(harness.token);
    await hostile.waitFor({ state: 'detached' });
    await tab.page.locator('.term.dead b', { hasText: '2' }).waitFor();
    await tab.page.getByText('✓ balances').waitFor();
  });

  const edit = async (from: string, to: string) => {
    const editor = tab.page.getByLabel('topology.yaml', { exact: true });
    const text = await editor.inputValue();
    expect(text).toContain(from);
    await editor.fill(text.replace(from, to));
    return text.slice(0, text.indexOf(from)).split('\n').length;
  };

  it('shows the mistake in a topology at its line', async () => {
    await tab.show('topology');
    const line = await edit('staleAfter: 5s', 'staleAfter: soon');
    await tab.giveToken(harness.token);
    const mistake = tab.page.locator(`.issues li[data-line="${line}"]`);
    await mistake.waitFor();
    expect(await mistake.textContent()).toMatch(/feeds\.binance\.staleAfter: expected .*got "soon"/);
    expect(await tab.page.locator('.gutter .wrong').allTextContents()).toEqual([String(line)]);
    expect(await tab.page.getByRole('button', { name: 'Apply' }).isDisabled()).toBe(true);
    await mistake.getByRole('button').click();
    expect(await tab.page.locator('.gutter .here').textContent()).toBe(String(line));
    await tab.picture('topology-mistake');
  });

  it('plans a good topology, applies it and shows what came of it', async () => {
    await tab.show('topology');
    await edit('workers: 2', 'workers: 3');
    await tab.giveToken(harness.token);
    await tab.page.locator('.steps [data-action=start]', { hasText: '/klines/worker-2' }).waitFor();
    await tab.picture('topology-plan');
    await tab.page.getByRole('button', { name: 'Apply' }).click();
    await tab.page.getByText(/^Applied/).waitFor();
    await tab.page.keyboard.press('Escape');
    await tab.show('actors');
    await row('/klines/worker-2').and(tab.page.locator('[data-state=running]')).waitFor();
  });

  it('says why a topology was rolled back', async () => {
    expected = [/409/];
    await tab.show('topology');
    await edit('coinbase: { depth: 20, thread: feeds }', 'coinbase: { depth: 20, thread: feeds, connections: 2 }');
    await tab.giveToken(harness.token);
    await tab.page.locator('.steps [data-action=start]', { hasText: '/feeds/coinbase' }).waitFor();
    await tab.page.getByRole('button', { name: 'Apply' }).click();
    await tab.page.getByText(/Rolled back to what ran before: .*refuses a second connection/).waitFor();
  });

  it('fits a phone', async () => {
    const phone = await visit(browser, harness, { width: 390, height: 800, colorScheme: 'dark' });
    for (const name of ['Actors', 'Threads', 'Books', 'Bars', 'Ingest', 'Topology']) {
      await phone.show(name.toLowerCase());
      await phone.page.getByRole('region', { name }).locator('table, .card').first().waitFor();
      const overflow = await phone.page.evaluate('document.documentElement.scrollWidth - innerWidth');
      expect({ name, overflow }).toEqual({ name, overflow: 0 });
      if (name === 'Books') await phone.picture('phone-books');
    }
    await phone.close();
    expect(phone.complaints).toEqual([]);
  });

  it('remembers light or dark', async () => {
    const background = () => tab.page.evaluate('getComputedStyle(document.body).backgroundColor');
    await tab.show('actors');
    const light = await background();
    await tab.page.keyboard.press('t');
    const dark = await background();
    expect(dark).not.toBe(light);
    await tab.page.reload();
    expect(await background()).toBe(dark);
    await row('/feeds/binance').waitFor();
    await tab.picture('actors-dark');
  });

  it('says that the system is gone, and comes back by itself', async () => {
    expected = [/ERR_/];
    const other = await startDemo();
    const guest = await visit(browser, other);
    await guest.show('actors');
    await guest.page.locator('.strip[data-status=OK]').waitFor();
    await other.stop();
    await guest.page.getByText(/^No connection to the system/).waitFor();
    const again = await startDemo({ port: Number(new URL(other.url).port) });
    await guest.page.locator('.strip[data-status=OK]').waitFor();
    await guest.close();
    await again.stop();
  });
});

describe.runIf(found.path !== undefined)('with 500 actors and control off', () => {
  it('keeps only the rows near the viewport, and offers nothing that changes anything', async () => {
    const harness = await startDemo({ control: false, extraActors: 482 });
    const browser = await launch(found.path!);
    const tab = await visit(browser, harness);
    await tab.show('actors?actor=/feeds/binance');
    await tab.page.locator('.drawer .facts').first().waitFor();
    expect(await tab.page.getByRole('button', { name: 'Restart' }).count()).toBe(0);
    expect(await tab.page.locator('.actors tbody tr').count()).toBeLessThan(100);
    await tab.page.keyboard.press('Escape');
    await tab.page.evaluate('scrollTo(0, document.body.scrollHeight)');
    await tab.page.locator('tr[data-path="/crowd/actor-481"]').waitFor();
    await tab.show('topology');
    await tab.page.getByText('Read only: control is off').waitFor();
    expect(await tab.page.locator('textarea').isEditable()).toBe(false);
    expect(tab.complaints).toEqual([]);
    await browser.close();
    await harness.stop();
  });
});
