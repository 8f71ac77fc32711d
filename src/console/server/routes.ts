import { controlRoutes } from './control.ts';
import { Refused, sendJson, sendText } from './respond.ts';
import { need, type Parts, type Route } from './route.ts';

const DEAD_LETTERS_MAX = 500;
const BARS_MAX = 2000;

export function routesOf(parts: Parts): ReadonlyMap<string, Route> {
  const routes = { ...healthRoutes(parts), ...readRoutes(parts), ...planeRoutes(parts), ...controlRoutes(parts) };
  return new Map(Object.entries(routes));
}

const get = (access: Route['access'], handle: Route['handle']): Route => ({ method: 'GET', access, handle });

function healthRoutes({ settings, sources, observatory }: Parts): Record<string, Route> {
  const metrics = get('read', async ({ response }) => {
    sendText(response, 200, 'text/plain; version=0.0.4; charset=utf-8', await observatory.metrics());
  });
  return {
    '/health': get('open', ({ response, mayRead }) => {
      const { status, parts } = sources.health();
      sendJson(response, status === 'DOWN' ? 503 : 200, mayRead ? { status, parts } : { status });
    }),
    '/ready': get('open', ({ response }) => {
      const ready = sources.isReady();
      sendJson(response, ready ? 200 : 503, { ready });
    }),
    ...(settings.metrics && { '/metrics': metrics }),
  };
}

function readRoutes({ observatory, live }: Parts): Record<string, Route> {
  return {
    '/api/pulse': get('read', ({ response }) => sendJson(response, 200, observatory.pulse())),
    '/api/actors': get('read', ({ response }) => {
      sendText(response, 200, 'application/json; charset=utf-8', observatory.sampler.fullMessage());
    }),
    '/api/actors/detail': get('read', async ({ response, query }) => {
      const path = parameter(query, 'path');
      const detail = await observatory.detail(path);
      if (detail === undefined) throw new Refused(404, 'TW_UNKNOWN_ACTOR', 'there is no such actor');
      sendJson(response, 200, detail);
    }),
    '/api/threads': get('read', ({ response }) => sendJson(response, 200, observatory.threads())),
    '/api/events': get('read', ({ response }) => sendJson(response, 200, observatory.events.since(0, 500))),
    '/api/live': get('read', ({ request, response, query }) => {
      live.open(request, response, parameter(query, 'topics').split(','));
    }),
  };
}

function planeRoutes({ sources }: Parts): Record<string, Route> {
  return {
    '/api/books': get('read', ({ response }) =>
      sendJson(response, 200, need(sources.books, 'order books').catalogue()),
    ),
    '/api/book': get('read', ({ response, query }) => {
      const books = need(sources.books, 'order books');
      const symbol = oneOf(parameter(query, 'symbol'), books.catalogue().symbols, 'symbol');
      sendJson(response, 200, { book: books.latest(symbol) ?? null, latency: books.latency() ?? null });
    }),
    '/api/bars': get('read', ({ response }) => sendJson(response, 200, need(sources.bars, 'bars').catalogue())),
    '/api/bars/history': get('read', async ({ response, query }) => {
      const bars = need(sources.bars, 'bars');
      const { symbols, intervals } = bars.catalogue();
      const symbol = oneOf(parameter(query, 'symbol'), symbols, 'symbol');
      const interval = oneOf(parameter(query, 'interval'), intervals, 'interval');
      sendJson(response, 200, await bars.history(symbol, interval, limit(query, 300, BARS_MAX)));
    }),
    '/api/ingest': get('read', ({ response }) => sendJson(response, 200, need(sources.ingest, 'ingest').view())),
    '/api/ingest/dead-letters': get('read', async ({ response, query }) => {
      sendJson(response, 200, await need(sources.ingest, 'ingest').deadLetters(limit(query, 50, DEAD_LETTERS_MAX)));
    }),
    '/api/topology': get('read', ({ response }) => {
      sendJson(response, 200, need(sources.topology, 'topology').running());
    }),
  };
}

function parameter(query: URLSearchParams, name: string): string {
  const values = query.getAll(name);
  const [value] = values;
  if (values.length === 1 && value !== undefined && value !== '' && value.length <= 512) return value;
  throw new Refused(400, 'TW_HTTP_BAD_REQUEST', `the query needs one "${name}" of 1 to 512 characters`);
}

function oneOf(value: string, known: readonly string[], what: string): string {
  if (known.includes(value)) return value;
  throw new Refused(404, 'TW_HTTP_NOT_FOUND', `there is no such ${what} here`);
}

function limit(query: URLSearchParams, otherwise: number, most: number): number {
  const text = query.get('limit');
  if (text === null) return otherwise;
  const value = Number(text);
  if (/^\d{1,6}$/.test(text) && value >= 1 && value <= most) return value;
  throw new Refused(400, 'TW_HTTP_BAD_REQUEST', `"limit" must be a number from 1 to ${most}`);
}
