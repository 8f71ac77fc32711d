import type { ActorContext } from '../../src/supervision/actor.ts';
import type { ActorOptions, ActorSpec, ChildSpec } from '../../src/supervision/spec.ts';
import { actor } from '../../src/supervision/spec.ts';
import type { Supervisor } from '../../src/supervision/supervisor.ts';
import { type SupervisorOptions, type SupervisorSpec, supervisor } from '../../src/supervision/supervisor-spec.ts';
import { Stage } from '../../src/supervision/testing/stage.ts';

/** What a probe can be told: to end by itself in one way or another, or to note that it was reached. */
export type ProbeCommand = 'fail' | 'exit' | 'hang' | 'note';

type ProbeOptions = Partial<ActorOptions<ProbeCommand, string>> & {
  /** Called by each `init`; may throw, or answer a promise to wait for. */
  readonly starting?: (incarnation: number, context: ActorContext<ProbeCommand>) => void | Promise<void>;
  readonly ending?: () => void | Promise<void>;
};

/** No wait between lives, so that a test turns the clock only where time is its subject. */
export const AT_ONCE = { minMs: 0, maxMs: 0, jitter: 0, resetAfterMs: 1000 };

const FOREVER = new Promise<never>(() => {});

/**
 * Children that write down what happens to them:  `+a` it came up,  `-a shutdown` it ended and why,  `a!` it was reached.
 */
export class Probes {
  readonly journal: string[] = [];
  readonly refs = new Map<string, ActorSpec<ProbeCommand>['ref']>();

  child(id: string, options: ProbeOptions = {}): ActorSpec<ProbeCommand> {
    const { starting, ending, ...rest } = options;
    const spec = actor<ProbeCommand, string>({
      backoff: AT_ONCE,
      ...rest,
      id,
      behaviour: {
        init: (context) => {
          const up = () => {
            this.journal.push(`+${id}`);
            return id;
          };
          const wait = starting?.(context.incarnation, context);
          return wait instanceof Promise ? wait.then(up) : up();
        },
        receive: (state, command, context) => {
          if (command === 'fail') throw new Error(`${id} failed`);
          if (command === 'hang') return FOREVER;
          if (command === 'exit') context.stop();
          else this.journal.push(`${id}!`);
          return state;
        },
        end: (_state, reason) => {
          const write = () => void this.journal.push(`-${id} ${reason.kind}`);
          const wait = ending?.();
          return wait instanceof Promise ? wait.then(write) : write();
        },
      },
    });
    this.refs.set(id, spec.ref);
    return spec;
  }

  tell(id: string, command: ProbeCommand): void {
    this.refs.get(id)!.tell(command);
  }

  /** What was written since the last look. */
  news(): string[] {
    return this.journal.splice(0);
  }
}

/** One supervisor under a root that would restart it only once it is asked to, so that its end can be seen. */
export class Case {
  readonly probes: Probes;
  readonly stage: Stage;
  readonly spec: SupervisorSpec;

  constructor(options: Omit<SupervisorOptions, 'id'>, probes: Probes) {
    this.probes = probes;
    this.spec = supervisor({ restart: 'transient', backoff: AT_ONCE, ...options, id: 'sup' });
    // The root gives up at the first failure, so an escalation is seen as the end of the system.
    this.stage = new Stage({ intensity: { restarts: 0, periodMs: 1000 }, children: [this.spec] });
  }

  static async started(
    options: Omit<SupervisorOptions, 'id' | 'children'>,
    children: (probes: Probes) => readonly ChildSpec[],
  ): Promise<Case> {
    const probes = new Probes();
    const run = new Case({ ...options, children: children(probes) }, probes);
    await run.stage.finish(run.stage.system.start());
    return run;
  }

  get sup(): Supervisor {
    return this.spec.supervisor;
  }

  /** Tells a child and lets everything happen that follows without time passing. */
  async tell(id: string, command: ProbeCommand): Promise<string[]> {
    this.probes.news();
    this.probes.tell(id, command);
    await this.stage.settle();
    return this.probes.news();
  }

  async during<T>(work: Promise<T>): Promise<string[]> {
    this.probes.news();
    await this.stage.finish(work);
    return this.probes.news();
  }

  get state(): string {
    return this.sup.inspect().state;
  }

  /** `a:running b:idle` for all children, in start order. */
  get children(): string {
    return this.sup
      .inspect()
      .children.map((child) => `${child.path.slice('/sup/'.length)}:${child.state}`)
      .join(' ');
  }

  /** specs, active, supervisors, workers: as OTP counts children. */
  get counts(): number[] {
    const { children } = this.sup.inspect();
    const supervisors = children.filter((child) => child.kind === 'supervisor').length;
    const active = children.filter((child) => child.state === 'running').length;
    return [children.length, active, supervisors, children.length - supervisors];
  }

  /** Why the system ended by itself; undefined while it has not. */
  async ended(): Promise<string | undefined> {
    const { ended } = this.stage.system;
    const reason = await Promise.race([ended, this.stage.settle().then(() => undefined)]);
    return reason?.kind;
  }

  /** Stops the system and answers what was written meanwhile. */
  stop(): Promise<string[]> {
    return this.during(this.stage.system.stop());
  }
}

export const codeOf = (error: unknown): string | undefined => (error as { code?: string }).code;
