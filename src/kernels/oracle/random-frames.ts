// Frames as venues send them and as nobody should: odd spacing, other key orders, extra fields, damage.
import type { Random } from './random.ts';

/** How an object is spelled: order, spacing, and fields that nobody asked for. */
export interface Spelling {
  readonly shuffled: boolean;
  readonly spaced: boolean;
  readonly extras: boolean;
}

export const COMPACT: Spelling = { shuffled: false, spaced: false, extras: false };

export function randomSpelling(random: Random): Spelling {
  if (random.chance(50)) return COMPACT;
  return { shuffled: random.chance(40), spaced: random.chance(40), extras: random.chance(40) };
}

const EXTRAS = [
  '"x":null',
  '"note":"],\\"asks\\":[[\\"1\\",\\"2\\"]]"',
  '"nested":{"bids":[["9","9"]],"asks":[["1","1"]],"deep":[[[{"a":[]}]]]}',
  '"e2":-1.5e+10',
  '"uni":"\\u00e9\\n"',
  '"list":[1,2,{"k":"v"},[],{}]',
  '"t":true',
  '"empty":""',
];

const gap = (random: Random, spelling: Spelling) =>
  spelling.spaced ? random.pick(['', ' ', '\n', '\t ', ' \r\n']) : '';

export function object(random: Random, spelling: Spelling, fields: readonly string[]): string {
  let members = [...fields];
  if (spelling.extras)
    for (let n = random.below(3); n >= 0; n--) members.splice(random.below(members.length + 1), 0, random.pick(EXTRAS));
  if (spelling.shuffled) members = random.shuffle(members);
  const joined = members.map((member) => gap(random, spelling) + respaced(random, spelling, member)).join(',');
  return `{${joined}${gap(random, spelling)}}`;
}

/** Space around the colon behind the key. */
function respaced(random: Random, spelling: Spelling, member: string): string {
  if (!spelling.spaced) return member;
  const colon = member.indexOf('":') + 1;
  return `${member.slice(0, colon)}${gap(random, spelling)}:${gap(random, spelling)}${member.slice(colon + 1)}`;
}

/** A decimal as text: usual ones mostly, then zero, many digits, too many digits. */
export function decimal(random: Random): string {
  const kind = random.below(100);
  if (kind < 70) return `${random.below(10 ** (1 + random.below(6)))}.${random.digits(1 + random.below(8))}`;
  if (kind < 85) return String(random.below(100_000));
  if (kind < 89) return random.pick(['0', '0.0', '0.00000000', '000.000']);
  if (kind < 94) return `${random.digits(1 + random.below(11))}.${random.digits(1 + random.below(8))}`;
  if (kind < 97) return `${random.below(1000)}.${random.digits(8)}${'0'.repeat(1 + random.below(8))}`;
  if (kind < 98) return random.digits(1 + random.below(25));
  return random.pick([
    '',
    '.',
    '1.',
    '.5',
    '-1',
    '1e5',
    '1.2.3',
    ' 1',
    '1 ',
    'abc',
    '12345678901234567890123',
    '0.000000001',
  ]);
}

function price(cents: number, style: number): string {
  if (style === 0) return String(cents);
  return `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, '0')}${style === 1 ? '000000' : ''}`;
}

export type LevelText = readonly [price: string, amount: string];

/** Levels best first, unless the dice say otherwise. */
export function levels(random: Random, count: number, bids: boolean): LevelText[] {
  let cents = 50_000_000 + random.below(1000);
  const style = random.below(3);
  const made: LevelText[] = [];
  for (let n = 0; n < count; n++) {
    const odd = random.below(1000);
    const text = odd === 0 ? decimal(random) : price(cents, style);
    made.push([text, random.chance(97) ? usualAmount(random) : decimal(random)]);
    cents += (bids ? -1 : 1) * (odd === 1 ? 0 : 100 * (1 + random.below(40)));
  }
  return made;
}

function usualAmount(random: Random): string {
  if (random.chance(6)) return random.pick(['0', '0.00000000', '0.00000']);
  return `${random.below(14)}.${random.digits(1 + random.below(8))}`;
}

const COUNTS = [0, 1, 2, 3, 5, 9, 10, 11, 12, 20, 20];
export const levelCount = (random: Random) =>
  random.below(300) === 0 ? random.pick([100, 100, 100, 1000, 5000]) : random.pick(COUNTS);

export function pairs(random: Random, spelling: Spelling, side: readonly LevelText[]): string {
  const space = () => gap(random, spelling);
  const tail = spelling.extras && random.chance(20) ? ',[]' : '';
  return `[${space()}${side.map(([p, a]) => `[${space()}"${p}",${space()}"${a}"${tail}]${space()}`).join(',')}]`;
}

/** Damages a frame: flips, cuts, repeats, removes or inserts a little. */
export function damage(random: Random, frame: Buffer): Buffer {
  const at = random.below(frame.length + 1);
  const span = random.below(Math.min(40, frame.length + 1));
  switch (random.below(7)) {
    case 0:
      return frame.subarray(0, at);
    case 1:
      return Buffer.concat([frame.subarray(0, at), frame.subarray(Math.min(frame.length, at + span))]);
    case 2:
      return Buffer.concat([frame.subarray(0, at), Buffer.from(random.pick(TOKENS)), frame.subarray(at)]);
    case 3:
      return Buffer.concat([frame.subarray(0, at), frame.subarray(Math.max(0, at - span))]);
    case 4:
      return Buffer.concat([frame, frame.subarray(0, span)]);
    default: {
      const copy = Buffer.from(frame);
      for (let n = random.below(3); n >= 0 && copy.length > 0; n--) {
        const place = random.below(copy.length);
        copy[place] = random.chance(50) ? random.below(256) : random.pick(TOKENS).charCodeAt(0);
      }
      return copy;
    }
  }
}

const TOKENS = [
  '"',
  '[',
  ']',
  '{',
  '}',
  ',',
  ':',
  '\\',
  '0',
  '9',
  '.',
  '-',
  'e',
  ' ',
  '\0',
  '],"asks":[',
  '"bids":',
  '\\u0022',
];
