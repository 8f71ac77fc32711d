import { expect, it } from 'vitest';
import { EventProducer } from '../../src/protocols/event-producer.ts';
import { startProgram } from './program.ts';
import { describeInBrowser, POLL } from './stage.ts';
import { visit } from './visit.ts';

describeInBrowser('the dashboard of the running program', startProgram, (stage) => {
  const page = () => stage.tab.page;
  const number = async (selector: string) => {
    const text = await page().locator(selector).first().textContent();
    return Number.parseFloat((text ?? '').replaceAll(',', ''));
  };
  const textChanges = async (selector: string) => {
    const place = page().locator(selector).first();
    await place.waitFor();
    const before = await place.textContent();
    await expect.poll(() => place.textContent(), POLL).not.toBe(before);
  };

  it('shows the live tree of actors, and that all is well', async () => {
    const { tab } = stage;
    await tab.show('actors');
    await tab.row('/feeds/binance').and(page().locator('[data-state=running]')).waitFor();
    await page().locator('.strip[data-status=OK]').waitFor();
    await page().getByText('All is well').waitFor();
    await page().locator('.strip').getByText('simulated venues').waitFor();
    await expect.poll(() => number('tr[data-path="/klines/worker-0"] td:nth-child(5)'), POLL).toBeGreaterThan(0);
    for (const path of ['/book/merger', '/klines/worker-1', '/serving/publisher', '/serving/console']) {
      await tab.row(path).waitFor();
    }
    await tab.picture('actors');
  });

  it('shows which actor runs on which thread', async () => {
    const { tab } = stage;
    await tab.show('threads');
    const card = (name: string) => page().locator('.card', { has: page().getByRole('heading', { name, exact: true }) });
    await card('feeds').getByRole('link', { name: 'kraken' }).waitFor();
    await card('merger').getByText('pinned').waitFor();
    await card('main')
      .getByText(/% busy/)
      .waitFor();
    await tab.picture('threads');
  });

  it('shows a merged book that moves, with all four venues in it', async () => {
    const { tab } = stage;
    await tab.show('books?symbol=ETH-USD');
    await textChanges('.levels.bid .price');
    await expect.poll(() => page().locator('.venues li[data-phase=live]').count(), POLL).toBe(4);
    await page().locator('.uplot canvas').waitFor();
    await tab.picture('books');
  });

  it('says on top which venue is out, links to it, and takes it back', async () => {
    const { tab, site } = stage;
    await tab.show('actors');
    await site.fault({ kind: 'refuse-connections', venue: 'kraken', durationMs: 60_000 });
    await site.fault({ kind: 'disconnect', venue: 'kraken' });
    await page().locator('.strip[data-status=DEGRADED]').waitFor();
    await page()
      .locator('.strip')
      .getByText(/kraken is out/)
      .click();
    const kraken = page().locator('.venues li', { hasText: 'kraken' });
    await kraken.getByText(/left out/).waitFor();
    await tab.picture('venue-out');
    await site.heal();
    await page().locator('.strip[data-status=OK]').waitFor();
    await expect.poll(() => kraken.getAttribute('data-phase'), POLL).toBe('live');
  });

  it('shows an actor that is killed, and its restart', async () => {
    const { tab, site } = stage;
    await tab.show('actors?actor=/threads/feed-binance');
    await tab.row('/feeds/binance').and(page().locator('[data-state=running]')).waitFor();
    await page().getByRole('button', { name: 'Restart' }).click();
    await tab.giveToken(site.token);
    await tab.row('/feeds/binance').locator('.notable').first().waitFor();
    await tab.row('/feeds/binance').click();
    const events = page().getByRole('complementary', { name: 'Details of /feeds/binance' }).locator('.events');
    await events.getByText('/feeds/binance went down with its thread feed-binance').waitFor();
    await events.getByText('life 2 is up').waitFor();
    await tab.row('/feeds/binance').and(page().locator('[data-state=running]')).waitFor();
    await tab.picture('actor-restarted');
    await tab.show('books');
    await page().locator('.venues li[data-phase=live]', { hasText: 'binance' }).waitFor();
  });

  it('suspends an actor for who has the token, and lets it go on', async () => {
    const { tab, site, expected } = stage;
    expected.push(/401/);
    await tab.show('actors?actor=/klines/symbols');
    await page().getByRole('button', { name: 'Suspend' }).click();
    await tab.giveToken('this-is-not-the-token');
    await page().getByText('That token was not accepted').waitFor();
    await tab.giveToken(site.token);
    await tab.row('/klines/symbols').and(page().locator('[data-state=suspended]')).waitFor();
    await page().locator('.strip').getByText('/klines/symbols is suspended').waitFor();
    await page().getByRole('button', { name: 'Resume' }).click();
    await tab.row('/klines/symbols').and(page().locator('[data-state=running]')).waitFor();
  });

  it('shows a gap bar as one, until it is repaired', async () => {
    const { tab, site } = stage;
    await tab.show('bars?symbol=binance:BTCUSDT&interval=1s');
    await page().locator('.candles canvas').first().waitFor();
    await page().locator('.bars tr[data-quality=complete]').first().waitFor();
    await site.fault({ kind: 'http-500', venue: 'binance', durationMs: 60_000 });
    await site.fault({ kind: 'dropped-trades', venue: 'binance', symbol: 'BTCUSDT', count: 3 });
    const gap = page().locator('.bars tr[data-quality=gap]');
    await gap.first().waitFor();
    const background = (selector: string) =>
      page().evaluate(`getComputedStyle(document.querySelector('${selector}')).backgroundColor`);
    expect(await background('.bars tr[data-quality=gap]')).not.toBe(
      await background('.bars tr[data-quality=complete]'),
    );
    await page().locator('.legend [data-quality=gap]:not([data-count="0"])').waitFor();
    await tab.picture('bars');
    await site.heal();
    await page().locator('.legend [data-quality=repaired]:not([data-count="0"])').waitFor();
    await page().locator('.legend [data-quality=gap][data-count="0"]').waitFor();
  });

  it('shows bars that grow', async () => {
    await stage.tab.show('bars?symbol=bitstamp:btcusd&interval=1m');
    await textChanges('.bars tbody tr:first-child td:nth-child(8)');
  });

  it('shows a ledger that balances', async (context) => {
    const { tab, site } = stage;
    if (site.withoutRedis !== undefined) return context.skip(site.withoutRedis);
    await tab.show('ingest');
    await page().locator('[data-balanced=true]').waitFor();
    await textChanges('.term.stored b');
    await page().locator('[data-module=alive]', { hasText: 'collector' }).waitFor();
  });

  it('shows dead letters as text, and stores one again when what was in its way is gone', async (context) => {
    const { tab, site } = stage;
    if (site.withoutRedis !== undefined) return context.skip(site.withoutRedis);
    await site.sql("ALTER TABLE events ADD CONSTRAINT in_the_way CHECK (symbol <> 'REFUSED-USD') NOT VALID");
    await tab.show('ingest');
    const now = () => BigInt(Date.now()) * 1_000_000n;
    const producer = new EventProducer({ source: 'test', connectionId: 'test-1', now });
    const trade = { eventType: 'trade', tsEvent: now(), payload: { price: '1' } } as const;
    await site.addEvent('<img src=x onerror=alert(1)>');
    await site.addEvent(producer.event({ ...trade, symbol: 'REFUSED-USD' }).bytes);
    const letter = (text: string) => page().locator('tr[data-letter]', { hasText: text });
    await letter('<img src=x').waitFor();
    expect(await letter('<img src=x').locator('img').count()).toBe(0);
    await letter('refused_by_postgres').waitFor();
    await expect.poll(() => number('.term.dead b'), POLL).toBe(2);
    await tab.picture('ingest');
    await site.sql('ALTER TABLE events DROP CONSTRAINT in_the_way');
    await letter('<img src=x').getByRole('checkbox').check();
    await letter('refused_by_postgres').getByRole('checkbox').check();
    await page().getByRole('button', { name: 'Retry 2' }).click();
    await tab.giveToken(site.token);
    await page().getByText('1 sent again, not: ').waitFor();
    await letter('refused_by_postgres').waitFor({ state: 'detached' });
    expect(await letter('<img src=x').count()).toBe(1);
    const stored = () => site.sql("SELECT symbol FROM events WHERE symbol = 'REFUSED-USD'");
    await expect.poll(stored, POLL).toHaveLength(1);
    await page().locator('[data-balanced=true]').waitFor();
  });

  const edit = async (from: string, to: string) => {
    const editor = page().getByLabel('topology.yaml', { exact: true });
    const text = await editor.inputValue();
    expect(text).toContain(from);
    await editor.fill(text.replace(from, to));
    return text.slice(0, text.indexOf(from)).split('\n').length;
  };

  it('shows the mistake in a topology at its line', async () => {
    const { tab, site } = stage;
    await tab.show('topology');
    const line = await edit('staleAfter: 5s', 'staleAfter: soon');
    await tab.giveToken(site.token);
    const mistake = page().locator(`.issues li[data-line="${line}"]`);
    await mistake.waitFor();
    expect(await mistake.textContent()).toMatch(/feeds\.binance\.staleAfter: expected .*got "soon"/);
    expect(await page().locator('.gutter .wrong').allTextContents()).toEqual([String(line)]);
    expect(await page().getByRole('button', { name: 'Apply' }).isDisabled()).toBe(true);
    await mistake.getByRole('button').click();
    expect(await page().locator('.gutter .here').textContent()).toBe(String(line));
    await tab.picture('topology-mistake');
  });

  it('plans a good topology, applies it and shows what came of it', async () => {
    const { tab, site } = stage;
    await tab.show('topology');
    await edit('workers: 2', 'workers: 3');
    await tab.giveToken(site.token);
    await page().locator('.steps [data-action=start]', { hasText: '/klines/worker-2' }).waitFor();
    await tab.picture('topology-plan');
    await page().getByRole('button', { name: 'Apply' }).click();
    await page()
      .getByText(/^Applied/)
      .waitFor({ timeout: 25_000 });
    await tab.show('actors');
    await tab.row('/klines/worker-2').and(page().locator('[data-state=running]')).waitFor();
    await tab.show('topology');
    expect(await page().getByLabel('topology.yaml', { exact: true }).inputValue()).toContain('workers: 3');
  });

  it('filters, folds and is driven by keys alone', async () => {
    const { tab } = stage;
    await tab.show('actors');
    await tab.row('/feeds/binance').waitFor();
    await page().keyboard.press('/');
    await page().keyboard.type('merger');
    await tab.row('/feeds/binance').waitFor({ state: 'detached' });
    expect(await tab.row('/book/merger').count()).toBe(1);
    await page().getByLabel('Filter actors').fill('');
    await page().keyboard.press('Escape');
    await page().getByLabel('Fold /feeds').click();
    await tab.row('/feeds/binance').waitFor({ state: 'detached' });
    await page().keyboard.press('?');
    await page().getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    await page().keyboard.press('Escape');
    await page().keyboard.press('5');
    await page().getByRole('region', { name: 'Ingest' }).waitFor();
    await page().keyboard.press('1');
    await tab.row('/feeds').waitFor();
    await page().keyboard.press('ArrowDown');
    await page().getByRole('complementary', { name: 'Details of /' }).waitFor();
  });

  it('fits a phone', async () => {
    const { browser, site } = stage;
    const phone = await visit(browser, site, { width: 390, height: 800, colorScheme: 'dark' });
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
    const { tab } = stage;
    const background = () => page().evaluate('getComputedStyle(document.body).backgroundColor');
    await tab.show('actors');
    const light = await background();
    await page().keyboard.press('t');
    const dark = await background();
    expect(dark).not.toBe(light);
    await page().reload();
    expect(await background()).toBe(dark);
    await tab.row('/feeds/binance').waitFor();
    await tab.picture('actors-dark');
  });
});
