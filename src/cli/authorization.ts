import { TapeworksError } from '../protocols/errors/index.ts';
import { isLoopback } from '../supervision/topology/check-kernel.ts';

/** The address of something at a running system. */
export function urlOf(base: string, path: string): URL {
  if (/^https?:\/\//.test(base) && URL.canParse(path, base)) return new URL(path, base);
  throw new TapeworksError('TW_BAD_USAGE', `"${base}" is not an http:// or https:// URL`);
}

/** The token from TAPEWORKS_TOKEN, where one is set. It is not sent to another machine in plain text. */
export function authorizationFor(url: URL): Record<string, string> {
  const token = process.env['TAPEWORKS_TOKEN'] ?? '';
  if (token === '') return {};
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    throw new TapeworksError('TW_CONFIG_UNSAFE', `the token is not sent to ${url.origin} in plain text; use https`);
  }
  return { authorization: `Bearer ${token}` };
}
