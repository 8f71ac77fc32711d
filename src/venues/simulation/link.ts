import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { VenueFaults } from './faults.ts';

const BUFFERED_BYTES_MOST = 4 << 20;
const HELD_FRAMES_MOST = 20_000;
const DRIP_EVERY_MS = 5;
const FRAGMENT_BYTES = 16;
/** How far behind a successor is where the fault does not say, and how often it is looked which frames are due. */
const BEHIND_MS = 3000;
const LATE_EVERY_MS = 5;

/** What is to be done to one data frame. */
export interface Treatment {
  readonly drop: boolean;
  readonly twice: boolean;
  readonly swap: boolean;
  readonly fragment: boolean;
  readonly lateMs: number;
}

export const UNTREATED: Treatment = { drop: false, twice: false, swap: false, fragment: false, lateMs: 0 };

/** One client's connection, with everything that faults can do to what it is sent. Never buffers without bound. */
export class Link {
  readonly openedMs = performance.now();
  readonly streams = new Set<string>();
  /** It was opened beside another while successors were struck: what it asks for is acked and never served, or served late. */
  readonly isSilent: boolean;
  readonly #isBehind: boolean;
  subscribedMs: number | undefined;
  pingedMs = performance.now();
  pongedMs = performance.now();
  readonly #webSocket: WebSocket;
  readonly #socket: Duplex;
  readonly #faults: VenueFaults;
  readonly #stamps: boolean;
  /** Frames that wait for the end of a stall. */
  #stalled: string[] = [];
  #stallTimer: NodeJS.Timeout | undefined;
  /** Bytes that wait to be dripped. */
  #drip: Buffer[] = [];
  #dripBytes = 0;
  #dripTimer: NodeJS.Timeout | undefined;
  /** The frame of each stream that waits for its successor to overtake it. */
  readonly #overtaken = new Map<string, string>();
  /** Frames of a successor that is behind, with when each is due. */
  #late: { readonly text: string; readonly fragment: boolean; readonly dueMs: number }[] = [];
  #lateTimer: NodeJS.Timeout | undefined;
  readonly #receivedMs: number[] = [];
  framesSent = 0;
  /** Called when the client was too slow and is cut off. */
  onSlow: () => void = () => {};

  constructor(webSocket: WebSocket, socket: Duplex, faults: VenueFaults, stamps: boolean, isSuccessor: boolean) {
    this.#webSocket = webSocket;
    this.#socket = socket;
    this.#faults = faults;
    this.#stamps = stamps;
    this.#isBehind = isSuccessor && faults.isOn('successor-behind') !== undefined;
    this.isSilent = isSuccessor && faults.isOn('successor-silence') !== undefined;
  }

  /** Sends a control frame. */
  control(text: string): void {
    this.#write(text, false);
  }

  /** Sends a data frame as treated. */
  data(stream: string, text: string, treatment: Treatment): void {
    if (treatment.drop) return;
    if (treatment.lateMs > 0) {
      setTimeout(() => this.#write(this.#stamped(text), false), treatment.lateMs).unref();
      return;
    }
    if (treatment.swap && !this.#overtaken.has(stream)) {
      this.#overtaken.set(stream, text);
      return;
    }
    const stamped = this.#stamped(text);
    this.#write(stamped, treatment.fragment);
    if (treatment.twice) this.#write(stamped, treatment.fragment);
    const overtaken = this.#overtaken.get(stream);
    if (overtaken === undefined) return;
    this.#overtaken.delete(stream);
    this.#write(this.#stamped(overtaken), false);
  }

  ping(): void {
    this.pingedMs = performance.now();
    if (this.#webSocket.readyState === this.#webSocket.OPEN) this.#webSocket.ping(String(Date.now()));
  }

  pong(data: Buffer): void {
    if (this.#webSocket.readyState === this.#webSocket.OPEN) this.#webSocket.pong(data);
  }

  close(code: number, reason: string): void {
    this.#webSocket.close(code, reason);
  }

  /** Cuts the connection without a word. */
  cut(): void {
    this.#webSocket.terminate();
  }

  /** Counts a frame of the client; true if it is within the limit of the last second. */
  withinRate(framesPerSecond: number): boolean {
    const nowMs = performance.now();
    while (this.#receivedMs.length > 0 && nowMs - this.#receivedMs[0]! >= 1000) this.#receivedMs.shift();
    this.#receivedMs.push(nowMs);
    return this.#receivedMs.length <= framesPerSecond;
  }

  dispose(): void {
    clearTimeout(this.#stallTimer);
    clearTimeout(this.#dripTimer);
    clearTimeout(this.#lateTimer);
    this.#stalled = [];
    this.#late = [];
    this.#drip = [];
  }

  /** Frames carry their send time where the simulator is asked for it; a field more is legal JSON. */
  #stamped(text: string): string {
    if (!this.#stamps || !text.endsWith('}')) return text;
    return `${text.slice(0, -1)},"sent_ns":"${process.hrtime.bigint()}"}`;
  }

  #write(text: string, fragment: boolean): void {
    const behind = this.#isBehind ? this.#faults.isOn('successor-behind') : undefined;
    if (behind === undefined && this.#late.length === 0) this.#writeNow(text, fragment);
    else this.#writeLate(text, fragment, behind === undefined ? 0 : (behind.value ?? BEHIND_MS));
  }

  #writeLate(text: string, fragment: boolean, lateMs: number): void {
    this.#late.push({ text, fragment, dueMs: performance.now() + lateMs });
    if (this.#late.length > HELD_FRAMES_MOST) this.cut();
    this.#lateTimer ??= setTimeout(() => this.#catchUp(), LATE_EVERY_MS).unref();
  }

  /** When the fault is over all that waits is sent at once. */
  #catchUp(): void {
    const isOver = this.#faults.isOn('successor-behind') === undefined;
    const nowMs = performance.now();
    const waiting = this.#late.findIndex(({ dueMs }) => !isOver && dueMs > nowMs);
    for (const { text, fragment } of this.#late.splice(0, waiting < 0 ? this.#late.length : waiting))
      this.#writeNow(text, fragment);
    this.#lateTimer = this.#late.length === 0 ? undefined : setTimeout(() => this.#catchUp(), LATE_EVERY_MS).unref();
  }

  #writeNow(text: string, fragment: boolean): void {
    if (this.#webSocket.readyState !== this.#webSocket.OPEN) return;
    const stall = this.#faults.isOn('stall');
    if (stall !== undefined || this.#stalled.length > 0) {
      this.#hold(text);
      return;
    }
    this.framesSent++;
    const drip = this.#faults.isOn('slow-drip');
    if (drip !== undefined || this.#drip.length > 0) this.#dripOut(text, drip?.value ?? 64);
    else if (fragment) this.#writeFragments(text);
    else this.#webSocket.send(text);
    // What waits besides this frame: a single oversized one is not the client's fault.
    if (this.#webSocket.bufferedAmount + this.#dripBytes - text.length > BUFFERED_BYTES_MOST) {
      this.onSlow();
      this.cut();
    }
  }

  #hold(text: string): void {
    this.#stalled.push(text);
    if (this.#stalled.length > HELD_FRAMES_MOST) {
      this.onSlow();
      this.cut();
      return;
    }
    this.#stallTimer ??= setTimeout(() => this.#release(), 20).unref();
  }

  #release(): void {
    this.#stallTimer = undefined;
    if (this.#faults.isOn('stall') !== undefined) {
      this.#stallTimer = setTimeout(() => this.#release(), 20).unref();
      return;
    }
    const held = this.#stalled;
    this.#stalled = [];
    for (const text of held) this.#write(text, false);
  }

  #writeFragments(text: string): void {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += FRAGMENT_BYTES) {
      const end = at + FRAGMENT_BYTES;
      this.#webSocket.send(bytes.subarray(at, end), { binary: false, fin: end >= bytes.length });
    }
  }

  /** Writes the frame's bytes to the socket a few at a time. All frames go this way until the last drop has gone. */
  #dripOut(text: string, pieceBytes: number): void {
    const frame = textFrame(text);
    for (let at = 0; at < frame.length; at += pieceBytes) this.#drip.push(frame.subarray(at, at + pieceBytes));
    this.#dripBytes += frame.length;
    this.#dripTimer ??= setTimeout(() => this.#dripOne(), DRIP_EVERY_MS).unref();
  }

  #dripOne(): void {
    this.#dripTimer = undefined;
    const dripping = this.#faults.isOn('slow-drip') !== undefined;
    const pieces = dripping ? this.#drip.splice(0, 1) : this.#drip.splice(0);
    for (const piece of pieces) {
      this.#dripBytes -= piece.length;
      if (this.#socket.writable) this.#socket.write(piece);
    }
    if (this.#drip.length > 0) this.#dripTimer = setTimeout(() => this.#dripOne(), DRIP_EVERY_MS).unref();
  }
}

/** A text message as one unmasked WebSocket frame. */
function textFrame(text: string): Buffer {
  const payload = Buffer.from(text);
  if (payload.length < 126) return Buffer.concat([Buffer.from([0x81, payload.length]), payload]);
  const header = Buffer.alloc(payload.length < 65_536 ? 4 : 10);
  header[0] = 0x81;
  header[1] = payload.length < 65_536 ? 126 : 127;
  if (payload.length < 65_536) header.writeUInt16BE(payload.length, 2);
  else header.writeBigUInt64BE(BigInt(payload.length), 2);
  return Buffer.concat([header, payload]);
}
