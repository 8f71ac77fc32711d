import type { Ref } from '../protocols/ref.ts';
import type { ActorContext, Signal, Stash } from './actor.ts';
import type { Life } from './life.ts';
import type { Runtime } from './runtime.ts';
import { type Watcher, watchersOf } from './watch.ts';

/** What a context asks of its cell. */
interface CellCalls<M> {
  signal(signal: Signal): void;
  unhandled(message: M): void;
  /** A message that a handler of a closed life wanted to put aside. */
  leftBehind(message: M): void;
  stop(): void;
  fail(error: Error): void;
}

/** The context of one life: each of its calls does nothing once that life is over. */
export function cellContext<M, S>(
  runtime: Runtime,
  self: Ref<M>,
  life: Life<M, S>,
  stash: Stash<M>,
  calls: CellCalls<M>,
): ActorContext<M> {
  const watched = new Map<Ref<never>, Watcher>();
  const awaited = new Set<Ref<never>>();
  life.aborter.signal.addEventListener('abort', () => {
    for (const [ref, watcher] of watched) watchersOf(ref)?.delete(watcher);
    watched.clear();
  });
  return {
    self,
    path: self.path,
    incarnation: life.incarnation,
    timers: {
      once: (key, delayMs, message) => life.isOver || life.timers.once(key, delayMs, message),
      every: (key, periodMs, message) => life.isOver || life.timers.every(key, periodMs, message),
      cancel: (key) => life.timers.cancel(key),
    },
    stash: {
      get size() {
        return stash.size;
      },
      // A handler that is still finishing may put aside what the next life is to handle; one that was abandoned may not.
      put: (message) => (life.isClosed ? calls.leftBehind(message) : stash.put(message)),
      release: () => life.isClosed || stash.release(),
    },
    registry: runtime.registry,
    signal: life.aborter.signal,
    now: () => runtime.clock.now(),
    watch(ref) {
      if (life.isOver || watched.has(ref)) return;
      const watcher: Watcher = (path, reason) => {
        watched.delete(ref);
        if (!life.isOver) calls.signal({ kind: 'terminated', path, reason });
      };
      watched.set(ref, watcher);
      watchersOf(ref)?.add(watcher);
    },
    unwatch(ref) {
      const watcher = watched.get(ref);
      if (watcher !== undefined) watchersOf(ref)?.delete(watcher);
      watched.delete(ref);
    },
    whenReady(ref) {
      if (awaited.has(ref)) return;
      awaited.add(ref);
      const tellReady = () => {
        awaited.delete(ref);
        if (!life.isOver) calls.signal({ kind: 'ready', path: ref.path });
      };
      if ('whenReady' in ref) (ref as unknown as { whenReady(callback: () => void): void }).whenReady(tellReady);
      else tellReady();
    },
    unhandled: (message) => life.isClosed || calls.unhandled(message),
    warn: (text) => runtime.events.emit({ kind: 'warning', path: self.path, text }),
    stop: () => calls.stop(),
    fail: (error) => calls.fail(error),
  };
}
