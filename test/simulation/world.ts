import { isAdmitted, type Ref } from '../../src/protocols/ref.ts';
import type { ActorContext } from '../../src/supervision/actor.ts';
import { Ask, type Askable, Asked } from '../../src/supervision/ask.ts';
import { type ActorInfo, flatten } from '../../src/supervision/inspect.ts';
import type { Intensity } from '../../src/supervision/intensity.ts';
import { actor, type ChildSpec } from '../../src/supervision/spec.ts';
import type { ExitReason, Strategy } from '../../src/supervision/strategy.ts';
import type { Supervisor } from '../../src/supervision/supervisor.ts';
import { type SupervisorSpec, supervisor } from '../../src/supervision/supervisor-spec.ts';
import { ActorSystem } from '../../src/supervision/system.ts';
import { ManualClock } from '../../src/supervision/testing/manual-clock.ts';
import { breathe } from '../../src/supervision/testing/stage.ts';
import { SteppedHost } from '../../src/supervision/testing/stepped-host.ts';
import { Dice } from './dice.ts';
import { holds, Ledger, type LifeRecord } from './ledger.ts';

type Message =
  | { readonly kind: 'work'; readonly number: number; readonly replyTo?: Ref<number> }
  | { readonly kind: 'tick'; readonly incarnation: number };

interface State {
  readonly life: LifeRecord;
}

const STRATEGIES: readonly Strategy[] = ['one_for_one', 'one_for_all', 'rest_for_one', 'pool'];
const ROOT_INTENSITY = { restarts: 20, periodMs: 5000 };
const DEPTH_MAX = 3;
const BREATHS_MAX = 100_000;

/**
 * A random tree of random actors on a host and a clock that this world turns. Actors come up at once, late, never or not
 * at all; handle at once, late or never; fail, stop, and end slowly. All chance comes from one seed.
 */
export class World {
  readonly dice: Dice;
  readonly clock = new ManualClock();
  readonly host = new SteppedHost();
  readonly ledger: Ledger;
  readonly system: ActorSystem;
  readonly #intensities = new Map<string, Intensity>([['/', ROOT_INTENSITY]]);
  readonly #refs: Ref<Message>[] = [];
  readonly #supervisors = new Map<string, SupervisorSpec>();
  readonly #pools = new Set<string>();
  readonly #answersOwed = new Set<Promise<unknown>>();
  #names = 0;
  #messages = 0;
  #ownTimers = 0;
  /** Once the system stops, chance no longer lets anything hang without end. */
  #isMild = false;
  #isDown = false;
  #isOrderly = false;

  constructor(seed: number) {
    this.dice = new Dice(seed);
    this.ledger = new Ledger((path) => this.#intensities.get(path));
    const strategy = this.dice.oneOf(STRATEGIES.slice(0, 3));
    const children = uniqueById(this.#children('', 1));
    const options = { clock: this.clock, host: this.host, random: this.dice.next };
    this.system = new ActorSystem({ strategy, intensity: ROOT_INTENSITY, children }, options);
    this.system.events.listen((event) => this.ledger.hear(event));
    void this.system.ended.then(() => {
      this.#isDown = true;
    });
  }

  // --- the tree ---

  #children(parent: string, depth: number): ChildSpec[] {
    return Array.from({ length: this.dice.between(depth === 1 ? 1 : 0, 4) }, () => this.#child(parent, depth));
  }

  #child(parent: string, depth: number): ChildSpec {
    // Few names, so that a new child often takes the name of one that is gone.
    const isSupervisor = depth < DEPTH_MAX && this.dice.isBelow(0.35);
    const isNewName = isSupervisor || this.dice.isBelow(0.7);
    const id = isNewName ? `n${this.#names++}` : `again${this.dice.between(0, 1)}`;
    const common = {
      id,
      restart: this.dice.oneOf(['permanent', 'permanent', 'transient', 'temporary'] as const),
      backoff: { minMs: this.dice.between(0, 40), maxMs: 100, jitter: this.dice.next(), resetAfterMs: 500 },
    };
    if (isSupervisor) return this.#supervisor(`${parent}/${id}`, common, depth);
    return this.#actor(common);
  }

  #supervisor(path: string, common: Pick<ChildSpec, 'id' | 'restart'>, depth: number): ChildSpec {
    const intensity = { restarts: this.dice.between(0, 4), periodMs: this.dice.between(50, 2000) };
    this.#intensities.set(path, intensity);
    const children = uniqueById(this.#children(path, depth + 1));
    const strategy = this.dice.oneOf(STRATEGIES);
    if (strategy === 'pool') this.#pools.add(path);
    const spec = supervisor({ ...common, strategy, intensity, children });
    this.#supervisors.set(path, spec);
    return spec;
  }

  #actor(common: Pick<ChildSpec, 'id' | 'restart'>): ChildSpec {
    const shutdown = this.dice.isBelow(0.15) ? 'brutal' : this.dice.between(10, 200);
    const spec = actor<Message, State>({
      ...common,
      shutdown,
      startDeadlineMs: 300,
      mailbox: { capacity: 8, policy: 'reject' },
      budget: { messages: this.dice.between(1, 5), microseconds: 500 },
      behaviour: {
        init: (context) => this.#init(context, shutdown === 'brutal'),
        receive: (state, message, context) => this.#receive(state, message, context),
        onSignal: (state) => state,
        end: (state, reason) => this.#end(state, reason),
      },
    });
    this.#refs.push(spec.ref);
    return spec;
  }

  // --- what a simulated actor does ---

  #init(context: ActorContext<Message>, isBrutal: boolean): State | Promise<State> {
    const { path, incarnation } = context;
    const life = this.ledger.beginLife(context.self, path, incarnation, isBrutal);
    this.#checkStartOrder(path);
    if (this.dice.isBelow(0.3)) {
      const tick = { kind: 'tick', incarnation } as const;
      context.timers.every('tick', this.dice.between(5, 50), tick);
    }
    if (this.dice.isBelow(0.3)) context.watch(this.dice.oneOf(this.#refs));
    const isFailing = this.dice.isBelow(0.1);
    return this.#work(life, () => {
      if (isFailing) throw new Error('no init');
      life.isUp = true;
      return { life };
    });
  }

  #receive(state: State, message: Message, context: ActorContext<Message>): State | Promise<State> {
    const { life } = state;
    holds(life.incarnation === context.incarnation, `${life.path}: the state of an earlier life is handled`);
    this.ledger.beginWork(life, message.kind);
    if (message.kind === 'tick') {
      holds(message.incarnation === context.incarnation, `${life.path}: a timer of an earlier life fired`);
    } else this.ledger.receive(context.self, life.path, message.number);
    const luck = this.dice.next();
    if (luck < 0.03) context.stop();
    if (luck > 0.97) context.fail(new Error('from outside'));
    const isFailing = this.dice.isBelow(0.1);
    const replies = this.dice.isBelow(0.7);
    return this.#work(life, () => {
      if (isFailing) throw new Error('no answer');
      if (message.kind === 'work' && replies) message.replyTo?.tell(message.number);
      return state;
    });
  }

  #end(state: State, reason: ExitReason): void | Promise<void> {
    const { life } = state;
    if (this.#isOrderly && reason.kind === 'shutdown' && !life.isAbandoned) this.#checkStopOrder(life.path);
    if (!life.isAbandoned) this.ledger.beginWork(life, 'end');
    const isFailing = this.dice.isBelow(0.1);
    return this.#work(life, () => {
      life.hasEnded = true;
      if (isFailing) throw new Error('no end');
    });
  }

  /** Finishes at once, after a while, or never. */
  #work<T>(life: LifeRecord, outcome: () => T): T | Promise<T> {
    const finish = () => {
      life.atWork = undefined;
      return outcome();
    };
    const luck = this.dice.next();
    if (luck < 0.6) return finish();
    if (luck < 0.7) return Promise.resolve().then(finish);
    if (luck > 0.99 && !this.#isMild) return new Promise<T>(() => {});
    return this.#delay(this.dice.between(1, 250)).then(finish);
  }

  #delay(ms: number): Promise<void> {
    this.#ownTimers++;
    return new Promise((resolve) => {
      this.clock.after(ms, () => {
        this.#ownTimers--;
        resolve();
      });
    });
  }

  // --- order ---

  #siblingsOf(path: string): { parent: ActorInfo; index: number } | undefined {
    const parentPath = path.slice(0, path.lastIndexOf('/')) || '/';
    const parent = flatten(this.system.tree()).find((info) => info.path === parentPath);
    const index = parent?.children.findIndex((child) => child.path === path) ?? -1;
    return parent === undefined || index < 0 || this.#pools.has(parentPath) ? undefined : { parent, index };
  }

  #checkStartOrder(path: string): void {
    const siblings = this.#siblingsOf(path);
    if (siblings === undefined || siblings.parent.state !== 'starting') return;
    for (const earlier of siblings.parent.children.slice(0, siblings.index)) {
      if (earlier.kind !== 'actor' || earlier.state === 'dead') continue;
      holds(this.ledger.cameUp(earlier.path), `${path} starts before ${earlier.path} (${earlier.state}) is up`);
    }
  }

  /** While the whole system stops, a child is halted only when everything after it is down. */
  #checkStopOrder(path: string): void {
    const siblings = this.#siblingsOf(path);
    for (const later of siblings?.parent.children.slice(siblings.index + 1) ?? []) {
      for (const { path: other } of flatten(later)) {
        holds(!this.ledger.isLive(other), `${path} stops before ${other}`);
      }
    }
  }

  // --- what happens to the tree ---

  /** One random thing; the tree is checked after it. */
  async act(): Promise<void> {
    const luck = this.dice.next();
    if (luck < 0.3) this.#step();
    else if (luck < 0.6) this.#send();
    else if (luck < 0.75) this.clock.fireNext(Number.POSITIVE_INFINITY);
    else if (luck < 0.8) this.clock.skip(this.dice.between(1, 20));
    else if (luck < 0.95) this.#administer();
    else this.#operate();
    if (this.dice.isBelow(0.7)) await breathe();
    this.ledger.checkTree(this.system.tree());
  }

  #step(): void {
    const { ready } = this.host;
    if (ready.length > 0) this.dice.oneOf(ready).step();
  }

  #send(): void {
    if (this.#refs.length === 0) return;
    const ref = this.dice.oneOf(this.#refs);
    const number = ++this.#messages;
    if (this.dice.isBelow(0.7)) {
      if (isAdmitted(ref.tell({ kind: 'work', number }))) this.ledger.sent++;
      return;
    }
    const ask = new Ask<number>(ref.path, this.clock, this.dice.between(10, 500));
    const asked = new Asked<Message>({ kind: 'work', number, replyTo: ask }, ask as unknown as Ask<never>);
    if (isAdmitted((ref as Askable<Message>).offerAsked(asked))) this.ledger.sent++;
    this.#owe(ask.promise);
  }

  #owe(promise: Promise<unknown>): void {
    const owed = promise.catch(() => {});
    this.#answersOwed.add(owed);
    void owed.then(() => this.#answersOwed.delete(owed));
  }

  #administer(): void {
    const target = this.#anySupervisor();
    const ids = target.childIds;
    const luck = this.dice.next();
    if (luck < 0.35 || ids.length === 0) {
      const child = this.#child(target.path === '/' ? '' : target.path, DEPTH_MAX - this.dice.between(0, 1));
      this.#owe(target.startChild(child));
      return;
    }
    const id = this.dice.oneOf(ids);
    if (luck < 0.55) this.#owe(target.stopChild(id));
    else if (luck < 0.75) this.#owe(target.reviveChild(id));
    else if (luck < 0.85) this.#owe(target.deleteChild(id));
    else target.restartChild(id);
  }

  #anySupervisor(): Supervisor {
    const placed = flatten(this.system.tree()).flatMap(({ path }) => this.#supervisors.get(path)?.supervisor ?? []);
    return this.dice.oneOf([this.system.root, ...placed]);
  }

  #operate(): void {
    const actors = flatten(this.system.tree()).filter((info) => info.kind === 'actor');
    if (actors.length === 0) return;
    const { path, state } = this.dice.oneOf(actors);
    if (state === 'suspended') this.system.resume(path);
    else this.system.suspend(path);
  }

  // --- the beginning and the end ---

  begin(): void {
    this.#owe(this.system.start());
  }

  get isDown(): boolean {
    return this.#isDown;
  }

  async end(): Promise<void> {
    this.#isMild = true;
    this.#isOrderly = await this.#comeToRest();
    let isStopped = false;
    void this.system.stop().then(() => {
      isStopped = true;
    });
    for (let breaths = 0; !isStopped || this.#answersOwed.size > 0 || this.clock.pending > 0; breaths++) {
      holds(breaths < BREATHS_MAX, 'the system stops, and everyone who waits is answered');
      await this.#runOn();
    }
    await breathe();
    this.ledger.checkAllDown();
    this.ledger.checkMessages();
    holds(this.host.placeCount === 0 && this.host.isClosed, 'every place is given up');
    holds(this.clock.pending === this.#ownTimers, 'no timer is left');
  }

  /** Lets everything happen that can, then the next that is due. */
  async #runOn(): Promise<void> {
    for (const place of this.host.ready) place.step();
    await breathe();
    if (this.host.ready.length === 0) this.clock.fireNext(Number.POSITIVE_INFINITY);
    await breathe();
  }

  /** Waits for a moment in which nobody is on the way up or down. False: there was none in reasonable time. */
  async #comeToRest(): Promise<boolean> {
    const isMoving = ({ state }: ActorInfo) => state === 'starting' || state === 'halting' || state === 'failed';
    for (let rounds = 0; rounds < 300; rounds++) {
      if (this.host.ready.length === 0 && !flatten(this.system.tree()).some(isMoving)) return true;
      await this.#runOn();
    }
    return false;
  }
}

function uniqueById(specs: readonly ChildSpec[]): ChildSpec[] {
  return [...new Map(specs.map((spec) => [spec.id, spec])).values()];
}
