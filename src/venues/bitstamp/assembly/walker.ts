// Bitstamp v2: whole books, diff books, live trades.
import { bidsEnd, keptAsks, keptBids, nextColon, readCompactSides } from '../../../kernels/assembly/lib/compact';
import { CONTROL, REFUSED_SHAPE, REFUSED_SIZE, SIDE_ASK, SIDE_BID, TRADES } from '../../../kernels/assembly/lib/contract';
import { beginFrame } from '../../../kernels/assembly/lib/frame';
import { field, hasPlainKeys, isString, openFrameObject, openObject, startsString } from '../../../kernels/assembly/lib/json';
import { readShortInteger, value } from '../../../kernels/assembly/lib/numbers';
import { addDelta, addTrade, finishBook, finishDeltas, finishTrades } from '../../../kernels/assembly/lib/outcome';
import { findRoute, NO_ROUTE, routeDecimals } from '../../../kernels/assembly/lib/routes';
import { changeCount, kept, readChanges, readSide } from '../../../kernels/assembly/lib/sides';
import { BOOK_LEVELS, book, depth, failure, frame, frameEnd, noteName, refuse } from '../../../kernels/assembly/lib/state';
import { decimalValue, integerInto, routeValue } from '../../../kernels/assembly/lib/values';

// Pieces of the compact form as little-endian words, and where they stand when the stamps have 10 and 16 digits.
const DATA_AT_0: u64 = 0x3a2261746164227b; //      {"data":
const STAMP_AT_8: u64 = 0x7473656d6974227b; //     {"timest
const STAMP_AT_14: u64 = 0x223a22706d617473; //    stamp":"
const SECONDS: usize = 22;
const MICRO_AT_32: u64 = 0x6f7263696d222c22; //    ","micro
const MICRO_AT_40: u64 = 0x6d617473656d6974; //    timestam
const MICRO_AT_48: u32 = 0x223a2270; //            p":"
const MICROS: usize = 52;
const BIDS_AT_68: u64 = 0x2273646962222c22; //     ","bids"
const COLON_BRACKET: u32 = 0x5b3a; //              :[
const BIDS: usize = 78;
const ASKS: u64 = 0x22736b7361222c5d; //           ],"asks"
const DATA_CLOSES: u32 = 0x222c7d5d; //            ]},"
const CHANNEL: u64 = 0x226c656e6e616863; //        channel"
const COLON_QUOTE: u32 = 0x223a; //                :"
const ORDER_BOOK_0: u64 = 0x6f625f726564726f; //   order_bo
const ORDER_BOOK_7: u32 = 0x5f6b6f6f; //           ook_
const EVENT_0: u64 = 0x746e657665222c22; //        ","event
const EVENT_8: u64 = 0x2261746164223a22; //        ":"data"

/** Where the name that closes at `tail` begins, looking back at most 64 bytes from its closing quote; 0 when nowhere. */
@inline
function nameBefore(tail: usize): usize {
  for (let back: usize = 16; back <= 64; back += 16) {
    const quotes = <u32>i8x16.bitmask(i8x16.eq(v128.load(tail - back), i8x16.splat(0x22)));
    if (quotes != 0) return tail - back + (32 - clz<u32>(quotes));
  }
  return 0;
}

/**
 * The compact form of a whole book:
 *
 *     {"data":{"timestamp":"1700000000","microtimestamp":"1700000000000000","bids":[["97234","0.11"],...],
 *     "asks":[["97235","1.5"],...]},"channel":"order_book_btcusd","event":"data"}
 *
 * The channel at the end comes first, because it decides the scale. Between the beginning of the bids and the asks no colon
 * may stand. Levels that are not kept are not read, nor what may stand behind the asks. Answers 0 for every other form, which then is read strictly.
 */
function compactBook(receivedNs: f64): i32 {
  if (load<u64>(frame) != DATA_AT_0 || load<u64>(frame, 8) != STAMP_AT_8 || load<u64>(frame, 14) != STAMP_AT_14)
    return 0;
  if (load<u64>(frame, 32) != MICRO_AT_32 || load<u64>(frame, 40) != MICRO_AT_40) return 0;
  if (load<u32>(frame, 48) != MICRO_AT_48 || load<u64>(frame, 68) != BIDS_AT_68) return 0;
  if (load<u16>(frame, 76) != COLON_BRACKET || readShortInteger(frame + SECONDS) != 10) return 0;
  if (readShortInteger(frame + MICROS) != 16) return 0;
  const micros = value;

  const tail = frameEnd - 17;
  if (load<u64>(tail) != EVENT_0 || load<u64>(tail, 8) != EVENT_8 || load<u8>(tail, 16) != 0x7d) return 0;
  const name = nameBefore(tail);
  if (name < frame + BIDS || load<u64>(name) != ORDER_BOOK_0 || load<u32>(name, 7) != ORDER_BOOK_7) return 0;
  const colonAt = name - 2;
  if (load<u16>(colonAt) != COLON_QUOTE || load<u64>(colonAt - 8) != CHANNEL) return 0;
  if (load<u32>(colonAt - 12) != DATA_CLOSES) return 0;
  const route = findRoute(name, <u32>(tail - name));
  if (route == NO_ROUTE) return 0;
  const decimals = routeDecimals;

  const colon = nextColon(frame + BIDS, frameEnd);
  if (colon < frame + BIDS + 8 || load<u64>(colon - 8) != ASKS || load<u16>(colon) != COLON_BRACKET) return 0;
  const end = readCompactSides(frame + BIDS, colon + 2, book + BOOK_LEVELS, depth, decimals);
  if (end == 0 || colon < bidsEnd + 8 || colonAt < end + 12) return 0;
  noteName(name, <u32>(tail - name));
  return finishBook(route, micros, micros, receivedNs, keptBids, keptAsks);
}

/** `data` of a book: the same fields whether it is whole or a difference. */
function strictBook(route: u32, decimals: u32, receivedNs: f64): i32 {
  const micros = integerInto(field(1, 'microtimestamp'));
  if (failure != 0) return failure;
  const bids = book + BOOK_LEVELS;
  if (!readSide(field(1, 'bids'), bids, depth, decimals, true)) return failure;
  const bidCount = kept;
  if (!readSide(field(1, 'asks'), bids + ((<usize>depth) << 4), depth, decimals, false)) return failure;
  return finishBook(route, micros, micros, receivedNs, bidCount, kept);
}

function differences(route: u32, decimals: u32): i32 {
  const micros = integerInto(field(1, 'microtimestamp'));
  const from = changeCount;
  if (failure != 0 || !readChanges(field(1, 'bids'), SIDE_BID, decimals)) return failure;
  if (!readChanges(field(1, 'asks'), SIDE_ASK, decimals)) return failure;
  addDelta(route, 0, from, 0, micros, micros, micros);
  return finishDeltas(micros);
}

/** Ids are beyond 2^53 and amounts are doubles in `id` and `amount`: only the `_str` fields are exact. Type 0 is a buy. */
function trade(route: u32, decimals: u32, receivedNs: f64): i32 {
  const id = integerInto(field(1, 'id_str'));
  const micros = integerInto(field(1, 'microtimestamp'));
  const type = integerInto(field(1, 'type'));
  if (failure != 0 || decimalValue(field(1, 'price_str'), decimals) == 0) return failure;
  const price = value;
  if (decimalValue(field(1, 'amount_str'), decimals) == 0) return failure;
  if (type > 1) refuse(REFUSED_SHAPE, field(1, 'type'));
  else addTrade(route, type == 0, micros, price, value, id, id, id, receivedNs);
  return finishTrades(TRADES, id);
}

function decodeBitstampFrame(receivedNs: f64): i32 {
  const answer = compactBook(receivedNs);
  if (answer != 0) return answer;
  if (!openFrameObject(frame) || !hasPlainKeys(0)) return failure;
  const event = field(0, 'event');
  const channel = field(0, 'channel');
  const isBook = isString(event, 'data') && startsString(channel, 'order_book_');
  const isDiff = isString(event, 'data') && startsString(channel, 'diff_order_book_');
  const isTrade = isString(event, 'trade') && startsString(channel, 'live_trades_');
  if (!isBook && !isDiff && !isTrade) return CONTROL;
  const data = field(0, 'data');
  if (data == 0 || load<u8>(data) != 0x7b) {
    refuse(REFUSED_SHAPE, data);
    return failure;
  }
  const route = routeValue(channel);
  if (route == NO_ROUTE) return failure;
  const decimals = routeDecimals;
  openObject(data, 1);
  if (failure != 0 || !hasPlainKeys(1)) return failure;
  if (isBook) return strictBook(route, decimals, receivedNs);
  return isDiff ? differences(route, decimals) : trade(route, decimals, receivedNs);
}

/** Its frames say whose they are: `route` and `decimals` are not looked at. */
export function decodeBitstamp(length: u32, route: u32, decimals: u32, receivedNs: f64): i32 {
  return beginFrame(length) ? decodeBitstampFrame(receivedNs) : REFUSED_SIZE;
}
