import { TapeworksError } from '../../src/protocols/errors/index.ts';
import type { Ref } from '../../src/protocols/ref.ts';
import type { Behaviour } from '../../src/supervision/actor.ts';

/** What the probe can be told to do. */
export type ProbeMessage =
  | { readonly kind: 'echo'; readonly value: unknown; readonly replyTo: Ref<unknown> }
  | { readonly kind: 'count'; readonly replyTo: Ref<{ readonly count: number; readonly incarnation: number }> }
  | { readonly kind: 'throw' | 'throw-what-cannot-travel' }
  | { readonly kind: 'silent' | 'reply-with-function'; readonly replyTo: Ref<unknown> }
  | { readonly kind: 'exit-thread' }
  | { readonly kind: 'spin' }
  | { readonly kind: 'hoard' };

/** An actor that does as it is told, for tests of the runtime: replies, crashes, hangs, runs out of memory. */
export function probe(args: { readonly greeting?: Ref<string> }): Behaviour<ProbeMessage, number> {
  return {
    init(context) {
      args.greeting?.tell(`hello from life ${context.incarnation}`);
      return 0;
    },
    receive(count, message, context) {
      switch (message.kind) {
        case 'echo':
          message.replyTo.tell(message.value);
          break;
        case 'count':
          message.replyTo.tell({ count, incarnation: context.incarnation });
          break;
        case 'reply-with-function':
          message.replyTo.tell(() => 0);
          break;
        case 'throw':
          throw new Error('told to throw');
        case 'throw-what-cannot-travel':
          throw new TapeworksError('TW_DISK_FULL', 'told to throw', {}, { cause: () => {} });
        case 'exit-thread':
          process.exit(7);
          break;
        case 'spin':
          for (;;);
        case 'hoard': {
          const hoard: number[][] = [];
          for (;;) hoard.push(new Array(100_000).fill(1));
        }
        case 'silent':
          break;
      }
      return count + 1;
    },
    summary: (count) => ({ count }),
  };
}
