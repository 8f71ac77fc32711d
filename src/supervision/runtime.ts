import type { Clock, Random } from './clock.ts';
import type { DeadLetters } from './dead-letters.ts';
import type { Host } from './host.ts';
import type { LifecycleBus } from './lifecycle.ts';
import type { Registry } from './registry.ts';

/** What the cells of one thread share. */
export interface Runtime {
  readonly thread: string;
  readonly host: Host;
  readonly clock: Clock;
  readonly random: Random;
  readonly events: LifecycleBus;
  readonly deadLetters: DeadLetters;
  readonly registry: Registry;
}
