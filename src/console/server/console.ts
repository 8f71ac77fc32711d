import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, isIP, type Socket } from 'node:net';
import { asError, TapeworksError } from '../../protocols/errors/index.ts';
import { TokenFile } from '../../protocols/token-file.ts';
import type { ConsoleSettings } from '../../protocols/topology.ts';
import { isLoopback } from '../../supervision/topology/check-kernel.ts';
import type { ConsoleSources } from '../sources.ts';
import { Assets } from './assets.ts';
import { Guard, HEADERS_MAX } from './guard.ts';
import { LiveHub } from './live.ts';
import { Observatory } from './observatory.ts';
import { Refused, sendRefusal } from './respond.ts';
import type { Route } from './route.ts';
import { routesOf } from './routes.ts';
import { topicMaker } from './topic-names.ts';

const HEADER_BYTES_MAX = 8192;
const HEADERS_TIMEOUT_MS = 5000;
const KEEP_ALIVE_MS = 5000;

/** The console's HTTP side: open from start() to stop(). */
export interface Console {
  readonly url: string;
  readonly port: number;
  readonly counts: ConsoleCounts;
  stop(): Promise<void>;
}

export interface ConsoleCounts {
  requests: number;
  refused: number;
  /** Requests that ran into a defect of ours, and what the last one said. */
  defects: number;
  lastDefect: string;
  readonly dashboards: number;
}

/** Binds the port. Rejects with a coded error when it cannot, or when what is asked for would not be safe. */
export async function createConsole(settings: ConsoleSettings, sources: ConsoleSources): Promise<Console> {
  checkSafety(settings);
  const token = settings.tokenFile === null ? undefined : new TokenFile(settings.tokenFile);
  const assets = new Assets();
  const guard = new Guard(settings);
  const server = newServer(settings);
  const observatory = new Observatory(sources, settings);
  const live = new LiveHub(topicMaker(sources, observatory), settings.maxDashboards);
  const routes = routesOf({ settings, sources, observatory, live });
  const counts = { requests: 0, refused: 0, defects: 0, lastDefect: '' };
  const mustProve = !isLoopback(settings.host);

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    guard.check(request);
    const { pathname, search } = splitTarget(request.url!);
    const route = routes.get(pathname) ?? assetRoute(assets, pathname);
    checkMethod(route, request);
    const isKnown = token?.accepts(request.headers.authorization) ?? false;
    const mayRead = !mustProve || isKnown;
    if (route.access === 'control' && !settings.control) {
      throw new Refused(403, 'TW_HTTP_CONTROL_OFF', 'control is switched off');
    }
    const isAllowed = route.access === 'open' || (route.access === 'read' ? mayRead : isKnown);
    if (!isAllowed) throw unauthorized();
    await route.handle({ request, response, query: new URLSearchParams(search), mayRead });
  };
  const handle = (request: IncomingMessage, response: ServerResponse) => {
    counts.requests++;
    answer(request, response).catch((thrown: unknown) => {
      if (thrown instanceof Refused) counts.refused++;
      else {
        counts.defects++;
        counts.lastDefect = asError(thrown).message;
      }
      turnAway(response, thrown);
    });
  };
  server.on('request', handle);
  // A body that will be refused is not asked for.
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    if (Number(request.headers['content-length'] ?? 0) <= settings.maxBodyBytes) response.writeContinue();
    handle(request, response);
  });
  server.on('clientError', refuseBroken);
  try {
    await listen(server, settings);
  } catch (error) {
    observatory.close();
    throw error;
  }
  const { port } = server.address() as AddressInfo;
  const name = isIP(settings.host) === 6 ? `[${settings.host}]` : settings.host;
  return {
    url: `${settings.tls === null ? 'http' : 'https'}://${name}:${port}`,
    port,
    counts: Object.defineProperty(counts, 'dashboards', { get: () => live.readers, enumerable: true }) as ConsoleCounts,
    async stop() {
      live.close();
      observatory.close();
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

function checkSafety({ host, tls, tokenFile, control }: ConsoleSettings): void {
  if (!isLoopback(host) && (tls === null || tokenFile === null)) {
    throw new TapeworksError('TW_BIND_UNSAFE', `${host} is not a loopback address, and tls or the token is missing`);
  }
  if (control && tokenFile === null) throw new TapeworksError('TW_BIND_UNSAFE', 'control is on, and there is no token');
}

function newServer(settings: ConsoleSettings): Server {
  const options: ServerOptions = {
    maxHeaderSize: HEADER_BYTES_MAX,
    headersTimeout: Math.min(HEADERS_TIMEOUT_MS, settings.requestTimeoutMs),
    requestTimeout: settings.requestTimeoutMs,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: Math.min(1000, settings.requestTimeoutMs),
    insecureHTTPParser: false,
  };
  const server = settings.tls === null ? createServer(options) : newTlsServer(options, settings.tls);
  server.maxConnections = settings.maxConnections;
  server.maxHeadersCount = HEADERS_MAX;
  return server;
}

function newTlsServer(options: ServerOptions, tls: NonNullable<ConsoleSettings['tls']>): Server {
  try {
    const ca = tls.clientCaFile === null ? {} : { ca: readFileSync(tls.clientCaFile), requestCert: true };
    const identity = { cert: readFileSync(tls.certFile), key: readFileSync(tls.keyFile) };
    return createTlsServer({ ...options, ...identity, ...ca, minVersion: 'TLSv1.2' });
  } catch (error) {
    throw new TapeworksError('TW_TLS_FILE', `the certificate cannot be used: ${asError(error).message}`);
  }
}

function listen(server: Server, { host, port }: ConsoleSettings): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const code = error.code === 'EADDRINUSE' ? 'TW_PORT_TAKEN' : 'TW_BIND_REFUSED';
      const what = error.code === 'EADDRINUSE' ? 'is in use by another process' : `cannot be used (${error.code})`;
      reject(new TapeworksError(code, `${host}:${port} ${what}`, { host, port }, { cause: error }));
    });
    server.listen({ host, port }, resolve);
  });
}

function splitTarget(url: string): { pathname: string; search: string } {
  const cut = url.indexOf('?');
  return cut < 0 ? { pathname: url, search: '' } : { pathname: url.slice(0, cut), search: url.slice(cut + 1) };
}

/** The dashboard's files hold no secrets: they may be loaded by who has yet to type in the token. */
function assetRoute(assets: Assets, path: string): Route {
  if (!assets.has(path) && path !== '/') throw new Refused(404, 'TW_HTTP_NOT_FOUND', 'there is nothing here');
  const handle: Route['handle'] = ({ request, response }) => {
    if (!assets.has(path)) throw new Refused(503, 'TW_DASHBOARD_MISSING', 'the dashboard is not built');
    assets.send(path, request, response);
  };
  return { method: 'GET', access: 'open', handle };
}

function checkMethod(route: Route, { method }: IncomingMessage): void {
  if (method === route.method || (method === 'HEAD' && route.method === 'GET')) return;
  const allow = route.method === 'GET' ? 'GET, HEAD' : 'POST';
  throw new Refused(405, 'TW_HTTP_METHOD', `this path takes ${allow}`, { Allow: allow });
}

function unauthorized(): Refused {
  const challenge = { 'WWW-Authenticate': 'Bearer realm="tapeworks"' };
  return new Refused(401, 'TW_HTTP_UNAUTHORIZED', 'this needs the bearer token', challenge);
}

function turnAway(response: ServerResponse, thrown: unknown): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  // What went wrong inside is for the operator's log, not for whoever asked.
  sendRefusal(response, thrown instanceof Refused ? thrown : new Refused(500, 'TW_INVARIANT', 'the console failed'));
}

const BROKEN: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

/** What is not even HTTP gets a status line and the door. */
function refuseBroken(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || socket.bytesWritten > 0) {
    socket.destroy();
    return;
  }
  const status = BROKEN[error.code ?? ''] ?? '400 Bad Request';
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}
