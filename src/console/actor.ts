import type { ConsoleSettings } from '../protocols/topology.ts';
import type { Behaviour } from '../supervision/actor.ts';
import { type Console, createConsole } from './server/console.ts';
import type { ConsoleSources } from './sources.ts';

/** The console serves HTTP while it lives, and takes no messages. A port that is taken fails its start like any crash. */
export function consoleBehaviour(
  settings: ConsoleSettings,
  sources: ConsoleSources,
  onListening: (url: string) => void,
): Behaviour<never, Console> {
  return {
    async init() {
      const opened = await createConsole(settings, sources);
      onListening(opened.url);
      return opened;
    },
    receive: (state) => state,
    end: (state) => state.stop(),
    summary: ({ url, counts }) => ({ url, ...counts }),
  };
}
