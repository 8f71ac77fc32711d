// The merged book as a ladder: asks above, best ones in the middle, bids below, a bar for each amount.
import { fit, micros, type Paint, plain } from './terminal.ts';

export interface LadderLevel {
  readonly exchange: string;
  readonly amount: number;
  readonly price_exact: string;
  readonly amount_exact: string;
}

/** A summary as the gRPC client decodes it. */
export interface LadderSummary {
  readonly symbol: string;
  readonly sequence: string;
  readonly spread_exact: string;
  readonly latency_ns: string;
  readonly skipped: string;
  readonly bids: readonly LadderLevel[];
  readonly asks: readonly LadderLevel[];
  readonly venues: readonly { readonly name: string; readonly live: boolean; readonly age_us: string }[];
}

export interface LadderSize {
  readonly columns: number;
  /** Undefined: as many as it takes. */
  readonly rows: number | undefined;
}

const HEAD_ROWS = 3;
const SPREAD_ROWS = 1;
const FOOT_ROWS = 1;
const NUMBER_COLUMNS = 18;
/** Room for 97252.3 and 0.15141903. */
const NUMBER_COLUMNS_MIN = 10;
const VENUE_COLUMNS = 10;

/**
 * The lines of the screen, each at most `columns` wide. `note` is what the last line says; `lost` says why nothing comes
 * any more, in place of figures that would be believed.
 */
export function renderLadder(
  summary: LadderSummary,
  note: string,
  size: LadderSize,
  paint: Paint,
  lost?: string,
): string[] {
  const { columns, rows } = size;
  const room = rows === undefined ? Number.POSITIVE_INFINITY : rows - HEAD_ROWS - SPREAD_ROWS - FOOT_ROWS;
  const each = Math.max(1, Math.floor(room / 2));
  const asks = summary.asks.slice(0, each).reverse();
  const bids = summary.bids.slice(0, each);
  const largest = Math.max(0, ...[...asks, ...bids].map(({ amount }) => amount));
  const spare = Math.floor((columns - VENUE_COLUMNS - 4) / 2);
  const wide = Math.max(NUMBER_COLUMNS_MIN, Math.min(NUMBER_COLUMNS, spare));
  const line = (level: LadderLevel, style: 'red' | 'green') => {
    const words = `${fit(level.price_exact, wide, 'right')} ${fit(level.amount_exact, wide, 'right')}  ${fit(level.exchange, VENUE_COLUMNS)} `;
    const bar = barOf(level.amount / largest, columns - words.length);
    return paint(fit(`${words}${bar}`, columns), style);
  };
  const best = `${fit('spread', wide, 'right')} ${fit(summary.spread_exact, wide, 'right')}`;
  const crossed = summary.spread_exact.startsWith('-') ? '  the venues cross' : '';
  return [
    lost === undefined ? paint(fit(headOf(summary), columns), 'bold') : paint(fit(lost, columns), 'red'),
    fit(lost === undefined ? venuesOf(summary) : `${summary.symbol} as it was last`, columns),
    paint(fit(`${fit('price', wide, 'right')} ${fit('amount', wide, 'right')}  venue`, columns), 'dim'),
    ...asks.map((level) => line(level, 'red')),
    paint(fit(`${best}${crossed}`, columns), 'inverse'),
    ...bids.map((level) => line(level, 'green')),
    paint(fit(note, columns), 'dim'),
  ];
}

function headOf({ symbol, sequence, latency_ns, skipped }: LadderSummary): string {
  const missed = Number(skipped) > 0 ? `   ${skipped} skipped` : '';
  return `${plain(symbol)}   summary ${sequence}   merged in ${micros(Number(latency_ns) / 1000)}${missed}`;
}

function venuesOf({ venues }: LadderSummary): string {
  return venues
    .map(({ name, live, age_us }) => (live ? `${plain(name)} ${micros(Number(age_us))} old` : `${plain(name)} out`))
    .join('   ');
}

function barOf(share: number, columns: number): string {
  return columns <= 0 || !(share > 0) ? '' : '▇'.repeat(Math.max(1, Math.round(share * Math.min(columns, 40))));
}
