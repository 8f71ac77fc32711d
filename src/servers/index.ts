import { join } from 'node:path';
import { type ErrorCode, TapeworksError } from '../protocols/errors/index.ts';
import { Kept, type OwnProcess } from './kept.ts';
import { startPostgres } from './postgres.ts';
import { startRedis } from './redis.ts';
import type { ServerProcess } from './server-process.ts';

/** A server that the kernel can use, or the coded reason why it cannot. */
export type ServerAvailability =
  | { readonly state: 'up'; readonly url: string; readonly origin: 'configured' | 'embedded'; stop(): Promise<void> }
  | { readonly state: 'down'; readonly code: ErrorCode; readonly reason: string; readonly remedy: string };

export interface ServerOptions {
  /** The folder for everything that the program keeps, usually `.tapeworks`. */
  readonly folder: string;
  readonly reset?: boolean;
  readonly env?: Readonly<Record<string, string | undefined>>;
  say?(text: string): void;
  /** Told when an embedded server ended by itself; it is started again. */
  warn?(text: string): void;
}

interface EmbeddedServer {
  readonly url: string;
  readonly process: ServerProcess;
  stop(): Promise<void>;
}

interface OwnServer extends OwnProcess {
  readonly url: string;
}

/** The user's Postgres where DATABASE_URL names one, else the embedded one. Never throws: it says why it is down. */
export function providePostgres(options: ServerOptions): Promise<ServerAvailability> {
  return provide(options, 'DATABASE_URL', (port, reset) =>
    startPostgres({ ...shared(options), folder: join(options.folder, 'postgres'), port, reset }),
  );
}

/** The user's Redis where REDIS_URL names one, else the embedded one. Never throws: it says why it is down. */
export function provideRedis(options: ServerOptions): Promise<ServerAvailability> {
  const places = { folder: join(options.folder, 'redis'), cache: join(options.folder, 'cache') };
  return provide(options, 'REDIS_URL', (port, reset) => startRedis({ ...shared(options), ...places, port, reset }));
}

function shared({ say }: ServerOptions) {
  return say === undefined ? {} : { say };
}

async function provide(
  options: ServerOptions,
  variable: 'DATABASE_URL' | 'REDIS_URL',
  start: (port: number, reset: boolean) => Promise<EmbeddedServer>,
): Promise<ServerAvailability> {
  const configured = (options.env ?? process.env)[variable];
  if (configured !== undefined && configured !== '') {
    return { state: 'up', url: configured, origin: 'configured', stop: async () => undefined };
  }
  try {
    const server = await Kept.start<OwnServer>({
      start: async (before) =>
        owned(before === undefined ? await start(0, options.reset === true) : await start(portOf(before.url), false)),
      warn: (text) => options.warn?.(text),
    });
    return { state: 'up', url: server.process.url, origin: 'embedded', stop: () => server.stop() };
  } catch (error) {
    const known =
      error instanceof TapeworksError
        ? error
        : new TapeworksError('TW_SERVER_START_FAILED', `the embedded server behind ${variable} failed: ${error}`);
    return { state: 'down', code: known.code, reason: known.message, remedy: known.remedy };
  }
}

const portOf = (url: string) => Number(new URL(url).port);

function owned({ url, process, stop }: EmbeddedServer): OwnServer {
  const title = `the embedded ${process.name} in ${process.folder}`;
  const whenEnded = () => process.whenEnded().then(() => '');
  return { url, title, whenEnded, stop };
}
