import { invariant } from '../protocols/errors/index.ts';
import { type ChildSpec, policyOf } from './spec.ts';
import type { AutoShutdown, Strategy } from './strategy.ts';
import { Supervisor } from './supervisor.ts';

export interface SupervisorOptions {
  readonly id: string;
  readonly strategy?: Strategy;
  readonly intensity?: { readonly restarts: number; readonly periodMs: number };
  readonly autoShutdown?: AutoShutdown;
  readonly restart?: ChildSpec['restart'];
  readonly significant?: boolean;
  readonly backoff?: NonNullable<ChildSpec['backoff']>;
  /** Started in this order, stopped in reverse; in a pool, side by side. */
  readonly children?: readonly ChildSpec[];
}

export interface SupervisorSpec extends ChildSpec {
  /** The running supervisor, once it is placed. */
  readonly supervisor: Supervisor;
}

export function supervisor(options: SupervisorOptions): SupervisorSpec {
  let placed: Supervisor | undefined;
  return {
    ...policyOf(options),
    get supervisor() {
      invariant(placed !== undefined, 'a supervisor is used only after it is placed', { id: options.id });
      return placed;
    },
    place(runtime, parent, path) {
      placed = new Supervisor(runtime, parent, path, options);
      return placed;
    },
  };
}
