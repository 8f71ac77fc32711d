import { createSignal } from 'solid-js';

// The token lives as long as the tab. It is asked for when a request comes back with 401, never before.
const KEY = 'tapeworks.token';

export interface TokenQuestion {
  readonly wasWrong: boolean;
  answer(token: string | undefined): void;
}

const [question, setQuestion] = createSignal<TokenQuestion>();

export { question as tokenQuestion };

export const hasToken = () => sessionStorage.getItem(KEY) !== null;

export function authorization(): Readonly<Record<string, string>> {
  const token = sessionStorage.getItem(KEY);
  return token === null ? {} : { Authorization: `Bearer ${token}` };
}

let asking: Promise<boolean> | undefined;

/** Asks the operator, once for all requests that wait for it. False when they would rather not. */
export function askForToken(): Promise<boolean> {
  asking ??= new Promise<boolean>((resolve) => {
    setQuestion({
      wasWrong: sessionStorage.getItem(KEY) !== null,
      answer(token) {
        if (token === undefined) sessionStorage.removeItem(KEY);
        else sessionStorage.setItem(KEY, token);
        setQuestion(undefined);
        asking = undefined;
        resolve(token !== undefined);
      },
    });
  });
  return asking;
}
