// What runs on a loop thread: cells with a host of their own, and the link to the main thread that commands them.
import { TapeworksError } from '../../protocols/errors/index.ts';
import type { Behaviour } from '../actor.ts';
import { Cell } from '../cell.ts';
import { ACTOR_DEFAULTS } from '../cell-options.ts';
import type { ActorInfo } from '../inspect.ts';
import type { LifecycleEvent } from '../lifecycle.ts';
import { type ExitReason, SHUTDOWN } from '../strategy.ts';
import { newRuntime } from '../system.ts';
import type { Host, HostContext, Hosted } from '../threads/loop-thread.ts';
import { Link } from './link.ts';
import type { PlaceOrder } from './threaded-actor.ts';

/** How often the cells of a thread say how they are. */
const INFO_PERIOD_MS = 500;

/** Floods of these are counted in the cells' own figures; the others are rare and worth a message each. */
const UNTOLD = new Set<LifecycleEvent['kind']>(['overflow', 'dead-letter']);

/** What the main thread hears from a loop thread unasked. */
export interface ThreadNotes {
  exit: { readonly path: string } & ExitReason;
  infos: readonly ActorInfo[];
  event: LifecycleEvent;
}

type AnyCell = Cell<unknown, unknown>;

export const hostActors: Host = (context: HostContext): Hosted => {
  const { thread } = context.args as { thread: string };
  const runtime = newRuntime({ thread });
  const cells = new Map<string, AnyCell>();

  const cellAt = (path: string): AnyCell => {
    const cell = cells.get(path);
    if (cell === undefined) throw new TapeworksError('TW_UNKNOWN_ACTOR', `no actor ${path} on thread ${thread}`);
    return cell;
  };

  async function place(order: PlaceOrder): Promise<{ ref: AnyCell }> {
    const module = (await import(order.module)) as Record<string, (args: unknown) => Behaviour<unknown, unknown>>;
    const make = module[order.exportName];
    if (make === undefined) {
      throw new TapeworksError('TW_THREAD_START', `${order.module} has no export "${order.exportName}"`);
    }
    // The host's tree is flat here: the tree of supervisors is on the main thread, and names hold no slash.
    const name = order.path.slice(1).replaceAll('/', '.');
    const behaviour = make(link.decode(order.args));
    const cell = new Cell(runtime, undefined, order.path, { ...ACTOR_DEFAULTS, ...order.options, behaviour, name });
    cell.onExit = (reason) => link.note('exit' satisfies keyof ThreadNotes, { path: order.path, ...reason });
    cells.set(order.path, cell);
    return { ref: cell };
  }

  const commands: Record<string, (order: { readonly path: string }) => unknown> = {
    place: (order) => place(order as PlaceOrder),
    start: ({ path }) => cellAt(path).start(),
    halt: ({ path }) => cellAt(path).halt(),
    suspend: ({ path }) => cellAt(path).suspend(),
    resume: ({ path }) => cellAt(path).resume(),
    summary: ({ path }) => cellAt(path).summary(),
    retire: ({ path }) => cellAt(path).retire(SHUTDOWN),
    remove: ({ path }) => {
      cellAt(path).remove();
      cells.delete(path);
    },
  };

  const link = new Link({
    port: context.port,
    clock: runtime.clock,
    deadLetters: runtime.deadLetters,
    onCall: (name, order) => commands[name]!(order as { path: string }),
    onNote: () => {},
  });

  runtime.events.listen((event) => {
    if (!UNTOLD.has(event.kind)) link.note('event' satisfies keyof ThreadNotes, event);
  });
  setInterval(() => {
    const infos = [...cells.values()].map((cell) => cell.inspect());
    link.note('infos' satisfies keyof ThreadNotes, infos);
  }, INFO_PERIOD_MS).unref();

  return {
    async stop() {
      await Promise.all([...cells.values()].map((cell) => cell.halt()));
    },
  };
};
