import { DecodeKernel } from '../../kernels/decode.ts';
import type { Stream } from './stream.ts';
import type { BookTarget } from './targets.ts';

/** Levels a side that an incremental book may hold, and room for symbols that are added while a connection lives. */
const BOOK_LEVELS = 2_000;
const BOOKS_SPARE = 16;
/** A frame may be all of a book: 50,000 levels in 5 MB are an ordinary beginning. None are spelled shorter than this there. */
const LEVEL_BYTES = 64;
const CHANGES_LEAST = 20_000;

/** A decode kernel with room for the books that these streams build, for who takes them. */
export function kernelFor(streams: Iterable<Stream>, frameBytes: number, target: BookTarget | undefined): DecodeKernel {
  const count = [...streams].filter((stream) => stream.kind === 'book-delta').length;
  return new DecodeKernel({
    frameBytes,
    ...(count > 0 && {
      books: { count: count + BOOKS_SPARE, levels: BOOK_LEVELS },
      changes: Math.max(CHANGES_LEAST, Math.ceil(frameBytes / LEVEL_BYTES)),
    }),
    ...(target !== undefined && { depth: target.depth }),
    ...(target?.outlet !== undefined && { outlet: target.outlet.functions }),
  });
}
