import { MergeKernel } from '../../kernels/merge.ts';
import type { BookShare } from '../../protocols/book-share.ts';
import { MERGE_CONTROL } from '../../protocols/merge-layout.ts';
import type { DutyCycle, MakeDutyCycle } from '../../supervision/threads/duty-cycle.ts';
import { SharedMemory } from '../../supervision/threads/memory.ts';
import { nowNs } from '../../supervision/threads/thread-clock.ts';
import { bookLayout } from './book-memory.ts';

export interface MergerArgs {
  readonly books: BookShare;
}

/** Looks at the inputs before the thread shows that it lives: some tens of microseconds. */
const SPINS = 2_000;
/** How often venues are looked at whose time may be over although no frame came. */
const EXPIRE_EVERY_NS = 5e6;

/** The merger's duty cycle: sweep what is marked, and now and then what has run out of time. */
export const makeMerger: MakeDutyCycle = (context): DutyCycle => {
  const { books } = context.args as MergerArgs;
  const layout = bookLayout(books.plan);
  const kernel = new MergeKernel(books.memory, layout, nowNs);
  const memory = new SharedMemory(books.memory.buffer);
  const leftWord = (layout.control + MERGE_CONTROL.left) / 4;
  const helpedWord = (layout.control + MERGE_CONTROL.helped) / 4;
  let helped = memory.load(helpedWord);
  let expireAtNs = 0;
  /** Merges that exchanges' threads took over: they are the merger's work all the same. */
  const takenOver = (): number => {
    const before = helped;
    helped = memory.load(helpedWord);
    return (helped - before) >>> 0;
  };
  return {
    doWork() {
      // A thread with a core of its own stays inside WebAssembly for a while; one that sleeps looks once.
      let merged = books.isSpinning ? kernel.spin(SPINS) : kernel.sweep();
      const now = nowNs();
      const isLeft = memory.load(leftWord) !== 0 && memory.exchange(leftWord, 0) !== 0;
      if (isLeft || now >= expireAtNs) {
        const expired = kernel.expire();
        // Another may have had the turn: then it is looked again at once.
        expireAtNs = expired > 0 ? 0 : now + EXPIRE_EVERY_NS;
        merged += expired + takenOver();
      }
      return merged;
    },
  };
};
