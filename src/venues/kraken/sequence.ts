// Kraken proves a book by a CRC32 over its top ten levels a side, taken from the digits as they were sent.
import { crc32 } from 'node:zlib';

/** A level as the venue spells it: 45285.2 and 0.00100000, trailing zeros included. */
export type LevelText = readonly [price: string, quantity: string];

export const CHECKED_LEVELS = 10;

/** Asks from the lowest, bids from the highest; the decimal point and leading zeros are left out. */
export function bookChecksum(asks: readonly LevelText[], bids: readonly LevelText[]): number {
  const digits = [...asks.slice(0, CHECKED_LEVELS), ...bids.slice(0, CHECKED_LEVELS)]
    .flat()
    .map((text) => text.replace('.', '').replace(/^0+/, ''));
  return crc32(digits.join(''));
}
