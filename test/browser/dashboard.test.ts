// What the running program cannot be made to show on request: a defect, a topology that does not get well, a lost
// connection, five hundred actors.
import { expect, it } from 'vitest';
import { startDemo } from './harness.ts';
import { describeInBrowser } from './stage.ts';
import { visit } from './visit.ts';

/** What WCAG asks for of text. */
const READABLE = 4.5;
/** Colours of text, each with the grounds that only it stands on. */
const TEXTS = [
  ['text', 'warn-soft', 'bad-soft', 'good-soft'],
  ['muted', 'good-soft'],
  ['accent'],
  ['good', 'good-soft'],
  ['warn', 'warn-soft'],
  ['bad', 'bad-soft'],
] as const;
const GROUNDS = ['surface', 'page', 'raised'] as const;

function contrast(one: string, two: string): number {
  const [dark, light] = [luminance(one), luminance(two)].sort((a, b) => a - b) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

function luminance(hex: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(hex.trim().slice(at, at + 2), 16) / 255;
    return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

describeInBrowser('the dashboard of actors that fail on request', startDemo, (stage) => {
  const page = () => stage.tab.page;

  it('says what it waits for until the first data comes', async () => {
    const { tab } = stage;
    let release: () => void = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page().route('**/api/live*', async (route) => {
      await held;
      await route.continue();
    });
    for (const [path, words] of [
      ['actors', 'Waiting for the tree'],
      ['threads', 'Waiting for the threads'],
      ['books', 'Waiting for the first data'],
    ] as const) {
      await tab.show(path);
      await page().getByText(words).waitFor();
      await page().locator('.strip[data-status=WAITING]').getByText('Connecting').waitFor();
    }
    release();
    await page().locator('.strip[data-status=OK]').waitFor();
    await page().getByText('This system does not run order books').waitFor();
  });

  it('shows where the keyboard is, from the first Tab on', async () => {
    const { tab } = stage;
    await tab.show('actors');
    await tab.row('/feeds/kraken').waitFor();
    const stops: string[] = [];
    for (let count = 0; count < 12; count++) {
      await page().keyboard.press('Tab');
      const [name, outline] = (await page().evaluate(
        '[document.activeElement.textContent, getComputedStyle(document.activeElement).outlineStyle]',
      )) as [string, string];
      stops.push(name);
      expect({ name, outline }).toEqual({ name, outline: 'solid' });
    }
    expect(stops.slice(0, 2)).toEqual(['Skip to content', 'Tapeworks']);
    expect(stops.join()).toContain('Actors1,Threads2,Books3,Bars4,Ingest5,Topology6');
  });

  it.each(['light', 'dark'] as const)('has text that can be read: %s', async (colorScheme) => {
    const guest = await visit(stage.browser, stage.site, { colorScheme });
    await guest.show('actors');
    await guest.page.locator('.strip').waitFor();
    const names: readonly string[] = [...TEXTS.flat(), ...GROUNDS];
    const values = (await guest.page.evaluate(
      `${JSON.stringify(names)}.map((name) => getComputedStyle(document.documentElement).getPropertyValue('--' + name))`,
    )) as string[];
    const colour = (name: string) => values[names.indexOf(name)]!;
    const pairs = TEXTS.flatMap(([text, ...soft]) => [...GROUNDS, ...soft].map((ground) => [text, ground] as const));
    const faint = pairs.filter(([text, ground]) => contrast(colour(text), colour(ground)) < READABLE);
    await guest.close();
    expect(faint).toEqual([]);
  });

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
