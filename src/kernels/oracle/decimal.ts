import type { Json } from './lossless-json.ts';

/** What the oracle answers when it would refuse a frame; `why` is for people only. */
export class Refusal extends Error {}

export const U64_MAX = (1n << 64n) - 1n;

/** "97234.11" at 8 places is 9723411000000n. Digits beyond the scale must be zeros; more than 64 bits are refused. */
export function fixedPoint(text: string, decimals: number): bigint {
  const match = /^(\d+)(?:\.(\d+))?$/.exec(text);
  if (match === null) throw new Refusal(`not a plain decimal: ${text}`);
  const fraction = match[2] ?? '';
  if (/[1-9]/.test(fraction.slice(decimals))) throw new Refusal(`too precise: ${text}`);
  const value = BigInt(match[1]! + fraction.slice(0, decimals).padEnd(decimals, '0'));
  if (value > U64_MAX) throw new Refusal(`too large: ${text}`);
  return value;
}

export function textOf(value: Json | undefined): string {
  if (value?.kind === 'number') return value.text;
  if (value?.kind === 'string' && !value.escaped) return value.text;
  throw new Refusal('a number is missing');
}

export function integerOf(value: Json | undefined): bigint {
  return fixedPoint(textOf(value).replace('.', 'x'), 0);
}

export function placesOf(text: string): number {
  return text.split('.')[1]?.length ?? 0;
}
