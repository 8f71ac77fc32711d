import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { EnvelopeLimits } from '../../kernels/envelopes.ts';
import { ENVELOPE_BYTES_MAX } from '../../protocols/envelope.ts';
import { DEPTH_MAX } from '../../protocols/json-scanner.ts';
import { wallClockNs } from '../../protocols/wall-clock.ts';
import { type ReadEntry, RowParser } from './row-parser.ts';

export interface EntryFeedOptions {
  /** redis:// or rediss://, with user, password and database where there are any. */
  readonly url: string;
  readonly stream: string;
  readonly group: string;
  readonly consumer: string;
  readonly blockMs: number;
  readonly connectTimeoutMs: number;
  /** What an envelope may be at most; the protocol's limits unless given. */
  readonly limits?: EnvelopeLimits;
}

const LIMITS: EnvelopeLimits = { bytesMax: ENVELOPE_BYTES_MAX, depthMax: DEPTH_MAX };

/** A read that has not come back after so many block times hangs on a dead connection. */
const WATCHDOG_BLOCKS = 5;

interface Waiting {
  resolve(entries: readonly ReadEntry[]): void;
  reject(error: Error): void;
}

/**
 * The connection that only ever waits for entries. It is made when a read wants it and given up when anything is wrong with
 * it; whoever reads decides when to try again. One read at a time.
 */
export class EntryFeed {
  readonly #options: EntryFeedOptions;
  #socket: Socket | undefined;
  #waiting: Waiting | undefined;
  #parser: RowParser | undefined;
  #closed = false;

  constructor(options: EntryFeedOptions) {
    this.#options = options;
  }

  /** New entries for the group, or none when none came in time. */
  async read(count: number): Promise<readonly ReadEntry[]> {
    const { group, consumer, stream, blockMs } = this.#options;
    const socket = this.#socket ?? (await this.#connect());
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#lose(socket, new Error(`a read of ${blockMs} ms did not come back in ${blockMs * WATCHDOG_BLOCKS} ms`));
      }, blockMs * WATCHDOG_BLOCKS);
      this.#waiting = {
        resolve(entries) {
          clearTimeout(timer);
          resolve(entries);
        },
        reject(error) {
          clearTimeout(timer);
          reject(error);
        },
      };
      socket.write(
        commandOf('XREADGROUP', 'GROUP', group, consumer, 'COUNT', count, 'BLOCK', blockMs, 'STREAMS', stream, '>'),
      );
    });
  }

  close(): void {
    this.#closed = true;
    this.#socket?.destroy();
  }

  #connect(): Promise<Socket> {
    const { url, connectTimeoutMs } = this.#options;
    const { protocol, hostname, port, username, password, pathname } = new URL(url);
    const greetings = [
      ...(password === '' ? [] : [['AUTH', ...(username === '' ? [] : [username]), password].map(decodeURIComponent)]),
      ...(pathname.length > 1 ? [['SELECT', pathname.slice(1)]] : []),
    ];
    const place = { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || 6379 };
    return new Promise((resolve, reject) => {
      const socket: Socket = protocol === 'rediss:' ? connectTls({ ...place, servername: place.host }) : connect(place);
      const timer = setTimeout(() => socket.destroy(new Error('Redis does not answer')), connectTimeoutMs);
      socket.setNoDelay(true).setKeepAlive(true, 10_000);
      let lost = new Error('Redis closed the connection');
      socket.once('error', (error) => {
        lost = error;
      });
      socket.once('close', () => {
        clearTimeout(timer);
        this.#lose(socket, lost);
        reject(lost);
      });
      this.#greet(socket, greetings).then(
        () => {
          clearTimeout(timer);
          if (this.#closed) socket.destroy();
          this.#socket = socket;
          this.#listen(socket);
          resolve(socket);
        },
        (error: Error) => socket.destroy(error),
      );
    });
  }

  /** Sends AUTH and SELECT, and waits until each is answered with OK. */
  #greet(socket: Socket, greetings: readonly (readonly string[])[]): Promise<void> {
    if (greetings.length === 0) return new Promise((resolve) => socket.once('ready', () => resolve()));
    return new Promise((resolve, reject) => {
      let heard = '';
      const hear = (piece: Buffer) => {
        heard += piece.toString('latin1');
        const lines = heard.split('\r\n');
        const refused = lines.find((line) => line.startsWith('-'));
        if (refused === undefined && lines.length <= greetings.length) return;
        socket.off('data', hear);
        if (refused === undefined) resolve();
        else reject(new Error(refused.slice(1)));
      };
      socket.on('data', hear);
      for (const words of greetings) socket.write(commandOf(...words));
    });
  }

  #listen(socket: Socket): void {
    this.#parser ??= new RowParser(this.#options.limits ?? LIMITS, wallClockNs);
    const parser = this.#parser;
    parser.reset();
    socket.on('data', (piece: Buffer) => {
      const answer = parser.push(piece);
      if (answer === undefined) return;
      const waiting = this.#waiting;
      this.#waiting = undefined;
      if (answer instanceof Error) waiting?.reject(answer);
      else waiting?.resolve(answer);
    });
  }

  #lose(socket: Socket, error: Error): void {
    if (this.#socket !== undefined && this.#socket !== socket) return;
    this.#socket = undefined;
    socket.destroy();
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.reject(error);
  }
}

function commandOf(...words: readonly (string | number)[]): string {
  const parts = words.map((word) => `$${Buffer.byteLength(String(word))}\r\n${word}\r\n`);
  return `*${words.length}\r\n${parts.join('')}`;
}
