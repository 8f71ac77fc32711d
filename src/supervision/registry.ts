import type { Ref } from '../protocols/ref.ts';
import { watchersOf } from './watch.ts';

/** The name of a service and the type of message it takes, so that finding it needs no cast. */
export interface ServiceKey<M> {
  readonly name: string;
  /** Carries the type only. */
  readonly accepts?: (message: M) => void;
}

export function serviceKey<M>(name: string): ServiceKey<M> {
  return { name };
}

type Listener = (refs: readonly Ref<never>[]) => void;

/** Finds actors by key. An actor stays registered through its restarts and is removed when it is down for good. */
export class Registry {
  readonly #refs = new Map<string, Ref<never>[]>();
  readonly #listeners = new Map<string, Set<Listener>>();
  /** Subscribers that threw; each was taken off. */
  failedListeners = 0;

  register<M>(key: ServiceKey<M>, ref: Ref<M>): void {
    const refs = this.#refs.get(key.name) ?? [];
    if (refs.includes(ref)) return;
    this.#set(key.name, [...refs, ref]);
    watchersOf(ref)?.add(() => this.forget(ref));
  }

  find<M>(key: ServiceKey<M>): readonly Ref<M>[] {
    return (this.#refs.get(key.name) ?? []) as unknown as readonly Ref<M>[];
  }

  /** Calls back now and at each change. The answer ends the subscription. */
  subscribe<M>(key: ServiceKey<M>, listener: (refs: readonly Ref<M>[]) => void): () => void {
    const listeners = this.#listeners.get(key.name) ?? new Set();
    this.#listeners.set(key.name, listeners);
    listeners.add(listener as unknown as Listener);
    this.#tell(listeners, listener as unknown as Listener, this.#refs.get(key.name) ?? []);
    return () => listeners.delete(listener as unknown as Listener);
  }

  /** Removes a ref under every key it has. */
  forget(ref: Ref<never>): void {
    for (const [name, refs] of this.#refs) {
      if (refs.includes(ref)) {
        this.#set(
          name,
          refs.filter((other) => other !== ref),
        );
      }
    }
  }

  #set(name: string, refs: Ref<never>[]): void {
    if (refs.length === 0) this.#refs.delete(name);
    else this.#refs.set(name, refs);
    const listeners = this.#listeners.get(name);
    for (const listener of listeners ?? []) this.#tell(listeners!, listener, refs);
  }

  /** Subscribers are told from the middle of a supervisor's turn: one that throws must not break it. */
  #tell(listeners: Set<Listener>, listener: Listener, refs: readonly Ref<never>[]): void {
    try {
      listener(refs);
    } catch {
      listeners.delete(listener);
      this.failedListeners++;
    }
  }
}
