import type { Reading } from './frame-reader.ts';

/**
 * Zero as a double. V8 lays a field out by what it has seen in it: one that begins with the integer 0 and later holds a time
 * changes its object's shape, and throws away every piece of compiled code that knew the old one.
 */
export const NEVER = -0;

/**
 * Where frames come from, as far as their reader is concerned. A class of its own, beside the connection, so that a rehearsal
 * reads from the same shape as the real thing.
 */
export class FrameSource {
  role: 'current' | 'successor';
  /** The last sign of life of any kind, and the last market data. */
  heardNs = NEVER;
  dataNs = NEVER;
  /** The number of its last frame, where the venue counts them over all streams of a connection. */
  frameSequence: number | undefined = undefined;
  /** How its frames are read; its incremental books are its own. */
  reading: Reading | undefined = undefined;

  constructor(role: FrameSource['role']) {
    this.role = role;
  }
}
