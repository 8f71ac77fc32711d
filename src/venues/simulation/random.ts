/** A seeded source of random numbers (sfc32). The same seed and name give the same numbers on every machine. */
export class Random {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  constructor(seed: number, name: string) {
    this.#a = hash(`${seed}/a/${name}`);
    this.#b = hash(`${seed}/b/${name}`);
    this.#c = hash(`${seed}/c/${name}`);
    for (let round = 0; round < 12; round++) this.#next();
  }

  #next(): number {
    const sum = (this.#a + this.#b + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum;
    this.#c |= 0;
    return sum >>> 0;
  }

  /** Uniform in [0, 1). */
  unit(): number {
    return this.#next() / 2 ** 32;
  }

  /** A whole number in [0, count). */
  below(count: number): number {
    return Math.floor(this.unit() * count);
  }

  chance(probability: number): boolean {
    return this.unit() < probability;
  }

  /** Roughly normal, mean 0, deviation 1: the sum of twelve uniforms. */
  normal(): number {
    let sum = -6;
    for (let term = 0; term < 12; term++) sum += this.unit();
    return sum;
  }

  /** How many events happen where `mean` are expected; never more than `most`. */
  poisson(mean: number, most: number): number {
    if (mean > 30) return Math.max(0, Math.min(most, Math.round(mean + Math.sqrt(mean) * this.normal())));
    const floor = Math.exp(-mean);
    let count = 0;
    for (let product = this.unit(); product > floor && count < most; product *= this.unit()) count++;
    return count;
  }
}

/** FNV-1a. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  return value | 0;
}
