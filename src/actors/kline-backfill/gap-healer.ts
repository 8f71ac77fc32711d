// Stored bars that stayed gaps, because the trades were out of the kernel's reach or the process was killed while they were
// missing, are replaced by the venue's own bars, some at a time.
//
//   deep span told --all of it long over--> its stored bars are marked as gaps, those that are not stored are added as such, and the
//     kernel forgets the span
//   a turn: gap bars whose parts are whole --> the sum of these
//           the oldest others --one question a page of a series--> replaced, or they wait: 1 2 4 ... 512 turns
//           a venue or database that fails ends the turn; the next ones are left out: 1 2 4 8 16 turns
import { type BarFigures, type Interval, type IntervalPlan, windowAt } from '../../protocols/kline.ts';
import type { Trouble } from '../../protocols/partition.ts';
import { describeFailure } from '../../protocols/rest.ts';
import type { HealSettings } from '../../protocols/topology.ts';
import type { BarHistory } from '../../venues/history.ts';
import { type GapBar, lostWindows, MARKED_MAX } from '../kline-persistence/gap-bars.ts';
import type { NamedBar } from '../kline-persistence/rows.ts';
import type { KlineStore } from '../kline-persistence/store.ts';
import {
  blocked,
  isLimit,
  isRefusal,
  observe,
  spend,
  startBudget,
  type WeightLimits,
  waitFor,
} from '../trade-repair/weight-budget.ts';
import { namedBar } from './backfill.ts';
import type { LossCheck } from './loss-check.ts';

type Deep = NonNullable<Trouble['deep']>;

export interface GapHealerOptions {
  readonly venue: string;
  readonly settings: () => HealSettings;
  readonly use: <T>(work: (store: KlineStore) => Promise<T>) => Promise<T>;
  /** The database is not needed between an end and a beginning. */
  readonly release: () => Promise<void>;
  readonly history: BarHistory;
  /** Where a loss may have taken trades along that nothing shows to be missing. */
  readonly losses?: LossCheck;
  readonly restUrl: () => string;
  readonly budget: WeightLimits;
  /** The intervals and what they are made of; undefined while no worker runs. */
  readonly plan: () => IntervalPlan | undefined;
  /** Undefined for a symbol that has left or is another venue's. */
  readonly nameOf: (symbol: number) => string | undefined;
  /** The bars of the span are marked where they are stored: the kernel may forget it. */
  readonly taken: (symbol: number, span: Deep) => void;
  /** These bars have a new revision where they are stored. */
  readonly onRevised: (bars: readonly NamedBar[]) => void;
  /** The venue's time. */
  readonly nowUs: () => bigint;
  readonly nowMs: () => number;
}

export interface HealStats {
  /** Stored gap bars that are old enough to be healed, and that the venue may have: still there after the last turn. */
  readonly gaps: number;
  readonly healed: number;
  /** Stored bars that were called whole and are not as the venue has them, and those of which the venue could not say. */
  readonly disproved: number;
  readonly unproven: number;
  /** Questions to the venue that brought nothing, and turns that the database ended. */
  readonly failed: number;
  readonly trouble: string | undefined;
}

interface Page {
  readonly symbol: string;
  readonly interval: Interval;
  readonly opens: readonly bigint[];
  readonly limit: number;
}

const BARS_PER_TURN = 5_000;
const PAGES_PER_TURN = 20;
const SERIES_WAITING_MAX = 1_000;
/** A venue that has said so often that it has no such bars is believed: it is asked on, but nobody waits for it. */
const LASTING_TRIES = 3;
const DEEP_MAX = 20_000;
/** So many failures in a turn are the venue's, not the symbols'. */
const FAILURES_PER_TURN = 3;
const NO_LOSSES = { disproved: 0, unproven: 0 };

export class GapHealer {
  readonly #options: GapHealerOptions;
  readonly #deep = new Map<number, Deep>();
  /** Series of which the venue had something not: up to which bar, how often in a row, and when to ask again. Later bars do not wait. */
  readonly #later = new Map<
    string,
    { readonly untilUs: bigint; readonly tries: number; readonly atMs: number; readonly isSaid: boolean }
  >();
  #budget;
  #dueMs = 0;
  #failures = 0;
  #turn: Promise<void> | undefined;
  #isEnded = false;
  #stats = { gaps: 0, healed: 0, failed: 0, trouble: undefined as string | undefined };

  constructor(options: GapHealerOptions) {
    this.#options = options;
    this.#budget = startBudget(options.budget);
  }

  get stats(): HealStats {
    const { disproved, unproven } = this.#options.losses?.figures ?? NO_LOSSES;
    return { ...this.#stats, disproved, unproven };
  }

  /** What the workers tell of spans that are out of their reach. */
  note(troubles: readonly Trouble[]): void {
    this.#options.losses?.note(troubles);
    for (const { symbol, deep } of troubles) {
      if (deep !== undefined && (this.#deep.has(symbol) || this.#deep.size < DEEP_MAX)) this.#deep.set(symbol, deep);
    }
  }

  /** A symbol of some venue begins anew, and leaves stored bars behind. */
  noteStop(venue: string, symbol: number, lastUs: bigint): void {
    if (venue === this.#options.venue) this.#options.losses?.noteStop(symbol, lastUs);
  }

  begin(): void {
    this.#isEnded = false;
  }

  /** Resolves when the question that is under way has been answered. */
  async end(): Promise<void> {
    this.#isEnded = true;
    await this.#turn;
    await this.#options.release();
  }

  /** Takes a turn when one is due. */
  look(): void {
    const { enabled, everyMs } = this.#options.settings();
    const nowMs = this.#options.nowMs();
    if (!enabled) this.#stats = { ...this.#stats, gaps: 0, trouble: undefined };
    if (!enabled || this.#isEnded || this.#turn !== undefined || nowMs < this.#dueMs) return;
    this.#dueMs = nowMs + everyMs;
    this.#turn = this.#take().finally(() => {
      this.#turn = undefined;
    });
  }

  async #take(): Promise<void> {
    try {
      await this.#takeDeep();
      await this.#heal();
      await this.#options.losses?.turn(this.#options.settings(), () => this.#isEnded);
    } catch (error) {
      this.#fail(error instanceof Error ? error.message : String(error));
    }
  }

  /** A span that is not over yet would have to be marked again. */
  async #takeDeep(): Promise<void> {
    const { nameOf, nowUs, settings, taken, use, venue } = this.#options;
    const untilUs = nowUs() - BigInt(settings().afterMs) * 1000n;
    for (const [index, deep] of this.#deep) {
      if (this.#isEnded) return;
      const symbol = nameOf(index);
      if (symbol !== undefined && deep.toUs >= untilUs) continue;
      if (symbol !== undefined) {
        const span = { venue, symbol, ...deep };
        while (this.#tell(await use((store) => store.markGaps(span))) === MARKED_MAX) if (this.#isEnded) return;
        // The worker issues nothing of the span any more, also what it never has.
        for (const lost of lostWindows(span, untilUs)) {
          if (this.#isEnded) return;
          this.#tell(await use((store) => store.addLost(lost)));
        }
        taken(index, deep);
      }
      this.#deep.delete(index);
    }
  }

  async #heal(): Promise<void> {
    const { history, nowMs, nowUs, settings, use, venue } = this.#options;
    const { afterMs, lookBackMs } = settings();
    const now = nowUs();
    const waiting = [...this.#later].map(([series, later]) => ({ series, ...later }));
    const without = waiting.filter(({ atMs }) => atMs > nowMs());
    const span = { fromUs: now - BigInt(lookBackMs) * 1000n, toUs: now - BigInt(afterMs) * 1000n };
    await this.#rollUp(span);
    const lasting = waiting.filter(({ tries, isSaid }) => isSaid && tries >= LASTING_TRIES);
    const query = { venue, ...span, without, lasting, limit: BARS_PER_TURN };
    const { bars, total } = await use((store) => store.gaps(query));
    this.#stats = { ...this.#stats, gaps: total };
    let failures = 0;
    for (const page of pagesOf(bars, history.pageMax).slice(0, PAGES_PER_TURN)) {
      if (this.#isEnded || waitFor(this.#budget, history.weight, nowMs()) > 0) return;
      const outcome = await this.#ask(page);
      if (outcome === 'failed') failures++;
      if (outcome === 'stop' || failures === FAILURES_PER_TURN) return;
    }
    this.#failures = 0;
    if (total === 0) this.#stats = { ...this.#stats, trouble: undefined };
  }

  /** Answers how many they are. */
  #tell(revised: readonly NamedBar[]): number {
    if (revised.length > 0) this.#options.onRevised(revised);
    return revised.length;
  }

  /** From the shortest interval on, since each is made of a shorter one. */
  async #rollUp(span: { readonly fromUs: bigint; readonly toUs: bigint }): Promise<void> {
    const { plan, use, venue } = this.#options;
    const { names, feeders } = plan() ?? { names: [], feeders: [] };
    for (const [index, interval] of names.entries()) {
      if (this.#isEnded || index === 0) continue;
      const what = { venue, interval, part: names[feeders[index]!]!, ...span, limit: BARS_PER_TURN };
      const healed = this.#tell(await use((store) => store.rollUp(what)));
      this.#stats = { ...this.#stats, healed: this.#stats.healed + healed };
    }
  }

  /** `stop` where asking on makes no sense at the moment. */
  async #ask(page: Page): Promise<'answered' | 'failed' | 'stop'> {
    const { history, nowMs, restUrl } = this.#options;
    const { symbol, interval, opens, limit } = page;
    this.#budget = spend(this.#budget, history.weight, nowMs());
    const answer = await history.fetch(restUrl(), symbol, interval, opens[0]!, limit);
    if (answer.ok) {
      if (answer.usedWeight !== undefined) this.#budget = observe(this.#budget, answer.usedWeight, nowMs());
      await this.#replace(page, answer.value);
      return 'answered';
    }
    const reason = `${symbol} ${interval}: ${describeFailure(answer)}`;
    if (isRefusal(answer.status)) {
      this.#wait(page, page.opens, reason, true);
      return 'answered';
    }
    // A service that fails for one symbol may serve the others.
    if (answer.status >= 500) {
      this.#wait(page, page.opens, reason, false);
      return 'failed';
    }
    if (isLimit(answer.status)) {
      this.#budget = blocked(this.#budget, answer.status, answer.retryAfterS, nowMs());
    }
    this.#fail(reason);
    return 'stop';
  }

  async #replace(page: Page, theirs: readonly BarFigures[]): Promise<void> {
    const { use, venue } = this.#options;
    const { symbol, interval, opens } = page;
    const wanted = new Set(opens);
    const bars = theirs.filter(({ openUs }) => wanted.has(openUs));
    const named = bars.map((bar) => namedBar({ venue, symbol, interval }, bar));
    const healed = named.length === 0 ? 0 : this.#tell(await use((store) => store.fill(named)));
    const { gaps, healed: before } = this.#stats;
    this.#stats = { ...this.#stats, gaps: Math.max(0, gaps - healed), healed: before + healed };
    const had = new Set(bars.map(({ openUs }) => openUs));
    const missing = opens.filter((openUs) => !had.has(openUs));
    const series = `${symbol} ${interval}`;
    if (missing.length > 0) this.#wait(page, missing, `${series}: the venue has no such bars`, true);
    else if (opens[0]! <= (this.#later.get(series)?.untilUs ?? -1n)) this.#later.delete(series);
  }

  /** `isSaid`: the venue has answered, and has them not. */
  #wait({ symbol, interval }: Page, missing: readonly bigint[], trouble: string, isSaid: boolean): void {
    const series = `${symbol} ${interval}`;
    const untilUs = missing.at(-1)!;
    const before = this.#later.get(series);
    const tries = before === undefined || untilUs > before.untilUs ? 0 : before.tries;
    const { everyMs } = this.#options.settings();
    this.#later.delete(series);
    const atMs = this.#options.nowMs() + everyMs * 2 ** Math.min(tries, 9);
    this.#later.set(series, { untilUs, tries: tries + 1, atMs, isSaid });
    if (this.#later.size > SERIES_WAITING_MAX) this.#later.delete(this.#later.keys().next().value!);
    this.#stats = { ...this.#stats, failed: this.#stats.failed + 1, trouble };
  }

  #fail(trouble: string): void {
    const { everyMs } = this.#options.settings();
    this.#dueMs = this.#options.nowMs() + everyMs * 2 ** Math.min(this.#failures, 4);
    this.#failures++;
    this.#stats = { ...this.#stats, failed: this.#stats.failed + 1, trouble };
  }
}

/** Gap bars of a series that one question can answer. */
export function pagesOf(bars: readonly GapBar[], pageMax: number): Page[] {
  const series = new Map<string, GapBar[]>();
  for (const bar of bars) {
    const key = `${bar.symbol} ${bar.interval}`;
    const known = series.get(key);
    if (known === undefined) series.set(key, [bar]);
    else known.push(bar);
  }
  return [...series.values()].flatMap((gaps) => {
    const { symbol, interval } = gaps[0]!;
    const pages: { opens: bigint[]; first: number; last: number }[] = [];
    for (const { openUs } of gaps) {
      const window = windowAt(interval, openUs);
      const page = pages.at(-1);
      if (page === undefined || window - page.first >= pageMax) {
        pages.push({ opens: [openUs], first: window, last: window });
      } else {
        page.opens.push(openUs);
        page.last = window;
      }
    }
    return pages.map(({ opens, first, last }) => ({ symbol, interval, opens, limit: last - first + 1 }));
  });
}
