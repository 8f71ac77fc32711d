import { TapeworksError } from '../protocols/errors/index.ts';
import type { CellOptions } from './cell-options.ts';
import type { ChildPolicy, SupervisorPolicy } from './strategy.ts';

// What a specification must say before anything is built from it. A wrong one is refused where it is written, so that a
// running supervisor never meets it.

/** The names that the host takes, and that can be a step of a path. */
const ID = /^[a-z0-9$_.+!*'(),-]{1,200}$/i;
const CAPACITY_MAX = 2 ** 24;

function check(isRight: boolean, where: string, expected: string, got: unknown): void {
  if (isRight) return;
  throw new TapeworksError('TW_BAD_SPEC', `${where}: expected ${expected}, got ${String(got)}`, { where });
}

function isCount(value: number, min: number, max: number): boolean {
  return Number.isSafeInteger(value) && value >= min && value <= max;
}

export function checkActorOptions<M, S>(id: string, options: CellOptions<M, S>): void {
  const { mailbox, stashCapacity, shutdown, startDeadlineMs, budget } = options;
  check(isCount(mailbox.capacity, 1, CAPACITY_MAX), `${id}: mailbox.capacity`, '1 or more messages', mailbox.capacity);
  check(isCount(stashCapacity, 0, CAPACITY_MAX), `${id}: stashCapacity`, '0 or more messages', stashCapacity);
  check(shutdown === 'brutal' || shutdown >= 0, `${id}: shutdown`, '"brutal" or milliseconds', shutdown);
  check(startDeadlineMs > 0, `${id}: startDeadlineMs`, 'more than 0 ms', startDeadlineMs);
  check(isCount(budget.messages, 1, CAPACITY_MAX), `${id}: budget.messages`, '1 or more', budget.messages);
  check(budget.microseconds > 0, `${id}: budget.microseconds`, 'more than 0', budget.microseconds);
}

export function checkChild(parent: string, supervisor: SupervisorPolicy, child: ChildPolicy): void {
  const where = `${parent === '/' ? '' : parent}/${child.id}`;
  check(ID.test(child.id), `${parent}: child id`, "letters, digits and $ - _ . + ! * ' ( ) ,", child.id);
  if (child.significant === true) {
    check(
      child.restart !== 'permanent',
      `${where}: restart`,
      'transient or temporary for a significant child',
      'permanent',
    );
    check(
      supervisor.autoShutdown !== 'never',
      `${parent}: autoShutdown`,
      'not never with a significant child',
      'never',
    );
  }
  if (child.backoff === undefined) return;
  const { minMs, maxMs, jitter, resetAfterMs } = child.backoff;
  check(minMs >= 0 && minMs < Number.POSITIVE_INFINITY, `${where}: backoff.minMs`, '0 or more', minMs);
  check(maxMs >= minMs, `${where}: backoff.maxMs`, 'not less than minMs', maxMs);
  check(jitter >= 0 && jitter <= 1, `${where}: backoff.jitter`, 'a share of 0 to 1', jitter);
  check(resetAfterMs >= 0, `${where}: backoff.resetAfterMs`, '0 or more', resetAfterMs);
}

export function checkSupervisor(path: string, policy: SupervisorPolicy): void {
  const { intensity, strategy, autoShutdown } = policy;
  check(isCount(intensity.restarts, 0, CAPACITY_MAX), `${path}: intensity.restarts`, '0 or more', intensity.restarts);
  check(intensity.periodMs > 0, `${path}: intensity.periodMs`, 'more than 0', intensity.periodMs);
  const isPoolOfEquals = strategy !== 'pool' || autoShutdown === 'never';
  check(isPoolOfEquals, `${path}: autoShutdown`, 'never for a pool, whose children are all alike', autoShutdown);
}
