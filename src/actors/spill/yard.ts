import { readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { SpillSettings } from '../../protocols/topology.ts';
import { advanceNote, readNotes } from './damage-notes.ts';
import { diskFs } from './file-system.ts';
import { lockFolder } from './folder-lock.ts';
import { type SpillPoint, SpillStore } from './spill-store.ts';

/** The folder of a stream's segments. A name from Redis must not lead out of the spill folder. */
export function spillFolder(folder: string, stream: string): string {
  return join(
    folder,
    encodeURIComponent(stream).replace(/^\.+/, (dots) => '%2E'.repeat(dots.length)),
  );
}

/** The folder of the bars' segments: no stream's folder has this name. */
export const BARS_LANE = '+klines';

/** What the files in a folder and below it take. A file that goes meanwhile takes nothing. */
export function folderBytes(folder: string): number {
  let bytes = 0;
  try {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      bytes += entry.isDirectory() ? folderBytes(path) : (statSync(path, { throwIfNoEntry: false })?.size ?? 0);
    }
  } catch {
    return bytes;
  }
  return bytes;
}

/** The spill folder as one kernel holds it: locked, with a store a stream and one quota over all of them. */
export class SpillYard {
  readonly settings: SpillSettings;
  readonly #stores = new Map<string, SpillStore>();
  readonly #unlock: () => void;

  constructor(settings: SpillSettings) {
    this.settings = { ...settings, folder: resolve(settings.folder) };
    this.#unlock = lockFolder(this.settings.folder);
  }

  async open(stream: string, reached: (point: SpillPoint) => void): Promise<SpillStore> {
    const { folder, segmentBytes, segmentAgeMs, maxBytes, minFreeBytes } = this.settings;
    const store = await SpillStore.open({
      folder: spillFolder(folder, stream),
      fs: diskFs,
      segmentBytes,
      segmentAgeMs,
      bytesMax: maxBytes,
      bytesElsewhere: () => this.bytes - store.bytes + folderBytes(join(folder, BARS_LANE)),
      freeBytesMin: minFreeBytes,
      nowSeconds: () => Math.floor(Date.now() / 1_000),
      reached,
    });
    this.#stores.set(stream, store);
    return store;
  }

  async close(stream: string): Promise<void> {
    const store = this.#stores.get(stream);
    this.#stores.delete(stream);
    await store?.seal().catch(() => undefined);
  }

  get bytes(): number {
    return [...this.#stores.values()].reduce((sum, store) => sum + store.bytes, 0);
  }

  /** Says that a person has seen the damage that was repaired as far as it could be. Answers how many notes that were. */
  async acknowledge(): Promise<number> {
    let acknowledged = 0;
    for (const stream of this.#stores.keys()) {
      const folder = spillFolder(this.settings.folder, stream);
      for (const { note, state } of await readNotes(diskFs, folder)) {
        if (state !== 'settled') continue;
        await advanceNote(diskFs, folder, note, 'settled', 'acknowledged');
        acknowledged++;
      }
    }
    return acknowledged;
  }

  async release(): Promise<void> {
    for (const stream of [...this.#stores.keys()]) await this.close(stream);
    this.#unlock();
  }
}
