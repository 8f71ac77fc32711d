// The stream of trades that the native yardstick makes: random walks, ids and times that rise, over some market time.
import { TRADE_BYTES } from '../src/protocols/trade-layout.ts';

export const START_US = 1_763_000_000_000_000n;
export const TRADES = 1_000_000;

let state = 88_172_645;
function below(limit: number): number {
  state ^= state << 13;
  state ^= state >>> 17;
  state ^= state << 5;
  return (state >>> 0) % limit;
}

/** Writes `count` trade records of `symbols` symbols, spread evenly over `spanUs`. */
export function makeTrades(count: number, symbols: number, spanUs: number): Uint8Array {
  const records = new Uint8Array(count * TRADE_BYTES);
  const words = new Uint32Array(records.buffer);
  const longs = new BigUint64Array(records.buffer);
  const prices = Array.from({ length: symbols }, () => 1e8 * (1 + below(90_000)));
  const ids = new Float64Array(symbols);
  const sequences = new Float64Array(symbols);
  for (let index = 0; index < count; index++) {
    const symbol = below(symbols);
    const price = Math.max(prices[symbol]! + below(2001) * 1000 - 1_000_000, 1e7);
    const first = ids[symbol]! + 1;
    const last = first + below(4);
    prices[symbol] = price;
    ids[symbol] = last;
    const at = index * 8;
    words[index * 16] = symbol;
    words[index * 16 + 1] = below(2);
    longs[at + 1] = START_US + BigInt(Math.floor((index * spanUs) / count));
    longs[at + 2] = BigInt(price);
    longs[at + 3] = BigInt(1000 + below(500_000_000));
    longs[at + 4] = BigInt(first);
    longs[at + 5] = BigInt(last);
    longs[at + 6] = BigInt(sequences[symbol]!++);
  }
  return records;
}
