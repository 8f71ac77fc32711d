import type { RestResult } from '../protocols/rest.ts';
import type { RestFacts } from '../protocols/venue.ts';

const ANSWER_WITHIN_MS = 10_000;
/** A day's trades of a busy symbol take a third of it. */
const ANSWER_BYTES_MAX = 64 << 20;

/** Asks and reads the text of the answer; never rejects, whatever the venue or the network does. */
export async function askRest<T>(
  { weightHeader }: RestFacts,
  restUrl: string,
  path: string,
  read: (text: string) => T,
): Promise<RestResult<T>> {
  let status = 0;
  try {
    const { response, body } = await fetchWhole(restUrl.replace(/\/$/, '') + path);
    const text = body.toString('utf8');
    const header = (name: string | undefined) => (name === undefined ? null : response.headers.get(name));
    if (!response.ok) {
      const retryAfterS = numberOf(header('retry-after'));
      return { ok: false, status: response.status, retryAfterS, reason: text.slice(0, 200) };
    }
    status = response.status;
    return { ok: true, value: read(text), usedWeight: numberOf(header(weightHeader)) };
  } catch (error) {
    return {
      ok: false,
      status,
      retryAfterS: undefined,
      reason: error instanceof Error ? error.message : String(error),
    };
  }
}

/** Asks and reads the whole answer, in a time and of a size that no honest one needs. `abort` gives it up before. */
export async function fetchWhole(url: string, abort = new AbortController(), withinMs = ANSWER_WITHIN_MS) {
  // Signals joined by AbortSignal.any are collected as garbage while they wait, and then nothing ends the waiting.
  const late = () => abort.abort(new Error(`no whole answer from ${url} within ${withinMs} ms`));
  const timer = setTimeout(late, withinMs);
  try {
    const response = await fetch(url, { signal: abort.signal });
    return { response, body: await bodyOf(response) };
  } finally {
    clearTimeout(timer);
  }
}

async function bodyOf({ body, url }: Response): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > ANSWER_BYTES_MAX) throw new Error(`the answer from ${url} is longer than ${ANSWER_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function numberOf(header: string | null): number | undefined {
  const value = Number(header ?? Number.NaN);
  return Number.isFinite(value) ? value : undefined;
}
