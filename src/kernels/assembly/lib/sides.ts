// Sides of books in JSON that the strict reader has already checked.
import {
  CHANGE_AMOUNT,
  CHANGE_AMOUNT_PLACES,
  CHANGE_BYTES,
  CHANGE_PRICE,
  CHANGE_PRICE_PLACES,
  CHANGE_SIDE,
  REFUSED_CAPACITY,
  REFUSED_ORDER,
  REFUSED_SHAPE,
} from './contract';
import { skipValue } from './json';
import { places, value } from './numbers';
import { changeCapacity, changes, refuse } from './state';
import { decimalValue, firstElement, isArray, nextElement } from './values';

let price: u64 = 0;
let amount: u64 = 0;
let pricePlaces: u32 = 0;
let amountPlaces: u32 = 0;

/** How many levels the last side kept, or the frame changed so far. */
export let kept: u32 = 0;
export let changeCount: u32 = 0;

export function beginChanges(): void {
  changeCount = 0;
}

/** `["price","amount",...]`, whatever follows the two is passed over; answers the position behind it. */
function readLevel(at: usize, decimals: u32): usize {
  if (!isArray(at)) return refuse(REFUSED_SHAPE, at);
  const first = firstElement(at);
  if (first == 0) return refuse(REFUSED_SHAPE, at);
  let end = decimalValue(first, decimals);
  if (end == 0) return 0;
  price = value;
  pricePlaces = places;
  const second = nextElement(end);
  if (second == 0) return refuse(REFUSED_SHAPE, end);
  end = decimalValue(second, decimals);
  if (end == 0) return 0;
  amount = value;
  amountPlaces = places;
  return skipValue(at, 0);
}

/** Keeps the first `depth` levels that have an amount; what lies behind them is not looked at. */
export function readSide(at: usize, out: usize, depth: u32, decimals: u32, bids: bool): bool {
  kept = 0;
  if (!isArray(at)) {
    refuse(REFUSED_SHAPE, at);
    return false;
  }
  let worst: u64 = bids ? u64.MAX_VALUE : 0;
  let level = firstElement(at);
  while (level != 0 && kept < depth) {
    const end = readLevel(level, decimals);
    if (end == 0) return false;
    if (amount != 0) {
      if (bids ? price >= worst : price <= worst) {
        refuse(REFUSED_ORDER, level);
        return false;
      }
      worst = price;
      store<u64>(out + (kept << 4), price);
      store<u64>(out + (kept << 4), amount, 8);
      kept++;
    }
    level = nextElement(end);
  }
  return true;
}

export function addChange(side: u32, price: u64, amount: u64, pricePlaces: u32, amountPlaces: u32): bool {
  if (changeCount == changeCapacity) {
    refuse(REFUSED_CAPACITY, 0);
    return false;
  }
  const change = changes + changeCount * CHANGE_BYTES;
  store<u64>(change, price, CHANGE_PRICE);
  store<u64>(change, amount, CHANGE_AMOUNT);
  store<u8>(change, <u8>side, CHANGE_SIDE);
  store<u8>(change, <u8>min<u32>(pricePlaces, 255), CHANGE_PRICE_PLACES);
  store<u8>(change, <u8>min<u32>(amountPlaces, 255), CHANGE_AMOUNT_PLACES);
  changeCount++;
  return true;
}

/** Adds every level of a side to the frame's changes, zero amounts too: they delete. */
export function readChanges(at: usize, side: u32, decimals: u32): bool {
  if (!isArray(at)) {
    refuse(REFUSED_SHAPE, at);
    return false;
  }
  let level = firstElement(at);
  while (level != 0) {
    const end = readLevel(level, decimals);
    if (end == 0 || !addChange(side, price, amount, pricePlaces, amountPlaces)) return false;
    level = nextElement(end);
  }
  return true;
}
