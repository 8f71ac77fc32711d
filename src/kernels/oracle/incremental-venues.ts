import { fixedPoint, placesOf, Refusal, textOf } from './decimal.ts';
import {
  answerOf,
  type Change,
  CONTROL,
  fieldOf,
  integerOf,
  itemsOf,
  type OracleAnswer,
  type OracleContext,
  type OracleDelta,
  type OracleTrade,
  openFrame,
  openObject,
  routeOf,
  stringOf,
} from './frame-oracle.ts';
import type { Json } from './lossless-json.ts';

const TIME = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d*))?Z$/;

/** Microseconds since 1970; digits beyond microseconds are cut. */
function timeOf(value: Json | undefined): bigint {
  const match = TIME.exec(stringOf(value) ?? '');
  if (match === null) throw new Refusal('not a time');
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [number, ...number[]];
  const inRange = year >= 1970 && month! >= 1 && month! <= 12 && day! >= 1 && day! <= 31;
  if (!inRange || hour! > 23 || minute! > 59 || second! > 60) throw new Refusal('not a time');
  const seconds = BigInt(Date.UTC(year, month! - 1, day, hour, minute, second)) / 1000n;
  return seconds * 1_000_000n + BigInt((match[7] ?? '').slice(0, 6).padEnd(6, '0'));
}

function change(side: 'bid' | 'ask', price: Json | undefined, amount: Json | undefined, decimals: number): Change {
  const [priceText, amountText] = [textOf(price), textOf(amount)];
  const values = [fixedPoint(priceText, decimals), fixedPoint(amountText, decimals)] as const;
  return [side, ...values, placesOf(priceText), placesOf(amountText)];
}

function single(id: bigint): Pick<OracleTrade, 'firstId' | 'lastId' | 'sequence'> {
  return { firstId: id, lastId: id, sequence: id };
}

export const krakenOracle = (text: string, context: OracleContext) => answerOf(() => kraken(text, context));
export const coinbaseOracle = (text: string, context: OracleContext) => answerOf(() => coinbase(text, context));

function kraken(text: string, context: OracleContext): OracleAnswer {
  const frame = openFrame(text);
  const channel = stringOf(fieldOf(frame, 'channel'));
  const type = stringOf(fieldOf(frame, 'type'));
  if (channel !== 'book' && channel !== 'trade') return CONTROL;
  if (type !== 'snapshot' && type !== 'update') return CONTROL;
  const items = itemsOf(fieldOf(frame, 'data')).map(openObject);
  if (channel === 'trade') return { kind: 'trades', trades: items.map((item) => krakenTrade(item, context)) };
  return { kind: 'delta', deltas: items.map((item) => krakenBook(item, type === 'snapshot', context)) };
}

function krakenBook(item: Json, snapshot: boolean, context: OracleContext): OracleDelta {
  const { route, decimals } = routeOf(context, fieldOf(item, 'symbol'));
  const side = (key: string, name: 'bid' | 'ask') =>
    itemsOf(fieldOf(item, key))
      .map(openObject)
      .map((level) => change(name, fieldOf(level, 'price'), fieldOf(level, 'qty'), decimals));
  const proof = fieldOf(item, 'checksum');
  const checksum = proof && integerOf(proof);
  if (checksum !== undefined && checksum > 0xffff_ffffn) throw new Refusal('not a checksum');
  const stamp = fieldOf(item, 'timestamp');
  const timeUs = stamp === undefined ? 0n : timeOf(stamp);
  const changes = [...side('bids', 'bid'), ...side('asks', 'ask')];
  return { route, snapshot, checksum, first: 0n, last: 0n, timeUs, changes };
}

function krakenTrade(item: Json, context: OracleContext): OracleTrade {
  const { route, decimals } = routeOf(context, fieldOf(item, 'symbol'));
  const side = stringOf(fieldOf(item, 'side'));
  if (side !== 'buy' && side !== 'sell') throw new Refusal('neither buy nor sell');
  const price = fixedPoint(textOf(fieldOf(item, 'price')), decimals);
  const amount = fixedPoint(textOf(fieldOf(item, 'qty')), decimals);
  const timeUs = timeOf(fieldOf(item, 'timestamp'));
  return { route, takerBuy: side === 'buy', timeUs, price, amount, ...single(integerOf(fieldOf(item, 'trade_id'))) };
}

function coinbase(text: string, context: OracleContext): OracleAnswer {
  const frame = openFrame(text);
  const channel = stringOf(fieldOf(frame, 'channel'));
  if (channel !== 'l2_data' && channel !== 'market_trades') return CONTROL;
  const sequence = integerOf(fieldOf(frame, 'sequence_num'));
  const timeUs = timeOf(fieldOf(frame, 'timestamp'));
  const events = itemsOf(fieldOf(frame, 'events')).map(openObject);
  if (channel === 'l2_data')
    return { kind: 'delta', deltas: events.map((event) => coinbaseBook(event, sequence, timeUs, context)) };
  const trades = events.flatMap((event) => itemsOf(fieldOf(event, 'trades')).map(openObject));
  return { kind: 'trades', trades: trades.map((trade) => coinbaseTrade(trade, context)) };
}

function coinbaseBook(event: Json, sequence: bigint, timeUs: bigint, context: OracleContext): OracleDelta {
  const type = stringOf(fieldOf(event, 'type'));
  if (type !== 'snapshot' && type !== 'update') throw new Refusal('neither snapshot nor update');
  const { route, decimals } = routeOf(context, fieldOf(event, 'product_id'));
  const changes = itemsOf(fieldOf(event, 'updates'))
    .map(openObject)
    .map((update): Change => {
      const side = stringOf(fieldOf(update, 'side'));
      if (side !== 'bid' && side !== 'offer') throw new Refusal('neither bid nor offer');
      const name = side === 'bid' ? 'bid' : 'ask';
      return change(name, fieldOf(update, 'price_level'), fieldOf(update, 'new_quantity'), decimals);
    });
  const snapshot = type === 'snapshot';
  return { route, snapshot, checksum: undefined, first: sequence, last: sequence, timeUs, changes };
}

function coinbaseTrade(trade: Json, context: OracleContext): OracleTrade {
  const { route, decimals } = routeOf(context, fieldOf(trade, 'product_id'));
  const side = stringOf(fieldOf(trade, 'side'));
  if (side !== 'BUY' && side !== 'SELL') throw new Refusal('neither buy nor sell');
  const price = fixedPoint(textOf(fieldOf(trade, 'price')), decimals);
  const amount = fixedPoint(textOf(fieldOf(trade, 'size')), decimals);
  const timeUs = timeOf(fieldOf(trade, 'time'));
  return { route, takerBuy: side === 'SELL', timeUs, price, amount, ...single(integerOf(fieldOf(trade, 'trade_id'))) };
}
