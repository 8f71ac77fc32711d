import type { ServerResponse } from 'node:http';
import type { Refusal } from '../../protocols/console-api.ts';
import { type ErrorCode, TapeworksError } from '../../protocols/errors/index.ts';

/** On every answer. Nothing inline, nothing from elsewhere, not in a frame, not kept by caches, no CORS. */
export const SAFETY_HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
    "font-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  'Cache-Control': 'no-store',
};

/** A request that is turned away: the status, a coded reason, and what to do instead. */
export class Refused extends TapeworksError {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, code: ErrorCode, message: string, headers: Record<string, string> = {}) {
    super(code, message);
    this.status = status;
    this.headers = headers;
  }
}

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  sendText(response, status, 'application/json; charset=utf-8', JSON.stringify(value));
}

export function sendText(response: ServerResponse, status: number, type: string, text: string): void {
  const body = Buffer.from(text);
  response.writeHead(status, { ...SAFETY_HEADERS, 'Content-Type': type, 'Content-Length': body.length });
  response.end(body);
}

/** The connection ends with a refusal: what a refused client still sends is nobody's next request. */
export function sendRefusal(response: ServerResponse, refused: Refused): void {
  const body = Buffer.from(JSON.stringify(refusalOf(refused)));
  response.writeHead(refused.status, {
    ...SAFETY_HEADERS,
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': body.length,
    Connection: 'close',
    ...refused.headers,
  });
  response.end(body);
}

function refusalOf({ code, message, remedy }: TapeworksError): Refusal {
  return { kind: 'error', code, message, remedy };
}
