import { latestOfEach, type NamedBar } from '../actors/kline-persistence/rows.ts';

/**
 * Bars that a worker had shown when it ended, and that were perhaps not stored. Its next life goes on after them, so they are
 * stored together with what that life tells, however often workers end meanwhile.
 */
export class OrphanedBars {
  /** Of each worker: what it had shown, the lives that have begun, the one up to which all is stored, and what is on its way. */
  readonly #kept = new Map<number, readonly NamedBar[]>();
  readonly #begun = new Map<number, number>();
  readonly #stored = new Map<number, number>();
  readonly #offered = new Map<number, { readonly snapshot: number; readonly life: number }>();
  readonly #lastShown: (worker: number) => readonly NamedBar[];

  constructor(lastShown: (worker: number) => readonly NamedBar[]) {
    this.#lastShown = lastShown;
  }

  /** A life begins. Its symbols may go to another worker soon, so what was shown of them is kept here. */
  begin(worker: number): void {
    this.#begun.set(worker, (this.#begun.get(worker) ?? 0) + 1);
    this.#kept.set(worker, this.#known(worker));
  }

  #known(worker: number): readonly NamedBar[] {
    return latestOfEach([...(this.#kept.get(worker) ?? []), ...this.#lastShown(worker)]);
  }

  /** What is to be stored with the worker's own snapshot. */
  offer(worker: number, snapshot: number): readonly NamedBar[] {
    const life = this.#begun.get(worker) ?? 0;
    this.#offered.set(worker, { snapshot, life });
    return life === this.#stored.get(worker) ? [] : this.#known(worker);
  }

  /** The snapshot is stored, and what was offered with it. A life that began since then is not. */
  stored(worker: number, snapshot: number): void {
    const offered = this.#offered.get(worker);
    if (offered?.snapshot !== snapshot) return;
    this.#stored.set(worker, offered.life);
    if (offered.life === this.#begun.get(worker)) this.#kept.delete(worker);
  }
}
