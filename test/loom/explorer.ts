import {
  NOT_EQUAL,
  type Operation,
  Race,
  SimulatedMemory,
  SimulatedState,
  TIMED_OUT,
  WOKEN,
} from './simulated-memory.ts';

/**
 * Runs the threads of a scenario in every order of their atomic operations that needs at most `preemptions` switches
 * away from a thread that could go on.
 *
 * A thread is an ordinary function, so that production code runs unchanged. It is stopped at its next atomic operation
 * by an exception; to go on, it is run again from its start, and the operations that it has already done answer from a
 * log. That is sound because a thread's only inputs are the results of its operations. Plain accesses are carried out on
 * the way, since the race detector finds any order in which they would matter.
 */
export interface Scenario {
  /** Runs before the threads, and happens before them. */
  readonly setup: (memory: SimulatedMemory) => void;
  readonly threads: readonly Program[];
  /** Called with what each thread noted when all have ended; throws if that must not be. */
  readonly check: (notes: readonly (readonly number[])[], memory: SimulatedMemory) => void;
  readonly preemptions?: number;
  /** Threads that may be killed, once a run, before any of their operations, plain ones included. */
  readonly mortal?: readonly number[];
  /** Lets one wait of a run also time out. Without it a wait that is never woken is a deadlock: a lost wake-up. */
  readonly timeouts?: boolean;
}

export type Program = (memory: SimulatedMemory, self: Self) => void;

export interface Self {
  /** Remembers a value for `check`; what a killed thread had noted stays. */
  note(value: number): void;
  /** Waits until another thread has ended, killed or not, as the owner of a worker does. */
  join(thread: number): void;
}

export interface Explored {
  readonly runs: number;
  readonly steps: number;
}

/** A run that broke a promise, with the steps that lead there. */
export class Counterexample extends Error {}

const PREEMPTIONS = 3;
const STEPS_MAX = 2000;
const RUNS_MAX = 3_000_000;
/** A thread that spins is made to give way after so many steps while others could run. */
const PATIENCE = 24;

type Status = 'ready' | 'blocked' | 'ended';

interface ThreadView {
  readonly status: Status;
  /** Results of the operations done so far. */
  readonly log: readonly number[];
  /** The operation that it stopped at. */
  readonly next: Operation | undefined;
  readonly notes: readonly number[];
}

interface Point {
  readonly state: SimulatedState;
  readonly threads: readonly ThreadView[];
  readonly running: number;
  readonly inARow: number;
  readonly preemptions: number;
  readonly killed: boolean;
  readonly timedOut: boolean;
}

/** One line of a counterexample, put into words only when there is one. */
interface Step {
  readonly thread: number;
  readonly act: 'does' | 'is killed before' | 'times out at' | 'sleeps at';
  readonly operation: Operation | undefined;
  readonly result?: number;
}

interface Choice {
  readonly act: 'step' | 'kill' | 'time out';
  readonly thread: number;
}

const STOP_HERE = Symbol('stop here');
const isPlain = (operation: Operation) => operation.kind === 'get' || operation.kind === 'set';

export function explore(scenario: Scenario): Explored {
  return new Exploration(scenario).run();
}

class Exploration {
  readonly #scenario: Scenario;
  readonly #trace: Step[] = [];
  #runs = 0;
  #steps = 0;

  constructor(scenario: Scenario) {
    this.#scenario = scenario;
  }

  run(): Explored {
    const state = new SimulatedState(this.#scenario.threads.length);
    this.#scenario.setup(directMemory(state));
    const threads = this.#scenario.threads.map((_, thread) => this.#advance(state, thread, []));
    this.#from({ state, threads, running: -1, inARow: 0, preemptions: 0, killed: false, timedOut: false });
    return { runs: this.#runs, steps: this.#steps };
  }

  #from(point: Point): void {
    const choices = this.#choices(point);
    if (choices.length === 0) {
      this.#finish(point);
      return;
    }
    for (const choice of choices) {
      const depth = this.#trace.length;
      if (depth >= STEPS_MAX) throw this.#counterexample(`does not end within ${STEPS_MAX} steps`);
      this.#from(this.#take(point, choice));
      this.#trace.length = depth;
    }
  }

  #choices(point: Point): Choice[] {
    const { threads, running } = point;
    const choices: Choice[] = [];
    const current = threads[running];
    const othersReady = threads.some((view, thread) => thread !== running && this.#canStep(threads, view));
    const mayStay =
      current !== undefined && this.#canStep(threads, current) && !(point.inARow >= PATIENCE && othersReady);
    const free = !mayStay || point.preemptions < (this.#scenario.preemptions ?? PREEMPTIONS);
    threads.forEach((view, thread) => {
      if (this.#canStep(threads, view) && (thread === running ? mayStay : free)) choices.push({ act: 'step', thread });
      if (view.status === 'blocked' && this.#scenario.timeouts && !point.timedOut)
        choices.push({ act: 'time out', thread });
      const mortal = !point.killed && (this.#scenario.mortal?.includes(thread) ?? false);
      if (mortal && view.status !== 'ended') choices.push({ act: 'kill', thread });
    });
    return choices;
  }

  #canStep(threads: readonly ThreadView[], view: ThreadView): boolean {
    if (view.status !== 'ready') return false;
    return view.next?.kind !== 'join' || threads[view.next.word]!.status === 'ended';
  }

  #take(point: Point, { act, thread }: Choice): Point {
    this.#steps++;
    const state = point.state.copy();
    const threads = [...point.threads];
    const view = threads[thread]!;
    if (act === 'kill') {
      this.#trace.push({ thread, act: 'is killed before', operation: view.next });
      threads[thread] = { ...view, status: 'ended', next: undefined };
      return { ...point, state, threads, killed: true };
    }
    const preempted = point.running !== thread && this.#mayGoOn(point);
    if (act === 'time out') {
      this.#trace.push({ thread, act: 'times out at', operation: view.next });
      threads[thread] = this.#advance(state, thread, [...view.log, TIMED_OUT]);
    } else {
      this.#step(state, threads, thread);
    }
    return {
      state,
      threads,
      running: thread,
      inARow: point.running === thread ? point.inARow + 1 : 1,
      preemptions: point.preemptions + (preempted ? 1 : 0),
      killed: point.killed,
      timedOut: point.timedOut || act === 'time out',
    };
  }

  #mayGoOn(point: Point): boolean {
    const current = point.threads[point.running];
    return current !== undefined && this.#canStep(point.threads, current) && point.inARow < PATIENCE;
  }

  #step(state: SimulatedState, threads: ThreadView[], thread: number): void {
    const view = threads[thread]!;
    const operation = view.next!;
    if (operation.kind === 'join') {
      state.order(operation.word, thread);
      threads[thread] = this.#proceed(state, view, thread, 0);
    } else if (operation.kind === 'notify') {
      const asleep = threads.flatMap((each, index) =>
        each.status === 'blocked' && each.next?.word === operation.word ? [index] : [],
      );
      for (const sleeper of asleep) {
        state.order(thread, sleeper);
        threads[sleeper] = this.#proceed(state, threads[sleeper]!, sleeper, WOKEN);
      }
      threads[thread] = this.#proceed(state, view, thread, asleep.length);
    } else if (operation.kind === 'wait') {
      const equal = this.#guard(() => state.perform(thread, operation)) === operation.value;
      if (equal) this.#trace.push({ thread, act: 'sleeps at', operation });
      threads[thread] = equal ? { ...view, status: 'blocked' } : this.#proceed(state, view, thread, NOT_EQUAL);
    } else {
      const result = this.#guard(() => state.perform(thread, operation));
      threads[thread] = this.#proceed(state, view, thread, result);
    }
  }

  #proceed(state: SimulatedState, view: ThreadView, thread: number, result: number): ThreadView {
    this.#trace.push({ thread, act: 'does', operation: view.next, result });
    return this.#advance(state, thread, [...view.log, result]);
  }

  /** Runs the thread from its start up to the operation after those in the log. */
  #advance(state: SimulatedState, thread: number, done: readonly number[]): ThreadView {
    const log = [...done];
    const notes: number[] = [];
    const mortal = this.#scenario.mortal?.includes(thread) ?? false;
    let position = 0;
    let next: Operation | undefined;
    let race: unknown;
    const perform = (operation: Operation): number => {
      if (next !== undefined) throw STOP_HERE;
      if (position < log.length) return log[position++]!;
      if (!isPlain(operation) || mortal) {
        next = operation;
        throw STOP_HERE;
      }
      try {
        log.push(state.perform(thread, operation));
      } catch (thrown) {
        // Kept aside: a `finally` of the code under test may put another exception in its place.
        race = thrown;
        next = operation;
        throw thrown;
      }
      return log[position++]!;
    };
    const self: Self = {
      note: (value) => {
        if (next === undefined) notes.push(value);
      },
      join: (other) => void perform({ kind: 'join', word: other }),
    };
    try {
      this.#scenario.threads[thread]!(new SimulatedMemory(perform), self);
    } catch (thrown) {
      if (race === undefined && thrown !== STOP_HERE) throw this.#counterexample(`thread ${thread} threw: ${thrown}`);
    }
    if (race instanceof Race) throw this.#counterexample(race.message);
    if (race !== undefined) throw race;
    return { status: next === undefined ? 'ended' : 'ready', log, next, notes };
  }

  #finish(point: Point): void {
    if (++this.#runs > RUNS_MAX) throw new Error(`more than ${RUNS_MAX} runs: make the scenario smaller`);
    const stuck = point.threads.flatMap((view, thread) => (view.status === 'ended' ? [] : [thread]));
    if (stuck.length > 0) throw this.#counterexample(`threads ${stuck.join(', ')} sleep for ever: a lost wake-up`);
    try {
      this.#scenario.check(
        point.threads.map((view) => view.notes),
        directMemory(point.state.copy()),
      );
    } catch (broken) {
      throw this.#counterexample(broken instanceof Error ? broken.message : String(broken));
    }
  }

  #guard(action: () => number): number {
    try {
      return action();
    } catch (thrown) {
      if (thrown instanceof Race) throw this.#counterexample(thrown.message);
      throw thrown;
    }
  }

  #counterexample(what: string): Counterexample {
    const steps = this.#trace.map(
      ({ thread, act, operation, result }) =>
        `thread ${thread} ${act} ${describe(operation)}${result === undefined ? '' : ` -> ${result}`}`,
    );
    return new Counterexample([what, ...steps].join('\n  '));
  }
}

function describe(operation: Operation | undefined): string {
  if (operation === undefined) return 'nothing';
  if (operation.kind === 'join') return `join thread ${operation.word}`;
  const value = 'value' in operation ? ` ${operation.value}` : '';
  return `${operation.kind} word ${operation.word}${value}`;
}

/** Memory for what runs alone, before or after all threads. */
function directMemory(state: SimulatedState): SimulatedMemory {
  return new SimulatedMemory((operation) => {
    const before = state.peek(operation.word);
    if (operation.kind === 'store' || operation.kind === 'set' || operation.kind === 'exchange') {
      state.poke(operation.word, operation.value);
    }
    if (operation.kind === 'compare' && before === operation.expected) state.poke(operation.word, operation.value);
    if (operation.kind === 'add') state.poke(operation.word, before + operation.value);
    return before;
  });
}
