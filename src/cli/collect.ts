import { existsSync, readFileSync } from 'node:fs';
import { pino } from 'pino';
import pretty from 'pino-pretty';
import { Collector, type CollectorConnection, type CollectorStatus } from '../actors/collector/collector.ts';
import { programVersion } from '../program/version.ts';
import { isKind } from '../protocols/topology.ts';
import { onTerminationSignal } from '../supervision/shutdown.ts';
import { compileTopology } from '../supervision/topology/compile.ts';
import type { Configuration } from '../supervision/topology/load.ts';
import { KNOWN_VENUES, venueNamed } from '../venues/index.ts';
import type { Venue } from '../venues/venue.ts';
import { readArguments, usage } from './arguments.ts';
import { type Command, EXIT, type Options } from './command.ts';
import { CONFIG_OPTION, readConfiguration, reportIssues } from './configuration.ts';

const NAME = 'collector';
/** Two, for examples. */
const SOME = KNOWN_VENUES.slice(0, 2).map(({ id }) => id);
const STOP_WITHIN_MS = 3_000;
const OUTBOX_BYTES = 256 * 2 ** 20;

const about = `
Reads the venues' feeds and appends normalized events to Redis: every trade, quotes and books at a bounded pace, heartbeats and a status. Venues, instruments and limits are those of the configuration. While Redis is away, events wait in memory up to a limit; what is dropped beyond it is counted, by type, in the status.
Without --endpoints and --live it looks for simulated venues on the port that kernel.yaml names.
`;

const TEXT = { type: 'string', value: 'N' } as const;
const OPTIONS = {
  config: CONFIG_OPTION,
  venues: { ...TEXT, value: 'LIST', about: 'only these of the configured venues', offers: 'venue' },
  symbols: {
    ...{ ...TEXT, value: 'LIST', offers: 'instrument' },
    about: 'only these of the configured instruments, such as BTC-USD,ETH-USD',
  },
  endpoints: {
    ...{ ...TEXT, value: 'JSON', offers: 'file' },
    about: 'where the venues are, as `tapeworks sim --json` prints it, or a file that holds it',
  },
  live: { type: 'boolean', default: false, about: 'the real venues' },
  redis: {
    ...{ ...TEXT, value: 'URL' },
    about: 'a password is safer in REDIS_URL (REDIS_URL, or the one that kernel.yaml names)',
  },
  stream: {
    ...{ ...TEXT, value: 'NAME', default: 'events' },
    about: 'the stream to append to; its shards are those of the configuration',
  },
  rate: { ...TEXT, default: '5', about: 'quotes a second of one symbol on one venue, 0.1 to 10' },
  queue: { ...TEXT, default: '100000', about: 'events that may wait for Redis, 100 to 10000000' },
  backlog: { ...TEXT, default: '10000000', about: 'entries of a stream beyond which it is left alone' },
  json: { type: 'boolean', default: false, about: 'print one JSON object when ready' },
} as const satisfies Options;

type Values = ReturnType<typeof read>;
const read = (args: readonly string[]) => readArguments(args, OPTIONS, 0).values;

export const command: Command = {
  summary: 'read the venues and append normalized events to Redis: the reference module',
  usage: ['[options]'],
  about,
  options: OPTIONS,
  exits: {
    [EXIT.ok]: 'ended by Ctrl-C or SIGTERM, with every event in Redis',
    [EXIT.failed]: 'ended with events that did not reach Redis',
    [EXIT.config]: 'a configuration file is wrong',
  },
  examples: [
    'REDIS_URL=redis://localhost:6379 tapeworks collect',
    `REDIS_URL=redis://localhost:6379 tapeworks collect --live --venues ${SOME.join(',')} --symbols BTC-USD`,
  ],
  async run(args) {
    const values = read(args);
    const found = await readConfiguration(values.config, values.config);
    if (!found.ok) return reportIssues(found.issues, values.json);
    const { config } = found.value;
    return collect(config, values);
  },
};

async function collect(config: Configuration, values: Values): Promise<number> {
  const connections = connectionsOf(config, values);
  const streams = streamsOf(config, values.stream);
  const redisUrl = redisOf(config, values.redis);
  const log = pino({ name: NAME }, process.stderr.isTTY ? pretty({ destination: 2, sync: true }) : pino.destination(2));
  const limits = {
    quotesPerSecond: numberOf('rate', values.rate, 0.1, 10),
    outbox: { messages: numberOf('queue', values.queue, 100, 10_000_000), bytes: OUTBOX_BYTES },
    backlogMax: numberOf('backlog', values.backlog, 1, Number.MAX_SAFE_INTEGER),
  };
  const stopped = new Promise<void>((resolve) => {
    onTerminationSignal(
      () => resolve(),
      (code) => process.exit(code),
    );
  });
  const collector = new Collector({
    ...{ name: NAME, version: programVersion(), connections, redisUrl, streams, ...limits },
    onChange: (status) => (isWell(status) ? log.info(status, 'changed') : log.warn(status, 'not all is well')),
  });
  const ids = connections.map(({ settings }) => `${settings.venue}-${settings.connection}`);
  process.stdout.write(
    values.json
      ? `${JSON.stringify({ ready: true, streams, connections: ids })}\n`
      : `collecting from ${ids.join(', ')} into ${streams.join(', ')}\n`,
  );
  await stopped;
  const unsent = await collector.stop(STOP_WITHIN_MS);
  if (unsent === 0) return EXIT.ok;
  log.error({ unsent, redis: collector.status().redis }, 'ended with events that did not reach Redis');
  return EXIT.failed;
}

function isWell({ redis, connections }: CollectorStatus): boolean {
  return redis.kind === 'up' && connections.every(({ state }) => state === 'open' || state === 'rotating');
}

/** The configured connections that are asked for, each with where its venue is. */
function connectionsOf(config: Configuration, values: Values): CollectorConnection[] {
  const venues = listOf('venues', values.venues, Object.keys(config.topology.feeds));
  const symbols = listOf('symbols', values.symbols, Object.keys(config.topology.instruments));
  const endpoint = endpointsOf(config, values);
  const connections = compileTopology(config)
    .nodes.filter((node) => isKind(node, 'exchange'))
    .map(({ settings }) => ({
      ...settings,
      symbols: settings.symbols.filter(({ instrument }) => symbols.includes(instrument)),
    }))
    .filter((settings) => venues.includes(settings.venue) && settings.symbols.length > 0)
    .map((settings) => {
      const venue = venueNamed(settings.venue);
      return { venue, settings, ...endpoint(venue), ...ownUrls(settings) };
    });
  if (connections.length === 0) throw usage('none of the venues lists any of the symbols');
  return connections;
}

function ownUrls({ wsUrl, restUrl }: { readonly wsUrl: string | null; readonly restUrl: string | null }) {
  return { ...(wsUrl !== null && { wsUrl }), ...(restUrl !== null && { restUrl }) };
}

interface Endpoint {
  readonly wsUrl: string;
  readonly restUrl: string;
}

function endpointsOf(config: Configuration, { live, endpoints }: Values): (venue: Venue) => Endpoint {
  if (live && endpoints !== undefined) throw usage('--live and --endpoints exclude each other');
  if (live) return ({ facts }) => ({ wsUrl: facts.wsUrl, restUrl: facts.rest.url });
  const { port } = config.kernel.simulation;
  if (endpoints === undefined) {
    return ({ facts, simulation }) => ({
      wsUrl: `ws://127.0.0.1:${port}/${facts.id}${simulation.wsPath}`,
      restUrl: `http://127.0.0.1:${port}/${facts.id}`,
    });
  }
  const given = parseEndpoints(endpoints);
  return ({ facts }) => {
    const found = given[facts.id];
    if (typeof found?.wsUrl !== 'string' || typeof found.restUrl !== 'string') {
      throw usage(`--endpoints: venues.${facts.id} needs wsUrl and restUrl`);
    }
    return found;
  };
}

function parseEndpoints(text: string): Readonly<Record<string, Endpoint | undefined>> {
  try {
    const parsed: unknown = JSON.parse(existsSync(text) ? readFileSync(text, 'utf8') : text);
    const { venues } = parsed as { venues?: Record<string, Endpoint | undefined> };
    if (typeof venues === 'object' && venues !== null) return venues;
  } catch (error) {
    throw usage(`--endpoints: ${error instanceof Error ? error.message : String(error)}`);
  }
  throw usage(`--endpoints: expected {"venues":{"${SOME[0]}":{"wsUrl":...,"restUrl":...}}}`);
}

function redisOf(config: Configuration, given: string | undefined): string {
  const url = given ?? process.env['REDIS_URL'] ?? config.kernel.servers.redis.url;
  if (/^rediss?:\/\//.test(url) && URL.canParse(url)) return url;
  throw usage('no Redis is named: set REDIS_URL, or give --redis redis://host:6379');
}

/** The keys behind a stream's name: itself, or one a shard, as the kernel reads them. */
function streamsOf({ topology }: Configuration, stream: string): string[] {
  const shards = topology.ingest.streams[stream]?.shards ?? 1;
  return shards === 1 ? [stream] : Array.from({ length: shards }, (_, shard) => `${stream}:${shard}`);
}

function listOf(option: string, given: string | undefined, known: readonly string[]): readonly string[] {
  if (given === undefined) return known;
  const wanted = given.split(',').map((name) => name.trim());
  const stranger = wanted.find((name) => !known.includes(name));
  if (stranger !== undefined)
    throw usage(`--${option}: "${stranger}" is not configured; known are ${known.join(', ')}`);
  return wanted;
}

function numberOf(option: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (text.trim() !== '' && value >= least && value <= most) return value;
  throw usage(`--${option}: expected ${least} to ${most}, got "${text}"`);
}
