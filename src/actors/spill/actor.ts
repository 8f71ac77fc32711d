import { readdir } from 'node:fs/promises';
import type { SpillSettings } from '../../protocols/topology.ts';
import type { Behaviour } from '../../supervision/actor.ts';
import { lockFolder } from '../kernel-ingest/folder-lock.ts';

interface State {
  readonly folder: string;
  readonly unlock: () => void;
  readonly streams: readonly string[];
}

/**
 * Holds the spill folder for this process while it lives: two kernels in one folder would erase each other's segments.
 * Each reader keeps its own segments in it, and they end with the readers, which the supervisor stops first.
 */
export function spill({ settings }: { readonly settings: SpillSettings }): Behaviour<never, State> {
  return {
    async init() {
      const { folder } = settings;
      const unlock = lockFolder(folder);
      const entries = await readdir(folder, { withFileTypes: true });
      return { folder, unlock, streams: entries.filter((entry) => entry.isDirectory()).map(({ name }) => name) };
    },
    receive: (state) => state,
    end: ({ unlock }) => unlock(),
    summary: ({ folder, streams }) => ({ folder, streamsFoundAtStart: streams }),
  };
}
