// What the running program cannot be made to show on request: a defect, a topology that does not get well, a lost
// connection, five hundred actors.
import { expect, it } from 'vitest';
import { startDemo } from './harness.ts';
import { describeInBrowser } from './stage.ts';
import { visit } from './visit.ts';

describeInBrowser('the dashboard of actors that fail on request', startDemo, (stage) => {
  const page = () => stage.tab.page;

  it('says in words that all is well, and what is not', async () => {
    const { tab, site } = stage;
    const well = site.health;
    await tab.show('actors');
    await page().locator('.strip[data-status="OK"]').waitFor();
    site.health = {
      status: 'DEGRADED',
      parts: [
        ...well.parts.slice(0, 3),
        { name: 'ingest', status: 'DEGRADED', reason: 'Postgres is out, events spill' },
      ],
    };
    await page().getByText('ingest: Postgres is out, events spill').waitFor();
    await page().locator('.strip[data-status="DEGRADED"]').waitFor();
    site.health = well;
    await page().locator('.strip[data-status="OK"]').waitFor();
  });

  it('shows an actor that crashes, its failure and its restart', async () => {
    const { tab, site } = stage;
    const kraken = tab.row('/feeds/kraken');
    await tab.show('actors?actor=/feeds/kraken');
    await kraken.waitFor();
    site.crash('/feeds/kraken');
    await page().locator('.drawer .events').getByText('life 1 failed: connection reset by the venue').waitFor();
    await page().locator('.drawer .events').getByText('life 2 is up').waitFor();
    await kraken.locator('.notable', { hasText: '1' }).waitFor();
    expect(await kraken.locator('.state').textContent()).toBe('running');
    await page().getByText('/feeds/kraken failed once in the last minute and was restarted').waitFor();
  });

  it('says why a topology was rolled back', async () => {
    const { tab, site, expected } = stage;
    expected.push(/409/);
    await tab.show('topology');
    const editor = page().getByLabel('topology.yaml', { exact: true });
    const text = await editor.inputValue();
    const coinbase = 'coinbase: { depth: 20, thread: feeds';
    expect(text).toContain(coinbase);
    await editor.fill(text.replace(coinbase, `${coinbase}, connections: 2`));
    await tab.giveToken(site.token);
    await page().locator('.steps [data-action=start]', { hasText: '/feeds/coinbase' }).waitFor();
    await page().getByRole('button', { name: 'Apply' }).click();
    await page()
      .getByText(/Rolled back to what ran before: .*refuses a second connection/)
      .waitFor();
  });

  it('says that the system is gone, and comes back by itself', async () => {
    const { browser } = stage;
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

describeInBrowser(
  'with 500 actors and control off',
  () => startDemo({ control: false, extraActors: 482 }),
  (stage) => {
    it('keeps only the rows near the viewport, and offers nothing that changes anything', async () => {
      const { tab } = stage;
      await tab.show('actors?actor=/feeds/binance');
      await tab.page.locator('.drawer .facts').first().waitFor();
      expect(await tab.page.getByRole('button', { name: 'Restart' }).count()).toBe(0);
      expect(await tab.page.locator('.actors tbody tr').count()).toBeLessThan(100);
      await tab.page.keyboard.press('Escape');
      await tab.page.evaluate('scrollTo(0, document.body.scrollHeight)');
      await tab.row('/crowd/actor-481').waitFor();
      await tab.show('topology');
      await tab.page.getByText('Read only: control is off').waitFor();
      expect(await tab.page.locator('textarea').isEditable()).toBe(false);
    });
  },
);
