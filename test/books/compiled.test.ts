// V8 throws compiled code away when something comes that it was not compiled for. What a rehearsal has compiled would then be worth
// nothing: a feed of ten frames a second is read by interpreted code for a quarter of an hour.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { VENUES } from '../../src/venues/index.ts';
import { knownVenue } from '../../src/venues/venue.ts';

/** The functions between a frame's arrival and its book in the merger's memory, or its trades in a ring. */
const PATH = [
  ...[
    'frame',
    'landed',
    '#read',
    '#take',
    'take',
    'takeLanded',
    'nowNs',
    'isNextFrame',
    'judgeCounted',
    '#sent',
    'noteSent',
    '#note',
    'heard',
  ],
  ...['#book', 'countsAfter', 'publish', 'deadlineWord', '#openOutlet', 'placeOf', 'openOutlet', 'finish', 'help'],
  ...['read', '#apply', '#following', '#publish', 'appliedOf', 'applyDelta', 'topOfBook', 'countsUntilMs', 'see'],
  ...['#trades', '#isNext', 'admit', '#tellLoss', '#write', 'write', '#put', 'put', 'claim', 'refusal', 'ring'],
];
const BAILOUT = /^\[bailout \(kind: [^,]+, reason: ([^)]+)\).*?<JSFunction (?:get )?([^ (>]*)/;

const books = VENUES.map(({ facts }) => [facts.title, 'books', facts.id] as const);
const trades = VENUES.filter((venue) => knownVenue(venue).makesBars).map(
  ({ facts }) => [facts.title, 'trades', facts.id] as const,
);

/** What V8 compiles, keeps and says of it changes with each of its versions; this is the one of Node 20. */
const isKnownV8 = process.versions.v8.startsWith('11.3.');

describe.skipIf(!isKnownV8).each([...books, ...trades])(
  'after a rehearsal, frames of %s with %s',
  (_title, kind, id) => {
    it('are read by what was compiled in it', async () => {
      const life = fileURLToPath(new URL('./rehearsed-life.js', import.meta.url));
      const { stdout } = await promisify(execFile)(process.execPath, [life, kind, id], { maxBuffer: 1 << 26 });
      const lines = stdout.trimEnd().split('\n');
      const thrownAway = lines.flatMap((line) => {
        const [, reason, name] = BAILOUT.exec(line) ?? [];
        return name !== undefined && PATH.includes(name) ? [{ name, reason }] : [];
      });
      expect(thrownAway).toEqual([]);
      expect(JSON.parse(lines.at(-1)!)).toEqual({ isCompiled: true, errors: 0 });
    }, 60_000);
  },
);
