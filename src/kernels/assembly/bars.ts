// Exact bars from trades, for the symbols of one partition worker. A trade touches the symbol's running totals and its
// open base bar, nothing else; longer intervals are fed when a base bar is passed and completed when they are read.
// The picture of the memory is in lib/bars-layout.ts.
//
// Trades of many symbols are taken in runs. All trades of a run are of one base window, so a symbol opens at most one bar in
// it, with its first trade:
//
//   gather:     which of them open a bar
//   openBars:   those that do; what they touch is loaded first, so that the misses overlap
//   addTrades:  all of them, in order
//
// Whether a trade opens a bar is what no branch predictor guesses. Sorted out beforehand, a run has two jumps that go wrong,
// one by one every second trade would have one.
import {
  C_APPLIED, S_BASE_OPEN, S_FAST_SEQUENCE, S_HIGH, S_LOW, S_PENDING_UNTIL, TRADE_AMOUNT, TRADE_BYTES, TRADE_PRICE,
  TRADE_SEQUENCE, TRADE_TIME,
} from './lib/bars-layout';
import { counters, stateOf, warmed, warmFeeds, warmNext } from './lib/bars-ring';
import { headOf, symbols } from './lib/bars-symbols';
import { addTrade, applyEach, openBase } from './lib/bars-trade';
import { enterWindow, plainSpan, recentOpen, recentWindow } from './lib/bars-window';

export { tick } from './lib/bars-window';
export {
  addSymbol, asideAddress, attachReaders, cellBytes, commitSnapshot, configure, confirmSymbol, countersAddress, doubtSymbol, exportSymbol, forgetDeep,
  importSymbol, inputAddress, lackTrades, outputAddress, planAddress, removeSymbol, resolveHoles, seedBar,
  seedSequence, snapshot, symbolAddress, symbolCount, symbolIndex, transferAddress, troubledSymbol,
} from './lib/bars-symbols';

const RUN_TRADES: u32 = 16;
/** With fewer symbols a window has so few trades that runs are short. */
const RUN_SYMBOLS: u32 = 8;
/** The bars of fewer symbols are in the nearest caches anyway. */
const WARM_SYMBOLS: u32 = 64;
/** Prices and amounts without these bits have a product below the limit of 2^112, and a sequence without them is not NEVER. */
const LARGE: u64 = ~((<u64>1 << 56) - 1);

/** The run: the head of each trade's symbol. */
const runHeads: usize = memory.data(4 * 16, 64);
/** Those that open a bar: head u32, trade u32, and when the bar opened that they close. One place more is written than counts. */
const OPENER_BYTES: usize = 16;
const openers: usize = memory.data(16 * 17, 64);
let openersEnd: usize = 0;

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
    openBars();
    addTrades(trade, cut);
    applied += <u32>(cut - trade) / TRADE_BYTES;
    trade = cut;
  }
  return applied;
}

/**
 * Finds the run that starts at `from`: it ends before the first trade that is not plainly the next of its symbol, or that
 * is of another window. Sequences and windows go on here, so that later trades find them.
 */
function gather(from: usize, stop: usize): usize {
  enterWindow(load<u64>(from, TRADE_TIME));
  const window = recentOpen;
  const span = plainSpan();
  let head = runHeads;
  let opener = openers;
  let trade = from;
  for (; trade < stop; trade += TRADE_BYTES) {
    const symbol = headOf(trade);
    const price = load<u64>(trade, TRADE_PRICE);
    const sequence = load<u64>(trade, TRADE_SEQUENCE);
    const open = load<u64>(symbol, S_BASE_OPEN);
    // No bit is set of a trade that is next and has nothing that is large; a price of 0 is, once 1 is taken from it.
    const odd = (sequence ^ load<u64>(symbol, S_FAST_SEQUENCE)) | ((sequence | (price - 1) | load<u64>(trade, TRADE_AMOUNT)) & LARGE);
    if (i32(odd != 0) | i32(symbol == 0) | i32(open > window) | i32(load<u64>(trade, TRADE_TIME) - window >= span)) break;
    store<u64>(symbol, sequence + 1, S_FAST_SEQUENCE);
    store<u64>(symbol, window, S_BASE_OPEN);
    store<u32>(head, <u32>symbol);
    head += 4;
    store<u32>(opener, <u32>symbol);
    store<u32>(opener, <u32>trade, 4);
    store<u64>(opener, open, 8);
    opener += usize(open != window) * OPENER_BYTES;
  }
  openersEnd = opener;
  return trade;
}

function openBars(): void {
  const end = openersEnd;
  if (symbols >= WARM_SYMBOLS) warmOpeners(end);
  for (let opener = openers; opener < end; opener += OPENER_BYTES) {
    openBase(load<u32>(opener), load<u32>(opener, 4), load<u64>(opener, 8), recentWindow);
  }
}

function warmOpeners(end: usize): void {
  let sum: u64 = 0;
  for (let opener = openers; opener < end; opener += OPENER_BYTES) {
    const symbol: usize = load<u32>(opener);
    sum += warmNext(stateOf(symbol, 0), 0);
    if (load<u64>(opener, 8) >= load<u64>(symbol, S_PENDING_UNTIL)) sum += warmFeeds(symbol);
  }
  store<u64>(warmed, sum);
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
