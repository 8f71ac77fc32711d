import { createHash } from 'node:crypto';
import { type FSWatcher, statSync, watch } from 'node:fs';
import { join } from 'node:path';
import { type Checked, renderIssue } from '../../protocols/config-issue.ts';
import type { Surroundings } from './checker.ts';
import { type ConfigFiles, type Configuration, checkConfiguration, MODULES_FOLDER, readConfigFiles } from './load.ts';

// Tells of a configuration folder that changed, once it has settled. Files are read by name whenever anything stirs, so
// it makes no difference whether an editor writes in place, renames a finished file over the old one, or swaps a link.
//
//   idle --stir--> waiting --debounce--> reading --as told before--> idle
//                     ^                    |  |
//                     +--not as read last--+  +--as read last, one debounce ago--> told --> idle
//
// Two equal readings in a row keep a file that is still being written from being told half. Notices from the system can
// be lost (a folder replaced, a queue overrun), so that a slow look at the files goes on beside them.

/** How often the files are read when nothing stirs. */
const LOOK_MS = 2_000;

export interface WatchOptions {
  readonly folder: string;
  readonly around: Surroundings;
  readonly debounceMs: number;
  /** The files as they were last loaded: whatever differs from them is told, also if it changed before the watch began. */
  readonly known: ConfigFiles;
  /** Each settled state once, valid or not, in order; the next one waits until this is done. */
  onChange(checked: Checked<Configuration>): void | Promise<void>;
}

export interface SettleState {
  readonly told: string;
  readonly lastRead: string | undefined;
}

/** What one more reading means. Pure, so that its cases can be tested without a clock. */
export function settle(state: SettleState, digest: string): [SettleState, 'idle' | 'wait' | 'tell'] {
  if (digest === state.told) return [{ told: state.told, lastRead: undefined }, 'idle'];
  if (digest === state.lastRead) return [{ told: digest, lastRead: undefined }, 'tell'];
  return [{ told: state.told, lastRead: digest }, 'wait'];
}

export class ConfigWatcher {
  readonly #options: WatchOptions;
  readonly #notices = new Map<string, { readonly watcher: FSWatcher; readonly inode: number }>();
  readonly #look: NodeJS.Timeout;
  #state: SettleState;
  #timer: NodeJS.Timeout | undefined;
  #reading = false;
  #stirred = false;
  #closed = false;

  constructor(options: WatchOptions) {
    this.#options = options;
    this.#state = { told: digestOfFiles({ ok: true, value: options.known }), lastRead: undefined };
    this.#look = setInterval(() => this.#stir(), LOOK_MS);
    this.#look.unref();
    this.#stir();
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#look);
    clearTimeout(this.#timer);
    for (const { watcher } of this.#notices.values()) watcher.close();
    this.#notices.clear();
  }

  #stir(): void {
    if (this.#closed) return;
    this.#listen(this.#options.folder);
    this.#listen(join(this.#options.folder, MODULES_FOLDER));
    this.#stirred = true;
    // A wait that has begun is not begun anew: else a folder that never rests would never be read.
    if (this.#reading || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => void this.#read(), this.#options.debounceMs);
    this.#timer.unref();
  }

  async #read(): Promise<void> {
    this.#timer = undefined;
    this.#reading = true;
    this.#stirred = false;
    const files = await readConfigFiles(this.#options.folder);
    const [state, then] = settle(this.#state, digestOfFiles(files));
    this.#state = state;
    if (then === 'tell' && !this.#closed) await this.#tell(files);
    this.#reading = false;
    if (then === 'wait' || this.#stirred) this.#stir();
  }

  async #tell(files: Checked<ConfigFiles>): Promise<void> {
    const { folder, around, onChange } = this.#options;
    await onChange(files.ok ? checkConfiguration(files.value, around, (name) => join(folder, name)) : files);
  }

  /** Listens to a folder, and to the one in its place once it was replaced; one that is not there is left to the look. */
  #listen(folder: string): void {
    const inode = statSync(folder, { throwIfNoEntry: false })?.ino;
    const before = this.#notices.get(folder);
    if (before?.inode === inode) return;
    before?.watcher.close();
    this.#notices.delete(folder);
    if (inode === undefined) return;
    try {
      const watcher = watch(folder, { persistent: false }, () => this.#stir());
      watcher.on('error', () => this.#forget(folder, watcher));
      this.#notices.set(folder, { watcher, inode });
    } catch {
      // Gone again, or no more notices to be had from the system: the look goes on.
    }
  }

  #forget(folder: string, watcher: FSWatcher): void {
    watcher.close();
    if (this.#notices.get(folder)?.watcher === watcher) this.#notices.delete(folder);
  }
}

function digestOfFiles(files: Checked<ConfigFiles>): string {
  const hash = createHash('sha256');
  if (!files.ok) return hash.update(files.issues.map(renderIssue).join('\n')).digest('hex');
  for (const [name, bytes] of files.value) hash.update(`${name} ${bytes.byteLength}\n`).update(bytes);
  return hash.digest('hex');
}
