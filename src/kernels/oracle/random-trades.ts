// Random tapes of one symbol, and random ways in which a feed delivers them.
import type { Trade } from '../../protocols/trade-record.ts';
import type { Random } from './random.ts';

const SECOND_US = 1_000_000n;
/** Seconds since 1970 fit into 32 bits until 2106; what is stamped later is taken for damaged, and no tape gets there. */
const LATEST_US = 4_102_444_800n * SECOND_US;

function randomAmount(random: Random): bigint {
  const kind = random.below(10);
  if (kind === 0) return 1n;
  // Near the limit of what one trade may be worth: 2^58 * 2^53 is just below 2^112.
  if (kind === 1) return (1n << 53n) - BigInt(random.below(1000));
  return BigInt(1 + random.below(2_000_000_000));
}

function randomPrice(random: Random, before: bigint): bigint {
  const kind = random.below(20);
  if (kind === 0) return 1n;
  if (kind === 1) return (1n << 58n) - BigInt(random.below(1000));
  const next = before + BigInt(random.below(2001) - 1000) * 1000n;
  return next > 0n ? next : 1n;
}

/** Time to the next trade: mostly a fraction of the unit, at times none, exactly to a boundary, or a long silence. */
function randomStep(random: Random, time: bigint, unit: bigint): bigint {
  const kind = random.below(12);
  if (kind === 0) return 0n;
  if (kind === 1) return unit - (time % unit);
  if (kind === 2) return unit - (time % unit) - 1n;
  if (kind === 3) return unit * BigInt(random.below(90));
  return (unit * BigInt(random.below(1000))) / 900n;
}

/** A venue's true tape: ids without holes, times that never fall. `unit` sets the pace: about a trade a unit. */
export function randomTape(random: Random, symbol: number, count: number, startUs: bigint, unit: bigint): Trade[] {
  const tape: Trade[] = [];
  let timeUs = startUs + BigInt(random.below(5_000_000));
  let price = BigInt(1 + random.below(1_000_000_000)) * 1000n;
  let id = BigInt(random.below(1_000_000)) + (random.chance(20) ? 1n << 60n : 0n);
  let sequence = BigInt(random.below(3) === 0 ? 0 : random.below(1_000_000_000));
  for (let index = 0; index < count && timeUs < LATEST_US; index++) {
    const lastId = id + BigInt(random.below(4));
    const amount = randomAmount(random);
    tape.push({ symbol, takerBuy: random.chance(50), timeUs, price, amount, firstId: id, lastId, sequence });
    id = lastId + 1n;
    sequence += 1n;
    price = randomPrice(random, price);
    timeUs += randomStep(random, timeUs, unit);
  }
  return tape;
}

export interface Delivery {
  readonly trades: readonly Trade[];
  /** Trades that the feed lost: only a repair brings them. */
  readonly lost: readonly Trade[];
}

/** Delivers a tape with late, doubled, swapped and lost trades; the first always arrives first. */
export function randomDelivery(random: Random, tape: readonly Trade[]): Delivery {
  const arrivals: { at: number; trade: Trade }[] = [];
  const lost: Trade[] = [];
  const latePercent = random.pick([0, 2, 10]);
  const lossPercent = random.pick([0, 0, 1, 5]);
  let losing = 0;
  tape.forEach((trade, index) => {
    if (losing === 0 && random.chance(lossPercent)) losing = 1 + random.below(6);
    if (losing > 0) losing--;
    // A loss at the end shows only when a later trade comes, so the last one always does.
    if (losing > 0 && index > 0 && index < tape.length - 1) {
      lost.push(trade);
      return;
    }
    const delay = index > 0 && random.chance(latePercent) ? random.below(20) : 0;
    arrivals.push({ at: index + delay, trade });
    if (random.chance(4)) arrivals.push({ at: index + random.below(30), trade });
  });
  const ordered = arrivals.map((arrival, order) => ({ ...arrival, order }));
  ordered.sort((a, b) => a.at - b.at || a.order - b.order);
  return { trades: ordered.map((arrival) => arrival.trade), lost };
}

export const START_US = 1_763_000_000n * SECOND_US;
