import type { ProtoWriter } from './proto-writer.ts';

// Fixed-point units to decimals: 9723411000000 units of 10^-8 are 97234.11. Trailing zeros are left out.

const LOW = 0x1_0000_0000;
const SAFE_HIGH = 0x20_0000;
const ZERO = 48;
const POINT = 46;
const MINUS = 45;

const scratch = new Uint8Array(32);

/** Nearest double, correctly rounded: one division of two exact numbers where the units are below 2^53. */
export function toDouble(low: number, high: number, decimals: number): number {
  const power = 10 ** decimals;
  if (high < SAFE_HIGH) return (high * LOW + low) / power;
  return Number(toText(low, high, decimals, false));
}

/** Writes the decimal as text into the writer. */
export function writeDecimal(out: ProtoWriter, low: number, high: number, decimals: number, isNegative = false): void {
  if (high >= SAFE_HIGH) {
    for (const character of toText(low, high, decimals, isNegative)) out.ascii(character.charCodeAt(0));
    return;
  }
  if (isNegative) out.ascii(MINUS);
  let rest = high * LOW + low;
  let length = 0;
  let places = decimals;
  // Trailing zeros of the fraction are never written.
  while (places > 0 && rest % 10 === 0) {
    rest /= 10;
    places--;
  }
  while (rest > 0 || length <= places) {
    const next = Math.floor(rest / 10);
    scratch[length++] = ZERO + (rest - next * 10);
    rest = next;
  }
  for (let at = length - 1; at >= 0; at--) {
    out.ascii(scratch[at]!);
    if (at === places && places > 0) out.ascii(POINT);
  }
}

/** The same as text; exact for every u64. */
export function toText(low: number, high: number, decimals: number, isNegative: boolean): string {
  const digits = ((BigInt(high) << 32n) | BigInt(low)).toString().padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '');
  return `${isNegative ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`;
}
