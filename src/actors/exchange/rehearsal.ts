// V8 interprets what it has not run some thousand times, and a feed of ten frames a second is read by interpreted code for
// a quarter of an hour: slowly, and with long tails. So the first books and trades of a life are read again and again, into
// memory of their own, a few between real ones, until the path is compiled.
//
// Compiled code knows only what it has seen, and V8 throws it away when something else comes: an object of another shape, a second
// function where it knew one, a line that never ran. So a stage is made of the same classes as the real thing, there are two of them,
// used by turns, and what seldom happens is rehearsed as well. test/books/compiled.test.ts shows that what was compiled stays.
import type { FrameSource } from './frame-source.ts';
import { RehearsalStage, type StageOptions } from './rehearsal-stage.ts';

const FRAMES = 8;
/** After about so many calls V8 has compiled even the small functions. */
const READS = 10_000;
/**
 * V8 compiles on a thread of its own, from a queue of eight, and forgets what finds it full until another thousand calls have been
 * made. All at once the reads would be over before most of the path was compiled, the sooner the faster the processor is.
 */
const ROUNDS_AT_ONCE = 16;
const REST_MS = 10;
/** It takes at most a tenth of a second: a venue that begins with a book of megabytes sends enough to be compiled without. */
const BYTES = 64 << 20;

/** Frames without market data come too, on some venues every second. */
const SAYING_NOTHING = Buffer.from('{}');

interface KeptFrame {
  readonly frame: Buffer;
  /** The number that a frame before it would have, where the venue counts them. */
  readonly follows: number | undefined;
}

export class Rehearsal {
  readonly #options: StageOptions;
  /** One array for good: a field that is set anew undoes what was compiled while it had one value. */
  readonly #frames: KeptFrame[] = [];
  #readsLeft = READS;
  #bytesLeft = BYTES;

  constructor(options: StageOptions) {
    this.#options = options;
  }

  get isOver(): boolean {
    return this.#readsLeft <= 0 || this.#bytesLeft <= 0;
  }

  get isWatching(): boolean {
    return !this.isOver && this.#frames.length < FRAMES;
  }

  /** Shows it a frame of market data that was just read. */
  see(frame: Buffer, { frameSequence }: FrameSource): void {
    if (!this.isWatching) return;
    this.#frames.push({
      frame: Buffer.from(frame),
      follows: frameSequence === undefined ? undefined : frameSequence - 1,
    });
    if (this.#frames.length === FRAMES) this.#then(() => this.#begin());
  }

  #begin(): void {
    const spinning = new RehearsalStage(this.#options, this, true, () => {});
    const sleeping = new RehearsalStage(this.#options, this, false, () => {});
    this.#round([spinning, sleeping], 0);
  }

  #round(stages: readonly RehearsalStage[], number: number): void {
    const stage = stages[number % stages.length]!;
    stage.drain();
    // Every second round of a stage reads what it has read before.
    if (number % 4 < 2) stage.clear(number % 8 >= 4);
    for (const isLanded of [true, false]) stage.read(SAYING_NOTHING, undefined, isLanded);
    for (const [index, { frame, follows }] of this.#frames.entries()) {
      if (index === FRAMES - 1) stage.readBesideStranger(frame, follows);
      else stage.read(frame, follows, index % 2 === 0);
      this.#readsLeft--;
      this.#bytesLeft -= frame.length;
    }
    if (this.isOver) this.#frames.length = 0;
    else this.#then(() => this.#round(stages, number + 1), number % ROUNDS_AT_ONCE === ROUNDS_AT_ONCE - 1);
  }

  /** Between real frames. A rehearsal that fails, for want of memory perhaps, is given up: the real thing does not need it. */
  #then(step: () => void, isRestFirst = false): void {
    const take = () => {
      try {
        step();
      } catch {
        this.#readsLeft = 0;
        this.#frames.length = 0;
      }
    };
    if (isRestFirst) setTimeout(take, REST_MS);
    else setImmediate(take);
  }
}
