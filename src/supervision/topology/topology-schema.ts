import type { z } from 'zod';
import { choice, core, decimal, duration, flag, integer, list, mapping, section, size, text } from './leaves.ts';
import {
  INTERVALS,
  instrumentName,
  streamName,
  symbolPattern,
  threadName,
  venueName,
  venueSymbol,
  webSocketUrl,
  webUrl,
} from './names.ts';

const idle = (about: string) => choice(about, ['spin', 'spin-then-park', 'park']);

const threads = mapping(
  'Threads by name. `main` is always there; a thread that is not listed is made with defaults for its actor.',
  'thread names to threads',
  threadName('The name, as `top -H` shows it.'),
  section('One thread.', {
    kind: choice('`loop` has an event loop and hosts several actors; `pinned` runs one actor.', ['loop', 'pinned']),
    cpu: core('Core to pin it to; `last` is the last one of the machine.').optional(),
    idle: idle('What a pinned thread does with nothing to do; as its actor has it where it is left out.').optional(),
    memory: size('Heap after which it counts as crashed.', '16MiB', '64GiB').prefault('512MiB'),
  }),
).prefault({});

const instruments = mapping(
  'What is traded, by our name, and what each venue calls it.',
  'instruments to what venues call them',
  instrumentName('Our name for it.'),
  section('One instrument.', {
    venues: mapping(
      'Its symbol by venue.',
      'venues to symbols',
      venueName('The venue.'),
      venueSymbol('Its symbol there.'),
    ),
    scale: integer('Decimals kept of prices and amounts.', 0, 18).prefault(8),
  }),
).prefault({
  'BTC-USD': { venues: { binance: 'BTCUSDT', bitstamp: 'btcusd', kraken: 'BTC/USD', coinbase: 'BTC-USD' } },
  'ETH-USD': { venues: { binance: 'ETHUSDT', bitstamp: 'ethusd', kraken: 'ETH/USD', coinbase: 'ETH-USD' } },
  'SOL-USD': { venues: { binance: 'SOLUSDT', bitstamp: 'solusd', kraken: 'SOL/USD', coinbase: 'SOL-USD' } },
  'ETH-BTC': { venues: { binance: 'ETHBTC', bitstamp: 'ethbtc', kraken: 'ETH/BTC', coinbase: 'ETH-BTC' } },
});

const feed = section('One venue.', {
  wsUrl: webSocketUrl(
    'WebSocket base; the simulated venue or, with --live, the real one where it is left out.',
  ).optional(),
  restUrl: webUrl('REST base; likewise.').optional(),
  book: choice('How the venue sends books: whole ones, changes, or not at all.', [
    'snapshot',
    'delta',
    'off',
  ]).optional(),
  trades: flag('Whether to take trades.').prefault(true),
  connections: integer('Connections that share its symbols.', 1, 32).prefault(1),
  thread: threadName('Loop thread that it runs on; its own, `feed-VENUE`, where it is left out.').optional(),
  depth: integer(
    'Levels of each side that the collector records; a merged book takes as many as `book.depth` says.',
    1,
    100,
  ).prefault(20),
  staleAfter: duration('Silence after which a timer-driven book is taken out.', '100ms', '10m').prefault('5s'),
  aliveWithin: duration(
    "How long a change-driven book counts without a sign of life of its connection; the venue's own time where it is left out.",
    '500ms',
    '10m',
  ).optional(),
  handshakeTimeout: duration('Time to connect.', '100ms', '5m').prefault('10s'),
  rotateAfter: duration(
    "Age at which a connection is replaced, make before break; a little before the venue's limit where it is left out.",
    '1m',
    '89d',
  ).optional(),
  maxFrame: size('Largest frame.', '1KiB', '64MiB').prefault('8MiB'),
  reconnect: section('Waits between tries to connect.', {
    min: duration('First wait.', '10ms', '10m').prefault('500ms'),
    max: duration('Longest wait.', '10ms', '1h').prefault('30s'),
    jitter: decimal('Share of a wait that is random; 1 is anything up to the wait.', 0, 1).prefault(1),
    resetAfter: duration('Time connected after which waits start at min again.', '100ms', '1d').prefault('1m'),
  }).prefault({}),
});

const feeds = mapping(
  'Venues to connect to; equal levels of a merged book stand in this order.',
  'venues to feeds',
  venueName('The venue.'),
  feed,
).prefault({
  ...{ binance: {}, bitstamp: {}, kraken: {}, coinbase: {} },
});

const book = section('The merged order book.', {
  enabled: flag('Whether books are merged and served.').prefault(true),
  symbols: list(
    'Instruments to merge; all where it is left out.',
    'instruments',
    instrumentName('One.'),
    1,
    10_000,
  ).optional(),
  defaultSymbol: instrumentName('What an empty request streams; the first symbol where it is left out.').optional(),
  depth: integer('Levels of each side in a summary.', 1, 100).prefault(10),
  thread: threadName('Pinned thread of the merger; on the last core unless the thread says otherwise.').prefault(
    'merger',
  ),
  idle: idle('What the merger does with nothing to do; `spin` is fastest and costs a core.').prefault('spin-then-park'),
}).prefault({});

const klines = section('K-lines.', {
  enabled: flag('Whether they are kept.').prefault(true),
  workers: integer('Partition workers, each a pinned thread `klines-N`.', 1, 64).prefault(2),
  cpus: list(
    'Cores for the workers in turn; not pinned where it is left out.',
    'cores',
    core('A core.'),
    1,
    64,
  ).optional(),
  idle: idle('What a worker does with nothing to do.').prefault('park'),
  intervals: list('Bar lengths.', 'intervals', choice('One.', INTERVALS), 1, INTERVALS.length).prefault([
    ...['1m', '5m', '15m', '1h', '4h', '1d'],
  ] as (typeof INTERVALS)[number][]),
  venues: list(
    'Venues whose trades make bars; if it is left out, those connected whose missing trades can be seen and fetched.',
    'venues',
    venueName('One.'),
    1,
    32,
  ).optional(),
  symbols: section("Which of a venue's symbols, in its own spelling.", {
    include: list('Patterns that let a symbol in.', 'patterns', symbolPattern('One.'), 1, 1_000).prefault(['*']),
    exclude: list('Patterns that keep it out again.', 'patterns', symbolPattern('One.'), 0, 1_000).prefault([]),
  }).prefault({}),
  discovery: section('Symbols that are found while running.', {
    enabled: flag('Whether to look for them.').prefault(true),
    venues: list(
      'Venues to look at; where it is left out, those that make bars and have a stream of all their symbols.',
      'venues',
      venueName('One.'),
      1,
      32,
    ).optional(),
    ackTimeout: duration('A worker that does not answer by then is passed over.', '10ms', '1m').prefault('2s'),
    goneAfter: duration(
      'A symbol that its venue names no more on its ticker for this long is let go.',
      '1s',
      '30d',
    ).prefault('1d'),
    maxSymbols: integer(
      'Most symbols that are followed; limits.symbols of kernel.yaml where it is left out.',
      1,
      100_000,
    ).optional(),
  }).prefault({}),
  grace: duration('How long a closed bar waits for late trades.', '0ms', '1m').prefault('2s'),
  clockSync: duration("Time between looks at the venue's clock.", '1s', '1h').prefault('1m'),
  ringCapacity: integer('Trades that may wait for a worker.', 1_024, 4_194_304).prefault(65_536),
  persistEvery: duration('Time between writes of changed bars.', '50ms', '1m').prefault('1s'),
  pendingBars: integer(
    'Bars held in memory while neither PostgreSQL nor the spill takes them; what is beyond stays with the workers.',
    1_000,
    10_000_000,
  ).prefault(100_000),
  repair: flag('Fetch trades that were missed and issue their bars again.').prefault(true),
  heal: section("Stored bars that stayed gaps are replaced by the venue's own, or by bars of the trades that it has.", {
    enabled: flag('Whether to heal them.').prefault(true),
    every: duration('Time between two looks at the table.', '1s', '1h').prefault('1m'),
    after: duration('How long after its end a gap is left to the repair of its trades.', '1s', '1d').prefault('10m'),
    lookBack: duration('Gaps that ended longer ago are left as they are.', '1m', '365d').prefault('7d'),
  }).prefault({}),
  stallAfter: duration('Silence of a worker after which it is restarted.', '100ms', '10m').prefault('5s'),
  deadAfter: duration(
    "How long a trade that the venue's ticker shows may take, before the symbol's feed counts as dead.",
    '1s',
    '10m',
  ).prefault('10s'),
}).prefault({});

const whenFull = (about: string) => choice(about, ['block', 'drop-oldest', 'drop-newest']);

const stream = section('One stream.', {
  shards: integer('Streams that it is split into by symbol; 1 is the stream itself.', 1, 64).prefault(1),
  whenFull: whenFull('What happens under pressure: stop reading, or drop (counted).').prefault('block'),
  whenFullByType: section('The same for single event types.', {
    quote: whenFull('For quotes.').optional(),
    trade: whenFull('For trades.').optional(),
    orderbook: whenFull('For order books.').optional(),
    ohlc: whenFull('For bars.').optional(),
    heartbeat: whenFull('For heartbeats.').optional(),
    status: whenFull('For status events.').optional(),
  }).prefault({}),
});

const ingest = section('Events on their way from Redis to PostgreSQL.', {
  enabled: flag('Whether events are ingested.').prefault(true),
  thread: threadName('Loop thread that reads, writes and spills.').prefault('kernel'),
  streams: mapping(
    'Streams besides those of the modules.',
    'stream names to streams',
    streamName('Its name in Redis.'),
    stream,
  ).prefault({
    events: {},
  }),
}).prefault({});

const supervision = (about: string, strategy: 'one-for-one' | 'one-for-all' | 'rest-for-one') =>
  section(about, {
    strategy: choice('Who is restarted with a child that fails.', [
      'one-for-one',
      'one-for-all',
      'rest-for-one',
    ]).prefault(strategy),
    intensity: integer('Restarts within the period before it gives up and escalates.', 0, 10_000).prefault(10),
    period: duration('That period.', '100ms', '1d').prefault('1m'),
    backoff: section('Waits before a restart: min doubled each time, up to max.', {
      min: duration('First wait.', '1ms', '10m').prefault('100ms'),
      max: duration('Longest wait.', '1ms', '1h').prefault('30s'),
      jitter: decimal('Share that is added at random.', 0, 1).prefault(0.2),
      resetAfter: duration('Time running after which waits start at min again.', '100ms', '1d').prefault('1m'),
    }).prefault({}),
    shutdown: duration('Time that a child has to stop.', '0ms', '10m').prefault('5s'),
    mailbox: section("Each child's mailbox.", {
      capacity: integer('Messages that may wait.', 1, 1_000_000).prefault(1_000),
      policy: choice('What a full one does.', ['reject', 'drop-oldest', 'drop-newest', 'backpressure']).prefault(
        'reject',
      ),
    }).prefault({}),
  }).prefault({});

/** config/topology.yaml: threads, and what each plane is made of. */
export const topologySchema = section('Threads, and what each plane is made of.', {
  name: text('Name of this system, in logs and on the dashboard.', 'a short name', /^[\w .-]{1,40}$/).prefault(
    'tapeworks',
  ),
  threads,
  instruments,
  feeds,
  book,
  klines,
  ingest,
  supervision: section('How each part of the tree is supervised.', {
    control: supervision('The watchdog.', 'one-for-one'),
    ingest: supervision('Spill, sink and readers: a sink that fails takes its readers with it.', 'rest-for-one'),
    klines: supervision('Workers, persistence and symbols.', 'one-for-one'),
    book: supervision('The merger.', 'one-for-one'),
    serving: supervision('Publisher and console.', 'one-for-one'),
    feeds: supervision('One child a venue connection.', 'one-for-one'),
  }).prefault({}),
});

/** The checked form: every default filled in, durations in milliseconds, sizes in bytes. */
export type TopologyConfig = z.output<typeof topologySchema>;
export type SupervisionConfig = TopologyConfig['supervision']['feeds'];
