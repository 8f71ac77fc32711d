// Exact bars from trades, for the symbols of one partition worker. A trade touches the symbol's running totals and its
// open base bar, nothing else; longer intervals are fed when a base bar is passed and completed when they are read.
// The picture of the memory is in lib/bars-layout.ts.
//
// Trades of many symbols are taken in runs, in which every trade is the next one of another symbol:
//
//   gather:     which of them open a base bar; loads what they will touch, so that the misses overlap
//   openBars:   those that do
//   addTrades:  all of them
//
// Whether a trade opens a bar is what no branch predictor guesses. Sorted out beforehand, a run has two jumps that go wrong,
// one by one every second trade would have one.
import {
  C_APPLIED, NEVER, S_BASE_OPEN, S_FAST_SEQUENCE, S_HIGH, S_LOW, S_PENDING_UNTIL, S_SUMS, TRADE_AMOUNT, TRADE_BYTES,
  TRADE_PRICE, TRADE_SEQUENCE, TRADE_TIME,
} from './lib/bars-layout';
import { counters, stateOf, warmed, warmFeeds, warmNext } from './lib/bars-ring';
import { headOf, symbols } from './lib/bars-symbols';
import { addTrade, applyEach, applySlowly, openBase } from './lib/bars-trade';
import { closedAnywhere, lengthOf } from './lib/bars-window';

export { tick } from './lib/bars-window';
export {
  addSymbol, asideAddress, attachReaders, cellBytes, commitSnapshot, configure, confirmSymbol, countersAddress, doubtSymbol, exportSymbol, forgetDeep,
  importSymbol, inputAddress, outputAddress, planAddress, removeSymbol, resolveHoles, roomForUnsaved, seedBar,
  seedSequence, snapshot, symbolAddress, symbolCount, symbolIndex, transferAddress, troubledSymbol,
} from './lib/bars-symbols';

const RUN_TRADES: u32 = 16;
/** With fewer symbols a run would be short, since it ends where one comes for the second time. */
const RUN_SYMBOLS: u32 = 16;
/** Leading zeros of price and amount together from which their product is certainly below the limit of 2^112. */
const PLAIN_ZEROS: u64 = 17;

/** The run: the head of each trade's symbol, and the places of those that open a bar. */
const runHeads: usize = memory.data(4 * 16, 64);
const openers: usize = memory.data(4 * 17, 64);
let opening: u32 = 0;

/** Applies `trades` records that start at an address; returns how many of them changed a bar. */
export function apply(from: usize, trades: u32): u32 {
  const end = from + trades * TRADE_BYTES;
  const applied = symbols < RUN_SYMBOLS ? applyEach(from, end) : applyRuns(from, end);
  store<u64>(counters + C_APPLIED, load<u64>(counters + C_APPLIED) + applied);
  return applied;
}

function applyRuns(from: usize, end: usize): u32 {
  let applied: u32 = 0;
  for (let trade = from; trade < end; ) {
    const stop = min(end, trade + RUN_TRADES * TRADE_BYTES);
    const cut = gather(trade, stop);
    applied += <u32>(cut - trade) / TRADE_BYTES - openBars(trade);
    addTrades(trade, cut);
    trade = cut;
    if (cut == stop) continue;
    applied += applyEach(cut, cut + TRADE_BYTES);
    trade += TRADE_BYTES;
  }
  return applied;
}

/**
 * Finds the run that starts at `from`: it ends before the first trade that is not plainly the next of its symbol, or whose
 * symbol is in it already. The short path of each symbol in it is closed until its trade has been added.
 */
function gather(from: usize, stop: usize): usize {
  const base = lengthOf(0);
  let sum: u64 = 0;
  let at: usize = 0;
  let opens: u32 = 0;
  let trade = from;
  for (; trade < stop; trade += TRADE_BYTES) {
    const symbol = headOf(trade);
    const price = load<u64>(trade, TRADE_PRICE);
    const time = load<u64>(trade, TRADE_TIME);
    const isNext = load<u64>(trade, TRADE_SEQUENCE) == load<u64>(symbol, S_FAST_SEQUENCE);
    const isSmall = clz(price) + clz(load<u64>(trade, TRADE_AMOUNT)) >= PLAIN_ZEROS;
    if (!(i32(symbol != 0) & i32(isNext) & i32(isSmall) & i32(price != 0) & i32(time >= closedAnywhere))) break;
    store<u64>(symbol, NEVER, S_FAST_SEQUENCE);
    store<u32>(runHeads + at, <u32>symbol);
    store<u32>(openers + opens * 4, <u32>at);
    opens += u32(time - load<u64>(symbol, S_BASE_OPEN) >= base);
    sum += load<u64>(symbol, S_SUMS);
    at += 4;
  }
  opening = opens;
  for (let n: u32 = 0; n < opens; n++) {
    const symbol: usize = load<u32>(runHeads + load<u32>(openers + n * 4));
    sum += warmNext(stateOf(symbol, 0), 0);
    if (load<u64>(symbol, S_BASE_OPEN) >= load<u64>(symbol, S_PENDING_UNTIL)) sum += warmFeeds(symbol);
  }
  store<u64>(warmed, sum);
  return trade;
}

/** Opens the bars of a run. A trade that may open none leaves the run and goes the long way; returns how many came to nothing. */
function openBars(from: usize): u32 {
  const opens = opening;
  let dropped: u32 = 0;
  for (let n: u32 = 0; n < opens; n++) {
    const at: usize = load<u32>(openers + n * 4);
    const symbol: usize = load<u32>(runHeads + at);
    const trade = from + at * (TRADE_BYTES / 4);
    const price = load<u64>(trade, TRADE_PRICE);
    store<u64>(symbol, load<u64>(trade, TRADE_SEQUENCE), S_FAST_SEQUENCE);
    if (openBase(symbol, load<u64>(trade, TRADE_TIME), trade)) {
      store<u64>(symbol, price, S_HIGH);
      store<u64>(symbol, price, S_LOW);
    } else {
      store<u32>(runHeads + at, 0);
      dropped += 1 - applySlowly(symbol, trade);
    }
  }
  return dropped;
}

function addTrades(from: usize, end: usize): void {
  let at = runHeads;
  for (let trade = from; trade < end; trade += TRADE_BYTES) {
    const symbol: usize = load<u32>(at);
    at += 4;
    if (!symbol) continue;
    const price = load<u64>(trade, TRADE_PRICE);
    store<u64>(symbol, max(price, load<u64>(symbol, S_HIGH)), S_HIGH);
    store<u64>(symbol, min(price, load<u64>(symbol, S_LOW)), S_LOW);
    addTrade(symbol, trade, price, load<u64>(trade, TRADE_AMOUNT));
  }
}
