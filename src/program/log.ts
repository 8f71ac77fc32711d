import { Writable } from 'node:stream';
import pino, { type DestinationStream, type Logger } from 'pino';
import pretty from 'pino-pretty';
import type { LifecycleBus, LifecycleEvent } from '../supervision/lifecycle.ts';

/** Values longer than this are cut: a log line must not carry a payload. */
const TEXT_MAX = 512;

/** JSON lines on stderr; readable ones where stderr is a terminal. */
export function createLog(level: string): Logger {
  const isTerminal = process.stderr.isTTY === true;
  return pino(
    { level, base: { pid: process.pid } },
    isTerminal ? readable((text) => void process.stderr.write(text)) : pino.destination(2),
  );
}

/** Lines for people. Each begins on a line of its own, also where one that is drawn again and again has been left open. */
export function readable(write: (text: string) => void): DestinationStream {
  const out = new Writable({
    write(text: Buffer, _, done) {
      write(`\r\u001b[K${text.toString()}`);
      done();
    },
  });
  return pretty({ destination: out, ignore: 'pid', translateTime: 'HH:MM:ss.l' });
}

/** Writes what happens to actors into the log. Floods (overflow, dead letters) are counted elsewhere and not repeated here. */
export function logLifecycle(events: LifecycleBus, log: Logger): () => void {
  return events.listen((event) => write(log, event));
}

function write(log: Logger, event: LifecycleEvent): void {
  const { path } = event;
  switch (event.kind) {
    case 'failed':
      log.warn(
        { path, incarnation: event.incarnation, error: cut(event.error.message), stack: event.error.stack },
        'failed',
      );
      break;
    case 'restarting':
      log.warn({ path, delayMs: Math.round(event.delayMs) }, 'restarting');
      break;
    case 'abandoned':
      log.warn({ path, what: event.what, afterMs: Math.round(event.afterMs) }, 'did not end in time and was abandoned');
      break;
    case 'end-failed':
      log.warn({ path, error: cut(event.error.message) }, 'failed while it ended');
      break;
    case 'warning':
      log.warn({ path }, cut(event.text));
      break;
    case 'started':
      log.debug({ path, incarnation: event.incarnation }, 'started');
      break;
    case 'stopped':
      log.debug({ path, reason: event.reason }, 'stopped');
      break;
    case 'unhandled':
      log.debug({ path, message: event.message }, 'unhandled');
      break;
    default:
      break;
  }
}

function cut(text: string): string {
  return text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}...` : text;
}
