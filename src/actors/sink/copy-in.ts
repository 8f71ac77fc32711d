import type pg from 'pg';

// COPY .. FROM STDIN whose data is at hand: statement, data and end go out in one write, without waiting for the server's
// word that it is ready for data. The server reads them in turn; after a statement that it refuses it skips the data, as
// the protocol tells it to.
//
//   Query  'Q' length sql \0  |  CopyData 'd' length data  |  CopyDone 'c' 4

const QUERY = 0x51;
const COPY_DATA = 0x64;
const COPY_DONE = Buffer.from([0x63, 0, 0, 0, 4]);

interface Connection {
  readonly stream: { cork(): void; uncork(): void; write(bytes: Buffer): boolean };
}

/** A query in the form that pg's client drives: it submits it, and tells it what the server answers. */
class CopyIn implements pg.Submittable {
  readonly #head: Buffer;
  readonly #parts: readonly Buffer[];
  readonly #resolve: () => void;
  readonly #reject: (error: Error) => void;

  constructor(sql: string, parts: readonly Buffer[], resolve: () => void, reject: (error: Error) => void) {
    const text = Buffer.from(`${sql}\0`);
    const size = parts.reduce((sum, part) => sum + part.length, 0);
    const head = Buffer.alloc(1 + 4 + text.length + 1 + 4);
    head[0] = QUERY;
    head.writeInt32BE(4 + text.length, 1);
    text.copy(head, 5);
    head[5 + text.length] = COPY_DATA;
    head.writeInt32BE(4 + size, 6 + text.length);
    this.#head = head;
    this.#parts = parts;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  submit(connection: pg.Connection): void {
    const { stream } = connection as unknown as Connection;
    stream.cork();
    stream.write(this.#head);
    for (const part of this.#parts) stream.write(part);
    stream.write(COPY_DONE);
    stream.uncork();
  }

  handleCopyInResponse(): void {}
  handleCommandComplete(): void {}

  /** The server is ready for the next query: what was copied is committed, and visible. */
  handleReadyForQuery(): void {
    this.#resolve();
  }

  handleError(error: Error): void {
    this.#reject(error);
  }
}

export function copyIn(client: pg.Client, sql: string, parts: readonly Buffer[]): Promise<void> {
  return new Promise((resolve, reject) => {
    client.query(new CopyIn(sql, parts, resolve, reject));
  });
}
