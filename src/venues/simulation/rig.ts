// What tests of the simulated venues need: a simulator that moves only when told, clients, and a client's own book.
import type { BookSide } from './book.ts';
import { formatUnits } from './decimal.ts';
import type { Listing } from './listing.ts';
import { Probe, type ProbeOptions } from './probe.ts';
import { type Simulator, type SimulatorOptions, startSimulator } from './simulator.ts';

export const START_MS = 1_770_000_000_000;
const open: (() => Promise<void>)[] = [];

/** Closes what a test has opened; for `afterEach`. */
export async function closeAll(): Promise<void> {
  for (const close of open.splice(0).reverse()) await close();
}

export async function simulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const started = await startSimulator({ seed: 5, startMs: START_MS, manual: true, ...options });
  open.push(() => started.stop());
  return started;
}

export async function connect(sim: Simulator, venue: string, path?: string, options?: ProbeOptions): Promise<Probe> {
  const url = path === undefined ? sim.endpoints(venue).wsUrl : `${sim.url.replace('http', 'ws')}/${venue}${path}`;
  const probe = await Probe.open(url, options);
  open.push(() => probe.close());
  return probe;
}

export async function rest<T>(sim: Simulator, path: string): Promise<{ status: number; headers: Headers; body: T }> {
  const response = await fetch(`${sim.url}${path}`);
  return { status: response.status, headers: response.headers, body: (await response.json()) as T };
}

export type Level = readonly [price: string, amount: string];
/** A side of the venue's own book, as the venue spells it. */
export const sideOf = (listing: Listing, side: BookSide, depth: number, shown?: number): Level[] =>
  side.prices
    .slice(0, depth)
    .map((price, at) => [
      formatUnits(price, listing.priceDecimals, shown),
      formatUnits(side.lots[at]!, listing.amountDecimals, shown),
    ]);

/** A book as a careful client keeps it. */
export class ClientBook {
  readonly #sides = { bids: new Map<string, string>(), asks: new Map<string, string>() };

  set(side: 'bids' | 'asks', price: string, amount: string): void {
    if (Number(amount) === 0) this.#sides[side].delete(price);
    else this.#sides[side].set(price, amount);
  }

  levels(side: 'bids' | 'asks', depth = Number.POSITIVE_INFINITY): Level[] {
    const order = side === 'bids' ? -1 : 1;
    return [...this.#sides[side]].sort((a, b) => (Number(a[0]) - Number(b[0])) * order).slice(0, depth);
  }

  truncate(depth: number): void {
    for (const side of ['bids', 'asks'] as const) {
      for (const [price] of this.levels(side).slice(depth)) this.#sides[side].delete(price);
    }
  }
}
