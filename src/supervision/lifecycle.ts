/** What happens to actors, as it happens. */
export type LifecycleEvent = { readonly path: string; readonly atMs: number } & (
  | { readonly kind: 'spawned' | 'started'; readonly incarnation: number }
  | { readonly kind: 'failed'; readonly incarnation: number; readonly error: Error }
  | { readonly kind: 'restarting'; readonly delayMs: number; readonly error: Error | undefined }
  | { readonly kind: 'stopped'; readonly reason: 'normal' | 'shutdown' | 'failure' }
  /** A full mailbox did not take a message; so many by now. */
  | { readonly kind: 'overflow'; readonly policy: string; readonly dropped: number }
  | { readonly kind: 'dead-letter'; readonly reason: string }
  | { readonly kind: 'unhandled'; readonly message: string }
  /** What an actor wants an operator to know, in a sentence. */
  | { readonly kind: 'warning'; readonly text: string }
  | { readonly kind: 'abandoned'; readonly what: 'init' | 'handler' | 'end'; readonly afterMs: number }
  | { readonly kind: 'end-failed'; readonly error: Error }
);

type Unstamped<E> = E extends unknown ? Omit<E, 'atMs'> : never;

/** Delivers lifecycle events to whoever listens. Callers check `isHeard` first, so that an unheard event costs nothing. */
export class LifecycleBus {
  readonly #listeners = new Set<(event: LifecycleEvent) => void>();
  readonly #now: () => number;
  /** Listeners that threw; each was taken off the bus. */
  failedListeners = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  get isHeard(): boolean {
    return this.#listeners.size > 0;
  }

  emit(event: Unstamped<LifecycleEvent>): void {
    if (this.#listeners.size === 0) return;
    const stamped = { ...event, atMs: this.#now() } as LifecycleEvent;
    for (const listener of this.#listeners) {
      try {
        listener(stamped);
      } catch {
        // Events are told from the middle of a cell's or a supervisor's turn: whoever listens must not break it.
        this.#listeners.delete(listener);
        this.failedListeners++;
      }
    }
  }

  /** The answer ends the subscription. A listener that throws is taken off the bus. */
  listen(listener: (event: LifecycleEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
