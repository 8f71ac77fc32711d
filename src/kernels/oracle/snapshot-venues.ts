import { compactBinance, compactBitstamp } from './compact-oracle.ts';
import { fixedPoint, Refusal, textOf } from './decimal.ts';
import {
  answerOf,
  CONTROL,
  changesOf,
  fieldOf,
  integerOf,
  microseconds,
  type OracleAnswer,
  type OracleContext,
  openFrame,
  openObject,
  routeOf,
  sideOf,
  stringOf,
} from './frame-oracle.ts';
import type { Json } from './lossless-json.ts';

function strictBook(object: Json, sequenceKey: string, target: { route: number; decimals: number }, depth: number) {
  return {
    kind: 'book',
    route: target.route,
    sequence: integerOf(fieldOf(object, sequenceKey)),
    timeUs: 0n,
    bids: sideOf(fieldOf(object, 'bids'), depth, target.decimals, true),
    asks: sideOf(fieldOf(object, 'asks'), depth, target.decimals, false),
  } as const;
}

function binanceTrade(object: Json, event: string, context: OracleContext): OracleAnswer {
  const { route, decimals } = routeOf(context, fieldOf(object, 's'));
  const number = (key: string) => integerOf(fieldOf(object, key));
  const aggregate = event === 'aggTrade';
  const sequence = number(aggregate ? 'a' : 't');
  const maker = fieldOf(object, 'm');
  if (maker?.kind !== 'literal' || maker.value === null) throw new Refusal('no maker side');
  const [firstId, lastId] = aggregate ? [number('f'), number('l')] : [sequence, sequence];
  if (lastId < firstId) throw new Refusal('ids run backwards');
  const price = fixedPoint(textOf(fieldOf(object, 'p')), decimals);
  const amount = fixedPoint(textOf(fieldOf(object, 'q')), decimals);
  const timeUs = microseconds(number('T'));
  return {
    kind: 'trades',
    trades: [{ route, takerBuy: !maker.value, timeUs, price, amount, firstId, lastId, sequence }],
  };
}

function binanceDiff(object: Json, context: OracleContext): OracleAnswer {
  const { route, decimals } = routeOf(context, fieldOf(object, 's'));
  const number = (key: string) => integerOf(fieldOf(object, key));
  const changes = [
    ...changesOf(fieldOf(object, 'b'), 'bid', decimals),
    ...changesOf(fieldOf(object, 'a'), 'ask', decimals),
  ];
  const [timeUs, first, last] = [microseconds(number('E')), number('U'), number('u')];
  return { kind: 'delta', deltas: [{ route, snapshot: false, checksum: undefined, first, last, timeUs, changes }] };
}

export function binanceOracle(text: string, context: OracleContext): OracleAnswer {
  return compactBinance(text, context) ?? answerOf(() => strictBinance(text, context));
}

function strictBinance(text: string, context: OracleContext): OracleAnswer {
  if (/^[ \t\r\n]*\[/.test(text)) return CONTROL;
  const frame = openFrame(text);
  const stream = fieldOf(frame, 'stream');
  const data = fieldOf(frame, 'data');
  const inEnvelope = stream !== undefined && data !== undefined;
  if (inEnvelope && data.kind !== 'object') return CONTROL;
  const object = inEnvelope ? openObject(data) : frame;
  const event = fieldOf(object, 'e');
  if (event !== undefined) {
    const name = stringOf(event);
    if (name === 'depthUpdate') return binanceDiff(object, context);
    return name === 'aggTrade' || name === 'trade' ? binanceTrade(object, name, context) : CONTROL;
  }
  if (fieldOf(object, 'lastUpdateId') === undefined) return CONTROL;
  return strictBook(object, 'lastUpdateId', inEnvelope ? routeOf(context, stream) : context.fallback, context.depth);
}

export function bitstampOracle(text: string, context: OracleContext): OracleAnswer {
  return compactBitstamp(text, context) ?? answerOf(() => strictBitstamp(text, context));
}

function strictBitstamp(text: string, context: OracleContext): OracleAnswer {
  const frame = openFrame(text);
  const event = stringOf(fieldOf(frame, 'event'));
  const named = fieldOf(frame, 'channel');
  const channel = named?.kind === 'string' ? named.text : '';
  const isBook = event === 'data' && channel.startsWith('order_book_');
  const isDiff = event === 'data' && channel.startsWith('diff_order_book_');
  const isTrade = event === 'trade' && channel.startsWith('live_trades_');
  if (!isBook && !isDiff && !isTrade) return CONTROL;
  const target = routeOf(context, named);
  const data = openObject(fieldOf(frame, 'data'));
  const micros = integerOf(fieldOf(data, 'microtimestamp'));
  if (isBook) return { ...strictBook(data, 'microtimestamp', target, context.depth), timeUs: micros };
  if (isTrade) return bitstampTrade(data, target, micros);
  const changes = [
    ...changesOf(fieldOf(data, 'bids'), 'bid', target.decimals),
    ...changesOf(fieldOf(data, 'asks'), 'ask', target.decimals),
  ];
  const delta = { route: target.route, snapshot: false, checksum: undefined, changes };
  return { kind: 'delta', deltas: [{ ...delta, first: micros, last: micros, timeUs: micros }] };
}

function bitstampTrade(data: Json, target: { route: number; decimals: number }, timeUs: bigint): OracleAnswer {
  const id = integerOf(fieldOf(data, 'id_str'));
  const type = integerOf(fieldOf(data, 'type'));
  const price = fixedPoint(textOf(fieldOf(data, 'price_str')), target.decimals);
  const amount = fixedPoint(textOf(fieldOf(data, 'amount_str')), target.decimals);
  if (type > 1n) throw new Refusal('neither buy nor sell');
  const trade = { route: target.route, takerBuy: type === 0n, timeUs, price, amount };
  return { kind: 'trades', trades: [{ ...trade, firstId: id, lastId: id, sequence: id }] };
}
