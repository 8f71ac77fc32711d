import type { ExchangeCounters, RefusedFrame } from '../../protocols/exchange.ts';

const REFUSED_KEPT = 8;
const START_CHARACTERS = 120;

/** What an exchange counts, and a few samples of what it refused. */
export class Counters {
  messages = 0;
  reconnections = 0;
  rotations = 0;
  rotationsFailed = 0;
  tradesRefused = 0;
  readonly refused: RefusedFrame[] = [];
  readonly #errorsByCode = new Map<string, number>();
  #errors = 0;

  refuse(code: string, at: number, frame: Buffer): void {
    this.#errors++;
    this.#errorsByCode.set(code, (this.#errorsByCode.get(code) ?? 0) + 1);
    if (this.refused.length === REFUSED_KEPT) this.refused.shift();
    const start = frame.toString('latin1', 0, START_CHARACTERS).replace(/[^\x20-\x7e]/g, '.');
    this.refused.push({ code, at, length: frame.length, start });
  }

  view(): ExchangeCounters {
    return {
      messages: this.messages,
      errors: this.#errors,
      errorsByCode: Object.fromEntries(this.#errorsByCode),
      reconnections: this.reconnections,
      rotations: this.rotations,
      rotationsFailed: this.rotationsFailed,
      tradesRefused: this.tradesRefused,
    };
  }
}
