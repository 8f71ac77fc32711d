import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { Backfill, type BackfillReport } from '../actors/kline-backfill/backfill.ts';
import { type BackfillSpan, BackfillStore } from '../actors/kline-backfill/backfill-store.ts';
import { MIGRATIONS } from '../actors/kline-persistence/store.ts';
import { migrate, readMigrations } from '../actors/sink/migrate.ts';
import { INTERVAL_NAMES, type Interval, isInterval } from '../protocols/kline.ts';
import { isSymbolShaped, symbolOf } from '../venues/venue.ts';
import { readArguments, usage } from './arguments.ts';
import { BAR_VENUE_OPTION, type BarVenue, barVenueNamed, LIVE_OPTION, REST_OPTION, restUrlOf } from './bar-venue.ts';
import { type Command, EXIT, type Options } from './command.ts';
import { CONFIG_OPTION } from './configuration.ts';
import { DATA_OPTION, DATABASE_OPTION, databaseUrl } from './data-folder.ts';
import { connectPostgres, leavePostgres } from './server-clients.ts';
import { short, span as spanText } from './terminal.ts';

const OPTIONS = {
  from: { type: 'string', value: 'TIME', about: 'the first bar, such as 2026-01-31 or 2026-01-31T12:00Z' },
  to: { type: 'string', value: 'TIME', about: 'bars that have closed by then (now)' },
  interval: {
    ...{ type: 'string', value: 'LIST', default: '1m', about: `one or more of ${INTERVAL_NAMES.join(', ')}` },
    offers: INTERVAL_NAMES,
  },
  database: DATABASE_OPTION,
  data: DATA_OPTION,
  config: CONFIG_OPTION,
  live: LIVE_OPTION,
  rest: REST_OPTION,
  venue: BAR_VENUE_OPTION,
  json: { type: 'boolean', about: 'one JSON object an interval' },
} as const satisfies Options;

/** A backfill leaves most of the venue's weight to repairs. */
const WEIGHT_SHARE = 0.4;
const BAR_WIDTH = 30;
const REDRAW_MS = 100;

interface Settings {
  readonly spans: readonly BackfillSpan[];
  readonly database: string;
  readonly venue: BarVenue;
  readonly rest: string;
  readonly isJson: boolean;
}

function timeUs(name: string, text: string): bigint {
  const ms = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms))
    throw usage(`--${name}: expected a time such as 2026-01-31 or 2026-01-31T12:00Z, got "${text}"`);
  return BigInt(ms) * 1000n;
}

function intervalsOf(text: string): Interval[] {
  return text.split(',').map((name) => {
    if (isInterval(name)) return name;
    throw usage(`--interval: expected one of ${INTERVAL_NAMES.join(', ')}, got "${name}"`);
  });
}

async function parse(args: readonly string[]): Promise<Settings> {
  const { values, positionals } = readArguments(args, OPTIONS, 1);
  const [symbol] = positionals;
  const venue = barVenueNamed(values.venue);
  const { facts } = venue;
  const example = symbolOf(facts, 'BTC', 'USDT');
  if (symbol === undefined) throw usage(`name a symbol, such as ${example}`);
  if (!isSymbolShaped(facts, symbol)) {
    throw usage(`"${symbol}" is no symbol of ${facts.title}; they look like ${example}`);
  }
  if (values.from === undefined) throw usage('--from: say where to begin, such as --from 2026-01-31');
  const nowUs = BigInt(Date.now()) * 1000n;
  const fromUs = timeUs('from', values.from);
  const toUs = values.to === undefined ? nowUs : timeUs('to', values.to);
  if (toUs <= fromUs) throw usage('--to: expected a time after --from');
  const endUs = values.to === undefined || toUs > nowUs ? nowUs : toUs;
  const spans = intervalsOf(values.interval).map((interval) => {
    return { venue: facts.id, symbol, interval, fromUs, toUs: endUs };
  });
  const rest = await restUrlOf(venue, values);
  const database = await databaseUrl(values.data, values.database, values.config);
  return { spans, database, venue, rest, isJson: values.json ?? false };
}

/** One line that is drawn again and again on a terminal; nothing elsewhere. */
class ProgressLine {
  readonly #isOn: boolean;
  #drawnMs = 0;

  constructor(isOn: boolean) {
    this.#isOn = isOn;
  }

  show({ symbol, interval }: BackfillSpan, { share, added, waitMs }: BackfillReport): void {
    const nowMs = performance.now();
    if (!this.#isOn || (waitMs === undefined && nowMs - this.#drawnMs < REDRAW_MS)) return;
    this.#drawnMs = nowMs;
    const full = Math.round(share * BAR_WIDTH);
    const bar = `${'█'.repeat(full)}${'░'.repeat(BAR_WIDTH - full)}`;
    const wait = waitMs === undefined || waitMs < 1000 ? '' : `  the venue's limit: waiting ${spanText(waitMs)}`;
    const text = `${symbol} ${interval} ${bar} ${(share * 100).toFixed(1)}%  ${short(added)} bars${wait}`;
    process.stderr.write(`\r\u001b[K${text}`);
  }

  clear(): void {
    if (this.#isOn) process.stderr.write('\r\u001b[K');
  }
}

async function fill(settings: Settings, client: pg.Client, signal: AbortSignal): Promise<boolean> {
  const { facts, bars } = settings.venue;
  const line = new ProgressLine(process.stderr.isTTY === true && !settings.isJson);
  for (const one of settings.spans) {
    const backfill = new Backfill({
      span: one,
      store: new BackfillStore(client),
      history: bars,
      restUrl: settings.rest,
      budget: { perMinute: facts.rest.weightPerMinute, share: WEIGHT_SHARE },
      nowMs: () => Date.now(),
      sleep: (ms) => sleep(ms, undefined, { signal }).catch(() => undefined),
      onProgress: (report) => line.show(one, report),
      signal,
    });
    const report = await backfill.run().finally(() => line.clear());
    const { isDone, added, addedBefore, share } = report;
    const stood = isDone ? 'filled' : `stopped at ${(share * 100).toFixed(1)}%; the same command goes on from there`;
    const text = `${one.symbol} ${one.interval}: ${added} bars added${addedBefore > 0 ? `, ${addedBefore} before` : ''}; ${stood}`;
    const fields = {
      symbol: one.symbol,
      interval: one.interval,
      added,
      added_before: addedBefore,
      share,
      done: isDone,
    };
    process.stdout.write(`${settings.isJson ? JSON.stringify(fields) : text}\n`);
    if (!isDone) return false;
  }
  return true;
}

export const command: Command = {
  summary: "fill a symbol's history with the venue's own bars",
  usage: ['SYMBOL --from TIME [--to TIME] [--interval LIST] [--json]'],
  about: `
Fetches closed bars of a symbol from the venue's REST service and stores those that are missing. Bars that are stored stay as they are; only one that is marked gap or partial-first is replaced, as its next revision. It keeps to a share of the venue's request weight and waits as long as the venue asks. How far it has come is kept in Postgres with each page: after Ctrl-C, a crash or a ban, the same command goes on where it stopped.
`,
  options: OPTIONS,
  exits: {
    [EXIT.ok]: 'the span is filled',
    [EXIT.failed]: 'it was stopped, or the venue gives no bars; the same command goes on',
    [EXIT.unavailable]: 'there is no Postgres to store into',
  },
  examples: [
    'tapeworks backfill BTCUSDT --from 2026-01-01 --live',
    'tapeworks backfill ETHUSDT --from 2026-01-01 --to 2026-02-01 --interval 1m,1h,1d --live --json',
  ],
  async run(args) {
    const settings = await parse(args);
    const client = await connectPostgres(settings.database);
    const stop = new AbortController();
    const onInterrupt = () => stop.abort();
    process.once('SIGINT', onInterrupt);
    process.once('SIGTERM', onInterrupt);
    try {
      await migrate(client, readMigrations(MIGRATIONS));
      return (await fill(settings, client, stop.signal)) ? EXIT.ok : EXIT.failed;
    } finally {
      process.removeListener('SIGINT', onInterrupt);
      process.removeListener('SIGTERM', onInterrupt);
      await leavePostgres(client);
    }
  },
};
