import type { ConfigIssue } from './config-issue.ts';
import type { ErrorCode } from './errors/index.ts';
import type { PlanView } from './topology-plan.ts';

// The contract of the control routes: JSON both ways, `Authorization: Bearer TOKEN`, off unless control is enabled.
//
//   POST /api/topology/plan    TopologyRequest -> 200 planned | 422 invalid
//   POST /api/topology/apply   ApplyRequest    -> 200 applied | 409 refused, rolled-back | 422 invalid | 500 rollback-failed
//
// Any other answer is `error`: 401 without the right token, 403 where control is off or the page is a stranger's. A reader goes by `kind`.

export const PLAN_ROUTE = '/api/topology/plan';
export const APPLY_ROUTE = '/api/topology/apply';

/** The files of a configuration folder by their path in it, as text: kernel.yaml, topology.yaml, modules.d/NAME.yaml. */
export interface TopologyRequest {
  readonly files: Readonly<Record<string, string>>;
}

export interface ApplyRequest extends TopologyRequest {
  /** The `from` of the plan that the operator agreed to; refused if another topology runs by now. */
  readonly expectedFrom?: string;
}

export type TopologyReply =
  | { readonly kind: 'planned'; readonly plan: PlanView }
  | { readonly kind: 'applied'; readonly plan: PlanView }
  | { readonly kind: 'invalid'; readonly issues: readonly ConfigIssue[] }
  | { readonly kind: 'refused'; readonly code: ErrorCode; readonly reason: string }
  | {
      readonly kind: 'rolled-back' | 'rollback-failed';
      readonly code: ErrorCode;
      readonly reason: string;
      /** The steps that were taken to go back, such as `start /feeds/kraken`. */
      readonly undone: readonly string[];
      /** Paths that are not as they were; none unless going back failed. */
      readonly astray: readonly string[];
    }
  | { readonly kind: 'error'; readonly code: ErrorCode; readonly message: string };
