import { describe, expect, it } from 'vitest';
import type { ActorShape, ActorValues, Pulse } from '../protocols/console-api.ts';
import { renderStatus } from './status.ts';
import { keysIn, painted, unpainted } from './terminal.ts';
import { type ActorLine, chosenLines, FIRST_VIEW, press, renderTop, takeMessage } from './top-screen.ts';

const line = (
  path: string,
  kind: ActorShape['kind'],
  perSecond: number,
  more: Partial<Record<number, unknown>> = {},
) => {
  const shape = { path, kind, thread: 'main', core: null, capacity: kind === 'actor' ? 100 : null, policy: 'reject' };
  const values = [2, 1, 5, 10, perSecond, 3, 40, 2, 1500, 0, 0, null, null].map((value, at) => more[at] ?? value);
  return { shape, values: values as unknown as ActorValues } satisfies ActorLine;
};
const TREE = [
  line('/', 'supervisor', 0),
  line('/feeds', 'supervisor', 0),
  line('/feeds/binance', 'actor', 1200),
  line('/feeds/kraken', 'actor', 3, { 0: 4, 9: 2 }),
];
const PULSE: Pulse = {
  ...{
    status: 'DEGRADED',
    atMs: 1,
    uptimeMs: 65_000,
    control: false,
    simulated: false,
    pages: [],
    messagesPerSecond: 1203,
  },
  parts: [
    { name: 'order books', status: 'OK', reason: '' },
    { name: 'ingest', status: 'DEGRADED', reason: 'Postgres is out\u001b[2J' },
  ],
  problems: [{ severity: 'warning', text: '/feeds/kraken failed', page: 'actors', subject: '/feeds/kraken' }],
  actors: { running: 1, total: 2 },
};

describe('the screen of top', () => {
  it('says that it is old, in place of a verdict, when nothing comes any more', () => {
    const [first] = renderTop(
      PULSE,
      TREE,
      FIRST_VIEW,
      { columns: 60, rows: 10 },
      unpainted,
      'NOT LIVE: nothing for 9s',
    );
    expect(first?.trimEnd()).toBe('NOT LIVE: nothing for 9s');
  });

  it('takes keys that come in one piece one by one', () => {
    const keys = keysIn('/feeds\r\u001b[Bo\u001b[6~');
    expect(keys).toEqual(['/', 'f', 'e', 'e', 'd', 's', '\r', '\u001b[B', 'o', '\u001b[6~']);
    const view = keys.slice(0, 7).reduce((last, key) => press(last, key, 9) ?? last, FIRST_VIEW);
    expect(view).toMatchObject({ filter: 'feeds', isTyping: false });
    expect(keysIn('\u001b')).toEqual(['\u001b']);
  });

  it('shows the tree with indents, marks and units', () => {
    const screen = renderTop(PULSE, TREE, FIRST_VIEW, { columns: 110, rows: undefined }, unpainted);
    expect(screen.map((text) => text.trimEnd())).toEqual([
      'DEGRADED 1/2 actors, 1.2k msg/s, up 1min   /feeds/kraken failed',
      expect.stringMatching(/^ACTOR +STATE +THREAD +MAILBOX +MSG\/S +WAIT99 +WORK99 +RST +DROPS$/),
      expect.stringMatching(/^system +running +main/),
      expect.stringMatching(/^ {2}feeds +running +main/),
      expect.stringMatching(/^ {4}binance +running +main +1\/5 +1\.2k +40us +1\.5ms +0 +0$/),
      expect.stringMatching(/^ {4}kraken +failed +main +1\/5 +3 +40us +1\.5ms +2 +0$/),
    ]);
  });

  it.each([
    [80, 24],
    [40, 5],
    [200, 4],
  ])('never goes beyond %i columns and %i rows', (columns, rows) => {
    const screen = renderTop(PULSE, TREE, FIRST_VIEW, { columns, rows }, unpainted);
    expect(screen.length).toBeLessThanOrEqual(rows);
    expect(Math.max(...screen.map((text) => text.length))).toBeLessThanOrEqual(columns);
  });

  it.each([
    [40, 'ACTOR STATE MSG/S'],
    [60, 'ACTOR STATE MAILBOX MSG/S RST'],
    [80, 'ACTOR STATE THREAD MAILBOX MSG/S RST DROPS'],
    [93, 'ACTOR STATE THREAD MAILBOX MSG/S WAIT99 WORK99 RST DROPS'],
  ])('leaves whole columns out at %i, the least telling first', (columns, expected) => {
    const [, header] = renderTop(PULSE, TREE, FIRST_VIEW, { columns, rows: 10 }, unpainted);
    expect(header!.trim().split(/\s+/)).toEqual(expected.split(' '));
  });

  it('lets no text from outside steer the terminal', () => {
    const hostile = [line('/a\u001b[31m\nb', 'actor', 1)];
    const shown = renderTop(PULSE, hostile, FIRST_VIEW, { columns: 110, rows: undefined }, unpainted).join('');
    expect(shown).not.toMatch(/\p{Cc}/u);
    expect(renderStatus(PULSE, unpainted).replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
    expect(renderStatus(PULSE, painted)).not.toContain('\u001b[2J');
  });

  it('says that the venues are simulated, so that nobody takes their prices for real', () => {
    const screens = (simulated: boolean) => [
      renderTop({ ...PULSE, simulated }, TREE, FIRST_VIEW, { columns: 110, rows: 10 }, unpainted)[0],
      renderStatus({ ...PULSE, simulated }, unpainted).split('\n')[0],
    ];
    for (const line of screens(true)) expect(line).toContain('simulated venues');
    for (const line of screens(false)) expect(line).not.toContain('simulated');
  });

  it('does not say twice what a part says of itself', () => {
    const problem = { severity: 'warning', text: 'books: kraken is out', page: 'books', subject: '' } as const;
    const parts = [{ name: 'books', status: 'DEGRADED', reason: 'kraken is out' }] as const;
    const text = renderStatus({ ...PULSE, parts, problems: [problem, ...PULSE.problems] }, unpainted);
    expect(text.match(/kraken is out/g)).toHaveLength(1);
    expect(text).toContain('- /feeds/kraken failed');
  });

  it('orders, filters and scrolls by keys', () => {
    const busiest = press(FIRST_VIEW, 'o', 4)!;
    expect(chosenLines(TREE, busiest).map(({ shape }) => shape.path)).toEqual(['/feeds/binance', '/feeds/kraken']);
    let view = press(FIRST_VIEW, '/', 4)!;
    for (const key of 'kraq') view = press(view, key, 4)!;
    view = press(view, '\u007f', 4)!;
    expect(chosenLines(TREE, view).map(({ shape }) => shape.path)).toEqual(['/feeds/kraken']);
    expect(press(view, 'q', 4)?.filter).toBe('kraq');
    view = press(view, '\r', 4)!;
    expect(press(view, 'q', 4)).toBeUndefined();
    expect(press(FIRST_VIEW, 'j', 4)?.scroll).toBe(1);
    expect(press(FIRST_VIEW, 'k', 4)?.scroll).toBe(0);
  });

  it('takes whole trees and changes', () => {
    const shapes = TREE.map(({ shape }) => shape);
    const full = takeMessage([], { kind: 'full', version: 1, shapes, values: TREE.map(({ values }) => values) });
    const changed = takeMessage(full, { kind: 'delta', version: 2, changed: [[2, TREE[3]!.values]] });
    expect(changed[2]).toEqual({ shape: shapes[2], values: TREE[3]!.values });
    expect(changed[3]).toBe(full[3]);
  });
});
