import type { ChildState } from './strategy.ts';

/** An answer that is owed once a child has reached a state. */
export interface Waiter {
  readonly id: string;
  /** `failure`: the child's start failed just now. */
  isDone(child: ChildState | undefined, failure: Error | undefined): boolean | Error;
  resolve(): void;
  reject(error: Error): void;
}

/** Those who asked a supervisor for something and are not answered yet. */
export class Waiters {
  readonly #waiting = new Set<Waiter>();

  add(waiter: Waiter): void {
    this.#waiting.add(waiter);
  }

  /** Answers whoever can be answered now. */
  settle(children: readonly ChildState[], failure?: { readonly id: string; readonly error: Error }): void {
    if (this.#waiting.size === 0) return;
    const byId = new Map(children.map((child) => [child.policy.id, child]));
    for (const waiter of this.#waiting) {
      const done = waiter.isDone(byId.get(waiter.id), failure?.id === waiter.id ? failure.error : undefined);
      if (done === false) continue;
      this.#waiting.delete(waiter);
      if (done === true) waiter.resolve();
      else waiter.reject(done);
    }
  }

  rejectAll(why: (id: string) => Error): void {
    for (const waiter of this.#waiting) waiter.reject(why(waiter.id));
    this.#waiting.clear();
  }
}
