import { describe, expect, it } from 'vitest';
import { messagesFor, type WrittenFiles } from './testing.ts';

// What no parser should have to take, and what this one does not let through. Each kind of mistake gets its exact messages.

const CASES: readonly (readonly [what: string, files: WrittenFiles, messages: readonly string[]])[] = [
  ['an empty file', { topology: '' }, ['TW_CONFIG_FILE config/topology.yaml: expected a mapping, got an empty file']],
  [
    'only comments',
    { topology: '# nothing yet\n' },
    ['TW_CONFIG_FILE config/topology.yaml: expected a mapping, got an empty file'],
  ],
  [
    'a byte order mark',
    { topology: '\ufeffbook: {}' },
    ['TW_CONFIG_FILE config/topology.yaml: expected UTF-8 without a byte order mark, got a byte order mark'],
  ],
  [
    'bytes that are not UTF-8',
    { topology: Uint8Array.of(0x62, 0xc3, 0x28) },
    ['TW_CONFIG_FILE config/topology.yaml: expected UTF-8, got bytes that are not'],
  ],
  [
    'a file that is too large',
    { topology: `#${' '.repeat(256 * 1024)}` },
    ['TW_CONFIG_FILE config/topology.yaml: expected at most 256 KiB, got 262145 bytes'],
  ],
  [
    'a control character',
    { topology: 'book:\n  depth: \u0001\n' },
    ['TW_CONFIG_SYNTAX config/topology.yaml:2:10: expected printable text, got the control character U+0001'],
  ],
  [
    'two documents',
    { topology: 'book: {}\n---\nbook: {}\n' },
    ['TW_CONFIG_SYNTAX config/topology.yaml:2:1: expected one document, got a second one'],
  ],
  [
    'a directive',
    { topology: '%YAML 1.1\n---\nbook: {}\n' },
    ['TW_CONFIG_FORBIDDEN config/topology.yaml:1:1: expected no directive, got a line that starts with %'],
  ],
  [
    'a key twice',
    { topology: 'book:\n  depth: 5\n  depth: 6\n' },
    ['TW_CONFIG_SYNTAX config/topology.yaml:3:3: expected each key once, got `depth` again'],
  ],
  [
    'a tab as indentation',
    { topology: 'book:\n\tdepth: 5\n' },
    [
      'TW_CONFIG_SYNTAX config/topology.yaml:2:1: expected well-formed YAML, got an error: Tabs are not allowed as indentation',
    ],
  ],
  [
    'an unclosed list',
    { topology: 'klines:\n  intervals: [1m, 5m\n' },
    [
      'TW_CONFIG_SYNTAX config/topology.yaml:3:1: expected well-formed YAML, got an error: Flow sequence in block collection must be sufficiently indented and end with a ]',
    ],
  ],
  [
    'an unclosed quote',
    { topology: 'book: { thread: "merger }\n' },
    [
      'TW_CONFIG_SYNTAX config/topology.yaml:2:1: expected well-formed YAML, got an error: Missing closing "quote',
      'TW_CONFIG_SYNTAX config/topology.yaml:2:1: expected well-formed YAML, got an error: Flow map in block collection must be sufficiently indented and end with a }',
    ],
  ],
  [
    'a reserved character',
    { topology: 'book: { thread: @merger }\n' },
    [
      'TW_CONFIG_SYNTAX config/topology.yaml:1:17: expected well-formed YAML, got an error: Plain value cannot start with reserved character @',
    ],
  ],
  [
    'an alias',
    { topology: 'feeds:\n  binance: &venue { depth: 5 }\n  bitstamp: *venue\n' },
    [
      'TW_CONFIG_FORBIDDEN config/topology.yaml:2:19 feeds.binance: expected no anchor, got &venue',
      'TW_CONFIG_FORBIDDEN config/topology.yaml:3:13 feeds.bitstamp: expected the value itself, got the alias *venue',
    ],
  ],
  [
    'a bomb of aliases',
    { topology: 'a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n' },
    [
      'TW_CONFIG_FORBIDDEN config/topology.yaml:1:7 a: expected no anchor, got &a',
      'TW_CONFIG_FORBIDDEN config/topology.yaml:2:7 b: expected no anchor, got &b',
      'TW_CONFIG_FORBIDDEN config/topology.yaml:3:7 c: expected no anchor, got &c',
    ],
  ],
  [
    'a merge key',
    { topology: 'feeds:\n  binance:\n    <<: { depth: 5 }\n' },
    ['TW_CONFIG_FORBIDDEN config/topology.yaml:3:5 feeds.binance."<<": expected an ordinary key, got `<<`'],
  ],
  [
    'a tag',
    { topology: 'book: { depth: !secret 5 }\n' },
    ['TW_CONFIG_FORBIDDEN config/topology.yaml:1:24 book.depth: expected no tag, got !secret'],
  ],
  [
    'a set',
    { topology: 'book: !!set { depth }\n' },
    ['TW_CONFIG_FORBIDDEN config/topology.yaml:1:13 book: expected no tag, got tag:yaml.org,2002:set'],
  ],
  [
    'a binary value',
    { kernel: 'data: !!binary aGVsbG8=\n' },
    ['TW_CONFIG_FORBIDDEN config/kernel.yaml:1:16 data: expected no tag, got tag:yaml.org,2002:binary'],
  ],
  [
    'prototype keys',
    { topology: 'book:\n  __proto__: { depth: 5 }\n  constructor: 1\nprototype: {}\n' },
    [
      'TW_CONFIG_FORBIDDEN config/topology.yaml:2:3 book.__proto__: expected an ordinary key, got `__proto__`',
      'TW_CONFIG_FORBIDDEN config/topology.yaml:3:3 book.constructor: expected an ordinary key, got `constructor`',
      'TW_CONFIG_FORBIDDEN config/topology.yaml:4:1 prototype: expected an ordinary key, got `prototype`',
    ],
  ],
  [
    'a key that is a number',
    { topology: 'instruments:\n  1: {}\n' },
    [
      'TW_CONFIG_FORBIDDEN config/topology.yaml:2:3 instruments: expected a key that is text, got 1 (quote it if it is meant)',
    ],
  ],
  [
    'a key that is a list',
    { topology: '? [book, feeds]\n: {}\n' },
    ['TW_CONFIG_FORBIDDEN config/topology.yaml:1:3: expected a key that is text, got a collection'],
  ],
  [
    'nesting without end',
    { topology: '['.repeat(100_000) },
    ['TW_CONFIG_FORBIDDEN config/topology.yaml:1:33: expected at most 32 levels of nesting, got more'],
  ],
  [
    'nesting without end, in blocks',
    { topology: '- '.repeat(100_000) },
    ['TW_CONFIG_FORBIDDEN config/topology.yaml:1:65: expected at most 32 levels of nesting, got more'],
  ],
  [
    'half a character',
    { kernel: 'data: "\\ud800"\n' },
    ['TW_CONFIG_VALUE config/kernel.yaml:1:7 data: expected printable text, got "\\ud800"'],
  ],
  [
    'an escaped control character',
    { kernel: 'data: "a\\u0007"\n' },
    ['TW_CONFIG_VALUE config/kernel.yaml:1:7 data: expected printable text, got "a\\u0007"'],
  ],
  [
    'a list in place of the whole',
    { topology: '- book\n- feeds\n' },
    ['TW_CONFIG_VALUE config/topology.yaml:1:1: expected a mapping of settings, got a list'],
  ],
  [
    'a word in place of the whole',
    { topology: 'book\n' },
    ['TW_CONFIG_VALUE config/topology.yaml:1:1: expected a mapping of settings, got "book"'],
  ],
];

describe('files that are not plain YAML', () => {
  it.each(CASES)('%s', (_what, files, messages) => {
    expect(messagesFor(files)).toEqual(messages);
  });
});
