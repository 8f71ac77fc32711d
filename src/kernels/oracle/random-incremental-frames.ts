import type { Random } from './random.ts';
import { decimal, type LevelText, levels, object, randomSpelling, type Spelling } from './random-frames.ts';

export const KRAKEN_SYMBOLS = ['BTC/USD', 'ETH/USD', 'NOB/ODY'];
export const COINBASE_PRODUCTS = ['BTC-USD', 'ETH-USD', 'NOB-ODY'];

const mostly = (random: Random, names: readonly string[]) => names[random.below(20) === 0 ? 2 : random.below(2)]!;
const usual = (random: Random, value: string, odd: readonly string[]) => (random.chance(97) ? value : random.pick(odd));

function time(random: Random): string {
  const two = (below: number, from = 0) => String(from + random.below(below)).padStart(2, '0');
  const fraction = random.pick(['', '.5', `.${random.digits(3)}`, `.${random.digits(6)}`, `.${random.digits(9)}`, '.']);
  const stamp = `20${two(40)}-${two(12, 1)}-${two(28, 1)}T${two(24)}:${two(60)}:${two(60)}${fraction}Z`;
  return usual(random, stamp, ['', '2026-13-01T00:00:00Z', '2026-01-01 00:00:00Z', '2026-01-01T00:00:00+00:00']);
}

const sides = (random: Random): [LevelText[], LevelText[]] => [
  levels(random, random.below(13), true),
  levels(random, random.below(13), false),
];

/** A decimal as a JSON number, mostly one that JSON allows. */
const number = (text: string) => (/^(0|[1-9]\d*)(\.\d+)?$/.test(text) ? text : '1.5');

function krakenBook(random: Random, spelling: Spelling): string {
  const [bids, asks] = sides(random);
  const list = (side: readonly LevelText[]) =>
    `[${side.map(([p, q]) => object(random, spelling, [`"price":${number(p)}`, `"qty":${number(q)}`])).join(',')}]`;
  const head = [`"symbol":"${mostly(random, KRAKEN_SYMBOLS)}"`, `"bids":${list(bids)}`, `"asks":${list(asks)}`];
  const tail = [`"checksum":${usual(random, String(random.below(2 ** 32)), ['-1', '4294967296', '1.5'])}`];
  if (random.chance(80)) tail.push(`"timestamp":"${time(random)}"`);
  return object(random, spelling, [...head, ...tail]);
}

function krakenTrade(random: Random, spelling: Spelling): string {
  const head = [`"symbol":"${mostly(random, KRAKEN_SYMBOLS)}"`, `"side":"${usual(random, 'buy', ['sell', 'Buy'])}"`];
  const value = [`"price":${number(decimal(random))}`, `"qty":${number(decimal(random))}`, '"ord_type":"limit"'];
  return object(random, spelling, [
    ...head,
    ...value,
    `"trade_id":${random.below(1e9)}`,
    `"timestamp":"${time(random)}"`,
  ]);
}

const KRAKEN_CONTROL = [
  '{"method":"subscribe","result":{"channel":"book","symbol":"BTC/USD"},"success":true,"req_id":1}',
  '{"method":"pong","req_id":42}',
  '{"channel":"heartbeat"}',
  '{"channel":"status","type":"update","data":[{"system":"online"}]}',
];

export function krakenFrame(random: Random): string {
  if (random.chance(8)) return random.pick(KRAKEN_CONTROL);
  const spelling = randomSpelling(random);
  const isBook = random.chance(70);
  const items = Array.from({ length: random.below(3) + (random.chance(95) ? 1 : 0) }, () =>
    isBook ? krakenBook(random, spelling) : krakenTrade(random, spelling),
  );
  return object(random, spelling, [
    `"channel":"${isBook ? 'book' : 'trade'}"`,
    `"type":"${usual(random, random.pick(['snapshot', 'update']), ['other'])}"`,
    `"data":[${items.join(',')}]`,
  ]);
}

function coinbaseEvent(random: Random, spelling: Spelling, isBook: boolean): string {
  const product = `"product_id":"${mostly(random, COINBASE_PRODUCTS)}"`;
  if (isBook) {
    const [bids, asks] = sides(random);
    const update = (side: string) => (level: LevelText) =>
      object(random, spelling, [
        ...[`"side":"${usual(random, side, ['ask'])}"`, `"event_time":"${time(random)}"`],
        ...[`"price_level":"${level[0]}"`, `"new_quantity":"${level[1]}"`],
      ]);
    const updates = random.shuffle([...bids.map(update('bid')), ...asks.map(update('offer'))]);
    const type = usual(random, random.pick(['snapshot', 'update']), ['other']);
    return object(random, spelling, [`"type":"${type}"`, product, `"updates":[${updates.join(',')}]`]);
  }
  const trades = Array.from({ length: random.below(4) }, () =>
    object(random, spelling, [
      ...[`"trade_id":"${random.below(1e9)}"`, product, `"price":"${decimal(random)}"`, `"size":"${decimal(random)}"`],
      ...[`"side":"${usual(random, random.pick(['BUY', 'SELL']), ['UNKNOWN'])}"`, `"time":"${time(random)}"`],
    ]),
  );
  return object(random, spelling, ['"type":"update"', `"trades":[${trades.join(',')}]`]);
}

const COINBASE_CONTROL = [
  '{"channel":"subscriptions","client_id":"","sequence_num":0,"events":[{"subscriptions":{"level2":["BTC-USD"]}}]}',
  '{"channel":"heartbeats","sequence_num":3,"events":[{"current_time":"x","heartbeat_counter":"1"}]}',
  '{"type":"error","message":"no"}',
];

export function coinbaseFrame(random: Random): string {
  if (random.chance(8)) return random.pick(COINBASE_CONTROL);
  const spelling = randomSpelling(random);
  const isBook = random.chance(70);
  const events = Array.from({ length: 1 + random.below(2) }, () => coinbaseEvent(random, spelling, isBook));
  return object(random, spelling, [
    ...[`"channel":"${isBook ? 'l2_data' : 'market_trades'}"`, '"client_id":""', `"timestamp":"${time(random)}"`],
    ...[`"sequence_num":${random.below(1e6)}`, `"events":[${events.join(',')}]`],
  ]);
}
