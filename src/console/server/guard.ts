import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { ConsoleSettings } from '../../protocols/topology.ts';
import { Refused } from './respond.ts';

/** More headers than this are a mistake or an attack; browsers send about fifteen. */
export const HEADERS_MAX = 64;
const TARGET_CHARACTERS_MAX = 2048;
const HOST = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(\d{1,5}))?$/;

/**
 * What every request must pass, whatever it asks for. A page of another site can make the operator's browser send
 * requests here, and can point its own name at this address; the Host header then carries that name.
 */
export class Guard {
  readonly #names: ReadonlySet<string>;
  readonly #scheme: string;

  constructor({ host, allowedHosts, tls }: ConsoleSettings) {
    const own = isIP(host) === 6 ? `[${host}]` : host;
    this.#names = new Set([own, 'localhost', '127.0.0.1', '[::1]', ...allowedHosts].map((name) => name.toLowerCase()));
    this.#scheme = tls === null ? 'http' : 'https';
  }

  check(request: IncomingMessage): void {
    const { headers, rawHeaders, url = '' } = request;
    if (rawHeaders.length / 2 >= HEADERS_MAX) {
      throw new Refused(431, 'TW_HTTP_HEADERS', `a request may have fewer than ${HEADERS_MAX} headers`);
    }
    if (url.length > TARGET_CHARACTERS_MAX) {
      throw new Refused(414, 'TW_HTTP_BAD_REQUEST', `the path is longer than ${TARGET_CHARACTERS_MAX} characters`);
    }
    if (!url.startsWith('/')) throw new Refused(400, 'TW_HTTP_BAD_REQUEST', 'the request target must begin with /');
    this.#checkHost(request);
    const isReading = request.method === 'GET' || request.method === 'HEAD';
    if (isReading && (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0)) {
      throw new Refused(400, 'TW_HTTP_BAD_REQUEST', `a ${request.method} request has no body`);
    }
    if (!isReading || url.startsWith('/api/')) this.#checkOrigin(headers.origin, headers.host);
    // Only a browser sends this, and then it cannot be forged by the page.
    const site = headers['sec-fetch-site'];
    if (url.startsWith('/api/') && (site === 'cross-site' || site === 'same-site')) {
      throw new Refused(403, 'TW_HTTP_ORIGIN', 'the request comes from a page of another site');
    }
  }

  #checkHost({ rawHeaders, headers, socket }: IncomingMessage): void {
    const count = rawHeaders.filter((text, at) => at % 2 === 0 && text.toLowerCase() === 'host').length;
    if (count !== 1) throw new Refused(400, 'TW_HTTP_BAD_REQUEST', 'a request has exactly one Host header');
    const match = HOST.exec((headers.host ?? '').toLowerCase());
    const name = match?.[1];
    if (name === undefined) throw new Refused(403, 'TW_HTTP_HOST', 'the Host header is not a host name');
    // Listening on all addresses, the one that was connected to is ours. A number cannot be pointed elsewhere as a name can.
    const local = socket.localAddress?.replace(/^::ffff:/, '') ?? '';
    const isLocal = name === local || name === `[${local}]`;
    if (!this.#names.has(name) && !isLocal)
      throw new Refused(403, 'TW_HTTP_HOST', 'the Host header names another host');
  }

  #checkOrigin(origin: string | undefined, host: string | undefined): void {
    if (origin === undefined || origin === `${this.#scheme}://${host}`) return;
    throw new Refused(403, 'TW_HTTP_ORIGIN', 'the Origin header names another site');
  }
}
