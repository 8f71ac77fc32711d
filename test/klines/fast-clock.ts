// Loaded before everything else in a process and in each of its threads (--import): all clocks go faster from a common
// moment on, as those of accelerated venues do. Timers and sockets keep their pace.
//   FAST_CLOCK   JSON of FastClock
export interface FastClock {
  readonly speed: number;
  readonly sinceMs: number;
}

const { speed, sinceMs } = JSON.parse(process.env['FAST_CLOCK'] ?? '{"speed":1,"sinceMs":0}') as FastClock;
const faster = (ms: number) => sinceMs + (ms - sinceMs) * speed;
const [dateNow, sinceStart, nanoseconds] = [
  Date.now,
  performance.now.bind(performance),
  process.hrtime.bigint.bind(process.hrtime),
];

Date.now = () => Math.floor(faster(dateNow()));
process.hrtime.bigint = () => nanoseconds() * BigInt(speed);
Object.defineProperty(performance, 'timeOrigin', { value: faster(performance.timeOrigin) });
Object.defineProperty(performance, 'now', { value: () => sinceStart() * speed });
