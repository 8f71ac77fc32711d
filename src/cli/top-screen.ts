import {
  ACTOR_STATES,
  type ActorShape,
  type ActorsMessage,
  type ActorValues,
  type Pulse,
  VALUE,
} from '../protocols/console-api.ts';
import { fit, micros, type Paint, short, span } from './terminal.ts';

export interface ActorLine {
  readonly shape: ActorShape;
  readonly values: ActorValues;
}

/** The tree as last heard; a delta changes some lines of it. */
export function takeMessage(lines: readonly ActorLine[], message: ActorsMessage): readonly ActorLine[] {
  if (message.kind === 'full') return message.shapes.map((shape, at) => ({ shape, values: message.values[at]! }));
  const next = [...lines];
  for (const [at, values] of message.changed) {
    const line = next[at];
    if (line !== undefined) next[at] = { ...line, values };
  }
  return next;
}

const ORDERS = ['tree', 'busiest', 'waiting', 'restarts'] as const;
export type Order = (typeof ORDERS)[number];

/** What the operator chose to see. */
export interface TopView {
  readonly filter: string;
  readonly order: Order;
  /** The first line shown. */
  readonly scroll: number;
  /** Set while the filter is being typed. */
  readonly isTyping: boolean;
}

export const FIRST_VIEW: TopView = { filter: '', order: 'tree', scroll: 0, isTyping: false };

export function chosenLines(lines: readonly ActorLine[], { filter, order }: TopView): readonly ActorLine[] {
  const words = filter
    .toLowerCase()
    .split(' ')
    .filter((word) => word !== '');
  const matching = lines.filter(({ shape, values }) => {
    const text = `${shape.path} ${ACTOR_STATES[values[VALUE.state]]} ${shape.thread}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  if (order === 'tree') return matching;
  const key = { busiest: VALUE.perSecond, waiting: VALUE.depth, restarts: VALUE.restarts }[order];
  return matching
    .filter(({ shape }) => shape.kind !== 'supervisor')
    .sort((a, b) => Number(b.values[key]) - Number(a.values[key]));
}

/** What a key does to the view; undefined means: quit. */
export function press(view: TopView, key: string, lineCount: number): TopView | undefined {
  if (key === '\u0003') return undefined;
  if (view.isTyping) return typed(view, key);
  const scrolled = (by: number) => ({ ...view, scroll: Math.max(0, Math.min(lineCount - 1, view.scroll + by)) });
  switch (key) {
    case 'q':
    case '\u001b':
      return undefined;
    case '/':
      return { ...view, isTyping: true, filter: '', scroll: 0 };
    case 'o':
      return { ...view, order: ORDERS[(ORDERS.indexOf(view.order) + 1) % ORDERS.length]!, scroll: 0 };
    case 'j':
    case '\u001b[B':
      return scrolled(1);
    case 'k':
    case '\u001b[A':
      return scrolled(-1);
    case ' ':
    case '\u001b[6~':
      return scrolled(10);
    case '\u001b[5~':
      return scrolled(-10);
    default:
      return view;
  }
}

function typed(view: TopView, key: string): TopView {
  if (key === '\r' || key === '\n') return { ...view, isTyping: false };
  if (key === '\u001b') return { ...view, isTyping: false, filter: '' };
  if (key === '\u007f' || key === '\b') return { ...view, filter: view.filter.slice(0, -1) };
  return /^\p{L}|[\d /_.:-]$/u.test(key) && key.length === 1 ? { ...view, filter: view.filter + key, scroll: 0 } : view;
}

const COLUMNS = ['STATE', 'THREAD', 'MAILBOX', 'MSG/S', 'WAIT99', 'WORK99', 'RST', 'DROPS'] as const;
const WIDTHS = [9, 12, 11, 7, 7, 7, 4, 6] as const;
/** What a narrow screen keeps first, by its place among the columns: the state, then how busy, then how full. */
const PRIORITY = [0, 3, 2, 6, 7, 1, 5, 4] as const;
const NAME_MIN = 22;

/** The places of the columns that fit beside a name; all of them from 93 columns on. */
function columnsFor(columns: number): readonly number[] {
  let room = columns - NAME_MIN;
  const kept: number[] = [];
  for (const at of PRIORITY) {
    room -= WIDTHS[at] + 1;
    if (room < 0) break;
    kept.push(at);
  }
  return kept.sort((a, b) => a - b);
}

/**
 * A screen of exactly so many rows at most, each at most so wide; without a height, all of the tree. `lost` says why
 * nothing comes any more, in place of a verdict that would be believed.
 */
export function renderTop(
  pulse: Pulse | undefined,
  lines: readonly ActorLine[],
  view: TopView,
  size: { readonly columns: number; readonly rows: number | undefined },
  paint: Paint,
  lost?: string,
): readonly string[] {
  const shownColumns = columnsFor(size.columns);
  const rest = shownColumns.reduce((sum, at) => sum + WIDTHS[at]! + 1, 0);
  const nameWidth = Math.max(NAME_MIN, Math.min(60, size.columns - rest));
  const layout: Layout = { nameWidth, columns: size.columns, shown: shownColumns };
  const first = lost === undefined ? headline(pulse, size.columns, paint) : paint(fit(lost, size.columns), 'red');
  const head = [first, paint(fit(header(layout), size.columns), 'dim')];
  const foot = [paint(fit(footer(view), size.columns), 'dim')];
  const chosen = chosenLines(lines, view);
  const room = size.rows === undefined ? chosen.length : Math.max(1, size.rows - head.length - foot.length);
  const shown = chosen.slice(view.scroll, view.scroll + room);
  const body = shown.map((line) => lineText(line, view, layout, paint));
  return size.rows === undefined ? [...head, ...body] : [...head, ...body, ...foot];
}

function headline(pulse: Pulse | undefined, columns: number, paint: Paint): string {
  if (pulse === undefined) return fit('connecting', columns);
  const colour = { OK: 'green', DEGRADED: 'yellow', DOWN: 'red' } as const;
  const figures = `${pulse.actors.running}/${pulse.actors.total} actors, ${short(pulse.messagesPerSecond)} msg/s, up ${span(pulse.uptimeMs)}${pulse.simulated ? ', simulated venues' : ''}`;
  const problem = pulse.problems[0] === undefined ? '' : `   ${pulse.problems[0].text}`;
  return `${paint(pulse.status, colour[pulse.status])} ${fit(`${figures}${problem}`, Math.max(0, columns - pulse.status.length - 1))}`;
}

interface Layout {
  readonly nameWidth: number;
  readonly columns: number;
  /** Places among COLUMNS. */
  readonly shown: readonly number[];
}

function header({ nameWidth, shown }: Layout): string {
  return ['ACTOR'.padEnd(nameWidth), ...shown.map((at) => cell(COLUMNS[at]!, at))].join(' ');
}

const cell = (text: string, at: number) => fit(text, WIDTHS[at]!, at < 2 ? 'left' : 'right');

function footer(view: TopView): string {
  if (view.isTyping) return `filter: ${view.filter}_   Enter keeps it, Esc drops it`;
  const filter = view.filter === '' ? '' : `   filter: ${view.filter}`;
  return `q quit   / filter   o order: ${view.order}   arrows scroll${filter}`;
}

function lineText(line: ActorLine, view: TopView, layout: Layout, paint: Paint): string {
  const { shape, values } = line;
  const state = ACTOR_STATES[values[VALUE.state]]!;
  const isActor = shape.kind !== 'supervisor';
  const cells = [
    state,
    shape.core === null ? shape.thread : `${shape.thread}@${shape.core}`,
    shape.capacity === null ? '' : `${short(values[VALUE.depth])}/${short(values[VALUE.highWater])}`,
    isActor ? short(values[VALUE.perSecond]) : '',
    isActor ? micros(values[VALUE.waitP99]) : '',
    isActor ? micros(values[VALUE.workP99]) : '',
    String(values[VALUE.restarts]),
    short(values[VALUE.dropped]),
  ];
  const text = [fit(nameText(shape, view), layout.nameWidth), ...layout.shown.map((at) => cell(cells[at]!, at))];
  const whole = fit(text.join(' '), layout.columns);
  if (state === 'failed' || state === 'dead') return paint(whole, 'red');
  if (state !== 'running' || values[VALUE.restarts] > 0 || values[VALUE.dropped] > 0) return paint(whole, 'yellow');
  return isActor ? whole : paint(whole, 'bold');
}

function nameText({ path }: ActorShape, view: TopView): string {
  if (view.order !== 'tree' || view.filter !== '') return path;
  const level = path === '/' ? 0 : path.split('/').length - 1;
  return `${'  '.repeat(level)}${path === '/' ? 'system' : path.slice(path.lastIndexOf('/') + 1)}`;
}
