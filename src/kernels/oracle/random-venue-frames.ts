import type { Random } from './random.ts';
import { decimal, levelCount, levels, object, pairs, randomSpelling, type Spelling } from './random-frames.ts';

/** Names that the tests register, and one that they do not. */
export const STREAMS = ['btcusdt@depth20@100ms', 'ethusdt@depth10@1000ms', 'nobody@depth20@100ms'];
export const SYMBOLS = ['BTCUSDT', 'ETHUSDT', 'NOBODY'];
export const PAIRS = ['btcusd', 'ethusd-perp', 'nobody'];

const whole = (random: Random, digits = 11) =>
  String(random.chance(97) ? 1 + random.below(10 ** 9) : random.digits(digits + 9));
const mostly = (random: Random, names: readonly string[]) => names[random.below(20) === 0 ? 2 : random.below(2)]!;
const sides = (random: Random, spelling: Spelling) =>
  [true, false].map((bids) => pairs(random, spelling, levels(random, levelCount(random), bids)));

function binanceBook(random: Random, spelling: Spelling): string {
  const [bids, asks] = sides(random, spelling);
  const book = object(random, spelling, [`"lastUpdateId":${whole(random)}`, `"bids":${bids}`, `"asks":${asks}`]);
  if (random.chance(40)) return book;
  return object(random, spelling, [`"stream":"${mostly(random, STREAMS)}"`, `"data":${book}`]);
}

function inEnvelope(random: Random, spelling: Spelling, payload: string): string {
  return random.chance(50) ? payload : object(random, spelling, ['"stream":"btcusdt@aggTrade"', `"data":${payload}`]);
}

function binanceDiff(random: Random, spelling: Spelling): string {
  const [bids, asks] = sides(random, spelling);
  const head = ['"e":"depthUpdate"', `"E":${1672515782136 + random.below(1e9)}`, `"s":"${mostly(random, SYMBOLS)}"`];
  const body = [`"U":${whole(random)}`, `"u":${whole(random)}`, `"b":${bids}`, `"a":${asks}`];
  return inEnvelope(random, spelling, object(random, spelling, [...head, ...body]));
}

function binanceTrade(random: Random, spelling: Spelling): string {
  const first = random.below(1e9);
  const last = first + (random.chance(97) ? random.below(10) : -1);
  const aggregate = random.chance(70);
  const head = [`"e":"${aggregate ? 'aggTrade' : 'trade'}"`, `"E":${1672515782136 + random.below(1e9)}`];
  const ids = aggregate ? [`"a":${whole(random)}`, `"f":${first}`, `"l":${last}`] : [`"t":${whole(random)}`];
  const value = [`"p":"${decimal(random)}"`, `"q":"${decimal(random)}"`, `"T":${1672515782136000}`];
  const maker = random.chance(98) ? random.pick(['true', 'false']) : random.pick(['null', '1', '"true"']);
  const rest = [`"s":"${mostly(random, SYMBOLS)}"`, ...ids, ...value, `"m":${maker}`, '"M":true'];
  return inEnvelope(random, spelling, object(random, spelling, [...head, ...rest]));
}

const BINANCE_CONTROL = [
  '{"result":null,"id":1}',
  '{"code":2,"msg":"Invalid request: \\"x\\""}',
  '{"e":"serverShutdown","E":1770123456789}',
  '{"stream":"!serverShutdown","data":{"e":"serverShutdown","E":1770123456789}}',
  '[{"e":"24hrMiniTicker","E":1672515782136,"s":"BNBBTC","c":"0.0025"}]',
  '{"stream":"x","data":[1,2]}',
  '{}',
];

export function binanceFrame(random: Random): string {
  const spelling = randomSpelling(random);
  const kind = random.below(10);
  if (kind < 6) return binanceBook(random, spelling);
  if (kind < 7) return binanceDiff(random, spelling);
  return kind < 9 ? binanceTrade(random, spelling) : random.pick(BINANCE_CONTROL);
}

const BITSTAMP_CONTROL = [
  '{"event":"bts:subscription_succeeded","channel":"order_book_btcusd","data":{}}',
  '{"event":"bts:heartbeat","channel":"","data":{"status":"success"}}',
  '{"event":"bts:request_reconnect","channel":"","data":null}',
  '{"event":"bts:error","channel":"","data":{"code":null,"message":"Invalid channel provided."}}',
  '{"event":"data","channel":"order_book_btcusd","data":null}',
];

function bitstampBook(random: Random, spelling: Spelling): string {
  const micros = random.chance(97) ? `1789457${random.digits(9)}` : random.digits(1 + random.below(22));
  const [bids, asks] = sides(random, spelling);
  const stamps = [`"timestamp":"${micros.slice(0, 10)}"`, `"microtimestamp":"${micros}"`];
  const data = object(random, spelling, [...stamps, `"bids":${bids}`, `"asks":${asks}`]);
  const channel = `${random.chance(80) ? '' : 'diff_'}order_book_${mostly(random, PAIRS)}`;
  return object(random, spelling, [`"data":${data}`, `"channel":"${channel}"`, '"event":"data"']);
}

function bitstampTrade(random: Random, spelling: Spelling): string {
  const id = `20019396239362785${random.below(100)}`;
  const [price, amount] = [decimal(random), decimal(random)];
  const data = object(random, spelling, [
    ...[`"id":${id}`, `"id_str":"${id}"`, `"type":${random.chance(95) ? random.below(2) : 2}`],
    ...['"amount":0.00921', `"amount_str":"${amount}"`, '"price":77204', `"price_str":"${price}"`],
    ...[`"microtimestamp":"1789456${random.digits(9)}"`, '"timestamp":"1789456400586"'],
  ]);
  return object(random, spelling, [
    `"data":${data}`,
    `"channel":"live_trades_${mostly(random, PAIRS)}"`,
    '"event":"trade"',
  ]);
}

export function bitstampFrame(random: Random): string {
  const spelling = randomSpelling(random);
  const kind = random.below(10);
  if (kind < 6) return bitstampBook(random, spelling);
  return kind < 9 ? bitstampTrade(random, spelling) : random.pick(BITSTAMP_CONTROL);
}
