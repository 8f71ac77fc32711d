// A venue may hold trades back, and lose them with the connection. They are older than what the feed showed last, so where ids leave
// numbers out nothing shows that they are missing: bars from before a loss are compared with those of the venue's own trades.
//
//   a symbol's feed lost something, or the program ended: its next start is a loss as well
//     --all repaired since heal.after--> its stored base bars of the minute before
//     --all as the venue has them--> proven
//     --not so--> the worker is told, and they are gaps until they are healed
//     --some still open, or the venue does not answer or does not prove them--> again after 1 2 4 ... 256 turns, then given up and counted
import {
  type Bar,
  type BarFigures,
  type Interval,
  type IntervalPlan,
  windowAt,
  windowOpenUs,
} from '../../protocols/kline.ts';
import type { Trouble } from '../../protocols/partition.ts';
import type { BarHistory } from '../../venues/history.ts';
import { HISTORY_LIMIT_MAX, type KlineStore } from '../kline-persistence/store.ts';
import { blocked, isLimit, spend, startBudget, type WeightLimits, waitFor } from '../trade-repair/weight-budget.ts';

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

interface Span {
  readonly fromUs: bigint;
  readonly toUs: bigint;
}

/** When a symbol's feed began to lose something, and when that was last seen to be so. */
interface Loss {
  readonly spans: readonly Span[];
  readonly seenUs: bigint;
  /** The first of this life: what an earlier one had still to compare is compared with it. */
  readonly isFirst: boolean;
  readonly tries: number;
  readonly atMs: number;
}

export interface LossFigures {
  /** Bars that were called whole and are not as the venue has them. */
  readonly disproved: number;
  /** Bars that the venue could neither prove nor disprove. */
  readonly unproven: number;
}

/** No venue is known to hold trades back for longer. */
const HELD_BACK_US = 60_000_000n;
const LOSSES_MAX = 20_000;
const SPANS_MAX = 64;
const CHECKS_PER_TURN = 20;
/** With a turn a minute, the last try is eight and a half hours after the first: the venue's longest list is that of a day. */
const TRIES_MAX = 10;
/** A day of the shortest bars. */
const PAGES_MAX = 87;

export class LossCheck {
  readonly #options: LossCheckOptions;
  readonly #losses = new Map<number, Loss>();
  readonly #seen = new Set<number>();
  readonly #figures = { disproved: 0, unproven: 0 };
  #budget;

  constructor(options: LossCheckOptions) {
    this.#options = options;
    this.#budget = startBudget(options.budget);
  }

  get figures(): LossFigures {
    return { ...this.#figures };
  }

  /** What the workers tell, again and again while it lasts. */
  note(troubles: readonly Trouble[]): void {
    for (const { symbol, holes, suspectFromUs } of troubles) {
      const begins = holes.filter(({ isCoarse }) => !isCoarse).map(({ fromUs }) => fromUs);
      // A symbol that has not traded yet has no bars to doubt.
      if (suspectFromUs !== undefined && suspectFromUs > 0n) begins.push(suspectFromUs);
      if (begins.length > 0) this.#noteBegins(symbol, begins);
    }
  }

  /** The program ended with this bar, and the symbol does not go on from there: no worker will tell of it. */
  noteStop(symbol: number, lastUs: bigint): void {
    this.#noteBegins(symbol, [lastUs]);
  }

  #noteBegins(symbol: number, begins: readonly bigint[]): void {
    const { nameOf, nowUs } = this.#options;
    const known = this.#losses.get(symbol);
    if (nameOf(symbol) === undefined || (known === undefined && this.#losses.size >= LOSSES_MAX)) return;
    const isFirst = known?.isFirst ?? !this.#seen.has(symbol);
    this.#seen.add(symbol);
    const spans = begins.reduce(withBegin, known?.spans ?? []);
    this.#losses.set(symbol, { spans, seenUs: nowUs(), isFirst, tries: 0, atMs: 0 });
  }

  /** Compares what is due. One symbol that cannot be compared holds up no other. */
  async turn({ afterMs, everyMs }: { readonly afterMs: number; readonly everyMs: number }, isEnded: () => boolean) {
    const { history, nameOf, nowMs, nowUs, plan } = this.#options;
    // All others are made of the shortest.
    const interval = plan()?.names[0];
    if (interval === undefined) return;
    const dueUs = nowUs() - BigInt(afterMs) * 1000n;
    let checks = 0;
    for (const [index, loss] of [...this.#losses]) {
      if (loss.seenUs > dueUs || loss.atMs > nowMs()) continue;
      const symbol = nameOf(index);
      if (symbol === undefined) {
        this.#losses.delete(index);
        continue;
      }
      if (isEnded() || ++checks > CHECKS_PER_TURN || waitFor(this.#budget, history.weight, nowMs()) > 0) return;
      const heldUs = HELD_BACK_US + (loss.isFirst ? BigInt(afterMs) * 1000n : 0n);
      const unproven = await this.#check(index, symbol, interval, loss.spans, heldUs);
      if (this.#losses.get(index) !== loss) continue;
      if (unproven === 0 || loss.tries + 1 >= TRIES_MAX) {
        this.#figures.unproven += unproven;
        this.#losses.delete(index);
      } else {
        const atMs = nowMs() + everyMs * 2 ** loss.tries;
        this.#losses.set(index, { ...loss, tries: loss.tries + 1, atMs });
      }
    }
  }

  /** Answers how many windows are still to be compared. */
  async #check(
    index: number,
    symbol: string,
    interval: Interval,
    spans: readonly Span[],
    heldUs: bigint,
  ): Promise<number> {
    const { disprove, history, nowMs, restUrl } = this.#options;
    const ranges = spans.map(({ fromUs, toUs }) => ({
      first: windowAt(interval, fromUs > heldUs ? fromUs - heldUs : 0n),
      last: windowAt(interval, toUs),
    }));
    const ours = (await Promise.all(ranges.map((range) => this.#stored(symbol, interval, range)))).flat();
    // A window that is over and was not stored yet, or is being filled, will be.
    const open = ours.filter(({ closed }) => !closed).length;
    const claimed = ours.filter(isClaimedWhole);
    if (claimed.length === 0) return open;
    this.#budget = spend(this.#budget, history.weight, nowMs());
    const first = ranges[0]!.first;
    const limit = ranges.at(-1)!.last - first + 1;
    const answer = await history.fetch(restUrl(), symbol, interval, windowOpenUs(interval, first), limit);
    if (!answer.ok) {
      if (isLimit(answer.status)) this.#budget = blocked(this.#budget, answer.status, answer.retryAfterS, nowMs());
      return claimed.length + open;
    }
    const theirs = new Map(answer.value.map((bar) => [bar.openUs, bar]));
    const unproven = open + claimed.filter(({ openUs }) => !theirs.has(openUs)).length;
    const wrong = claimed.filter((bar) => isOther(bar, theirs.get(bar.openUs)));
    for (const { openUs, closeUs } of neighboursTogether(wrong)) {
      if (!(await disprove(index, openUs, closeUs))) return unproven + wrong.length;
    }
    this.#figures.disproved += wrong.length;
    return unproven;
  }

  async #stored(
    symbol: string,
    interval: Interval,
    { first, last }: { readonly first: number; readonly last: number },
  ): Promise<Bar[]> {
    const { use, venue } = this.#options;
    const found: Bar[] = [];
    for (let page = 0, end = last + 1; page < PAGES_MAX && end > first; page++, end -= HISTORY_LIMIT_MAX) {
      const limit = Math.min(HISTORY_LIMIT_MAX, end - first);
      const query = { venue, symbol, interval, beforeUs: windowOpenUs(interval, end), limit };
      found.push(...(await use((store) => store.history(query))).map(({ bar }) => bar));
    }
    const fromUs = windowOpenUs(interval, first);
    return found.filter(({ openUs }) => openUs >= fromUs);
  }
}

/** Losses that are close together are looked at together. */
function withBegin(spans: readonly Span[], us: bigint): readonly Span[] {
  const near = spans.findIndex(({ fromUs, toUs }) => us >= fromUs - HELD_BACK_US && us <= toUs + HELD_BACK_US);
  if (near < 0)
    return [...spans, { fromUs: us, toUs: us }].sort((a, b) => (a.fromUs < b.fromUs ? -1 : 1)).slice(-SPANS_MAX);
  const { fromUs, toUs } = spans[near]!;
  return spans.with(near, { fromUs: us < fromUs ? us : fromUs, toUs: us > toUs ? us : toUs });
}

/** Bars, newest first within a span, as the fewest stretches that hold no others of their kind between. */
function neighboursTogether(bars: readonly Bar[]): { readonly openUs: bigint; readonly closeUs: bigint }[] {
  const sorted = [...bars].sort((a, b) => (a.openUs < b.openUs ? -1 : 1));
  const stretches: { openUs: bigint; closeUs: bigint }[] = [];
  for (const { openUs, closeUs } of sorted) {
    const last = stretches.at(-1);
    if (last !== undefined && openUs <= last.closeUs + 1n) last.closeUs = closeUs;
    else stretches.push({ openUs, closeUs });
  }
  return stretches;
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
