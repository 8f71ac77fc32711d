import type { Ref } from '../protocols/ref.ts';
import type { ExitReason } from './strategy.ts';

export type Watcher = (path: string, reason: ExitReason['kind']) => void;

/** What can be watched: it tells each watcher once when it is down for good, at once when it already is. */
export interface Watchable {
  readonly watchers: WatcherSet;
}

function isWatchable(ref: object): ref is Watchable {
  return 'watchers' in ref && ref.watchers instanceof WatcherSet;
}

export function watchersOf(ref: Ref<never>): WatcherSet | undefined {
  return isWatchable(ref) ? ref.watchers : undefined;
}

export class WatcherSet {
  readonly #path: string;
  readonly #watchers = new Set<Watcher>();
  #ended: ExitReason['kind'] | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  add(watcher: Watcher): void {
    if (this.#ended !== undefined) watcher(this.#path, this.#ended);
    else this.#watchers.add(watcher);
  }

  delete(watcher: Watcher): void {
    this.#watchers.delete(watcher);
  }

  /** Down for good: tells everyone once. */
  end(reason: ExitReason['kind']): void {
    if (this.#ended !== undefined) return;
    this.#ended = reason;
    const watchers = [...this.#watchers];
    this.#watchers.clear();
    for (const watcher of watchers) watcher(this.#path, reason);
  }

  /** A further life after all. */
  reopen(): void {
    this.#ended = undefined;
  }
}
