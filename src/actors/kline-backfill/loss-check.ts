// A venue may hold trades back, and lose them with the connection. They are older than what the feed showed last, so where ids leave
// numbers out nothing shows that they are missing: bars from before a loss are compared with those of the venue's own trades.
//
//   a symbol's feed lost something --all repaired since heal.after--> its stored base bars of the minute before
//     --as the venue has them--> proven
//     --not so--> the worker is told, and they are gaps until they are healed
import {
  type Bar,
  type BarFigures,
  type Interval,
  type IntervalPlan,
  windowAt,
  windowOpenUs,
} from '../../protocols/kline.ts';
import type { Trouble } from '../../protocols/partition.ts';
import { describeFailure } from '../../protocols/rest.ts';
import type { BarHistory } from '../../venues/history.ts';
import { HISTORY_LIMIT_MAX, type KlineStore } from '../kline-persistence/store.ts';
import {
  blocked,
  isLimit,
  isRefusal,
  spend,
  startBudget,
  type WeightLimits,
  waitFor,
} from '../trade-repair/weight-budget.ts';

export interface LossCheckOptions {
  readonly venue: string;
  readonly use: <T>(work: (store: KlineStore) => Promise<T>) => Promise<T>;
  readonly history: BarHistory;
  readonly restUrl: () => string;
  readonly budget: WeightLimits;
  /** Undefined for a symbol that has left or is another venue's. */
  readonly nameOf: (symbol: number) => string | undefined;
  /** The intervals; undefined while no worker runs. */
  readonly plan: () => IntervalPlan | undefined;
  /** Bars of this span lack trades, or have others than the venue. False when the worker did not take it. */
  readonly disprove: (symbol: number, fromUs: bigint, toUs: bigint) => Promise<boolean>;
  /** The venue's time. */
  readonly nowUs: () => bigint;
  readonly nowMs: () => number;
}

/** When a symbol's feed began to lose something, first and last, and when that was last seen to be so. */
interface Loss {
  readonly fromUs: bigint;
  readonly toUs: bigint;
  readonly seenUs: bigint;
}

/** No venue is known to hold trades back for longer. */
const HELD_BACK_US = 60_000_000n;
const LOSSES_MAX = 20_000;
const CHECKS_PER_TURN = 20;

export class LossCheck {
  readonly #options: LossCheckOptions;
  readonly #losses = new Map<number, Loss>();
  #budget;
  #disproved = 0;

  constructor(options: LossCheckOptions) {
    this.#options = options;
    this.#budget = startBudget(options.budget);
  }

  /** Bars that the venue's trades were not those of. */
  get disproved(): number {
    return this.#disproved;
  }

  /** What the workers tell, again and again while it lasts. */
  note(troubles: readonly Trouble[]): void {
    const { nameOf, nowUs } = this.#options;
    for (const { symbol, holes, suspectFromUs } of troubles) {
      const begins = holes.filter(({ isCoarse }) => !isCoarse).map(({ fromUs }) => fromUs);
      // A symbol that has not traded yet has no bars to doubt.
      if (suspectFromUs !== undefined && suspectFromUs > 0n) begins.push(suspectFromUs);
      if (begins.length === 0 || nameOf(symbol) === undefined) continue;
      const known = this.#losses.get(symbol);
      if (known === undefined && this.#losses.size >= LOSSES_MAX) continue;
      if (known !== undefined) begins.push(known.fromUs, known.toUs);
      begins.sort((a, b) => (a < b ? -1 : 1));
      this.#losses.set(symbol, { fromUs: begins[0]!, toUs: begins.at(-1)!, seenUs: nowUs() });
    }
  }

  /** Compares what is due. Answers what hindered it; what could not be done is tried in the next turn. */
  async turn(afterMs: number, isEnded: () => boolean): Promise<string | undefined> {
    const { history, nameOf, nowMs, nowUs, plan } = this.#options;
    // All others are made of the shortest.
    const interval = plan()?.names[0];
    if (interval === undefined) return undefined;
    const dueUs = nowUs() - BigInt(afterMs) * 1000n;
    let checks = 0;
    for (const [index, loss] of this.#losses) {
      if (loss.seenUs > dueUs) continue;
      const symbol = nameOf(index);
      if (symbol === undefined) {
        this.#losses.delete(index);
        continue;
      }
      if (isEnded() || ++checks > CHECKS_PER_TURN || waitFor(this.#budget, history.weight, nowMs()) > 0) break;
      const hindrance = await this.#check(index, symbol, interval, loss);
      if (hindrance !== undefined) return hindrance;
      if (this.#losses.get(index) === loss) this.#losses.delete(index);
    }
    return undefined;
  }

  async #check(index: number, symbol: string, interval: Interval, { fromUs, toUs }: Loss): Promise<string | undefined> {
    const { disprove, history, nowMs, restUrl, use, venue } = this.#options;
    const last = windowAt(interval, toUs);
    const heldUs = fromUs > HELD_BACK_US ? fromUs - HELD_BACK_US : 0n;
    const first = Math.max(windowAt(interval, heldUs), last - HISTORY_LIMIT_MAX + 1);
    const limit = last - first + 1;
    const openUs = windowOpenUs(interval, first);
    const query = { venue, symbol, interval, beforeUs: windowOpenUs(interval, last + 1), limit };
    const stored = (await use((store) => store.history(query))).map(({ bar }) => bar);
    const ours = stored.filter((bar) => bar.openUs >= openUs && isClaimedWhole(bar));
    if (ours.length === 0) return undefined;
    this.#budget = spend(this.#budget, history.weight, nowMs());
    const answer = await history.fetch(restUrl(), symbol, interval, openUs, limit);
    if (!answer.ok) {
      if (isLimit(answer.status)) this.#budget = blocked(this.#budget, answer.status, answer.retryAfterS, nowMs());
      // A venue that does not know the symbol will not know it later.
      return isRefusal(answer.status) ? undefined : `${symbol} ${interval}: ${describeFailure(answer)}`;
    }
    const theirs = new Map(answer.value.map((bar) => [bar.openUs, bar]));
    const wrong = ours.filter((bar) => isOther(bar, theirs.get(bar.openUs)));
    const [newest, oldest] = [wrong[0], wrong.at(-1)];
    if (newest === undefined || oldest === undefined) return undefined;
    if (!(await disprove(index, oldest.openUs, newest.closeUs)))
      return `${symbol} ${interval}: its worker did not answer`;
    this.#disproved += wrong.length;
    return undefined;
  }
}

function isClaimedWhole({ closed, quality }: Bar): boolean {
  return closed && (quality === 'complete' || quality === 'quiet' || quality === 'repaired');
}

/** Of a window without trades only that is compared: its price is that of the bar before it. */
function isOther(ours: Bar, theirs: BarFigures | undefined): boolean {
  if (theirs === undefined) return false;
  if (theirs.trades === 0n) return ours.trades !== 0n;
  return FIGURES.some((figure) => ours[figure] !== theirs[figure]);
}

const FIGURES = ['trades', 'open', 'high', 'low', 'close', 'volume', 'quoteVolume', 'takerVolume'] as const;
