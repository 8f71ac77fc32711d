import type { Admission } from '../../protocols/ref.ts';
import type { Askable, Asked } from '../ask.ts';
import type { ExitReason } from '../strategy.ts';
import { type Watchable, WatcherSet } from '../watch.ts';

/** What a remote ref needs of the link that it belongs to. */
interface Sender {
  tell(to: number, message: unknown): void;
  tellAsked(to: number, asked: Asked<unknown>): Admission;
}

/** Messages that may be on their way to one actor of another thread. From three quarters on, tell answers `pause`. */
const WINDOW = 1024;
const PAUSE_AT = WINDOW * 0.75;
const RESUME_AT = WINDOW * 0.25;

/** The address of an actor on another thread. */
export class RemoteRef<M> implements Askable<M>, Watchable {
  readonly path: string;
  readonly watchers: WatcherSet;
  /** Messages that the other thread has not taken yet. */
  inFlight = 0;
  rejected = 0;
  readonly #link: Sender;
  readonly #id: number;
  #isEnded = false;
  #waiting: (() => void)[] = [];

  constructor(link: Sender, id: number, path: string) {
    this.path = path;
    this.watchers = new WatcherSet(path);
    this.#link = link;
    this.#id = id;
  }

  tell(message: M): Admission {
    return this.#send(() => {
      this.#link.tell(this.#id, message);
      return 'accepted';
    });
  }

  offerAsked(asked: Asked<M>): Admission {
    return this.#send(() => this.#link.tellAsked(this.#id, asked as Asked<unknown>));
  }

  #send(post: () => Admission): Admission {
    if (this.#isEnded) return 'dead';
    if (this.inFlight >= WINDOW) {
      this.rejected++;
      return 'rejected';
    }
    const admission = post();
    if (admission !== 'accepted') return admission;
    this.inFlight++;
    return this.inFlight >= PAUSE_AT ? 'pause' : 'accepted';
  }

  whenReady(callback: () => void): void {
    if (this.#isEnded || this.inFlight <= RESUME_AT) callback();
    else this.#waiting.push(callback);
  }

  giveRoom(count: number): void {
    this.inFlight -= count;
    if (this.inFlight <= RESUME_AT) this.#go();
  }

  end(reason: ExitReason['kind']): void {
    this.#isEnded = true;
    this.watchers.end(reason);
    this.#go();
  }

  #go(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const callback of waiting) callback();
  }
}
