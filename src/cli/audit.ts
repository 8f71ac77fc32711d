import pg from 'pg';
import { AUDITED_FIELDS, type Audit, accuracy, compareBars } from '../actors/kline-persistence/audit.ts';
import type { NamedBar } from '../actors/kline-persistence/rows.ts';
import { HISTORY_LIMIT_MAX, KlineStore } from '../actors/kline-persistence/store.ts';
import { BinanceRest, KLINES_WEIGHT, type VenueBar } from '../actors/trade-repair/binance-rest.ts';
import {
  blocked,
  observe,
  spend,
  startBudget,
  type WeightBudget,
  waitFor,
} from '../actors/trade-repair/weight-budget.ts';
import { TapeworksError } from '../protocols/errors/index.ts';
import { INTERVAL_NAMES, type Interval, isInterval } from '../protocols/kline.ts';
import { BINANCE } from '../venues/binance/facts.ts';
import { readAction, usage } from './arguments.ts';
import { type Command, EXIT, type Options } from './command.ts';
import { DATA_OPTION, databaseUrl } from './data-folder.ts';
import { reasonOf } from './failure.ts';

const DEFAULT_BARS = 500;
const REQUESTS_MAX = 5;
/** Audits leave most of the venue's weight to repairs. */
const WEIGHT_SHARE = 0.25;

const OPTIONS = {
  database: {
    type: 'string',
    value: 'URL',
    about: 'where the bars are stored (DATABASE_URL, else the embedded Postgres)',
  },
  data: DATA_OPTION,
  rest: { type: 'string', value: 'URL', about: "the venue's REST address, everything before /api (the real Binance)" },
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
  readonly rest: string;
  readonly symbols: readonly string[] | undefined;
  readonly interval: Interval;
  readonly bars: number;
  readonly json: boolean;
}

function parse(args: readonly string[]): Settings {
  const { values } = readAction(args, OPTIONS, ACTIONS, 0);
  const interval = values.interval ?? '1m';
  if (!isInterval(interval)) throw usage(`--interval: expected one of ${INTERVAL_NAMES.join(', ')}, got "${interval}"`);
  const bars = Number(values.bars ?? DEFAULT_BARS);
  if (!Number.isInteger(bars) || bars < 1 || bars > HISTORY_LIMIT_MAX) {
    throw usage(`--bars: expected 1..${HISTORY_LIMIT_MAX}, got "${values.bars}"`);
  }
  const rest = values.rest ?? BINANCE.rest.url;
  const database = databaseUrl(values.data, values.database);
  return { database, rest, symbols: values.symbols?.split(','), interval, bars, json: values.json ?? false };
}

/** The venue's bars of the same span, asked for within the budget; refusals are waited out a few times. */
class VenueBars {
  readonly #rest: BinanceRest;
  #budget: WeightBudget = startBudget({ perMinute: BINANCE.rest.weightPerMinute, share: WEIGHT_SHARE });

  constructor(base: string) {
    this.#rest = new BinanceRest(base);
  }

  async of(symbol: string, interval: Interval, stored: readonly NamedBar[]): Promise<readonly VenueBar[]> {
    const oldest = stored.at(-1)!.bar.openUs;
    const newest = stored[0]!.bar.openUs;
    let reason = '';
    for (let request = 0; request < REQUESTS_MAX; request++) {
      await sleep(waitFor(this.#budget, KLINES_WEIGHT, Date.now()));
      this.#budget = spend(this.#budget, KLINES_WEIGHT, Date.now());
      const answer = await this.#rest.klines(symbol, interval, oldest, HISTORY_LIMIT_MAX);
      if (answer.ok) {
        if (answer.usedWeight !== undefined) this.#budget = observe(this.#budget, answer.usedWeight, Date.now());
        return answer.value.filter((bar) => bar.openUs <= newest);
      }
      reason = `${answer.status} ${answer.reason}`;
      this.#budget = blocked(this.#budget, answer.status, answer.retryAfterS ?? 1, Date.now());
    }
    throw new TapeworksError('TW_KLINE_AUDIT_VENUE', `no bars of ${symbol} from the venue: ${reason}`, { symbol });
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

const percent = (share: number) => `${(share * 100).toFixed(2)}%`;

function lineOf(symbol: string, audit: Audit, json: boolean): string {
  const fields = Object.fromEntries(AUDITED_FIELDS.map((field) => [field, accuracy(audit, field)]));
  const { compared, equal, missing, extra, marked } = audit;
  if (json) {
    const counts = { compared, equal, missing: missing.length, extra: extra.length, marked };
    return JSON.stringify({ symbol, accuracy: accuracy(audit), ...counts, fields });
  }
  if (compared === 0 && missing.length === 0) return `${symbol.padEnd(14)} no bars that can be compared yet`;
  const worse = AUDITED_FIELDS.filter((field) => fields[field]! < 1).map(
    (field) => `${field} ${percent(fields[field]!)}`,
  );
  const rest = [
    ...(missing.length > 0 ? [`${missing.length} missing`] : []),
    ...(marked > 0 ? [`${marked} marked incomplete`] : []),
    ...worse,
  ];
  return `${symbol.padEnd(14)} ${percent(accuracy(audit)).padStart(8)}  of ${compared} bars  ${rest.join(', ')}`.trimEnd();
}

async function audit(settings: Settings, store: KlineStore): Promise<boolean> {
  const venue = new VenueBars(settings.rest);
  const symbols = settings.symbols ?? (await store.recover('binance')).map((one) => one.symbol);
  const isTerminal = process.stderr.isTTY === true && !settings.json;
  let isClean = true;
  for (const [index, symbol] of symbols.entries()) {
    if (isTerminal) process.stderr.write(`\r\u001b[K${index + 1}/${symbols.length} ${symbol}`);
    const newest = { venue: 'binance', symbol, interval: settings.interval, beforeUs: 1n << 52n, limit: settings.bars };
    const stored = (await store.history(newest)).filter(({ bar }) => bar.closed);
    if (isTerminal) process.stderr.write('\r\u001b[K');
    if (stored.length === 0) {
      const none = settings.json
        ? JSON.stringify({ symbol, compared: 0 })
        : `${symbol.padEnd(14)} no closed bars stored`;
      process.stdout.write(`${none}\n`);
      continue;
    }
    try {
      const theirs = await venue.of(symbol, settings.interval, stored);
      const result = compareBars(
        stored.map(({ bar }) => bar),
        theirs,
      );
      isClean &&= result.equal === result.compared && result.missing.length === 0;
      process.stdout.write(`${lineOf(symbol, result, settings.json)}\n`);
    } catch (error) {
      // One symbol that the venue does not know any more says nothing of the others.
      if (!(error instanceof TapeworksError)) throw error;
      isClean = false;
      const { code, message } = error;
      const text = `${symbol.padEnd(14)} ${code}: ${message}`;
      process.stdout.write(
        `${settings.json ? JSON.stringify({ symbol, compared: 0, error: { code, message } }) : text}\n`,
      );
    }
  }
  return isClean;
}

async function connected(client: pg.Client): Promise<void> {
  try {
    await client.connect();
  } catch (error) {
    throw new TapeworksError('TW_SERVER_UNREACHABLE', `Postgres does not answer: ${reasonOf(error)}`);
  }
}

export const command: Command = {
  summary: "compare stored bars with the venue's own",
  usage: [],
  about: `
Compares the newest stored bars with the venue's own and prints, for every symbol and field, how many are equal.
`,
  actions: ACTIONS,
  options: OPTIONS,
  exits: {
    [EXIT.ok]: 'every bar is equal',
    [EXIT.failed]: 'a bar differs or is missing',
    [EXIT.unavailable]: 'there is no database to read from',
  },
  examples: [
    'tapeworks audit klines --symbols BTCUSDT,ETHUSDT --interval 5m',
    'tapeworks audit klines --rest http://127.0.0.1:9801/binance --json',
  ],
  async run(args) {
    const settings = parse(args);
    const client = new pg.Client({ connectionString: settings.database });
    try {
      await connected(client);
      return (await audit(settings, new KlineStore(client))) ? EXIT.ok : EXIT.failed;
    } finally {
      await client.end();
    }
  },
};
