import type { RestResult } from '../protocols/rest.ts';
import type { RestFacts } from '../protocols/venue.ts';

const ANSWER_WITHIN_MS = 10_000;

/** Asks and reads the text of the answer; never rejects, whatever the venue or the network does. */
export async function askRest<T>(
  { weightHeader }: RestFacts,
  restUrl: string,
  path: string,
  read: (text: string) => T,
): Promise<RestResult<T>> {
  let status = 0;
  try {
    const response = await fetch(restUrl.replace(/\/$/, '') + path, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    const text = await response.text();
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

function numberOf(header: string | null): number | undefined {
  const value = Number(header ?? Number.NaN);
  return Number.isFinite(value) ? value : undefined;
}
