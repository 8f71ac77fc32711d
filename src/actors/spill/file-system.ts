import { type FileHandle, mkdir, open, readdir, rename, stat, statfs, unlink } from 'node:fs/promises';

/** An open segment. Every method rejects with the system's error; nothing is retried below this line. */
export interface SpillFile {
  /** Appends all the bytes or rejects; after a rejection some of them may be in the file. */
  append(bytes: Buffer): Promise<void>;
  /** Returns once what was appended is on the disk. */
  datasync(): Promise<void>;
  /** Returns once the file and its size are on the disk. */
  sync(): Promise<void>;
  truncate(length: number): Promise<void>;
  close(): Promise<void>;
}

/** The file operations that the spill needs, so that tests can put a disk in their place that loses power. */
export interface SpillFs {
  makeFolder(path: string): Promise<void>;
  list(folder: string): Promise<readonly string[]>;
  /** Makes a file that must not exist yet. */
  create(path: string): Promise<SpillFile>;
  /** Opens an existing file to append to it or to cut it. */
  open(path: string): Promise<SpillFile>;
  /** Reads up to `length` bytes; fewer only at the end of the file. */
  read(path: string, offset: number, length: number): Promise<Buffer>;
  size(path: string): Promise<number>;
  rename(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
  /** Returns once the names in the folder are on the disk. */
  syncFolder(folder: string): Promise<void>;
  freeBytes(folder: string): Promise<number>;
}

class DiskFile implements SpillFile {
  readonly #handle: FileHandle;

  constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  async append(bytes: Buffer): Promise<void> {
    // A disk that fills up takes a part of the bytes first and refuses the rest on the next call.
    for (let at = 0; at < bytes.length; ) {
      const { bytesWritten } = await this.#handle.write(bytes, at, bytes.length - at);
      at += bytesWritten;
    }
  }

  datasync(): Promise<void> {
    return this.#handle.datasync();
  }

  sync(): Promise<void> {
    return this.#handle.sync();
  }

  truncate(length: number): Promise<void> {
    return this.#handle.truncate(length);
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

export const diskFs: SpillFs = {
  async makeFolder(path) {
    await mkdir(path, { recursive: true, mode: 0o700 });
  },
  list: (folder) => readdir(folder),
  create: async (path) => new DiskFile(await open(path, 'ax', 0o600)),
  open: async (path) => new DiskFile(await open(path, 'a+')),
  async read(path, offset, length) {
    const handle = await open(path, 'r');
    try {
      const target = Buffer.allocUnsafe(length);
      let filled = 0;
      while (filled < length) {
        const { bytesRead } = await handle.read(target, filled, length - filled, offset + filled);
        if (bytesRead === 0) break;
        filled += bytesRead;
      }
      return target.subarray(0, filled);
    } finally {
      await handle.close();
    }
  },
  size: async (path) => (await stat(path)).size,
  rename,
  remove: unlink,
  async syncFolder(folder) {
    const handle = await open(folder, 'r');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  },
  async freeBytes(folder) {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize;
  },
};
