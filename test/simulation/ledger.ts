import type { ActorInfo } from '../../src/supervision/inspect.ts';
import type { Intensity } from '../../src/supervision/intensity.ts';
import type { LifecycleEvent } from '../../src/supervision/lifecycle.ts';

/** One life of one simulated actor, as the actor itself saw it. */
export interface LifeRecord {
  readonly path: string;
  readonly incarnation: number;
  readonly isBrutal: boolean;
  isUp: boolean;
  /** init, a handler or end is at work. */
  atWork: string | undefined;
  hasEnded: boolean;
  /** The runtime said that it no longer waits for it. */
  isAbandoned: boolean;
}

/** What the simulated actors saw, and the promises that it must keep. A broken one throws. */
export class Ledger {
  sent = 0;
  received = 0;
  leftBehind = 0;
  livesBegun = 0;
  restarts = 0;
  readonly #livesOf = new Map<object, LifeRecord[]>();
  readonly #cellAt = new Map<string, object>();
  readonly #lastSeen = new Map<object, number>();
  readonly #restartsMs = new Map<string, number[]>();
  readonly #intensityOf: (path: string) => Intensity | undefined;

  constructor(intensityOf: (path: string) => Intensity | undefined) {
    this.#intensityOf = intensityOf;
  }

  beginLife(cell: object, path: string, incarnation: number, isBrutal: boolean): LifeRecord {
    const lives = this.#livesOf.get(cell) ?? [];
    const last = lives.at(-1);
    holds(incarnation === (last?.incarnation ?? 0) + 1, `${path}: life ${incarnation} follows ${last?.incarnation}`);
    if (last !== undefined && !last.isBrutal && !last.isAbandoned) {
      holds(
        last.atWork === undefined,
        `${path}: life ${incarnation} begins while ${last.atWork} of the last is at work`,
      );
      holds(!last.isUp || last.hasEnded, `${path}: life ${incarnation} begins and the last was not ended`);
    }
    const life = { path, incarnation, isBrutal, isUp: false, atWork: 'init', hasEnded: false, isAbandoned: false };
    this.#livesOf.set(cell, [...lives.slice(-3), life]);
    this.#cellAt.set(path, cell);
    this.livesBegun++;
    return life;
  }

  beginWork(life: LifeRecord, what: string): void {
    holds(life.atWork === undefined, `${life.path}: ${what} begins while ${life.atWork} is at work`);
    holds(!life.hasEnded, `${life.path}: ${what} begins after the end`);
    life.atWork = what;
  }

  /** Messages of one sender to one receiver come in order, and each at most once. */
  receive(cell: object, path: string, number: number): void {
    const last = this.#lastSeen.get(cell) ?? 0;
    holds(number > last, `${path}: message ${number} after ${last}`);
    this.#lastSeen.set(cell, number);
    this.received++;
  }

  hear(event: LifecycleEvent): void {
    if (event.kind === 'abandoned') {
      const life = this.#livesOf.get(this.#cellAt.get(event.path)!)?.at(-1);
      if (life !== undefined) life.isAbandoned = true;
    }
    if (event.kind === 'dead-letter' && event.reason === 'left-behind') this.leftBehind++;
    if (event.kind === 'stopped') this.#restartsMs.delete(event.path);
    if (event.kind === 'restarting') this.#countRestart(event.path, event.atMs);
  }

  #countRestart(path: string, atMs: number): void {
    this.restarts++;
    const parent = path.slice(0, path.lastIndexOf('/')) || '/';
    const intensity = this.#intensityOf(parent)!;
    const recent = [...(this.#restartsMs.get(parent) ?? []), atMs].filter((at) => atMs - at < intensity.periodMs);
    this.#restartsMs.set(parent, recent);
    holds(recent.length <= intensity.restarts, `${parent}: ${recent.length} restarts in ${intensity.periodMs} ms`);
  }

  /** Whether the last life at this place has come up at some time. */
  cameUp(path: string): boolean {
    return this.#livesOf.get(this.#cellAt.get(path)!)?.at(-1)?.isUp === true;
  }

  isLive(path: string): boolean {
    const life = this.#livesOf.get(this.#cellAt.get(path)!)?.at(-1);
    return life?.isUp === true && !life.hasEnded && !life.isAbandoned && !life.isBrutal;
  }

  /** No orphan: each life is at its place in the tree, under supervisors that are up. */
  checkTree(tree: ActorInfo): void {
    const seen = new Map<string, ActorInfo>();
    const walk = (info: ActorInfo, isParentUp: boolean) => {
      seen.set(info.path, info);
      const isLive = info.state !== 'idle' && info.state !== 'dead' && info.state !== 'failed';
      holds(isParentUp || !isLive, `${info.path} is ${info.state} below a supervisor that is down`);
      for (const child of info.children) walk(child, isLive);
    };
    walk(tree, true);
    for (const [cell, lives] of this.#livesOf) {
      const life = lives.at(-1)!;
      if (!life.isUp || life.hasEnded || life.isAbandoned || life.isBrutal) continue;
      const info = seen.get(life.path);
      const isPresent = info?.incarnation === life.incarnation && this.#cellAt.get(life.path) === cell;
      holds(isPresent && info.state !== 'idle' && info.state !== 'dead', `${life.path} lives on outside the tree`);
    }
  }

  checkAllDown(): void {
    for (const lives of this.#livesOf.values()) {
      const life = lives.at(-1)!;
      const isDown = life.hasEnded || life.isAbandoned || life.isBrutal || !life.isUp;
      holds(isDown, `${life.path}: life ${life.incarnation} outlived the system`);
    }
  }

  checkMessages(): void {
    const accounted = this.received + this.leftBehind;
    holds(this.sent === accounted, `${this.sent} sent, ${this.received} received, ${this.leftBehind} left behind`);
  }
}

export function holds(condition: boolean, promise: string): asserts condition {
  if (!condition) throw new Error(`broken: ${promise}`);
}
