// Kraken v2: incremental books proven by a checksum, and trades. Prices and amounts are JSON numbers whose trailing zeros
// count: the places they were written with are kept beside the values.
import { CONTROL, DELTA_HAS_CHECKSUM, DELTA_IS_SNAPSHOT, REFUSED_OVERFLOW, REFUSED_SHAPE, REFUSED_SIZE, SIDE_ASK, SIDE_BID, TRADES } from '../../../kernels/assembly/lib/contract';
import { beginFrame } from '../../../kernels/assembly/lib/frame';
import { field, hasPlainKeys, isString, openFrameObject, openObject } from '../../../kernels/assembly/lib/json';
import { places, value } from '../../../kernels/assembly/lib/numbers';
import { addDelta, addTrade, finishDeltas, finishTrades } from '../../../kernels/assembly/lib/outcome';
import { NO_ROUTE, routeDecimals } from '../../../kernels/assembly/lib/routes';
import { addChange, changeCount } from '../../../kernels/assembly/lib/sides';
import { failure, frame, refuse } from '../../../kernels/assembly/lib/state';
import { decimalValue, firstElement, integerInto, isArray, nextElement, routeValue, timeUs, timeValue } from '../../../kernels/assembly/lib/values';

/** `[{"price":105944.20,"qty":0.250},...]` */
function readObjects(at: usize, side: u32, decimals: u32): bool {
  if (!isArray(at)) {
    refuse(REFUSED_SHAPE, at);
    return false;
  }
  let level = firstElement(at);
  while (level != 0) {
    const end = openObject(level, 2);
    if (end == 0 || !hasPlainKeys(2)) return false;
    if (decimalValue(field(2, 'price'), decimals) == 0) return false;
    const price = value;
    const pricePlaces = places;
    if (decimalValue(field(2, 'qty'), decimals) == 0) return false;
    if (!addChange(side, price, value, pricePlaces, places)) return false;
    level = nextElement(end);
  }
  return true;
}

function readBook(flags: u32): bool {
  const route = routeValue(field(1, 'symbol'));
  if (route == NO_ROUTE) return false;
  const decimals = routeDecimals;
  const from = changeCount;
  let checksum: u64 = 0;
  const proof = field(1, 'checksum');
  if (proof != 0) {
    checksum = integerInto(proof);
    flags |= DELTA_HAS_CHECKSUM;
    if (checksum > 0xffffffff) refuse(REFUSED_OVERFLOW, proof);
  }
  let time: u64 = 0;
  const stamp = field(1, 'timestamp');
  if (stamp != 0 && timeValue(stamp)) time = timeUs;
  if (failure != 0 || !readObjects(field(1, 'bids'), SIDE_BID, decimals)) return false;
  if (!readObjects(field(1, 'asks'), SIDE_ASK, decimals)) return false;
  return addDelta(route, flags, from, <u32>checksum, 0, 0, time);
}

/** `{"symbol":"BTC/USD","side":"buy","price":105944.20,"qty":0.00027625,"trade_id":10218208,"timestamp":"..."}` */
function readTrade(receivedNs: f64): bool {
  const route = routeValue(field(1, 'symbol'));
  if (route == NO_ROUTE) return false;
  const decimals = routeDecimals;
  const id = integerInto(field(1, 'trade_id'));
  const side = field(1, 'side');
  const buy = isString(side, 'buy');
  if (!buy && !isString(side, 'sell')) refuse(REFUSED_SHAPE, side);
  if (failure != 0 || !timeValue(field(1, 'timestamp'))) return false;
  const time = timeUs;
  if (decimalValue(field(1, 'price'), decimals) == 0) return false;
  const price = value;
  if (decimalValue(field(1, 'qty'), decimals) == 0) return false;
  return addTrade(route, buy, time, price, value, id, id, id, receivedNs);
}

function decodeKrakenFrame(receivedNs: f64): i32 {
  if (!openFrameObject(frame) || !hasPlainKeys(0)) return failure;
  const channel = field(0, 'channel');
  const isBook = isString(channel, 'book');
  if (!isBook && !isString(channel, 'trade')) return CONTROL;
  const type = field(0, 'type');
  const snapshot = isString(type, 'snapshot');
  if (!snapshot && !isString(type, 'update')) return CONTROL;
  const data = field(0, 'data');
  if (!isArray(data)) {
    refuse(REFUSED_SHAPE, data);
    return failure;
  }
  let item = firstElement(data);
  while (item != 0) {
    const end = openObject(item, 1);
    if (end == 0 || !hasPlainKeys(1)) return failure;
    if (!(isBook ? readBook(snapshot ? DELTA_IS_SNAPSHOT : 0) : readTrade(receivedNs))) return failure;
    item = nextElement(end);
  }
  return isBook ? finishDeltas(0) : finishTrades(TRADES, 0);
}

/** Its frames say whose they are: `route` and `decimals` are not looked at. */
export function decodeKraken(length: u32, route: u32, decimals: u32, receivedNs: f64): i32 {
  return beginFrame(length) ? decodeKrakenFrame(receivedNs) : REFUSED_SIZE;
}
