import { basename, dirname } from 'node:path';
import type { SpillFile, SpillFs } from '../../src/actors/spill/file-system.ts';
import type { Random } from './random.ts';

// A disk in memory that forgets what was not synced. A file's bytes survive from its last sync on only by luck, in part,
// or as zeros (a journal that had the size but not the data); a name survives from its folder's last sync on only by luck.

interface Inode {
  durable: Buffer;
  current: Buffer;
}

type FolderChange = (names: Map<string, Inode>) => void;

interface Folder {
  durable: Map<string, Inode>;
  current: Map<string, Inode>;
  unsynced: FolderChange[];
}

/** The power went: the operation did not return. */
export class PowerLoss extends Error {}

const failure = (code: string) => Object.assign(new Error(code), { code });

export class PowerLossFs implements SpillFs {
  readonly #folders = new Map<string, Folder>();
  readonly #random: Random;
  /** Operations until the power goes. */
  operationsLeft = Number.POSITIVE_INFINITY;
  /** Chance that a write finds the disk full, after a part of it. */
  fullShare = 0;
  /** Chance that a sync fails and the pages are dropped. */
  syncFailureShare = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  #step(): void {
    if (--this.operationsLeft < 0) throw new PowerLoss('the power went');
  }

  #folder(path: string): Folder {
    const folder = this.#folders.get(path);
    if (folder === undefined) throw failure('ENOENT');
    return folder;
  }

  #inode(path: string): Inode {
    const inode = this.#folder(dirname(path)).current.get(basename(path));
    if (inode === undefined) throw failure('ENOENT');
    return inode;
  }

  #change(folder: Folder, change: FolderChange): void {
    change(folder.current);
    folder.unsynced.push(change);
  }

  /** Makes the folders as they are after the power came back. */
  losePower(): void {
    this.operationsLeft = Number.POSITIVE_INFINITY;
    for (const folder of this.#folders.values()) {
      const survivors = new Map(folder.durable);
      for (const change of folder.unsynced.slice(0, this.#random.between(0, folder.unsynced.length))) change(survivors);
      folder.current = survivors;
      folder.durable = new Map(survivors);
      folder.unsynced = [];
      for (const inode of new Set(survivors.values())) inode.current = inode.durable = this.#survivingBytes(inode);
    }
  }

  #survivingBytes({ durable, current }: Inode): Buffer {
    if (current.length <= durable.length) return this.#random.chance(0.5) ? current : durable;
    const kept = this.#random.between(durable.length, current.length);
    const bytes = Buffer.from(current.subarray(0, this.#random.between(kept, current.length)));
    return bytes.fill(0, kept);
  }

  /** The bytes of a file, for tests that damage them. */
  bytesOf(path: string): Buffer {
    return this.#inode(path).current;
  }

  put(path: string, bytes: Buffer): void {
    const folder = this.#folder(dirname(path));
    const inode = { durable: bytes, current: bytes };
    folder.current.set(basename(path), inode);
    folder.durable.set(basename(path), inode);
  }

  async makeFolder(path: string): Promise<void> {
    this.#step();
    if (!this.#folders.has(path)) this.#folders.set(path, { durable: new Map(), current: new Map(), unsynced: [] });
  }

  async list(path: string): Promise<readonly string[]> {
    this.#step();
    return [...this.#folder(path).current.keys()];
  }

  async create(path: string): Promise<SpillFile> {
    this.#step();
    const folder = this.#folder(dirname(path));
    if (folder.current.has(basename(path))) throw failure('EEXIST');
    const inode: Inode = { durable: Buffer.alloc(0), current: Buffer.alloc(0) };
    this.#change(folder, (names) => names.set(basename(path), inode));
    return this.#handle(inode);
  }

  async open(path: string): Promise<SpillFile> {
    this.#step();
    return this.#handle(this.#inode(path));
  }

  #handle(inode: Inode): SpillFile {
    const sync = async () => {
      this.#step();
      if (this.#random.chance(this.syncFailureShare)) {
        // What the kernel does to pages it could not write: they are marked clean, and may be gone.
        inode.current = inode.durable;
        throw failure('EIO');
      }
      inode.durable = inode.current;
    };
    return {
      append: async (bytes) => {
        this.#step();
        const full = this.#random.chance(this.fullShare);
        const taken = full ? this.#random.below(bytes.length + 1) : bytes.length;
        inode.current = Buffer.concat([inode.current, bytes.subarray(0, taken)]);
        if (full) throw failure('ENOSPC');
      },
      datasync: sync,
      sync,
      truncate: async (length) => {
        this.#step();
        inode.current = inode.current.subarray(0, length);
      },
      close: async () => this.#step(),
    };
  }

  async read(path: string, offset: number, length: number): Promise<Buffer> {
    this.#step();
    return Buffer.from(this.#inode(path).current.subarray(offset, offset + length));
  }

  async size(path: string): Promise<number> {
    this.#step();
    return this.#inode(path).current.length;
  }

  async rename(from: string, to: string): Promise<void> {
    this.#step();
    const inode = this.#inode(from);
    this.#change(this.#folder(dirname(from)), (names) => {
      names.delete(basename(from));
      names.set(basename(to), inode);
    });
  }

  async remove(path: string): Promise<void> {
    this.#step();
    this.#inode(path);
    this.#change(this.#folder(dirname(path)), (names) => names.delete(basename(path)));
  }

  async syncFolder(path: string): Promise<void> {
    this.#step();
    const folder = this.#folder(path);
    folder.durable = new Map(folder.current);
    folder.unsynced = [];
  }

  async freeBytes(): Promise<number> {
    this.#step();
    return Number.MAX_SAFE_INTEGER;
  }
}
