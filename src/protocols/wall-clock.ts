/** The system's clock and ours may differ by this much before ours is set anew; NTP moves it by less at a time. */
const APART_MS_MAX = 2;

let originMs = performance.timeOrigin;

/** Nanoseconds since 1970: the system's clock, with the digits below a millisecond from the monotonic one. */
export function wallClockNs(): bigint {
  const sinceMs = performance.now();
  const systemMs = Date.now();
  if (Math.abs(originMs + sinceMs - systemMs) > APART_MS_MAX) originMs = systemMs - sinceMs;
  const ms = originMs + sinceMs;
  const whole = Math.floor(ms);
  return BigInt(whole) * 1_000_000n + BigInt(Math.floor((ms - whole) * 1e6));
}
