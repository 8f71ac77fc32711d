// Coinbase Advanced Trade: incremental books and trades, several events a frame, one sequence a connection.
import { CONTROL, DELTA_IS_SNAPSHOT, REFUSED_SHAPE, REFUSED_SIZE, SIDE_ASK, SIDE_BID, TRADES } from '../../../kernels/assembly/lib/contract';
import { beginFrame } from '../../../kernels/assembly/lib/frame';
import { field, hasPlainKeys, isString, openFrameObject, openObject } from '../../../kernels/assembly/lib/json';
import { places, value } from '../../../kernels/assembly/lib/numbers';
import { addDelta, addTrade, finishDeltas, finishTrades } from '../../../kernels/assembly/lib/outcome';
import { NO_ROUTE, routeDecimals } from '../../../kernels/assembly/lib/routes';
import { addChange, changeCount } from '../../../kernels/assembly/lib/sides';
import { failure, frame, refuse } from '../../../kernels/assembly/lib/state';
import { decimalValue, firstElement, integerInto, isArray, nextElement, routeValue, timeUs, timeValue } from '../../../kernels/assembly/lib/values';

/** `{"side":"bid","event_time":"...","price_level":"68900.00","new_quantity":"2.00000000"}` */
function readUpdate(decimals: u32): bool {
  const side = field(2, 'side');
  const bid = isString(side, 'bid');
  if (!bid && !isString(side, 'offer')) {
    refuse(REFUSED_SHAPE, side);
    return false;
  }
  if (decimalValue(field(2, 'price_level'), decimals) == 0) return false;
  const price = value;
  const pricePlaces = places;
  if (decimalValue(field(2, 'new_quantity'), decimals) == 0) return false;
  return addChange(bid ? SIDE_BID : SIDE_ASK, price, value, pricePlaces, places);
}

/** The venue's `side` is the maker's: where it says BUY, the taker sold. */
function readTrade(receivedNs: f64): bool {
  const route = routeValue(field(2, 'product_id'));
  if (route == NO_ROUTE) return false;
  const decimals = routeDecimals;
  const id = integerInto(field(2, 'trade_id'));
  const side = field(2, 'side');
  const makerBuys = isString(side, 'BUY');
  if (!makerBuys && !isString(side, 'SELL')) refuse(REFUSED_SHAPE, side);
  if (failure != 0 || !timeValue(field(2, 'time'))) return false;
  const time = timeUs;
  if (decimalValue(field(2, 'price'), decimals) == 0) return false;
  const price = value;
  if (decimalValue(field(2, 'size'), decimals) == 0) return false;
  return addTrade(route, !makerBuys, time, price, value, id, id, id, receivedNs);
}

/** Reads the elements of an event: updates of one product, or trades of any. */
function readElements(at: usize, isBook: bool, decimals: u32, receivedNs: f64): bool {
  if (!isArray(at)) {
    refuse(REFUSED_SHAPE, at);
    return false;
  }
  let item = firstElement(at);
  while (item != 0) {
    const end = openObject(item, 2);
    if (end == 0 || !hasPlainKeys(2)) return false;
    if (!(isBook ? readUpdate(decimals) : readTrade(receivedNs))) return false;
    item = nextElement(end);
  }
  return true;
}

function readEvent(isBook: bool, sequence: u64, time: u64, receivedNs: f64): bool {
  if (!isBook) return readElements(field(1, 'trades'), false, 0, receivedNs);
  const type = field(1, 'type');
  const snapshot = isString(type, 'snapshot');
  if (!snapshot && !isString(type, 'update')) {
    refuse(REFUSED_SHAPE, type);
    return false;
  }
  const route = routeValue(field(1, 'product_id'));
  if (route == NO_ROUTE) return false;
  const from = changeCount;
  if (!readElements(field(1, 'updates'), true, routeDecimals, receivedNs)) return false;
  return addDelta(route, snapshot ? DELTA_IS_SNAPSHOT : 0, from, 0, sequence, sequence, time);
}

function decodeCoinbaseFrame(receivedNs: f64): i32 {
  if (!openFrameObject(frame) || !hasPlainKeys(0)) return failure;
  const channel = field(0, 'channel');
  const isBook = isString(channel, 'l2_data');
  if (!isBook && !isString(channel, 'market_trades')) return CONTROL;
  const sequence = integerInto(field(0, 'sequence_num'));
  const events = field(0, 'events');
  if (failure == 0 && !isArray(events)) refuse(REFUSED_SHAPE, events);
  if (failure != 0 || !timeValue(field(0, 'timestamp'))) return failure;
  const time = timeUs;
  let event = firstElement(events);
  while (event != 0) {
    const end = openObject(event, 1);
    if (end == 0 || !hasPlainKeys(1)) return failure;
    if (!readEvent(isBook, sequence, time, receivedNs)) return failure;
    event = nextElement(end);
  }
  return isBook ? finishDeltas(sequence) : finishTrades(TRADES, sequence);
}

/** Its frames say whose they are: `route` and `decimals` are not looked at. */
export function decodeCoinbase(length: u32, route: u32, decimals: u32, receivedNs: f64): i32 {
  return beginFrame(length) ? decodeCoinbaseFrame(receivedNs) : REFUSED_SIZE;
}
