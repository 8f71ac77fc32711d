import type pg from 'pg';

/** Lets go of a server that may not answer any more: pg has no public way, and the socket would hold the process. */
export function cut(client: pg.Client): void {
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
}
