import { crc32 } from 'node:zlib';

/** A small seeded generator (mulberry32), so that a failing run can be replayed from its seed. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A generator of its own for each use, so that what one of them draws does not change what another one gets. */
  static of(seed: number, ...words: readonly (string | number)[]): Random {
    return new Random(seed ^ crc32(words.join('/')));
  }

  /** 0 <= value < 1 */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  between(low: number, high: number): number {
    return low + this.below(high - low + 1);
  }

  chance(share: number): boolean {
    return this.next() < share;
  }

  shuffled<T>(items: readonly T[]): readonly T[] {
    const mixed = [...items];
    for (let at = mixed.length - 1; at > 0; at--) {
      const other = this.below(at + 1);
      [mixed[at], mixed[other]] = [mixed[other]!, mixed[at]!];
    }
    return mixed;
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)]!;
  }
}

/** The seed of this run: TAPEWORKS_SEED, or a new one that is printed with a failure. */
export function runSeed(): number {
  const given = process.env['TAPEWORKS_SEED'];
  return given === undefined ? Date.now() % 1_000_000_007 : Number(given);
}
