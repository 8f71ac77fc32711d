import type { z } from 'zod';
import { choice, duration, flag, integer, list, section, size, text } from './leaves.ts';
import { filePath, host, streamName } from './names.ts';

const http = section('The HTTP port: dashboard, health, metrics and API.', {
  host: host('Address to listen on; anything but loopback needs tls and auth.tokenFile.').prefault('127.0.0.1'),
  port: integer('Port to listen on; 0 takes any free one.', 0, 65_535).prefault(9090),
  allowedHosts: list(
    'Names besides the address itself that requests may use as Host.',
    'host names',
    host('A name.'),
    0,
    32,
  ).prefault([]),
  maxConnections: integer('Connections held open at once.', 1, 10_000).prefault(200),
  maxDashboards: integer('Live dashboards served at once.', 1, 1_000).prefault(50),
  maxBody: size('Largest request body.', '1KiB', '2MiB').prefault('1MiB'),
  requestTimeout: duration('Time that a client has to send its request.', '100ms', '5m').prefault('10s'),
}).prefault({});

const grpc = section('The gRPC port: merged books and K-lines.', {
  host: host('Address to listen on; anything but loopback needs tls and auth.tokenFile.').prefault('127.0.0.1'),
  port: integer('Port to listen on; 0 takes any free one.', 0, 65_535).prefault(50_051),
  maxSubscribers: integer('Open subscriptions over all connections.', 1, 100_000).prefault(2_000),
  maxStreamsPerConnection: integer('Open streams on one connection.', 1, 10_000).prefault(100),
  maxSymbols: integer('Symbols that one subscription may name.', 1, 10_000).prefault(500),
  maxRequest: size('Largest request message.', '1KiB', '4MiB').prefault('64KiB'),
  keepalive: duration('Time between pings to a silent client.', '1s', '1h').prefault('30s'),
  cutSlowAfter: duration('A subscriber that takes nothing for this long is cut off.', '100ms', '10m').prefault('10s'),
}).prefault({});

const tls = section('Certificate for both ports; leave it out for plain text on loopback.', {
  certFile: filePath('PEM file with the certificate chain.'),
  keyFile: filePath('PEM file with the private key.'),
  clientCaFile: filePath('PEM file with the authority that client certificates must come from.').optional(),
}).optional();

const auth = section('Who may connect.', {
  tokenFile: filePath('File that holds the bearer token; it is read again when it changes.').optional(),
}).prefault({});

const control = section('Endpoints that change the running system.', {
  enabled: flag('Whether they exist at all; they also need auth.tokenFile.').prefault(false),
}).prefault({});

const log = section('What is written to the log.', {
  level: choice('Lowest level that is written.', ['trace', 'debug', 'info', 'warn', 'error', 'silent']).prefault(
    'info',
  ),
}).prefault({});

const serverUrl = (about: string, scheme: string) =>
  text(about, `embedded or a ${scheme}:// URL`, new RegExp(`^(?:embedded|${scheme}s?(?:ql)?://[^\\s/?#]+[^\\s]*)$`));

const servers = section('The database and the stream server.', {
  postgres: section('PostgreSQL; the environment variable DATABASE_URL goes before this.', {
    url: serverUrl('Your own server, or the one that comes along.', 'postgres').prefault('embedded'),
    passwordFile: filePath('File that holds the password.').optional(),
    connectTimeout: duration('Time to wait for a connection.', '100ms', '5m').prefault('3s'),
  }).prefault({}),
  redis: section('Redis; the environment variable REDIS_URL goes before this.', {
    url: serverUrl('Your own server, or one started for you.', 'redis').prefault('embedded'),
    passwordFile: filePath('File that holds the password.').optional(),
    connectTimeout: duration('Time to wait for a connection.', '100ms', '5m').prefault('3s'),
  }).prefault({}),
}).prefault({});

const limits = section('Sizes that are fixed when the process starts.', {
  symbols: integer('Symbols that can be known at once, over all venues.', 1, 100_000).prefault(4_096),
}).prefault({});

const metrics = section('What /metrics shows.', {
  enabled: flag('Whether /metrics is served.').prefault(true),
  maxLabelValues: integer('Values of one label before the rest is counted as `other`.', 10, 100_000).prefault(1_000),
}).prefault({});

const republish = section('Stored events put onto another stream, at least once.', {
  enabled: flag('Whether to do it.').prefault(false),
  stream: streamName('Stream that they go to.').prefault('events-stored'),
  capacity: integer('Events that may wait; more are dropped and counted.', 1, 1_000_000).prefault(10_000),
  maxLength: integer('Entries that the stream keeps, roughly.', 1, 1_000_000_000).prefault(1_000_000),
}).prefault({});

const ingest = section('Reading events from Redis.', {
  group: streamName('Consumer group.').prefault('kernel'),
  consumer: streamName('Consumer name, stable over restarts; the host name where it is left out.').optional(),
  readCount: integer('Entries that one read asks for.', 1, 100_000).prefault(1_000),
  readBlock: duration('Time that a read waits for new entries.', '10ms', '1m').prefault('1s'),
  inFlightMessages: integer('Entries read but not yet durable, before reading stops.', 1, 10_000_000).prefault(32_000),
  inFlightBytes: size('The same in bytes.', '64KiB', '16GiB').prefault('32MiB'),
  maxEntry: size('Largest entry; a larger one becomes a dead letter.', '1KiB', '16MiB').prefault('256KiB'),
  maxDepth: integer('Deepest nesting of an entry.', 4, 512).prefault(32),
  claimIdle: duration("Idle time after which another consumer's entries are taken over.", '1s', '1d').prefault('1m'),
  claimEvery: duration('Time between looks for such entries.', '100ms', '1h').prefault('30s'),
  poisonAfter: integer('Deliveries after which an entry is tried alone.', 2, 100).prefault(5),
  trimAfter: duration('Age at which durable entries are trimmed from the stream.', '1s', '30d').prefault('1h'),
  trimEvery: duration('Time between trims.', '100ms', '1h').prefault('10s'),
  deadLetterSuffix: streamName("Added to a stream's name to name its dead-letter stream.").prefault(':dlq'),
  republish,
}).prefault({});

const sink = section('Writing batches to PostgreSQL.', {
  batchRows: integer('Rows that a batch has at most; less where writes are slow.', 1, 100_000).prefault(8_000),
  batchBytes: size('Bytes after which a batch is written.', '1KiB', '256MiB').prefault('4MiB'),
  batchTime: duration('Longest time that a row waits for its batch to fill.', '1ms', '1m').prefault('50ms'),
  connections: integer('Connections that write at once.', 1, 64).prefault(2),
  statementTimeout: duration('After this the server gives a statement up.', '10ms', '1h').prefault('8s'),
  queryTimeout: duration('After this we do; longer than statementTimeout.', '10ms', '1h').prefault('10s'),
  lockTimeout: duration('Longest wait for a lock.', '10ms', '1h').prefault('3s'),
  contentionRetries: integer('Tries again after a deadlock or serialization failure.', 0, 100).prefault(5),
  partitionsAhead: integer('Day partitions made ahead of time.', 1, 366).prefault(7),
  breaker: section('When to stop trying and spill.', {
    failures: integer('Failures in a row that open it.', 1, 100).prefault(2),
    probeMin: duration('First wait before trying again.', '10ms', '10m').prefault('1s'),
    probeMax: duration('Longest wait.', '10ms', '1h').prefault('10s'),
  }).prefault({}),
}).prefault({});

const spill = section('Where batches go while PostgreSQL is out.', {
  folder: filePath('Folder for the segments, below the data folder unless absolute.').prefault('spill'),
  maxBytes: size('Most bytes kept.', '1MiB', '100TiB').prefault('4GiB'),
  minFreeBytes: size('Free space left to others on that disk.', '0B', '10TiB').prefault('512MiB'),
  whenFull: choice('What to do at the limit: stop reading, or drop (counted).', [
    'block',
    'drop-oldest',
    'drop-newest',
  ]).prefault('block'),
  segmentBytes: size('Size at which a segment is sealed.', '64KiB', '1GiB').prefault('64MiB'),
  segmentAge: duration('Age at which a segment is sealed.', '100ms', '1d').prefault('1m'),
}).prefault({});

const shutdown = section('Stopping the process.', {
  drain: duration('Time for what was read to become durable.', '100ms', '10m').prefault('6s'),
  deadline: duration('After this the process ends as it is; nothing acknowledged is lost.', '1s', '1h').prefault('15s'),
}).prefault({});

const topology = section('Changing the topology while running.', {
  watch: flag('Apply the files when they are saved.').prefault(false),
  debounce: duration('Quiet time after a change before the files are read.', '10ms', '1m').prefault('200ms'),
  healthDeadline: duration('A topology that is not healthy by then is rolled back.', '100ms', '1h').prefault('30s'),
  stableFor: duration('How long it must stay healthy to count.', '0ms', '10m').prefault('2s'),
}).prefault({});

const simulation = section('The simulated venues that run unless --live is given.', {
  port: integer('Port that they all listen on, on loopback; 0 takes any free one.', 0, 65_535).prefault(9_801),
  seed: integer('Seed of their market.', 0, 4_294_967_295).prefault(1),
}).prefault({});

/** config/kernel.yaml: ports, limits, servers and sinks. */
export const kernelSchema = section('Globals: ports, limits, servers and sinks.', {
  http,
  grpc,
  tls,
  auth,
  control,
  log,
  data: filePath('Folder for everything that is kept, relative to the working folder.').prefault('.tapeworks'),
  servers,
  limits,
  metrics,
  ingest,
  sink,
  spill,
  shutdown,
  topology,
  simulation,
});

/** The checked form: every default filled in, durations in milliseconds, sizes in bytes. */
export type KernelConfig = z.output<typeof kernelSchema>;
