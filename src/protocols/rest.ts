/**
 * What became of a REST question. A refusal carries what the budget needs to know; its status is 0 without an answer, and
 * 200 where the answer could not be read.
 */
export type RestResult<T> =
  | { readonly ok: true; readonly value: T; readonly usedWeight: number | undefined }
  | RestFailure;

export interface RestFailure {
  readonly ok: false;
  readonly status: number;
  readonly retryAfterS: number | undefined;
  readonly reason: string;
}

export function describeFailure({ status, reason }: RestFailure): string {
  return status === 0 ? reason : `${status} ${reason}`;
}
