import type { Refusal } from '../protocols/console-api.ts';
import { TapeworksError } from '../protocols/errors/index.ts';
import { authorizationFor, urlOf } from './authorization.ts';

const TIMEOUT_MS = 10_000;

/**
 * Reads from the console of a running system, with the token from TAPEWORKS_TOKEN where one is set. An answer without
 * `field` is some other server's.
 */
export async function readConsole<T extends object>(
  base: string,
  path: string,
  field: keyof T & string,
): Promise<{ readonly status: number; readonly body: T }> {
  const answer = await ask(base, path, AbortSignal.timeout(TIMEOUT_MS));
  const body: unknown = await answer.json().catch(() => undefined);
  if (typeof body !== 'object' || body === null) throw stranger(base, answer.status);
  if ((body as Partial<Refusal>).kind !== 'error') {
    if (!(field in body)) throw stranger(base, answer.status);
    return { status: answer.status, body: body as T };
  }
  const { code, message } = body as Refusal;
  throw new TapeworksError(code, `${base}: ${message}`);
}

/** Live messages of some topics, until the signal aborts or the system is gone. */
export async function* followConsole(
  base: string,
  topics: readonly string[],
  signal: AbortSignal,
): AsyncGenerator<{ readonly topic: string; readonly message: unknown }> {
  const answer = await ask(base, `/api/live?topics=${topics.map(encodeURIComponent).join(',')}`, signal);
  if (!answer.ok || answer.body === null) throw stranger(base, answer.status);
  let text = '';
  for await (const chunk of answer.body.pipeThrough(new TextDecoderStream())) {
    const frames = (text + chunk).split('\n\n');
    text = frames.pop() ?? '';
    for (const frame of frames) {
      const match = /^event: (.*)\ndata: (.*)$/.exec(frame);
      if (match !== null) yield { topic: match[1]!, message: JSON.parse(match[2]!) as unknown };
    }
  }
}

async function ask(base: string, path: string, signal: AbortSignal): Promise<Response> {
  const url = urlOf(base, path);
  try {
    return await fetch(url, { signal, headers: authorizationFor(url), redirect: 'error' });
  } catch (error) {
    if (signal.aborted && signal.reason instanceof DOMException && signal.reason.name === 'AbortError') throw error;
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : (error as Error);
    const isPlain = (cause as NodeJS.ErrnoException).code === 'ERR_SSL_WRONG_VERSION_NUMBER';
    const why = isPlain ? 'it does not speak TLS; try http://' : cause.message.trim();
    throw new TapeworksError('TW_CONSOLE_UNREACHABLE', `no answer from ${url.origin}: ${why}`);
  }
}

function stranger(base: string, status: number): TapeworksError {
  return new TapeworksError('TW_CONSOLE_UNREACHABLE', `${base} answered ${status}, and not as the console does`);
}
