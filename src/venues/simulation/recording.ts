// A recording is a file of lines, one frame a line: {"t_us":1770000000000000,"venue":"binance","stream":"btcusdt@aggTrade","frame":"..."}
// `frame` is the text as it stood on the wire; `t_us` says when, and only differences of it matter.
import { createReadStream, createWriteStream, type WriteStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { TapeworksError } from '../../protocols/errors/index.ts';
import { asInteger, asText, parseObject } from '../json.ts';

export interface RecordedFrame {
  readonly t_us: number;
  readonly venue: string;
  readonly stream: string;
  readonly frame: string;
}

const BUFFERED_BYTES_MOST = 64 << 20;

/** Writes frames to a file. A disk that cannot keep up loses frames, counted, rather than filling the memory. */
export class Recorder {
  readonly #file: WriteStream;
  written = 0;
  dropped = 0;

  constructor(path: string) {
    this.#file = createWriteStream(path, { flags: 'a' });
    this.#file.on('error', () => this.dropped++);
  }

  write(frame: RecordedFrame): void {
    if (this.#file.writableLength > BUFFERED_BYTES_MOST || this.#file.destroyed) {
      this.dropped++;
      return;
    }
    this.#file.write(`${JSON.stringify(frame)}\n`);
    this.written++;
  }

  close(): Promise<void> {
    return new Promise((resolve) => this.#file.end(() => resolve()));
  }
}

/** Reads a recording line by line. */
async function* readRecording(path: string): AsyncGenerator<RecordedFrame> {
  let number = 0;
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY })) {
    number++;
    if (line.trim() !== '') yield parseLine(line, `${path}:${number}`);
  }
}

function parseLine(line: string, where: string): RecordedFrame {
  const fields = parseObject(line);
  const t_us = asInteger(fields?.['t_us']);
  const venue = asText(fields?.['venue']);
  const stream = asText(fields?.['stream']);
  const frame = asText(fields?.['frame']);
  if (t_us === undefined || venue === undefined || stream === undefined || frame === undefined) {
    throw new TapeworksError('TW_SIM_BAD_RECORDING', `${where}: not a recorded frame`);
  }
  return { t_us, venue, stream, frame };
}

/** Hands out the frames of a recording at the pace at which they were recorded, `speed` times as fast, then ends. */
export async function playRecording(
  path: string,
  speed: number,
  signal: AbortSignal,
  deliver: (frame: RecordedFrame) => void,
): Promise<void> {
  let firstUs: number | undefined;
  const startedMs = performance.now();
  for await (const frame of readRecording(path)) {
    firstUs ??= frame.t_us;
    const waitMs = (frame.t_us - firstUs) / 1000 / speed - (performance.now() - startedMs);
    if (waitMs > 1) await pause(waitMs, signal);
    if (signal.aborted) return;
    deliver(frame);
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
  });
}
