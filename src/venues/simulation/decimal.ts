/** A whole number of units of 10^-decimals as text with at least `shown` decimals: 9723411, 2, 8 -> 97234.11000000. */
export function formatUnits(units: number | bigint, decimals: number, shown = decimals): string {
  const digits = String(units).padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = digits.slice(digits.length - decimals).padEnd(shown, '0');
  return fraction === '' ? whole : `${whole}.${fraction}`;
}

/** The same without trailing zeros, as venues write plain JSON numbers: 921000, 8 -> 0.00921. */
export function trimUnits(units: number | bigint, decimals: number): string {
  const text = formatUnits(units, decimals);
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

/** Microseconds since the epoch as RFC 3339 with six decimals. */
export function formatTime(timeUs: number): string {
  const seconds = new Date(Math.floor(timeUs / 1000)).toISOString().slice(0, 19);
  return `${seconds}.${String(timeUs % 1_000_000).padStart(6, '0')}Z`;
}
