import type { LifecycleEvent } from '../lifecycle.ts';
import { nactHost } from '../nact-host.ts';
import type { SupervisorOptions } from '../supervisor-spec.ts';
import { ActorSystem } from '../system.ts';
import { ManualClock } from './manual-clock.ts';
import { ObservedHost } from './observed-host.ts';

/** How many rounds of the event loop a test waits for quiet before it says that there is none. */
const ROUNDS_MAX = 100_000;

/** Lets everything run that promises and immediates have under way. */
export function breathe(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/**
 * A real actor system on the real host with a clock that the test turns. Nothing is waited for by time: `settle` runs the
 * system until nobody has anything left to do.
 */
export class Stage {
  readonly clock = new ManualClock();
  readonly host = new ObservedHost(nactHost());
  readonly events: LifecycleEvent[] = [];
  readonly system: ActorSystem;

  constructor(root: Omit<SupervisorOptions, 'id'>, random: () => number = () => 0) {
    this.system = new ActorSystem(root, { clock: this.clock, host: this.host, random });
    this.system.events.listen((event) => this.events.push(event));
  }

  /** A system whose tree is up. */
  static async started(root: Omit<SupervisorOptions, 'id'>): Promise<Stage> {
    const stage = new Stage(root);
    await stage.finish(stage.system.start());
    return stage;
  }

  async settle(): Promise<void> {
    let quietRounds = 0;
    for (let round = 0; quietRounds < 3; round++) {
      if (round > ROUNDS_MAX) throw new Error('the system does not come to rest');
      await breathe();
      quietRounds = this.host.isQuiet ? quietRounds + 1 : 0;
    }
  }

  /** Lets that much time pass; what is due meanwhile happens in its order. */
  async advance(ms: number): Promise<void> {
    await this.settle();
    const untilMs = this.clock.now() + ms;
    while (this.clock.fireNext(untilMs)) await this.settle();
    this.clock.moveTo(untilMs);
    await this.settle();
  }

  /** Runs the system until the work is done, turning the clock only as far as it must. */
  async finish<T>(work: Promise<T>): Promise<T> {
    let isDone = false;
    const noted = work.finally(() => {
      isDone = true;
    });
    noted.catch(() => {});
    await this.settle();
    while (!isDone && this.clock.fireNext(Number.POSITIVE_INFINITY)) await this.settle();
    if (!isDone) throw new Error('the work will never be done: nothing is left to happen');
    return noted;
  }

  stop(): Promise<void> {
    return this.finish(this.system.stop());
  }

  kinds(path: string): string[] {
    return this.events.filter((event) => event.path === path).map((event) => event.kind);
  }
}
