import { createHash, timingSafeEqual } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { TapeworksError } from './errors/index.ts';

const TOKEN = /^[\x21-\x7e]{16,1024}$/;
const BEARER = /^Bearer ([\x21-\x7e]{1,1024})$/i;
const FILE_BYTES_MAX = 4096;
/** How often the file may be looked at for a new token. */
const LOOK_MS = 1000;

/** The bearer token of a file, taken anew when the file changes, so that a token can be replaced without a restart. */
export class TokenFile {
  readonly #path: string;
  readonly #now: () => number;
  #digest: Buffer;
  #stamp: string;
  #lookedMs: number;

  constructor(path: string, now: () => number = () => performance.now()) {
    this.#path = path;
    this.#now = now;
    this.#stamp = stampOf(path);
    this.#digest = digestOf(readToken(path));
    this.#lookedMs = now();
  }

  /** Compares digests, so that the time it takes says nothing about the token. */
  accepts(authorization: string | undefined): boolean {
    this.#refresh();
    const given = BEARER.exec(authorization ?? '')?.[1];
    return timingSafeEqual(digestOf(given ?? ''), this.#digest) && given !== undefined;
  }

  #refresh(): void {
    const now = this.#now();
    if (now - this.#lookedMs < LOOK_MS) return;
    this.#lookedMs = now;
    try {
      const stamp = stampOf(this.#path);
      if (stamp === this.#stamp) return;
      this.#digest = digestOf(readToken(this.#path));
      this.#stamp = stamp;
    } catch {
      // Being replaced at this moment, or gone: the last good token stays.
    }
  }
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function stampOf(path: string): string {
  try {
    const { mtimeMs, size, ino } = statSync(path);
    return `${mtimeMs}:${size}:${ino}`;
  } catch (error) {
    throw unusable(path, (error as NodeJS.ErrnoException).code ?? String(error));
  }
}

function readToken(path: string): string {
  if (statSync(path).size > FILE_BYTES_MAX) throw unusable(path, 'it is too large for a token');
  const token = readFileSync(path, 'utf8').trim();
  if (!TOKEN.test(token)) throw unusable(path, 'it holds no token of 16 to 1024 printable characters');
  return token;
}

function unusable(path: string, why: string): TapeworksError {
  return new TapeworksError('TW_TOKEN_FILE', `${path} gives no token: ${why}`);
}
