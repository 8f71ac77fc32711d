import type { IncomingMessage } from 'node:http';
import { Refused } from './respond.ts';

const JSON_TYPE = /^application\/json(?:\s*;\s*charset="?utf-8"?)?$/i;

/** Reads a bounded JSON object. */
export async function readJson(request: IncomingMessage, maxBytes: number): Promise<Readonly<Record<string, unknown>>> {
  const { headers } = request;
  if (!JSON_TYPE.test(headers['content-type'] ?? '') || headers['content-encoding'] !== undefined) {
    throw new Refused(415, 'TW_HTTP_MEDIA_TYPE', 'the body must be application/json, not encoded');
  }
  const text = decode(await readBounded(request, maxBytes));
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Refused(400, 'TW_HTTP_BODY', 'the body is not JSON');
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new Refused(400, 'TW_HTTP_BODY', 'the body must be a JSON object');
}

async function readBounded(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const tooLarge = () => new Refused(413, 'TW_HTTP_TOO_LARGE', `a body may have at most ${maxBytes} bytes`);
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge();
  const chunks: Buffer[] = [];
  let length = 0;
  return new Promise((resolve, reject) => {
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length <= maxBytes) {
        chunks.push(chunk);
        return;
      }
      request.pause();
      reject(tooLarge());
    });
    request.on('end', () => resolve(Buffer.concat(chunks)));
    request.on('error', () => reject(new Refused(400, 'TW_HTTP_BODY', 'the body ended early')));
  });
}

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Refused(400, 'TW_HTTP_BODY', 'the body is not UTF-8');
  }
}

/** A field that must be text of at least one character. */
export function textField(body: Readonly<Record<string, unknown>>, name: string, charactersMax: number): string {
  const value = Object.hasOwn(body, name) ? body[name] : undefined;
  if (typeof value === 'string' && value.length > 0 && value.length <= charactersMax) return value;
  throw new Refused(400, 'TW_HTTP_BODY', `"${name}" must be a text of 1 to ${charactersMax} characters`);
}

export function textsField(body: Readonly<Record<string, unknown>>, name: string, countMax: number): readonly string[] {
  const value = Object.hasOwn(body, name) ? body[name] : undefined;
  const isList = Array.isArray(value) && value.length > 0 && value.length <= countMax;
  if (isList && value.every((item) => typeof item === 'string' && item.length <= 256)) return value as string[];
  throw new Refused(400, 'TW_HTTP_BODY', `"${name}" must be a list of 1 to ${countMax} texts`);
}
