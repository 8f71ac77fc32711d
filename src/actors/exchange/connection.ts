import type { NetConnectOpts } from 'node:net';
import { type ClientOptions, type RawData, WebSocket } from 'ws';
import { nowNs } from '../../supervision/threads/thread-clock.ts';
import { Inlet, type Landing } from './inlet.ts';

export interface ConnectionOptions {
  readonly url: string;
  readonly maxFrameBytes: number;
  readonly handshakeTimeoutMs: number;
}

/** Who takes a connection's frames. What it is given holds only during the call. */
export interface FrameListener {
  frame(frame: Buffer): void;
  /** For frames that need not be handed around. */
  readonly landing?: Landing;
}

/** What a connection tells its owner. */
export interface ConnectionEvents {
  opened(): void;
  readonly frames: FrameListener;
  /** A ping or a pong: the venue's side is there. */
  alive(receivedNs: number): void;
  /** Once, whatever ended it; nothing follows. `isOversized`: it was a frame beyond the limit. */
  closed(reason: string, isOversized: boolean): void;
}

/** More fragments than any honest frame has; ws closes the connection beyond it. */
const FRAGMENTS_MAX = 1024;
const CLOSE_DEADLINE_MS = 1_000;
/** Who pings and does not read gets no more pongs than these bytes. */
const UNSENT_MAX = 65_536;
/** What ws calls a frame that is longer than `maxPayload`. */
const OVERSIZED = 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH';

/** One WebSocket to a venue. */
export class Connection {
  #openedAtNs = 0;
  readonly #socket: WebSocket;
  readonly #inlet: Inlet | undefined;
  readonly #events: ConnectionEvents;
  readonly #handshake: NodeJS.Timeout;
  #isClosed = false;

  constructor(options: ConnectionOptions, events: ConnectionEvents) {
    const { url, maxFrameBytes } = options;
    const { frame, landing } = events.frames;
    const inlet = landing === undefined ? undefined : new Inlet(landing, maxFrameBytes);
    this.#events = events;
    this.#inlet = inlet;
    this.#socket = new WebSocket(url, {
      perMessageDeflate: false,
      maxPayload: maxFrameBytes,
      maxFragments: FRAGMENTS_MAX,
      autoPong: false,
      // The decode kernels read bytes and accept nothing but what they know; a second check costs a pass over each frame.
      skipUTF8Validation: true,
      // What it is given it has passed on when it returns: what comes next may then go by another way.
      allowSynchronousEvents: true,
      ...(inlet !== undefined && { createConnection: connectBy(inlet, url) }),
    });
    // ws only limits the silence during a handshake: one that drips in byte by byte would take for ever.
    this.#handshake = setTimeout(() => this.#close('the handshake took too long'), options.handshakeTimeoutMs);
    this.#socket.on('open', () => {
      clearTimeout(this.#handshake);
      inlet?.open();
      this.#openedAtNs = nowNs();
      events.opened();
    });
    this.#socket.on('message', frame as (data: RawData) => void);
    this.#socket.on('ping', (data) => {
      if (this.#socket.bufferedAmount < UNSENT_MAX) this.#socket.pong(data);
      events.alive(nowNs());
    });
    this.#socket.on('pong', () => events.alive(nowNs()));
    this.#socket.on('unexpected-response', (_request, response) => {
      response.resume();
      this.#close(`the venue answered HTTP ${response.statusCode}`);
      this.#socket.terminate();
    });
    this.#socket.on('error', (error: NodeJS.ErrnoException) => this.#close(error.message, error.code === OVERSIZED));
    this.#socket.on('close', (code, reason) => this.#close(`closed with ${code} ${reason.toString()}`.trim()));
  }

  /** Zero until it is open. */
  get openedAtNs(): number {
    return this.#openedAtNs;
  }

  send(text: string): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(text);
  }

  ping(): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.ping();
  }

  /** Ends it without a word to its owner. */
  end(): void {
    this.#hush();
    this.#socket.close(1000);
    setTimeout(() => this.#socket.terminate(), CLOSE_DEADLINE_MS).unref();
  }

  /** What the venue had sent before it heard of the end is nobody's any more. */
  #hush(): void {
    this.#isClosed = true;
    this.#inlet?.close();
    clearTimeout(this.#handshake);
    this.#socket.off('message', this.#events.frames.frame as (data: RawData) => void);
  }

  #close(reason: string, isOversized = false): void {
    if (this.#isClosed) return;
    this.#hush();
    this.#events.closed(reason, isOversized);
    this.#socket.terminate();
  }
}

/** ws calls it with the options of a socket, whatever else its type may say. */
function connectBy(inlet: Inlet, url: string): NonNullable<ClientOptions['createConnection']> {
  const isSecure = new URL(url).protocol === 'wss:';
  return ((options: NetConnectOpts) => inlet.connect(options, isSecure)) as NonNullable<
    ClientOptions['createConnection']
  >;
}
