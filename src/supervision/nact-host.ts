import { dispatch, spawn, start, stop } from 'nact';
import type { Host, Place } from './host.ts';

// The only file that knows nact. What it relies on: an actor handles one wake token at a time and awaits its step; a name
// is free again once its actor is stopped. What it never uses, because it freezes, orphans or doubles actors: initial
// state functions, crash policies other than resume, group directives, nact's mailbox for payloads, nact's query, and
// stopping an actor that still has children.

type NactRef = Parameters<typeof dispatch>[0];

const WAKE = Symbol('wake');

class NactPlace implements Place {
  readonly ref: NactRef;

  constructor(parent: NactRef, name: string, step: () => void | Promise<void>) {
    this.ref = spawn(parent, (_state: undefined, _token: typeof WAKE) => step() as undefined, name, {
      // `step` is total; should it ever throw, the actor must go on rather than be stopped behind our back.
      onCrash: (_message, _error, context) => context.resume,
    });
  }

  wake(): void {
    dispatch(this.ref, WAKE);
  }

  remove(): void {
    stop(this.ref);
  }
}

/** Hosts cells on nact: the nact tree mirrors the supervision tree, and nact's queue holds nothing but wake tokens. */
export function nactHost(): Host {
  const system = start();
  return {
    place: (parent, name, step) => new NactPlace(parent === undefined ? system : (parent as NactPlace).ref, name, step),
    close: () => stop(system),
  };
}
