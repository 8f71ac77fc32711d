import { setTimeout as sleep } from 'node:timers/promises';
import {
  AUDITED_FIELDS,
  type Audit,
  type AuditedField,
  accuracy,
  claimsWhole,
  compareBars,
  type Mismatch,
} from '../actors/kline-persistence/audit.ts';
import type { NamedBar } from '../actors/kline-persistence/rows.ts';
import { HISTORY_LIMIT_MAX, KlineStore } from '../actors/kline-persistence/store.ts';
import {
  blocked,
  observe,
  spend,
  startBudget,
  type WeightBudget,
  waitFor,
} from '../actors/trade-repair/weight-budget.ts';
import { TapeworksError } from '../protocols/errors/index.ts';
import {
  type BarFigures,
  decimal,
  INTERVAL_NAMES,
  type Interval,
  isInterval,
  PRICE_DIGITS,
  QUOTE_DIGITS,
  windowAt,
  windowOpenUs,
} from '../protocols/kline.ts';
import { describeFailure } from '../protocols/rest.ts';
import type { BarHistory } from '../venues/history.ts';
import { readAction, usage } from './arguments.ts';
import { BAR_VENUE_OPTION, type BarVenue, barVenueNamed, LIVE_OPTION, REST_OPTION, restUrlOf } from './bar-venue.ts';
import { type Command, EXIT, type Options } from './command.ts';
import { CONFIG_OPTION } from './configuration.ts';
import { DATA_OPTION, DATABASE_OPTION, databaseUrl } from './data-folder.ts';
import { connectPostgres, leavePostgres } from './server-clients.ts';

const DEFAULT_BARS = 500;
const REQUESTS_MAX = 5;
const DIFFERENCES_SHOWN = 3;
/** Audits leave most of the venue's weight to repairs. */
const WEIGHT_SHARE = 0.25;

const OPTIONS = {
  database: DATABASE_OPTION,
  data: DATA_OPTION,
  config: CONFIG_OPTION,
  live: LIVE_OPTION,
  rest: REST_OPTION,
  venue: BAR_VENUE_OPTION,
  symbols: { type: 'string', value: 'LIST', about: "only these, in the venue's spelling (all that are stored)" },
  interval: {
    type: 'string',
    value: 'NAME',
    about: `one of ${INTERVAL_NAMES.join(', ')} (1m)`,
    offers: INTERVAL_NAMES,
  },
  bars: { type: 'string', value: 'N', about: `bars a symbol, at most ${HISTORY_LIMIT_MAX} (${DEFAULT_BARS})` },
  json: { type: 'boolean', about: 'one JSON object a symbol' },
} as const satisfies Options;

const ACTIONS = { klines: { usage: '[options]', options: Object.keys(OPTIONS) } } as const;

interface Settings {
  readonly database: string;
  readonly venue: BarVenue;
  readonly rest: string;
  readonly symbols: readonly string[] | undefined;
  readonly interval: Interval;
  readonly bars: number;
  readonly json: boolean;
}

async function parse(args: readonly string[]): Promise<Settings> {
  const { values } = readAction(args, OPTIONS, ACTIONS, 0);
  const interval = values.interval ?? '1m';
  if (!isInterval(interval)) throw usage(`--interval: expected one of ${INTERVAL_NAMES.join(', ')}, got "${interval}"`);
  const bars = Number(values.bars ?? DEFAULT_BARS);
  if (!Number.isInteger(bars) || bars < 1 || bars > HISTORY_LIMIT_MAX) {
    throw usage(`--bars: expected 1..${HISTORY_LIMIT_MAX}, got "${values.bars}"`);
  }
  const venue = barVenueNamed(values.venue);
  const rest = await restUrlOf(venue, values);
  const database = await databaseUrl(values.data, values.database, values.config);
  const symbols = values.symbols?.split(',');
  return { database, venue, rest, symbols, interval, bars, json: values.json ?? false };
}

/** The venue's bars of the same span, asked for within the budget; refusals are waited out a few times. */
class VenueBars {
  readonly #history: BarHistory;
  readonly #restUrl: string;
  #budget: WeightBudget;

  constructor({ facts, bars }: BarVenue, restUrl: string) {
    this.#history = bars;
    this.#restUrl = restUrl;
    this.#budget = startBudget({ perMinute: facts.rest.weightPerMinute, share: WEIGHT_SHARE });
  }

  async of(symbol: string, interval: Interval, stored: readonly NamedBar[]): Promise<readonly BarFigures[]> {
    const newest = stored[0]!.bar.openUs;
    let fromUs = stored.at(-1)!.bar.openUs;
    const bars: BarFigures[] = [];
    while (fromUs <= newest && bars.length < HISTORY_LIMIT_MAX) {
      const page = await this.#page(symbol, interval, fromUs);
      bars.push(...page);
      if (page.length < this.#history.pageMax) break;
      fromUs = windowOpenUs(interval, windowAt(interval, page.at(-1)!.openUs) + 1);
    }
    return bars.filter((bar) => bar.openUs <= newest);
  }

  async #page(symbol: string, interval: Interval, fromUs: bigint): Promise<readonly BarFigures[]> {
    const { weight, pageMax } = this.#history;
    let reason = '';
    for (let request = 0; request < REQUESTS_MAX; request++) {
      await sleep(waitFor(this.#budget, weight, Date.now()));
      this.#budget = spend(this.#budget, weight, Date.now());
      const answer = await this.#history.fetch(this.#restUrl, symbol, interval, fromUs, pageMax);
      if (answer.ok) {
        if (answer.usedWeight !== undefined) this.#budget = observe(this.#budget, answer.usedWeight, Date.now());
        return answer.value;
      }
      reason = describeFailure(answer);
      this.#budget = blocked(this.#budget, answer.status, answer.retryAfterS ?? 1, Date.now());
    }
    throw new TapeworksError('TW_KLINE_AUDIT_VENUE', `no bars of ${symbol} from the venue: ${reason}`, { symbol });
  }
}

/** 99.99% is not all of them, and must not be rounded up to it. */
const percent = (share: number) => `${(Math.floor(share * 10_000) / 100).toFixed(2)}%`;

const DIGITS: Partial<Record<AuditedField, number>> = {
  ...{ trades: 0, quoteVolume: QUOTE_DIGITS, takerQuoteVolume: QUOTE_DIGITS },
};

/** One field of one bar that differs, as text: "2025-11-16T04:00:00.000Z high 97241.5, the venue has 97242". */
function mismatchText({ openUs, field, ours, theirs }: Mismatch): string {
  const [own, venue] = [ours, theirs].map((value) => decimal(value, DIGITS[field] ?? PRICE_DIGITS));
  return `${new Date(Number(openUs / 1000n)).toISOString()} ${field} ${own}, the venue has ${venue}`;
}

function lineOf(symbol: string, audit: Audit, json: boolean): string {
  const fields = Object.fromEntries(AUDITED_FIELDS.map((field) => [field, accuracy(audit, field)]));
  const { compared, equal, missing, extra, marked } = audit;
  const differing = audit.mismatches.filter(claimsWhole).slice(0, DIFFERENCES_SHOWN).map(mismatchText);
  if (json) {
    const counts = { compared, equal, missing: missing.length, extra: extra.length, marked };
    return JSON.stringify({ symbol, accuracy: accuracy(audit), ...counts, fields, differing });
  }
  if (compared === 0 && missing.length === 0) return `${symbol.padEnd(14)} no bars that can be compared yet`;
  const worse = AUDITED_FIELDS.filter((field) => fields[field]! < 1).map(
    (field) => `${field} ${percent(fields[field]!)}`,
  );
  const rest = [
    ...(missing.length > 0 ? [`${missing.length} missing`] : []),
    ...(extra.length > 0 ? [`${extra.length} that the venue has not`] : []),
    ...(marked > 0 ? [`${marked} more marked incomplete`] : []),
    ...worse,
  ];
  const head = `${symbol.padEnd(14)} ${percent(accuracy(audit)).padStart(8)}  ${equal} of ${compared} bars equal`;
  return [[head, ...rest].join(', '), ...differing.map((text) => `${' '.repeat(15)}${text}`)].join('\n');
}

interface Totals {
  symbols: number;
  compared: number;
  equal: number;
  missing: number;
  marked: number;
  /** Symbols of which the venue told nothing. */
  refused: number;
}

async function audit(settings: Settings, store: KlineStore): Promise<boolean> {
  const { interval, json } = settings;
  const venueBars = new VenueBars(settings.venue, settings.rest);
  const symbols = settings.symbols ?? (await store.symbols(settings.venue.facts.id));
  const isTerminal = process.stderr.isTTY === true && !json;
  const totals: Totals = { symbols: 0, compared: 0, equal: 0, missing: 0, marked: 0, refused: 0 };
  for (const [index, symbol] of symbols.entries()) {
    if (isTerminal) process.stderr.write(`\r\u001b[K${index + 1}/${symbols.length} ${symbol}`);
    const line = await auditSymbol(settings, store, venueBars, symbol, totals);
    if (isTerminal) process.stderr.write('\r\u001b[K');
    process.stdout.write(`${line}\n`);
  }
  if (!json) process.stdout.write(`${totalsText(totals, interval, settings.rest)}\n`);
  return totals.equal === totals.compared && totals.missing + totals.refused === 0;
}

/** Adds one symbol to the totals and gives its line. */
async function auditSymbol(
  { venue, interval, bars, json }: Settings,
  store: KlineStore,
  venueBars: VenueBars,
  symbol: string,
  totals: Totals,
): Promise<string> {
  const page = await store.history({
    ...{ venue: venue.facts.id, symbol, interval },
    ...{ beforeUs: 1n << 52n, limit: bars },
  });
  const stored = page.filter(({ bar }) => bar.closed);
  if (stored.length === 0) {
    return json ? JSON.stringify({ symbol, compared: 0 }) : `${symbol.padEnd(14)} no closed ${interval} bars stored`;
  }
  try {
    const theirs = await venueBars.of(symbol, interval, stored);
    const own = stored.map(({ bar }) => bar);
    const result = compareBars(own, theirs);
    add(totals, result);
    return lineOf(symbol, result, json);
  } catch (error) {
    // One symbol that the venue does not know any more says nothing of the others.
    if (!(error instanceof TapeworksError)) throw error;
    totals.refused++;
    const { code, message } = error;
    return json
      ? JSON.stringify({ symbol, compared: 0, error: { code, message } })
      : `${symbol.padEnd(14)} ${code}: ${message}`;
  }
}

function add(totals: Totals, { compared, equal, missing, marked }: Audit): void {
  totals.symbols++;
  totals.compared += compared;
  totals.equal += equal;
  totals.missing += missing.length;
  totals.marked += marked;
}

function totalsText(totals: Totals, interval: Interval, rest: string): string {
  const { symbols, compared, equal, missing, marked, refused } = totals;
  const rests = [
    ...(marked > 0 ? [`${marked} bars say themselves that they are incomplete`] : []),
    ...(refused > 0 ? [`the venue told nothing of ${refused} symbols`] : []),
  ].map((text) => `; ${text}`);
  if (compared + missing === 0) {
    const why = refused > 0 ? `${rest} told nothing of ${refused} symbols` : `no whole ${interval} bar is stored`;
    return `Nothing could be compared: ${why}.`;
  }
  const verdict = equal === compared && missing === 0 ? 'All equal' : `${compared - equal} differ, ${missing} missing`;
  return `${verdict}: ${compared} bars of ${symbols} symbols, ${interval}, beside ${rest}${rests.join('')}.`;
}

export const command: Command = {
  summary: "compare stored bars with the venue's own",
  usage: [],
  about: `
Compares the newest stored bars with the venue's own and prints, for every symbol and field, how many are equal. A bar that is marked as a gap or as partial says itself that it is incomplete, and counts neither for nor against.
`,
  actions: ACTIONS,
  options: OPTIONS,
  exits: {
    [EXIT.ok]: 'every bar that claims to be whole is equal',
    [EXIT.failed]: 'a bar differs or is missing',
    [EXIT.unavailable]: 'there is no database to read from',
  },
  examples: ['tapeworks audit klines --symbols BTCUSDT,ETHUSDT --interval 5m', 'tapeworks audit klines --live --json'],
  async run(args) {
    const settings = await parse(args);
    const client = await connectPostgres(settings.database);
    try {
      return (await audit(settings, new KlineStore(client))) ? EXIT.ok : EXIT.failed;
    } finally {
      await leavePostgres(client);
    }
  },
};
