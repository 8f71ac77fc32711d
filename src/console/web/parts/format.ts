const NONE = '–';

/** 950, 1.2k, 34k, 1.7M: three characters of meaning. */
export function short(value: number): string {
  if (value < 10 && !Number.isInteger(value)) return value.toFixed(1);
  if (value < 1000) return Math.round(value).toString();
  const [divided, unit] = value < 1e6 ? [value / 1e3, 'k'] : value < 1e9 ? [value / 1e6, 'M'] : [value / 1e9, 'G'];
  return `${divided < 10 ? divided.toFixed(1) : Math.round(divided)}${unit}`;
}

const grouped = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
export const whole = (value: number) => grouped.format(value);

export function micros(us: number | null): string {
  if (us === null) return NONE;
  if (us < 1000) return `${us < 10 ? us.toFixed(1) : Math.round(us)} µs`;
  return millis(us / 1000);
}

export function millis(ms: number | null): string {
  if (ms === null) return NONE;
  if (ms === 0) return '0 ms';
  if (ms < 1000) return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
  return span(ms);
}

/** 4 s, 3 min, 2 h, 5 d. */
export function span(ms: number): string {
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`;
  return seconds < 86_400 ? `${(seconds / 3600).toFixed(1)} h` : `${(seconds / 86_400).toFixed(1)} d`;
}

export function ago(atMs: number | null, nowMs: number): string {
  if (atMs === null) return 'never';
  return nowMs - atMs < 1000 ? 'just now' : `${span(nowMs - atMs)} ago`;
}

export function bytes(value: number | null): string {
  if (value === null) return NONE;
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let [rest, unit] = [value, 0];
  while (rest >= 1024 && unit < units.length - 1) {
    rest /= 1024;
    unit++;
  }
  return `${rest < 10 && unit > 0 ? rest.toFixed(1) : Math.round(rest)} ${units[unit]}`;
}

export const percent = (share: number | null) => (share === null ? NONE : `${Math.round(share * 100)} %`);

export const clock = (atMs: number) => new Date(atMs).toLocaleTimeString('en-GB');
