import type { Host, Place } from '../host.ts';

/** A host in front of another that knows whether anything is still to be stepped. */
export class ObservedHost implements Host {
  readonly #inner: Host;
  readonly #places = new Set<ObservedPlace>();
  /** Calls of `step` while another one of the same place was running. Must stay 0. */
  overlaps = 0;
  /** The most wake tokens that one place ever had under way. */
  tokensMax = 0;

  constructor(inner: Host) {
    this.#inner = inner;
  }

  place(parent: Place | undefined, name: string, step: () => void | Promise<void>): Place {
    const place = new ObservedPlace(this, step, () => this.#places.delete(place));
    this.#places.add(place);
    place.inner = this.#inner.place((parent as ObservedPlace | undefined)?.inner, name, () => place.stepped());
    return place;
  }

  /** Nothing is on its way to a place that could take it. */
  get isQuiet(): boolean {
    for (const place of this.#places) if (place.tokens > 0 && !place.isBusy) return false;
    return true;
  }

  get placeCount(): number {
    return this.#places.size;
  }

  close(): void {
    this.#inner.close();
  }
}

class ObservedPlace implements Place {
  inner: Place | undefined;
  tokens = 0;
  isBusy = false;
  readonly #host: ObservedHost;
  readonly #step: () => void | Promise<void>;
  readonly #removed: () => void;

  constructor(host: ObservedHost, step: () => void | Promise<void>, removed: () => void) {
    this.#host = host;
    this.#step = step;
    this.#removed = removed;
  }

  wake(): void {
    this.tokens++;
    this.#host.tokensMax = Math.max(this.#host.tokensMax, this.tokens);
    this.inner!.wake();
  }

  stepped(): void | Promise<void> {
    if (this.isBusy) this.#host.overlaps++;
    this.tokens--;
    const running = this.#step();
    if (running === undefined) return;
    this.isBusy = true;
    return running.finally(() => {
      this.isBusy = false;
    });
  }

  remove(): void {
    this.inner!.remove();
    this.#removed();
  }
}
