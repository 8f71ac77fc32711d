import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ConsoleSettings } from '../../protocols/topology.ts';
import type { ConsoleSources } from '../sources.ts';
import type { LiveHub } from './live.ts';
import type { Observatory } from './observatory.ts';
import { Refused } from './respond.ts';

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly query: URLSearchParams;
  /** The request carries the token, or none is needed for reading. */
  readonly mayRead: boolean;
}

export interface Route {
  readonly method: 'GET' | 'POST';
  /** `open` for all, `read` for those who may look, `control` for those who may change things. */
  readonly access: 'open' | 'read' | 'control';
  handle(exchange: Exchange): void | Promise<void>;
}

export interface Parts {
  readonly settings: ConsoleSettings;
  readonly sources: ConsoleSources;
  readonly observatory: Observatory;
  readonly live: LiveHub;
}

/** The source, or the refusal that says that it is not there. */
export function need<T>(source: T | undefined, what: string): T {
  if (source !== undefined) return source;
  throw new Refused(404, 'TW_HTTP_NO_SOURCE', `this system does not run ${what}`);
}
