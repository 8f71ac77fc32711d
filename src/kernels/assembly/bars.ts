// Exact bars from trades, for the symbols of one partition worker. A trade touches the symbol's running totals and its
// open base bar, nothing else; longer intervals are fed when a base bar is passed and completed when they are read.
// The picture of the memory is in lib/bars-layout.ts.
//
// Trades of many symbols are taken in runs, of which each symbol opens one base bar at most, with its first trade:
//
//   gather:     which of them open a bar; loads what these will touch, so that the misses overlap
//   openBars:   those that do
//   addTrades:  all of them, in order
//
// Whether a trade opens a bar is what no branch predictor guesses. Sorted out beforehand, a run has two jumps that go wrong,
// one by one every second trade would have one.
import {
  C_APPLIED, S_BASE_OPEN, S_FAST_SEQUENCE, S_HIGH, S_LOW, S_PENDING_UNTIL, S_RUN, S_SUMS, TRADE_AMOUNT, TRADE_BYTES,
  TRADE_PRICE, TRADE_SEQUENCE, TRADE_TIME,
} from './lib/bars-layout';
import { counters, stateOf, warmed, warmFeeds, warmNext } from './lib/bars-ring';
import { headOf, symbols } from './lib/bars-symbols';
import { addTrade, applyEach, openBase } from './lib/bars-trade';
import { believedEverywhere, closedAnywhere, lengthOf } from './lib/bars-window';

export { tick } from './lib/bars-window';
export {
  addSymbol, asideAddress, attachReaders, cellBytes, commitSnapshot, configure, confirmSymbol, countersAddress, doubtSymbol, exportSymbol, forgetDeep,
  importSymbol, inputAddress, lackTrades, outputAddress, planAddress, removeSymbol, resolveHoles, seedBar,
  seedSequence, snapshot, symbolAddress, symbolCount, symbolIndex, transferAddress, troubledSymbol,
} from './lib/bars-symbols';

const RUN_TRADES: u32 = 16;
/** With fewer symbols a run would be short, since it ends where one of them opens a second bar. */
const RUN_SYMBOLS: u32 = 16;
/** Prices and amounts without these bits have a product below the limit of 2^112, and a sequence without them is not NEVER. */
const LARGE: u64 = ~((<u64>1 << 56) - 1);

/** The run: the head of each trade's symbol. */
const runHeads: usize = memory.data(4 * 16, 64);
/** Those that open a bar: the trade's place in the run, and by how many windows it is after the newest bar. */
const openers: usize = memory.data(8 * 17, 64);
let opening: u32 = 0;
let run: u32 = 0;

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
    const cut = gather(trade, min(end, trade + RUN_TRADES * TRADE_BYTES));
    if (cut == trade) {
      applied += applyEach(trade, trade + TRADE_BYTES);
      trade += TRADE_BYTES;
      continue;
    }
    openBars(trade);
    addTrades(trade, cut);
    applied += <u32>(cut - trade) / TRADE_BYTES;
    trade = cut;
  }
  return applied;
}

/**
 * Finds the run that starts at `from`: it ends before the first trade that is not plainly the next of its symbol, or that
 * opens a bar though its symbol is in the run already. Sequences and windows go on here, so that later trades find them.
 */
function gather(from: usize, stop: usize): usize {
  const base = lengthOf(0);
  // Where no venue's clock has closed anything, and every venue's stamps are believed.
  const timely = closedAnywhere;
  const timelyUs = believedEverywhere > timely ? believedEverywhere - timely : 0;
  let sum: u64 = 0;
  let at: usize = 0;
  let opens: u32 = 0;
  let trade = from;
  run++;
  for (; trade < stop; trade += TRADE_BYTES) {
    const symbol = headOf(trade);
    const price = load<u64>(trade, TRADE_PRICE);
    const time = load<u64>(trade, TRADE_TIME);
    const sequence = load<u64>(trade, TRADE_SEQUENCE);
    const open = load<u64>(symbol, S_BASE_OPEN);
    // No bit is set of a trade that is next and has nothing that is large; a price of 0 is, once 1 is taken from it.
    const odd = (sequence ^ load<u64>(symbol, S_FAST_SEQUENCE)) | ((sequence | (price - 1) | load<u64>(trade, TRADE_AMOUNT)) & LARGE);
    if (!(i32(odd == 0) & i32(symbol != 0) & i32(time >= open) & i32(time - timely < timelyUs))) break;
    const passed = (time - open) / base;
    if (i32(passed != 0) & i32(load<u32>(symbol, S_RUN) == run)) break;
    store<u32>(symbol, run, S_RUN);
    store<u64>(symbol, sequence + 1, S_FAST_SEQUENCE);
    store<u64>(symbol, open + passed * base, S_BASE_OPEN);
    store<u32>(runHeads + at, <u32>symbol);
    store<u32>(openers + opens * 8, <u32>at);
    store<u32>(openers + opens * 8, <u32>passed, 4);
    opens += u32(passed != 0);
    sum += load<u64>(symbol, S_SUMS);
    at += 4;
  }
  opening = opens;
  for (let n: u32 = 0; n < opens; n++) {
    const symbol: usize = load<u32>(runHeads + load<u32>(openers + n * 8));
    const closing = load<u64>(symbol, S_BASE_OPEN) - load<u32>(openers + n * 8, 4) * base;
    sum += warmNext(stateOf(symbol, 0), 0);
    if (closing >= load<u64>(symbol, S_PENDING_UNTIL)) sum += warmFeeds(symbol);
  }
  store<u64>(warmed, sum);
  return trade;
}

function openBars(from: usize): void {
  const opens = opening;
  for (let n: u32 = 0; n < opens; n++) {
    const at: usize = load<u32>(openers + n * 8);
    const symbol: usize = load<u32>(runHeads + at);
    openBase(symbol, from + at * (TRADE_BYTES / 4), load<u32>(openers + n * 8, 4), load<u64>(symbol, S_BASE_OPEN));
  }
}

function addTrades(from: usize, end: usize): void {
  let at = runHeads;
  for (let trade = from; trade < end; trade += TRADE_BYTES) {
    const symbol: usize = load<u32>(at);
    at += 4;
    const price = load<u64>(trade, TRADE_PRICE);
    store<u64>(symbol, max(price, load<u64>(symbol, S_HIGH)), S_HIGH);
    store<u64>(symbol, min(price, load<u64>(symbol, S_LOW)), S_LOW);
    addTrade(symbol, trade, price, load<u64>(trade, TRADE_AMOUNT));
  }
}
