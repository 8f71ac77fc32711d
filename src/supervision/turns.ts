/** Pieces of work that must not meet: each begins when the one before it is done, however that went. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  take<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => undefined);
    return done;
  }

  /** Resolves when all that was begun so far is done. */
  get over(): Promise<unknown> {
    return this.#last;
  }
}
