import { WebSocket } from 'ws';

const FRAMES_KEPT = 100_000;
const PATIENCE_MS = 10_000;

export interface ProbeOptions {
  readonly maxPayload?: number;
  readonly maxFragments?: number;
  readonly autoPong?: boolean;
}

/** A bare client for tests: keeps what it received and waits for what a test expects. */
export class Probe {
  readonly frames: string[] = [];
  readonly socket: WebSocket;
  closed: { readonly code: number; readonly reason: string } | undefined;
  #wake: () => void = () => {};

  constructor(url: string, options: ProbeOptions = {}) {
    this.socket = new WebSocket(url, { perMessageDeflate: false, ...options });
    this.socket.on('message', (data) => {
      if (this.frames.length < FRAMES_KEPT) this.frames.push(String(data));
      this.#wake();
    });
    this.socket.on('close', (code, reason) => {
      this.closed = { code, reason: reason.toString() };
      this.#wake();
    });
    this.socket.on('error', () => this.#wake());
    this.socket.on('open', () => this.#wake());
  }

  static async open(url: string, options?: ProbeOptions): Promise<Probe> {
    const probe = new Probe(url, options);
    await probe.until(() => probe.socket.readyState !== WebSocket.CONNECTING, 'the connection to open');
    return probe;
  }

  send(...texts: readonly (string | object)[]): void {
    for (const text of texts) this.socket.send(typeof text === 'string' ? text : JSON.stringify(text));
  }

  /** Waits until the condition holds; it is looked at whenever something arrives. */
  async until(condition: () => boolean, what: string): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS;
    while (!condition()) {
      if (performance.now() > deadline) {
        throw new Error(`waited in vain for ${what}; last frames: ${this.frames.slice(-3).join(' | ').slice(0, 500)}`);
      }
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 100);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  /** The first frame that contains the text, waiting for it. */
  async frame(text: string): Promise<string> {
    await this.until(() => this.frames.some((frame) => frame.includes(text)), `a frame with ${text}`);
    return this.frames.find((frame) => frame.includes(text))!;
  }

  /** Waits for a number of frames that contain the text and gives them parsed. */
  async parsed<T>(text: string, count: number): Promise<T[]> {
    const matching = () => this.frames.filter((frame) => frame.includes(text));
    await this.until(() => matching().length >= count, `${count} frames with ${text}`);
    return matching().map((frame) => JSON.parse(frame) as T);
  }

  async close(): Promise<void> {
    this.socket.terminate();
    await this.until(() => this.socket.readyState === WebSocket.CLOSED, 'the connection to close');
  }
}
