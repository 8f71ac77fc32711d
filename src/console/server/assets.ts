import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SAFETY_HEADERS } from './respond.ts';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
};

export const DASHBOARD_FOLDER = fileURLToPath(new URL('../../../console', import.meta.url));

interface Asset {
  readonly type: string;
  readonly etag: string;
  /** Files below /assets/ carry a digest in their name, so that they never change. */
  readonly isImmutable: boolean;
  readonly encodings: Readonly<Partial<Record<'br' | 'gzip' | 'identity', Buffer>>>;
}

/** The dashboard's files, all in memory and looked up by their exact path: no request reaches the file system. */
export class Assets {
  readonly #byPath: ReadonlyMap<string, Asset>;

  constructor(folder: string = DASHBOARD_FOLDER) {
    const paths = existsSync(folder) ? filesBelow(folder, '') : [];
    const assets = paths
      .filter((path) => Object.hasOwn(TYPES, extname(path)))
      .map((path) => [path === '/index.html' ? '/' : path, load(folder, path)] as const);
    this.#byPath = new Map(assets);
  }

  has(path: string): boolean {
    return this.#byPath.has(path);
  }

  send(path: string, request: IncomingMessage, response: ServerResponse): void {
    const asset = this.#byPath.get(path)!;
    const headers = {
      ...SAFETY_HEADERS,
      'Content-Type': asset.type,
      'Cache-Control': asset.isImmutable ? 'public, max-age=31536000, immutable' : 'no-cache',
      ETag: asset.etag,
      Vary: 'Accept-Encoding',
    };
    if (request.headers['if-none-match'] === asset.etag) {
      response.writeHead(304, headers).end();
      return;
    }
    const accepted = request.headers['accept-encoding'] ?? '';
    const encoding = (['br', 'gzip'] as const).find((name) => asset.encodings[name] && accepts(accepted, name));
    const body = asset.encodings[encoding ?? 'identity']!;
    response.writeHead(200, {
      ...headers,
      ...(encoding !== undefined && { 'Content-Encoding': encoding }),
      'Content-Length': body.length,
    });
    response.end(body);
  }
}

function filesBelow(folder: string, below: string): string[] {
  return readdirSync(join(folder, below), { withFileTypes: true }).flatMap((entry) => {
    const path = `${below}/${entry.name}`;
    return entry.isDirectory() ? filesBelow(folder, path) : [path];
  });
}

/** The build leaves compressed twins beside the files that gain from it. */
function load(folder: string, path: string): Asset {
  const file = join(folder, path);
  const identity = readFileSync(file);
  const twin = (ending: string) => (existsSync(file + ending) ? readFileSync(file + ending) : undefined);
  const [br, gzip] = [twin('.br'), twin('.gz')];
  return {
    type: TYPES[extname(path)]!,
    etag: `"${createHash('sha256').update(identity).digest('base64url').slice(0, 22)}"`,
    isImmutable: path.startsWith('/assets/'),
    encodings: { identity, ...(br && { br }), ...(gzip && { gzip }) },
  };
}

function accepts(header: string, encoding: string): boolean {
  return header.split(',').some((part) => {
    const [name, ...parameters] = part.trim().toLowerCase().split(';');
    return name?.trim() === encoding && !parameters.some((parameter) => /^\s*q=0(?:\.0*)?\s*$/.test(parameter));
  });
}
