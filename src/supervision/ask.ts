import { type ErrorCode, TapeworksError } from '../protocols/errors/index.ts';
import { type Admission, isAdmitted, type Ref } from '../protocols/ref.ts';
import type { Clock } from './clock.ts';

/** A question under way. It is settled once: by the reply, the deadline, or the end of the life that was asked. */
export class Ask<R> implements Ref<R> {
  readonly path: string;
  readonly promise: Promise<R>;
  readonly #clock: Clock;
  readonly #deadlineAtMs: number;
  /** Set by the life that handles the question, which must answer for it until it is settled. */
  onSettled: (() => void) | undefined;
  #settle: ((settled: { reply: R } | { error: Error }) => void) | undefined;

  constructor(path: string, clock: Clock, deadlineMs: number) {
    this.path = path;
    this.#clock = clock;
    this.#deadlineAtMs = clock.now() + deadlineMs;
    this.promise = new Promise<R>((resolve, reject) => {
      const cancel = clock.after(deadlineMs, () =>
        this.fail('TW_ASK_TIMEOUT', `${path} did not reply within ${deadlineMs} ms`),
      );
      this.#settle = (settled) => {
        this.#settle = undefined;
        cancel();
        this.onSettled?.();
        if ('reply' in settled) resolve(settled.reply);
        else reject(settled.error);
      };
    });
  }

  get remainingMs(): number {
    return Math.max(0, this.#deadlineAtMs - this.#clock.now());
  }

  tell(reply: R): Admission {
    if (this.#settle === undefined) return 'dead';
    this.#settle({ reply });
    return 'accepted';
  }

  get isSettled(): boolean {
    return this.#settle === undefined;
  }

  fail(code: ErrorCode, message: string, cause?: unknown): void {
    this.#settle?.({ error: new TapeworksError(code, message, { path: this.path }, { cause }) });
  }
}

/** A message that carries a question, as it waits in a mailbox. */
export class Asked<M> {
  readonly message: M;
  readonly ask: Ask<never>;

  constructor(message: M, ask: Ask<never>) {
    this.message = message;
    this.ask = ask;
  }
}

/** What can take a message together with the question that it carries. */
export interface Askable<in M> extends Ref<M> {
  offerAsked(asked: Asked<M>): Admission;
}

/**
 * Sends a question and waits for the reply. Rejects with TW_ASK_TIMEOUT after the deadline, TW_ASK_REFUSED when the
 * mailbox would not take it, TW_ASK_TERMINATED when the actor is gone or its life ends first, TW_ASK_FAILED at once when
 * handling it throws. The deadline does not cancel the work.
 */
export function ask<M, R>(
  target: Ref<M>,
  question: (replyTo: Ref<R>) => NoInfer<M>,
  options: { readonly clock: Clock; readonly deadlineMs: number },
): Promise<R> {
  const pending = new Ask<R>(target.path, options.clock, options.deadlineMs);
  let admission: Admission;
  try {
    admission = put(target, question(pending), pending);
  } catch (error) {
    pending.fail('TW_ASK_FAILED', `the question to ${target.path} could not be put`, error);
    return pending.promise;
  }
  if (admission === 'dead') pending.fail('TW_ASK_TERMINATED', `${target.path} is not there any more`);
  else if (!isAdmitted(admission)) pending.fail('TW_ASK_REFUSED', `${target.path} has no room: ${admission}`);
  return pending.promise;
}

function put<M, R>(target: Ref<M>, message: M, pending: Ask<R>): Admission {
  if (!('offerAsked' in target)) return target.tell(message);
  return (target as Askable<M>).offerAsked(new Asked(message, pending as unknown as Ask<never>));
}
