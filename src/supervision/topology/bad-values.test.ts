import { describe, expect, it } from 'vitest';
import { messagesFor, type WrittenFiles } from './testing.ts';

// Each value is right or wrong by itself. Each kind of mistake gets its exact messages.

const CASES: readonly (readonly [what: string, files: WrittenFiles, messages: readonly string[]])[] = [
  [
    'a number out of range',
    { topology: 'feeds:\n  binance:\n    depth: 500\n' },
    ['TW_CONFIG_VALUE config/topology.yaml:3:12 feeds.binance.depth: expected 1..100, got 500'],
  ],
  [
    'a fraction for a whole number',
    { topology: 'klines: { workers: 1.5 }\n' },
    ['TW_CONFIG_VALUE config/topology.yaml:1:20 klines.workers: expected 1..64, got 1.5'],
  ],
  [
    'text for a number',
    { topology: 'book: { depth: ten }\n' },
    ['TW_CONFIG_VALUE config/topology.yaml:1:16 book.depth: expected 1..100, got "ten"'],
  ],
  [
    'infinity',
    { topology: 'book: { depth: .inf }\n' },
    ['TW_CONFIG_VALUE config/topology.yaml:1:16 book.depth: expected 1..100, got Infinity'],
  ],
  [
    'a number beyond 2^53',
    { kernel: 'simulation: { seed: 9007199254740993 }\n' },
    ['TW_CONFIG_VALUE config/kernel.yaml:1:21 simulation.seed: expected 0..4294967295, got 9007199254740992'],
  ],
  [
    'nothing for a number',
    { topology: 'book:\n  depth:\n' },
    ['TW_CONFIG_VALUE config/topology.yaml:2:3 book.depth: expected 1..100, got nothing'],
  ],
  [
    'nothing for a section',
    { topology: 'book:\nklines: {}\n' },
    ['TW_CONFIG_VALUE config/topology.yaml:1:1 book: expected a mapping of settings, got nothing'],
  ],
  [
    'a list for a section',
    { topology: 'book: [depth]\n' },
    ['TW_CONFIG_VALUE config/topology.yaml:1:7 book: expected a mapping of settings, got a list'],
  ],
  [
    'a section for a list',
    { topology: 'klines: { venues: {} }\n' },
    ['TW_CONFIG_VALUE config/topology.yaml:1:19 klines.venues: expected a list of 1 to 32 venues, got a mapping'],
  ],
  [
    'yes for true',
    { topology: 'klines: { enabled: yes }\n' },
    ['TW_CONFIG_VALUE config/topology.yaml:1:20 klines.enabled: expected true or false, got "yes"'],
  ],
  [
    'a misspelt key',
    { topology: 'feeds:\n  binance:\n    depht: 10\n' },
    [
      'TW_CONFIG_UNKNOWN_KEY config/topology.yaml:3:5 feeds.binance.depht: expected a known key, got "depht"; did you mean `depth`?',
    ],
  ],
  [
    'a misspelt section',
    { topology: 'boook: { depth: 10 }\n' },
    ['TW_CONFIG_UNKNOWN_KEY config/topology.yaml:1:1 boook: expected a known key, got "boook"; did you mean `book`?'],
  ],
  [
    'a key that nothing is like',
    { kernel: 'control: { whatever: 1 }\n' },
    [
      'TW_CONFIG_UNKNOWN_KEY config/kernel.yaml:1:12 control.whatever: expected a known key, got "whatever"; known are enabled',
    ],
  ],
  [
    'a misspelt choice',
    { kernel: 'spill: { whenFull: drop-odlest }\n' },
    [
      'TW_CONFIG_VALUE config/kernel.yaml:1:20 spill.whenFull: expected one of block, drop-oldest, drop-newest, got "drop-odlest"; did you mean `drop-oldest`?',
    ],
  ],
  [
    'a choice of another case',
    { kernel: 'log: { level: INFO }\n' },
    [
      'TW_CONFIG_VALUE config/kernel.yaml:1:15 log.level: expected one of trace, debug, info, warn, error, silent, got "INFO"; did you mean `info`?',
    ],
  ],
  [
    'an unknown interval',
    { topology: 'klines: { intervals: [1m, 7m] }\n' },
    [
      'TW_CONFIG_VALUE config/topology.yaml:1:27 klines.intervals[1]: expected one of 1s, 1m, 3m, 5m, 15m, 30m, 1h, 2h, 4h, 6h, 8h, 12h, 1d, 3d, 1w, 1M, got "7m"; did you mean `1m`?',
    ],
  ],
  [
    'an empty list',
    { topology: 'klines: { intervals: [] }\n' },
    [
      'TW_CONFIG_VALUE config/topology.yaml:1:22 klines.intervals: expected a list of 1 to 16 intervals, got an empty list',
    ],
  ],
  [
    'a duration without a unit',
    { topology: 'feeds: { binance: { staleAfter: 5000 } }\n' },
    [
      'TW_CONFIG_VALUE config/topology.yaml:1:33 feeds.binance.staleAfter: expected a duration 100ms..10m, got 5000; give it a unit, such as 5000ms or 5000s',
    ],
  ],
  [
    'a duration with a space',
    { topology: 'feeds: { binance: { staleAfter: 5 s } }\n' },
    [
      'TW_CONFIG_VALUE config/topology.yaml:1:33 feeds.binance.staleAfter: expected a duration 100ms..10m, got "5 s"; did you mean `5s`?',
    ],
  ],
  [
    'a negative duration',
    { topology: 'klines: { grace: -1s }\n' },
    ['TW_CONFIG_VALUE config/topology.yaml:1:18 klines.grace: expected a duration 0ms..1m, got "-1s"'],
  ],
  [
    'a duration out of range',
    { topology: 'klines: { grace: 2h }\n' },
    ['TW_CONFIG_VALUE config/topology.yaml:1:18 klines.grace: expected a duration 0ms..1m, got "2h"'],
  ],
  [
    'a size without a unit',
    { kernel: 'sink: { batchBytes: 4096 }\n' },
    [
      'TW_CONFIG_VALUE config/kernel.yaml:1:21 sink.batchBytes: expected a size 1KiB..256MiB, got 4096; give it a unit, such as 4096KiB or 4096MiB',
    ],
  ],
  [
    'a size of an unknown unit',
    { kernel: 'sink: { batchBytes: 4mib }\n' },
    ['TW_CONFIG_VALUE config/kernel.yaml:1:21 sink.batchBytes: expected a size 1KiB..256MiB, got "4mib"'],
  ],
  [
    'a size out of range',
    { kernel: 'spill: { segmentBytes: 1KiB }\n' },
    ['TW_CONFIG_VALUE config/kernel.yaml:1:24 spill.segmentBytes: expected a size 64KiB..1GiB, got "1KiB"'],
  ],
  [
    'a share above one',
    { topology: 'feeds: { binance: { reconnect: { jitter: 20 } } }\n' },
    ['TW_CONFIG_VALUE config/topology.yaml:1:42 feeds.binance.reconnect.jitter: expected a number 0..1, got 20'],
  ],
  [
    'a URL of another scheme',
    { topology: 'feeds: { binance: { wsUrl: "http://127.0.0.1" } }\n' },
    [
      'TW_CONFIG_VALUE config/topology.yaml:1:28 feeds.binance.wsUrl: expected a ws:// or wss:// URL, got "http://127.0.0.1"',
    ],
  ],
  [
    'a server of another make',
    { kernel: 'servers: { postgres: { url: "mysql://127.0.0.1/x" } }\n' },
    [
      'TW_CONFIG_VALUE config/kernel.yaml:1:29 servers.postgres.url: expected embedded or a postgres:// URL, got "mysql://127.0.0.1/x"',
    ],
  ],
  [
    'an instrument of another form',
    { topology: 'instruments: { btcusd: { venues: { binance: BTCUSDT } } }\n' },
    [
      'TW_CONFIG_VALUE config/topology.yaml:1:16 instruments.btcusd: expected an instrument such as BTC-USD, got "btcusd"',
    ],
  ],
  [
    'a missing key',
    { topology: 'threads: { merger: { cpu: 1 } }\n' },
    ['TW_CONFIG_MISSING config/topology.yaml:1:20 threads.merger.kind: expected one of loop, pinned, got nothing'],
  ],
  [
    'a core that is none',
    { topology: 'threads: { merger: { kind: pinned, cpu: lst } }\n' },
    [
      'TW_CONFIG_VALUE config/topology.yaml:1:41 threads.merger.cpu: expected `last` or a core number 0..1023, got "lst"',
    ],
  ],
  [
    'a thread name with a slash',
    { topology: 'threads: { a/b: { kind: loop } }\n' },
    [
      'TW_CONFIG_VALUE config/topology.yaml:1:12 threads.a/b: expected a name of lower-case letters, digits and dashes, got "a/b"',
    ],
  ],
  [
    'a module without its command',
    { modules: { 'a.yaml': 'name: a\n' } },
    ['TW_CONFIG_MISSING config/modules.d/a.yaml:1:1 command: expected a program, got nothing'],
  ],
  [
    'a variable that is none',
    { modules: { 'a.yaml': 'name: a\ncommand: a\nenv: { 9X: "1" }\n' } },
    ['TW_CONFIG_VALUE config/modules.d/a.yaml:3:8 env.9X: expected an environment variable such as API_KEY, got "9X"'],
  ],
  [
    'a number in the environment',
    { modules: { 'a.yaml': 'name: a\ncommand: a\nenv: { LEVEL: 3 }\n' } },
    ['TW_CONFIG_VALUE config/modules.d/a.yaml:3:15 env.LEVEL: expected text, got 3'],
  ],
  [
    'a hostile value',
    { kernel: 'log: { level: "\\n\\e[31mall is well, and this goes on for much longer than anybody would read" }\n' },
    [
      'TW_CONFIG_VALUE config/kernel.yaml:1:15 log.level: expected printable text, got "\\n\\u001b[31mall is well, and this goes on for much longer than any\u2026"',
    ],
  ],
  [
    'several errors at once, in order',
    { topology: 'book: { depth: 0 }\nklines: { workers: 0, intervals: [x] }\nfeed: {}\n' },
    [
      'TW_CONFIG_VALUE config/topology.yaml:1:16 book.depth: expected 1..100, got 0',
      'TW_CONFIG_VALUE config/topology.yaml:2:20 klines.workers: expected 1..64, got 0',
      'TW_CONFIG_VALUE config/topology.yaml:2:35 klines.intervals[0]: expected one of 1s, 1m, 3m, 5m, 15m, 30m, 1h, 2h, 4h, 6h, 8h, 12h, 1d, 3d, 1w, 1M, got "x"',
      'TW_CONFIG_UNKNOWN_KEY config/topology.yaml:3:1 feed: expected a known key, got "feed"; did you mean `feeds`?',
    ],
  ],
];

describe('files with a wrong value', () => {
  it.each(CASES)('%s', (_what, files, messages) => {
    expect(messagesFor(files)).toEqual(messages);
  });
});
