import { TapeworksError } from '../../protocols/errors/index.ts';

/**
 * What became of a REST question. A refusal carries what the budget needs to know; its status is 0 without an answer, and
 * 200 where the answer could not be read.
 */
export type RestResult<T> =
  | { readonly ok: true; readonly value: T; readonly usedWeight: number | undefined }
  | { readonly ok: false; readonly status: number; readonly retryAfterS: number | undefined; readonly reason: string };

const ANSWER_WITHIN_MS = 10_000;
const WEIGHT_HEADER = 'x-mbx-used-weight-1m';

/** Asks and reads the text of the answer; never rejects for what the venue or the network does. */
export async function askRest<T>(url: string, read: (text: string) => T): Promise<RestResult<T>> {
  let status = 0;
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    const text = await response.text();
    if (!response.ok) {
      const retryAfterS = numberOf(response.headers.get('retry-after'));
      return { ok: false, status: response.status, retryAfterS, reason: text.slice(0, 200) };
    }
    status = response.status;
    return { ok: true, value: read(text), usedWeight: numberOf(response.headers.get(WEIGHT_HEADER)) };
  } catch (error) {
    if (error instanceof TapeworksError) throw error;
    return { ok: false, status, retryAfterS: undefined, reason: String(error) };
  }
}

function numberOf(header: string | null): number | undefined {
  const value = Number(header ?? Number.NaN);
  return Number.isFinite(value) ? value : undefined;
}
