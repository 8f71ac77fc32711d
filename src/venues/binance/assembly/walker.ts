// Binance spot: partial books, diff books, aggregate and single trades; raw or in the combined-stream envelope.
import { bidsEnd, compactNameLength, keptAsks, keptBids, nextColon, readCompactSides } from '../../../kernels/assembly/lib/compact';
import { CONTROL, REFUSED_DECIMAL, REFUSED_SHAPE, REFUSED_SIZE, SIDE_ASK, SIDE_BID, TRADES } from '../../../kernels/assembly/lib/contract';
import { beginFrame } from '../../../kernels/assembly/lib/frame';
import { blank, field, hasPlainKeys, isString, openFrameObject, openObject } from '../../../kernels/assembly/lib/json';
import { readShortInteger, value } from '../../../kernels/assembly/lib/numbers';
import { addDelta, addTrade, finishBook, finishDeltas, finishTrades } from '../../../kernels/assembly/lib/outcome';
import { findRoute, NO_ROUTE, routeDecimals } from '../../../kernels/assembly/lib/routes';
import { changeCount, kept, readChanges, readSide } from '../../../kernels/assembly/lib/sides';
import { BOOK_LEVELS, book, depth, failure, frame, frameEnd, noteName, refuse } from '../../../kernels/assembly/lib/state';
import { decimalValue, integerInto, microsecondsOf, routeValue } from '../../../kernels/assembly/lib/values';

// Pieces of the compact form as little-endian words.
const STREAM_0: u64 = 0x6d6165727473227b; //  {"stream
const STREAM_7: u32 = 0x223a226d; //          m":"
const DATA_0: u64 = 0x2261746164222c22; //    ","data"
const UPDATE_0: u64 = 0x70557473616c227b; //  {"lastUp
const UPDATE_8: u64 = 0x3a22644965746164; //  dateId":
const BIDS: u64 = 0x3a2273646962222c; //      ,"bids":
const ASKS: u64 = 0x22736b7361222c5d; //      ],"asks"
const COLON_BRACKET: u32 = 0x5b3a; //         :[
const COLON: u32 = 0x3a;
const BRACKET: u32 = 0x5b;
const RAW_CLOSE: u32 = 0x7d5d; //             ]}
const ENVELOPE_CLOSE: u32 = 0x7d7d5d; //      ]}}

/**
 * The compact form of a partial book; the first line and its closing brace only in the envelope:
 *
 *     {"stream":"btcusdt@depth20@100ms","data":
 *     {"lastUpdateId":47563829101,"bids":[["97234.11","2.42"],...],"asks":[["97234.12","0.5"],...]}
 *
 * Between the beginning of the bids and the asks no colon may stand. Levels that are not kept are not read, nor is what may
 * stand between the last kept ask and the closing brackets. Answers 0 for every other form, which is read strictly.
 */
function compactBook(defaultRoute: u32, defaultDecimals: u32, receivedNs: f64): i32 {
  let at = frame;
  let route = defaultRoute;
  let decimals = defaultDecimals;
  let close: u32 = RAW_CLOSE;
  let closeBytes: usize = 2;
  if (load<u64>(at) == STREAM_0) {
    if (load<u32>(at, 7) != STREAM_7) return 0;
    at += 11;
    const length = compactNameLength(at);
    if (length == 0 || load<u64>(at + length) != DATA_0 || load<u8>(at + length, 8) != COLON) return 0;
    route = findRoute(at, length);
    if (route == NO_ROUTE) return 0;
    noteName(at, length);
    decimals = routeDecimals;
    at += length + 9;
    close = ENVELOPE_CLOSE;
    closeBytes = 3;
  }
  if (load<u64>(at) != UPDATE_0 || load<u64>(at, 8) != UPDATE_8) return 0;
  at += 16;
  const digits = readShortInteger(at);
  if (digits == 0 || (digits > 1 && load<u8>(at) == 0x30)) return 0;
  const sequence = value;
  at += digits;
  if (load<u64>(at) != BIDS || load<u8>(at, 8) != BRACKET) return 0;

  at += 9;
  const colon = nextColon(at, frameEnd);
  if (colon < at + 8 || load<u64>(colon - 8) != ASKS || load<u16>(colon) != COLON_BRACKET) return 0;
  const end = readCompactSides(at, colon + 2, book + BOOK_LEVELS, depth, decimals);
  if (end == 0 || colon < bidsEnd + 8 || end + closeBytes > frameEnd) return 0;
  if (((load<u32>(frameEnd - closeBytes) ^ close) & ((1 << ((<u32>closeBytes) << 3)) - 1)) != 0) return 0;
  return finishBook(route, sequence, 0, receivedNs, keptBids, keptAsks);
}

function strictBook(level: u32, defaultRoute: u32, defaultDecimals: u32, stream: usize, receivedNs: f64): i32 {
  let route = defaultRoute;
  let decimals = defaultDecimals;
  if (stream != 0) {
    route = routeValue(stream);
    if (route == NO_ROUTE) return failure;
    decimals = routeDecimals;
  }
  const sequence = integerInto(field(level, 'lastUpdateId'));
  if (failure != 0) return failure;
  const bids = book + BOOK_LEVELS;
  if (!readSide(field(level, 'bids'), bids, depth, decimals, true)) return failure;
  const bidCount = kept;
  if (!readSide(field(level, 'asks'), bids + ((<usize>depth) << 4), depth, decimals, false)) return failure;
  return finishBook(route, sequence, 0, receivedNs, bidCount, kept);
}

/** `{"e":"depthUpdate","E":1672515782136,"s":"BNBBTC","U":157,"u":160,"b":[["0.0024","10"]],"a":[...]}` */
function depthUpdate(level: u32): i32 {
  const route = routeValue(field(level, 's'));
  if (route == NO_ROUTE) return failure;
  const decimals = routeDecimals;
  const time = integerInto(field(level, 'E'));
  const first = integerInto(field(level, 'U'));
  const last = integerInto(field(level, 'u'));
  const from = changeCount;
  if (failure != 0 || !readChanges(field(level, 'b'), SIDE_BID, decimals)) return failure;
  if (!readChanges(field(level, 'a'), SIDE_ASK, decimals)) return failure;
  addDelta(route, 0, from, 0, first, last, microsecondsOf(time));
  return finishDeltas(last);
}

/**
 * `{"e":"aggTrade","E":...,"s":"BNBBTC","a":12345,"p":"0.001","q":"100","f":100,"l":105,"T":1672515782136,"m":true}`;
 * a single trade has its id as `t` and neither `a`, `f` nor `l`. `m` says that the buyer was the maker.
 */
function trade(level: u32, aggregate: bool, receivedNs: f64): i32 {
  const route = routeValue(field(level, 's'));
  if (route == NO_ROUTE) return failure;
  const decimals = routeDecimals;
  const sequence = integerInto(field(level, aggregate ? 'a' : 't'));
  const firstId = aggregate ? integerInto(field(level, 'f')) : sequence;
  const lastId = aggregate ? integerInto(field(level, 'l')) : sequence;
  const time = integerInto(field(level, 'T'));
  if (failure != 0 || decimalValue(field(level, 'p'), decimals) == 0) return failure;
  const price = value;
  if (decimalValue(field(level, 'q'), decimals) == 0) return failure;
  const amount = value;
  const maker = field(level, 'm');
  const byte = maker == 0 ? 0 : load<u8>(maker);
  if (byte != 0x74 && byte != 0x66) refuse(REFUSED_SHAPE, maker);
  if (lastId < firstId) refuse(REFUSED_DECIMAL, field(level, 'l'));
  if (failure == 0)
    addTrade(route, byte == 0x66, microsecondsOf(time), price, amount, firstId, lastId, sequence, receivedNs);
  return finishTrades(TRADES, sequence);
}

function decodeBinanceFrame(route: u32, decimals: u32, receivedNs: f64): i32 {
  const answer = compactBook(route, decimals, receivedNs);
  if (answer != 0) return answer;
  // An array (all-market tickers) is no single stream's data: the JSON path reads it.
  if (load<u8>(blank(frame)) == BRACKET) return CONTROL;
  if (!openFrameObject(frame) || !hasPlainKeys(0)) return failure;
  let level: u32 = 0;
  const stream = field(0, 'stream');
  const data = field(0, 'data');
  if (stream != 0 && data != 0) {
    if (load<u8>(data) != 0x7b) return CONTROL;
    openObject(data, 1);
    if (failure != 0 || !hasPlainKeys(1)) return failure;
    level = 1;
  }
  const event = field(level, 'e');
  if (event != 0) {
    if (isString(event, 'depthUpdate')) return depthUpdate(level);
    if (isString(event, 'aggTrade')) return trade(level, true, receivedNs);
    return isString(event, 'trade') ? trade(level, false, receivedNs) : CONTROL;
  }
  if (field(level, 'lastUpdateId') == 0) return CONTROL;
  return strictBook(level, route, decimals, level == 0 ? 0 : stream, receivedNs);
}

/** `route` and `decimals` serve a partial book outside the combined envelope, which does not say whose it is. */
export function decodeBinance(length: u32, route: u32, decimals: u32, receivedNs: f64): i32 {
  return beginFrame(length) ? decodeBinanceFrame(route, decimals, receivedNs) : REFUSED_SIZE;
}
