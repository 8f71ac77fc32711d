// CRC-32 (IEEE) over decimal digits, as Kraken proves its books.
import { power10 } from './numbers';

const TABLE = memory.data(1024);
for (let byte: u32 = 0; byte < 256; byte++) {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = (crc & 1) != 0 ? (crc >> 1) ^ 0xedb88320 : crc >> 1;
  store<u32>(TABLE + (byte << 2), crc);
}

const digits = memory.data(20);

@inline
function step(crc: u32, byte: u32): u32 {
  return (crc >> 8) ^ load<u32>(TABLE + (((crc ^ byte) & 0xff) << 2));
}

/**
 * Adds a number's digits as they were written, without point and leading zeros: 0.00100000 gives 100000. That is the
 * number in units of its last written place, so the places say how many zeros of our scale to take away or to add.
 */
export function checksumLevel(crc: u32, value: u64, decimals: u32, places: u32): u32 {
  let units = places < decimals ? value / power10(decimals - places) : value;
  let count: u32 = 0;
  for (; units != 0; units /= 10) store<u8>(digits + count++, <u8>(units % 10) + 0x30);
  const significant = count != 0;
  while (count != 0) crc = step(crc, load<u8>(digits + --count));
  if (significant) for (let n = decimals; n < places; n++) crc = step(crc, 0x30);
  return crc;
}
