import type { Host, Place } from '../host.ts';

/** A host that steps only when a test says so, in the order that the test chooses. */
export class SteppedHost implements Host {
  readonly #places = new Set<SteppedPlace>();
  isClosed = false;

  place(parent: Place | undefined, _name: string, step: () => void | Promise<void>): Place {
    const place = new SteppedPlace(step, () => this.#places.delete(place));
    if (parent !== undefined && !this.#places.has(parent as SteppedPlace)) throw new Error('placed below nothing');
    this.#places.add(place);
    return place;
  }

  /** The places that hold a token and are free to take it. */
  get ready(): readonly SteppedPlace[] {
    return [...this.#places].filter((place) => place.tokens > 0 && !place.isBusy);
  }

  get placeCount(): number {
    return this.#places.size;
  }

  close(): void {
    this.isClosed = true;
  }
}

export class SteppedPlace implements Place {
  tokens = 0;
  isBusy = false;
  readonly #step: () => void | Promise<void>;
  readonly #removed: () => void;

  constructor(step: () => void | Promise<void>, removed: () => void) {
    this.#step = step;
    this.#removed = removed;
  }

  wake(): void {
    this.tokens++;
  }

  step(): void {
    this.tokens--;
    const running = this.#step();
    if (running === undefined) return;
    this.isBusy = true;
    void running.finally(() => {
      this.isBusy = false;
    });
  }

  remove(): void {
    this.#removed();
  }
}
