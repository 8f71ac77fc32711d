import { describe, expect, it } from 'vitest';
import { messagesFor, type WrittenFiles } from './testing.ts';

// Each value is right by itself; two of them together are not. Each kind of mistake gets its exact messages.

const CASES: readonly (readonly [what: string, files: WrittenFiles, messages: readonly string[]])[] = [
  [
    'two ports that clash',
    { kernel: 'http: { port: 50051 }\n' },
    ['TW_CONFIG_CONFLICT config/kernel.yaml:1:1 grpc.port: expected another port than http.port, got 50051'],
  ],
  [
    'the simulated venues on a taken port',
    { kernel: 'simulation: { port: 9090 }\n' },
    ['TW_CONFIG_CONFLICT config/kernel.yaml:1:21 simulation.port: expected another port than http.port, got 9090'],
  ],
  [
    'bars of an instrument with another scale',
    {
      topology: 'instruments: { PEPE-USD: { venues: { binance: PEPEUSDT }, scale: 4 } }\nfeeds: { binance: {} }\n',
    },
    [
      'TW_CONFIG_CONFLICT config/topology.yaml:1:66 instruments.PEPE-USD.scale: expected 8 for an instrument that makes bars, or its symbols in klines.symbols.exclude, got 4',
    ],
  ],
  [
    'an open port without a token',
    { kernel: 'grpc: { host: 0.0.0.0 }\ntls: { certFile: a, keyFile: b }\n' },
    [
      'TW_CONFIG_UNSAFE config/kernel.yaml:1:15 grpc.host: expected a loopback address, or tls and auth.tokenFile beside it, got "0.0.0.0"',
    ],
  ],
  [
    'an open port without a certificate',
    { kernel: 'http: { host: "::" }\nauth: { tokenFile: t }\n' },
    [
      'TW_CONFIG_UNSAFE config/kernel.yaml:1:15 http.host: expected a loopback address, or tls and auth.tokenFile beside it, got "::"',
    ],
  ],
  [
    'control without a token',
    { kernel: 'control: { enabled: true }\n' },
    ['TW_CONFIG_UNSAFE config/kernel.yaml:1:21 control.enabled: expected auth.tokenFile beside it, got true'],
  ],
  [
    'a password in a URL',
    { kernel: 'servers: { postgres: { url: "postgres://me:secret@db/x" } }\n' },
    [
      'TW_CONFIG_UNSAFE config/kernel.yaml:1:29 servers.postgres.url: expected a URL without a password, got one with it; put it into servers.postgres.passwordFile',
    ],
  ],
  [
    'a password for the embedded server',
    { kernel: 'servers: { redis: { passwordFile: p } }\n' },
    [
      'TW_CONFIG_CONFLICT config/kernel.yaml:1:35 servers.redis.passwordFile: expected a url of your own server beside it, got "p"',
    ],
  ],
  [
    'timeouts the wrong way round',
    { kernel: 'sink: { statementTimeout: 20s, queryTimeout: 10s }\n' },
    [
      'TW_CONFIG_CONFLICT config/kernel.yaml:1:46 sink.queryTimeout: expected at least sink.statementTimeout (20s), got 10s',
    ],
  ],
  [
    'a breaker the wrong way round',
    { kernel: 'sink: { breaker: { probeMin: 1m } }\n' },
    [
      'TW_CONFIG_CONFLICT config/kernel.yaml:1:18 sink.breaker.probeMax: expected at least sink.breaker.probeMin (1m), got 10s',
    ],
  ],
  [
    'a drain beyond the deadline',
    { kernel: 'shutdown: { drain: 1m }\n' },
    ['TW_CONFIG_CONFLICT config/kernel.yaml:1:11 shutdown.deadline: expected at least shutdown.drain (1m), got 15s'],
  ],
  [
    'a batch smaller than an entry',
    { kernel: 'sink: { batchBytes: 1KiB }\n' },
    [
      'TW_CONFIG_CONFLICT config/kernel.yaml:1:21 sink.batchBytes: expected at least ingest.maxEntry (256KiB), got 1KiB',
    ],
  ],
  [
    'a window smaller than a batch',
    { kernel: 'ingest: { inFlightMessages: 10 }\n' },
    [
      'TW_CONFIG_CONFLICT config/kernel.yaml:1:29 ingest.inFlightMessages: expected at least sink.batchRows (8000), got 10',
    ],
  ],
  [
    'a spill of less than two segments',
    { kernel: 'spill: { maxBytes: 100MiB }\n' },
    ['TW_CONFIG_CONFLICT config/kernel.yaml:1:20 spill.maxBytes: expected at least two segments (128MiB), got 100MiB'],
  ],
  [
    'an unknown venue',
    { topology: 'feeds: { binanse: {} }\n' },
    [
      'TW_CONFIG_CONFLICT config/topology.yaml:1:19 feeds.binanse: expected a known venue (binance, bitstamp, kraken, coinbase), got "binanse"; did you mean `binance`?',
    ],
  ],
  [
    'a symbol of an unknown venue',
    { topology: 'instruments: { BTC-USD: { venues: { okx: BTC-USDT } } }\n' },
    [
      'TW_CONFIG_CONFLICT config/topology.yaml:1:42 instruments.BTC-USD.venues.okx: expected a known venue (binance, bitstamp, kraken, coinbase), got "okx"',
    ],
  ],
  [
    'a symbol mapped twice',
    {
      topology:
        'instruments:\n  BTC-USD: { venues: { binance: BTCUSDT } }\n  BTC-USDT: { venues: { binance: btcusdt } }\n',
    },
    [
      'TW_CONFIG_CONFLICT config/topology.yaml:3:34 instruments.BTC-USDT.venues.binance: expected a symbol that is not yet BTC-USD there, got "btcusdt"',
    ],
  ],
  [
    'an instrument that is nowhere',
    { topology: 'instruments: { BTC-USD: { venues: {} } }\n' },
    ['TW_CONFIG_CONFLICT config/topology.yaml:1:35 instruments.BTC-USD.venues: expected at least one venue, got none'],
  ],
  [
    'no instruments',
    { topology: 'instruments: {}\n' },
    ['TW_CONFIG_CONFLICT config/topology.yaml:1:14 instruments: expected at least one instrument, got none'],
  ],
  [
    'a book of an unknown instrument',
    { topology: 'book: { symbols: [BTC-USD, ETH-UDS] }\n' },
    [
      'TW_CONFIG_CONFLICT config/topology.yaml:1:28 book.symbols[1]: expected one of the instruments (BTC-USD, ETH-USD, SOL-USD, ETH-BTC), got "ETH-UDS"; did you mean `ETH-USD`?',
    ],
  ],
  [
    'a book that names one twice',
    { topology: 'book: { symbols: [BTC-USD, BTC-USD] }\n' },
    ['TW_CONFIG_CONFLICT config/topology.yaml:1:28 book.symbols[1]: expected each of them once, got `BTC-USD` again'],
  ],
  [
    'a default that is not served',
    { topology: 'book: { symbols: [BTC-USD], defaultSymbol: ETH-USD }\n' },
    [
      'TW_CONFIG_CONFLICT config/topology.yaml:1:44 book.defaultSymbol: expected one of the book\'s symbols (BTC-USD), got "ETH-USD"; did you mean `BTC-USD`?',
    ],
  ],
  [
    'bars of a venue without a feed',
    { topology: 'feeds: { kraken: {} }\nklines: { venues: [krakn] }\n' },
    [
      'TW_CONFIG_CONFLICT config/topology.yaml:2:20 klines.venues[0]: expected one of the feeds (kraken), got "krakn"; did you mean `kraken`?',
    ],
  ],
  [
    'bars of a venue without trades',
    { topology: 'feeds: { binance: { trades: false } }\nklines: { venues: [binance] }\n' },
    [
      'TW_CONFIG_CONFLICT config/topology.yaml:2:20 klines.venues[0]: expected feeds.binance.trades to be true, got false',
    ],
  ],
  [
    'an interval twice',
    { topology: 'klines: { intervals: [1m, 1m] }\n' },
    ['TW_CONFIG_CONFLICT config/topology.yaml:1:27 klines.intervals[1]: expected each of them once, got `1m` again'],
  ],
  [
    'discovery where no bars are',
    { topology: 'klines: { discovery: { venues: [kraken] } }\n' },
    [
      'TW_CONFIG_CONFLICT config/topology.yaml:1:33 klines.discovery.venues[0]: expected one of klines.venues (binance, bitstamp), got "kraken"',
    ],
  ],
  [
    'more symbols than there is room for',
    { kernel: 'limits: { symbols: 100 }\n', topology: 'klines: { discovery: { maxSymbols: 200 } }\n' },
    [
      'TW_CONFIG_CONFLICT config/topology.yaml:1:36 klines.discovery.maxSymbols: expected at most limits.symbols of kernel.yaml (100), got 200',
    ],
  ],
  [
    'more cores than workers',
    { topology: 'klines: { workers: 1, cpus: [0, 1] }\n' },
    ['TW_CONFIG_CONFLICT config/topology.yaml:1:29 klines.cpus: expected at most klines.workers (1), got 2'],
  ],
  [
    'an unknown thread',
    {
      topology:
        'threads: { feeds: { kind: loop } }\nfeeds: { binance: { thread: feed }, bitstamp: { thread: feeds } }\n',
    },
    [
      'TW_CONFIG_CONFLICT config/topology.yaml:2:29 feeds.binance.thread: expected one of the threads, got "feed"; did you mean `feeds`?',
    ],
  ],
  [
    'a feed on a pinned thread',
    { topology: 'threads: { hot: { kind: pinned } }\nfeeds: { binance: { thread: hot } }\n' },
    [
      'TW_CONFIG_CONFLICT config/topology.yaml:2:29 feeds.binance.thread: expected a loop thread for exchange binance, got hot, which is pinned',
    ],
  ],
  [
    'the merger on the main thread',
    { topology: 'book: { thread: main }\n' },
    ['TW_CONFIG_CONFLICT config/topology.yaml:1:17 book.thread: expected a pinned thread for the merger, got main'],
  ],
  [
    'two actors on one pinned thread',
    { topology: 'threads: { klines-0: { kind: pinned } }\nbook: { thread: klines-0 }\n' },
    [
      'TW_CONFIG_CONFLICT config/topology.yaml:2:17 book.thread: expected a pinned thread of its own for the merger, got klines-0, which runs partition-worker 0',
    ],
  ],
  [
    'a thread called main',
    { topology: 'threads: { main: { kind: loop } }\n' },
    [
      'TW_CONFIG_CONFLICT config/topology.yaml:1:18 threads.main: expected another name; main is always there, got "main"',
    ],
  ],
  [
    'a thread that nobody uses',
    { topology: 'threads: { mreger: { kind: pinned } }\n' },
    [
      'TW_CONFIG_CONFLICT config/topology.yaml:1:20 threads.mreger: expected a thread that some actor runs on, got none on it; did you mean `merger`?',
    ],
  ],
  [
    'a backoff the wrong way round',
    { topology: 'supervision: { feeds: { backoff: { min: 1m, max: 1s } } }\n' },
    ['TW_CONFIG_CONFLICT config/topology.yaml:1:50 supervision.feeds.backoff.max: expected at least min (1m), got 1s'],
  ],
  [
    'reconnects the wrong way round',
    { topology: 'feeds: { binance: { reconnect: { min: 1m } } }\n' },
    ['TW_CONFIG_CONFLICT config/topology.yaml:1:32 feeds.binance.reconnect.max: expected at least min (1m), got 30s'],
  ],
  [
    'two modules of one name',
    { modules: { 'a.yaml': 'name: a\ncommand: a\n', 'b.yaml': 'name: a\ncommand: b\n' } },
    [
      'TW_CONFIG_CONFLICT config/modules.d/b.yaml:1:7 name: expected a name that config/modules.d/a.yaml does not have, got "a"',
    ],
  ],
  [
    'a secret in the environment',
    { modules: { 'a.yaml': 'name: a\ncommand: a\nenv: { API_KEY: hunter2 }\n' } },
    ['TW_CONFIG_UNSAFE config/modules.d/a.yaml:3:17 env.API_KEY: expected secrets under credentials, got "API_KEY"'],
  ],
  [
    'a secret from nowhere',
    { modules: { 'a.yaml': 'name: a\ncommand: a\ncredentials: { API_KEY: {} }\n' } },
    [
      'TW_CONFIG_CONFLICT config/modules.d/a.yaml:3:25 credentials.API_KEY: expected one of fromEnv and fromFile, got neither',
    ],
  ],
  [
    'a secret from two places',
    { modules: { 'a.yaml': 'name: a\ncommand: a\ncredentials: { API_KEY: { fromEnv: A, fromFile: b } }\n' } },
    [
      'TW_CONFIG_CONFLICT config/modules.d/a.yaml:3:25 credentials.API_KEY: expected one of fromEnv and fromFile, got both',
    ],
  ],
  [
    'events that go round in a circle',
    { kernel: 'ingest: { republish: { enabled: true, stream: events } }\n' },
    [
      'TW_CONFIG_CONFLICT config/kernel.yaml:1:47 ingest.republish.stream: expected a stream that is not read again, got "events"',
    ],
  ],
];

describe('files that do not fit together', () => {
  it.each(CASES)('%s', (_what, files, messages) => {
    expect(messagesFor(files)).toEqual(messages);
  });
});
