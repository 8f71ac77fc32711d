import type { ErrorEntry } from './index.ts';

export const RUNTIME_ERRORS = {
  TW_INVARIANT: {
    means: 'Something that must hold by construction does not: a defect of the program.',
    remedy: 'Report it with the log lines around it; the actor that saw it is restarted by its supervisor.',
  },
  TW_ASK_TIMEOUT: {
    means: 'An actor did not reply to a question before its deadline. The work itself was not cancelled.',
    remedy: 'Look at the actor: a deep mailbox or a long processing time says that it is overloaded or blocked.',
  },
  TW_ASK_REFUSED: {
    means: 'The mailbox of the actor that was asked is full.',
    remedy: 'Ask less often, or give the actor a larger mailbox in the topology.',
  },
  TW_ASK_TERMINATED: {
    means: 'The actor that was asked is gone, or its life ended before it replied.',
    remedy: 'Ask again; its supervisor restarts it unless it was stopped on purpose.',
  },
  TW_ASK_FAILED: {
    means: 'The actor that was asked crashed while it handled the question.',
    remedy: "Look at the actor's last failure for the cause.",
  },
  TW_DEATH_PACT: {
    means: 'A watched actor is down for good, and the watcher has no way of going on without it.',
    remedy: 'Look at why the watched actor ended; the watcher is restarted by its supervisor.',
  },
  TW_STASH_OVERFLOW: {
    means: 'An actor put more messages aside than its stash holds.',
    remedy: 'Find out why the actor does not get ready; a larger stash only helps if it does.',
  },
  TW_TIMERS_OVERFLOW: {
    means: 'An actor holds more timers than is allowed.',
    remedy: 'Report it: a timer key is probably made from data.',
  },
  TW_START_TIMEOUT: {
    means: 'An actor did not come up before its start deadline.',
    remedy: 'Check what it waits for (a server, a socket, a thread); it is retried with backoff.',
  },
  TW_RESTART_INTENSITY: {
    means: 'The children of a supervisor failed more often than its intensity allows; it gave up and escalated.',
    remedy: 'Look at the failures of the named child; raise intensity only when restarting really helps.',
  },
  TW_DUPLICATE_CHILD: {
    means: 'A supervisor already has a child of this name.',
    remedy: 'Choose another name, or delete the old child first.',
  },
  TW_BAD_SPEC: {
    means: 'The specification of an actor or a supervisor contradicts itself or is out of range.',
    remedy: 'Correct the field that the message names; nothing was started from the specification.',
  },
  TW_UNKNOWN_ACTOR: {
    means: 'There is no actor at this path.',
    remedy: 'List the actors with `tapeworks top` or on the dashboard and check the path.',
  },
  TW_THREAD_ENDED: {
    means: 'A thread ended without being asked to: it threw, hung, ran out of memory or exited.',
    remedy: 'It is restarted with backoff; the reason in the message says what to look at.',
  },
  TW_GRPC_BIND: {
    means: 'The gRPC server cannot listen on its address, mostly because another program has the port.',
    remedy: 'Stop the other program, or set another grpc.port in config/kernel.yaml.',
  },
  TW_SHUTDOWN_OVERDUE: {
    means: 'A phase of the shutdown took longer than its deadline and was cut short.',
    remedy: 'Unfinished work stays where it was durable; look in the log for the phase and what it waited for.',
  },
  TW_LAYOUT: {
    means: 'A shared-memory mailbox was asked for at a place, in a size or under a life that it cannot have.',
    remedy: 'The message names the rule and the value that broke it; correct the size in the topology, or report it.',
  },
  TW_THREAD_START: {
    means: 'A worker thread did not become ready: its module failed to load or to start, or took too long.',
    remedy: "Read the cause; the thread's supervisor starts it again under its restart policy.",
  },
} as const satisfies Record<string, ErrorEntry>;
