import type { Refusal } from '../../../protocols/console-api.ts';
import { askForToken, authorization, hasToken } from './token.ts';

class ApiError extends Error {
  readonly code: string;

  constructor({ message, remedy, code }: Pick<Refusal, 'message' | 'remedy'> & { readonly code: string }) {
    super(remedy === '' ? message : `${message}. ${remedy}`);
    this.code = code;
  }
}

/** Sends a request, asking for the token where one is wanted. Resolves with the answer, whatever its status. */
export async function send(path: string, init: RequestInit = {}): Promise<Response> {
  for (;;) {
    const headers = { ...(init.headers as Record<string, string> | undefined), ...authorization() };
    const answer = await fetch(path, { ...init, headers });
    if (answer.status !== 401 || !(await askForToken())) return answer;
  }
}

export async function getJson<T>(path: string): Promise<T> {
  const answer = await send(path);
  const value: unknown = await answer.json();
  if (answer.ok) return value as T;
  throw new ApiError(value as Refusal);
}

/** For routes whose answers tell by `kind` how it went: what is not a refusal is an answer. */
export async function postJson<T>(path: string, body: unknown): Promise<T> {
  // What changes things always needs the token, so that a try without it is spared.
  if (!hasToken() && !(await askForToken())) throw new Error('Nothing was done: this needs the token.');
  const headers = { 'Content-Type': 'application/json' };
  const answer = await send(path, { method: 'POST', headers, body: JSON.stringify(body) });
  const value = (await answer.json()) as { readonly kind?: string };
  if (value.kind !== 'error') return value as T;
  throw new ApiError(value as unknown as Refusal);
}
