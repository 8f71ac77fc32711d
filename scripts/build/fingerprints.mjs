import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A file that was written this shortly before it was read could be written again without a trace in its times. */
const SETTLED_MS = 2_000;

/** What is in files, without reading those again that have the size and the times of the last look. */
export class Fingerprints {
  #root;
  #memory;
  #known;
  /** Several steps have the same inputs. */
  #seen = new Map();
  #isChanged = false;

  /** @param memory where to remember; a file that is lost or damaged costs one reading of everything. */
  constructor(root, memory) {
    this.#root = root;
    this.#memory = memory;
    this.#known = remembered(memory);
  }

  /** One digest of the names and contents of `files`. */
  of(files) {
    const hash = createHash('sha256');
    for (const file of files) hash.update(`${file}\0${this.#contentOf(file)}\0`);
    return hash.digest('hex');
  }

  #contentOf(file) {
    const seen = this.#seen.get(file) ?? this.#look(file);
    this.#seen.set(file, seen);
    return seen;
  }

  #look(file) {
    const path = join(this.#root, file);
    const { size, mtimeMs, ctimeMs } = statSync(path);
    const known = this.#known.get(file);
    if (known?.size === size && known.mtimeMs === mtimeMs && known.ctimeMs === ctimeMs) return known.content;
    const content = createHash('sha256').update(readFileSync(path)).digest('base64url');
    if (Date.now() - Math.max(mtimeMs, ctimeMs) > SETTLED_MS) {
      this.#known.set(file, { size, mtimeMs, ctimeMs, content });
      this.#isChanged = true;
    }
    return content;
  }

  save() {
    if (!this.#isChanged) return;
    mkdirSync(dirname(this.#memory), { recursive: true });
    // Another command may look at the same moment: it sees the old file or the new one, whole.
    const partial = `${this.#memory}.${process.pid}`;
    writeFileSync(partial, JSON.stringify([...this.#known]));
    renameSync(partial, this.#memory);
  }
}

function remembered(memory) {
  try {
    return new Map(JSON.parse(readFileSync(memory, 'utf8')));
  } catch {
    return new Map();
  }
}
