// Where a venue's bytes arrive: in the memory of the kernel that reads them. Nearly every read brings just one frame, and that one
// is decoded where it lies. Node would take 64 kB of fresh memory for each read, pass the frame on through two streams, and the
// kernel would copy it: together that took longer than all that is done with a book.
//
//   socket --read--> landing --one data frame, whole and alone--> the kernel
//                       |
//                       +--anything else: the handshake, pings, fragments, frames in pieces or in company--> a copy, to ws
//
// What ws does not see must not concern it. So the inlet follows where frames begin and end in all that ws gets, and keeps a frame
// from it only between two of them, when nothing before it waits anywhere.
import { connect as connectPlain, isIP, type NetConnectOpts, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectSecure } from 'node:tls';

const FIN = 0x80;
const TEXT = FIN | 1;
const BINARY = FIN | 2;
const CLOSE = 8;
/** Lengths from here on stand in more bytes: two, or eight. */
const LENGTH_16 = 126;
const LENGTH_64 = 127;

/** Memory for a socket to write to, of somebody who is told where in it a frame lies, and is done with it when the call returns. */
export interface Landing {
  readonly room: Buffer;
  landed(from: number, length: number): void;
}

export class Inlet {
  readonly #landing: Landing;
  readonly #room: Buffer;
  readonly #frameBytesMax: number;
  #socket: Socket | undefined;
  #isOpen = false;
  /** Of what stood behind the handshake's answer. */
  #bytesBehind = 0;
  /** The frame that ws is being given: its head as far as it has come, and what is still to come behind that. */
  readonly #head = Buffer.alloc(10);
  #headBytes = 0;
  #bytesLeft = 0;
  #isFragmented = false;

  /** Longer frames are for ws to complain of. */
  constructor(landing: Landing, frameBytesMax: number) {
    this.#landing = landing;
    this.#room = landing.room;
    this.#frameBytesMax = frameBytesMax;
  }

  /** Makes the socket, in place of what ws would have done itself. */
  connect(options: NetConnectOpts & ConnectionOptions, isSecure: boolean): Socket {
    const { host = '', servername = isIP(host) === 0 ? host : '' } = options;
    const onread = { buffer: this.#room, callback: (bytes: number) => this.#read(bytes) };
    const all = { ...options, path: undefined, servername, onread } as NetConnectOpts & ConnectionOptions;
    this.#socket = isSecure ? connectSecure(all) : connectPlain(all);
    return this.#socket;
  }

  /** The handshake is over. What came behind its answer is frames already, and waits in the socket. */
  open(): void {
    this.#isOpen = true;
    this.#bytesBehind = this.#socket!.readableLength;
  }

  /** From now on ws gets everything. */
  close(): void {
    this.#isOpen = false;
  }

  /** False while no more is to be read. */
  #read(bytes: number): boolean {
    const socket = this.#socket!;
    const from = this.#isBetweenFrames() ? this.#startOfFrame(bytes) : 0;
    if (from > 0 && socket.readableFlowing === true && socket.readableLength === 0) {
      this.#landing.landed(from, bytes - from);
      return true;
    }
    const copy = Buffer.from(this.#room.subarray(0, bytes));
    const wasOpen = this.#isOpen;
    const goesOn = socket.push(copy);
    if (wasOpen) this.#follow(copy);
    else if (this.#isOpen) this.#follow(copy.subarray(bytes - this.#bytesBehind));
    return goesOn;
  }

  #isBetweenFrames(): boolean {
    return this.#isOpen && this.#bytesLeft === 0 && this.#headBytes === 0 && !this.#isFragmented;
  }

  /** Where the payload starts if the bytes in the landing are one data frame and nothing else; 0 if they are not. */
  #startOfFrame(bytes: number): number {
    const room = this.#room;
    if (room[0] !== TEXT && room[0] !== BINARY) return 0;
    const short = room[1]!;
    const from = short === LENGTH_16 ? 4 : 2;
    const length = short === LENGTH_16 ? room.readUInt16BE(2) : short;
    return short < LENGTH_64 && from + length === bytes && length <= this.#frameBytesMax ? from : 0;
  }

  #follow(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) {
      if (this.#bytesLeft > 0) {
        const step = Math.min(this.#bytesLeft, bytes.length - at);
        this.#bytesLeft -= step;
        at += step;
      } else this.#followHead(bytes[at++]!);
    }
  }

  #followHead(byte: number): void {
    const head = this.#head;
    head[this.#headBytes++] = byte;
    const short = head[1]! & 0x7f;
    if (this.#headBytes < (short < LENGTH_16 ? 2 : short === LENGTH_16 ? 4 : 10)) return;
    const opcode = head[0]! & 0x0f;
    if (opcode < CLOSE) this.#isFragmented = (head[0]! & FIN) === 0;
    // Whatever follows is nobody's.
    if (opcode === CLOSE) this.close();
    this.#bytesLeft =
      short < LENGTH_16 ? short : short === LENGTH_16 ? head.readUInt16BE(2) : Number(head.readBigUInt64BE(2));
    this.#headBytes = 0;
  }
}
