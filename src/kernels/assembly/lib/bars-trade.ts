// One trade: in order it changes the head of its symbol, or opens the next base bar first; everything else goes the long way.
import {
  C_LATE, C_MALFORMED, C_UNKNOWN_SYMBOL, E_CLOSE, E_COUNT, E_FIRST_ID, E_HIGH, E_LAST_ID, E_LOW, E_MARKS, E_OPEN, E_SUMS,
  E_WINDOW, ENTRY_BYTES, FLAG_LOSS, FLAG_TAKER_BUY, NEVER, S_BASE_OPEN, S_CLOSE, S_COUNT, S_EXPECTED, S_FAST_SEQUENCE, S_HIGH, S_LAST_ID,
  S_LAST_TIME, S_LOW, S_SUMS, S_TOP, SIDE_BYTES, TRADE_AMOUNT, TRADE_BYTES, TRADE_FIRST_ID, TRADE_FLAGS, TRADE_LAST_ID,
  TRADE_PRICE, TRADE_SEQUENCE, TRADE_TIME,
} from './bars-layout';
import { admit, DROP, lose, NEXT, noteLatest, reissueChanged } from './bars-ids';
import { amend, count, passBase, push, settle, settleBar } from './bars-ring';
import { add128, copyTotals } from './bars-totals';
import { headOf } from './bars-symbols';
import { believedUntil, closedAnywhere, closedUntil, EARLIEST_US, lengthOf } from './bars-window';

/** price * amount stays below 2^112, so that a bar may hold 65,536 of the largest trades without overflow. */
const QUOTE_HIGH_LIMIT: u64 = 1 << 48;

/** One trade shaped as an entry, for the paths that amend. */
const part: usize = memory.data(128, 16);

/** The upper 64 bits of a 128-bit product. Most amounts are below 42.9 units, for which two multiplications do. */
@inline function productHigh(a: u64, b: u64): u64 {
  const aLow = a & 0xffffffff;
  const aHigh = a >> 32;
  const bLow = b & 0xffffffff;
  const bHigh = b >> 32;
  const middle = aHigh * bLow + ((aLow * bLow) >> 32);
  if (bHigh == 0) return middle >> 32;
  const cross = aLow * bHigh + (middle & 0xffffffff);
  return aHigh * bHigh + (middle >> 32) + (cross >> 32);
}

/** Where the sums of a trade's side stand among the four: what takers sold comes first. */
@inline function sideOf(trade: usize): usize {
  return <usize>(load<u32>(trade, TRADE_FLAGS) & FLAG_TAKER_BUY) * SIDE_BYTES;
}

/** Adds a trade in order to the open base bar and the totals. */
@inline export function addTrade(symbol: usize, trade: usize, price: u64, amount: u64): void {
  const quote = price * amount;
  const quoteHigh = productHigh(price, amount);
  const lastId = load<u64>(trade, TRADE_LAST_ID);
  const time = load<u64>(trade, TRADE_TIME);
  if (time < load<u64>(symbol, S_LAST_TIME)) noteLatest(symbol, load<u64>(symbol, S_LAST_TIME));
  store<u64>(symbol, time, S_LAST_TIME);
  store<u64>(symbol, price, S_CLOSE);
  store<u64>(symbol, lastId, S_LAST_ID);
  store<u64>(symbol, load<u64>(symbol, S_COUNT) + lastId - load<u64>(trade, TRADE_FIRST_ID) + 1, S_COUNT);
  // Takers buy and sell by turns that no branch predictor guesses: each side has sums of its own, and nothing jumps.
  const side = symbol + S_SUMS + sideOf(trade);
  add128(side, amount, 0);
  add128(side + 16, quote, quoteHigh);
}

/** Applies trades one by one; returns how many of them changed a bar. */
export function applyEach(from: usize, end: usize): u32 {
  const base = lengthOf(0);
  let applied: u32 = 0;
  for (let trade = from; trade < end; trade += TRADE_BYTES) {
    const symbol = headOf(trade);
    if (!symbol) {
      count(C_UNKNOWN_SYMBOL);
      continue;
    }
    const price = load<u64>(trade, TRADE_PRICE);
    const amount = load<u64>(trade, TRADE_AMOUNT);
    const time = load<u64>(trade, TRADE_TIME);
    if (productHigh(price, amount) >= QUOTE_HIGH_LIMIT || price == 0) {
      if (load<u32>(trade, TRADE_FLAGS) & FLAG_LOSS) lose(symbol);
      else count(C_MALFORMED);
      continue;
    }
    const sequence = load<u64>(trade, TRADE_SEQUENCE);
    if (sequence == load<u64>(symbol, S_FAST_SEQUENCE) && sequence != NEVER) {
      if (time - load<u64>(symbol, S_BASE_OPEN) >= base) {
        if (!mayOpen(symbol, time)) {
          applied += applySlowly(symbol, trade);
          continue;
        }
        const open = load<u64>(symbol, S_BASE_OPEN);
        const passed = (time - open) / base;
        store<u64>(symbol, open + passed * base, S_BASE_OPEN);
        openBase(symbol, trade, open, load<u32>(load<u32>(symbol, S_TOP), E_WINDOW) + <u32>passed);
      } else if (time < closedAnywhere && time < closedUntil(symbol)) {
        applied += applySlowly(symbol, trade);
        continue;
      } else {
        store<u64>(symbol, max(price, load<u64>(symbol, S_HIGH)), S_HIGH);
        store<u64>(symbol, min(price, load<u64>(symbol, S_LOW)), S_LOW);
      }
      store<u64>(symbol, sequence + 1, S_FAST_SEQUENCE);
      addTrade(symbol, trade, price, amount);
      applied++;
    } else applied += applySlowly(symbol, trade);
  }
  return applied;
}

/** Whether a time after the top opens a base bar: not where the clock has closed the window, or the stamp is beyond belief. */
@inline function mayOpen(symbol: usize, time: u64): bool {
  return !(time < load<u64>(symbol, S_BASE_OPEN) || (time < closedAnywhere && time < closedUntil(symbol)) || time >= believedUntil(symbol));
}

/** Opens the base bar of a window after the top's, which opened at `closing`; the bar's first trade is still to be added. */
@inline export function openBase(symbol: usize, trade: usize, closing: u64, window: u32): void {
  settleBar(symbol);
  store<u64>(symbol, load<u64>(trade, TRADE_SEQUENCE), S_EXPECTED);
  passBase(symbol, load<u32>(symbol, S_TOP), closing);
  startBar(push(symbol, 0, window), symbol, trade);
  const price = load<u64>(trade, TRADE_PRICE);
  store<u64>(symbol, price, S_HIGH);
  store<u64>(symbol, price, S_LOW);
}

@inline function startBar(entry: usize, symbol: usize, trade: usize): void {
  store<u64>(entry, load<u64>(trade, TRADE_PRICE), E_OPEN);
  store<u64>(entry, load<u64>(trade, TRADE_FIRST_ID), E_FIRST_ID);
  store<u32>(entry, 0, E_MARKS);
  copyTotals(entry + E_COUNT, symbol + S_COUNT);
}

/** Everything that is not simply next: first trades, jumps, fills, duplicates, late ones. */
function applySlowly(symbol: usize, trade: usize): u32 {
  const time = load<u64>(trade, TRADE_TIME);
  const firstId = load<u64>(trade, TRADE_FIRST_ID);
  const lastId = load<u64>(trade, TRADE_LAST_ID);
  if (time < EARLIEST_US || time >= believedUntil(symbol) || lastId < firstId) {
    count(C_MALFORMED);
    return 0;
  }
  settle(symbol);
  const verdict = admit(symbol, load<u64>(trade, TRADE_SEQUENCE), time, load<u32>(trade, TRADE_FLAGS));
  if (verdict == DROP) return 0;
  if (verdict != NEXT) noteLatest(symbol, time);
  if (verdict != NEXT || time < closedUntil(symbol)) count(C_LATE);
  shapePart(trade, firstId, lastId);
  amend(symbol, time, part);
  reissueChanged(symbol);
  return 1;
}

function shapePart(trade: usize, firstId: u64, lastId: u64): void {
  const price = load<u64>(trade, TRADE_PRICE);
  const amount = load<u64>(trade, TRADE_AMOUNT);
  memory.fill(part, 0, ENTRY_BYTES);
  store<u64>(part, price, E_OPEN);
  store<u64>(part, price, E_HIGH);
  store<u64>(part, price, E_LOW);
  store<u64>(part, price, E_CLOSE);
  store<u64>(part, firstId, E_FIRST_ID);
  store<u64>(part, lastId, E_LAST_ID);
  store<u64>(part, lastId - firstId + 1, E_COUNT);
  const side = part + E_SUMS + sideOf(trade);
  store<u64>(side, amount);
  store<u64>(side, price * amount, 16);
  store<u64>(side, productHigh(price, amount), 24);
}
