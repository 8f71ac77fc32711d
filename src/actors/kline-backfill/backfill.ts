// Fills a span of a symbol's history with the venue's own bars, page by page, within the venue's budget. Each page is one
// transaction with how far it has come, so that whatever ends a run, the next one goes on where it stopped.
import { TapeworksError } from '../../protocols/errors/index.ts';
import { type Bar, type BarFigures, type TradedBar, windowAt, windowOpenUs } from '../../protocols/kline.ts';
import { describeFailure } from '../../protocols/rest.ts';
import type { BarHistory } from '../../venues/history.ts';
import type { NamedBar } from '../kline-persistence/rows.ts';
import {
  blocked,
  isLimit,
  observe,
  spend,
  startBudget,
  type WeightLimits,
  waitFor,
} from '../trade-repair/weight-budget.ts';
import type { BackfillSpan, BackfillStore } from './backfill-store.ts';

export interface BackfillOptions {
  readonly span: BackfillSpan;
  readonly store: Pick<BackfillStore, 'progress' | 'prepare' | 'keep'>;
  readonly history: BarHistory;
  readonly restUrl: string;
  readonly budget: WeightLimits;
  readonly nowMs: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  readonly onProgress: (progress: BackfillReport) => void;
  /** Ends the run after the page that is under way. */
  readonly signal: AbortSignal;
}

export interface BackfillReport {
  /** From 0 to 1. */
  readonly share: number;
  /** Bars that were missing and are stored, in this run and in all. */
  readonly added: number;
  readonly addedBefore: number;
  /** Set while the venue wants us to wait. */
  readonly waitMs: number | undefined;
  readonly isDone: boolean;
}

type BarSeries = Pick<BackfillSpan, 'venue' | 'symbol' | 'interval'>;

/** How far our clock may be ahead of the venue's. */
const CLOCK_SLACK_US = 60_000_000n;
const TRIES_MAX = 6;
const RETRY_MS = 500;

export class Backfill {
  readonly #options: BackfillOptions;
  #budget;
  #report: BackfillReport = { share: 0, added: 0, addedBefore: 0, waitMs: undefined, isDone: false };

  constructor(options: BackfillOptions) {
    this.#options = options;
    this.#budget = startBudget(options.budget);
  }

  async run(): Promise<BackfillReport> {
    const { history, span, store, signal } = this.#options;
    const before = await store.progress(span);
    let nextUs = before?.nextUs ?? span.fromUs;
    this.#tell({ addedBefore: before?.bars ?? 0, share: this.#shareAt(nextUs) });
    while (nextUs < span.toUs && !signal.aborted) {
      const page = await this.#page(nextUs);
      if (page === undefined) break;
      const closed = this.#closedOf(page);
      const bars = closed.filter(({ openUs, closeUs }) => openUs >= nextUs && closeUs < span.toUs);
      const last = bars.at(-1);
      if (last === undefined) break;
      nextUs = windowOpenUs(span.interval, windowAt(span.interval, last.openUs) + 1);
      await store.prepare(bars[0]!.openUs, last.openUs);
      const stored = bars.map((bar) => namedBar(span, bar));
      const added = await store.keep(span, stored, nextUs);
      this.#tell({ added: this.#report.added + added, share: this.#shareAt(nextUs) });
      if (page.length < history.pageMax || bars.length < page.length) break;
    }
    this.#tell({ isDone: !signal.aborted, share: signal.aborted ? this.#report.share : 1 });
    return this.#report;
  }

  /** A venue's last bar may still grow, whatever our clock says: a later bar proves that it does not, or a time no clock is off by. */
  #closedOf(page: readonly BarFigures[]): readonly BarFigures[] {
    const last = page.at(-1);
    const surelyUs = BigInt(this.#options.nowMs()) * 1000n - CLOCK_SLACK_US;
    return last === undefined || last.closeUs < surelyUs ? page : page.slice(0, -1);
  }

  /** Undefined when the run is to end. Refusals for being too fast are waited out as long as the venue says. */
  async #page(fromUs: bigint): Promise<readonly BarFigures[] | undefined> {
    const { history, nowMs, restUrl, signal, span } = this.#options;
    let reason = '';
    for (let attempt = 0; attempt < TRIES_MAX && !signal.aborted; attempt++) {
      await this.#wait(waitFor(this.#budget, history.weight, nowMs()));
      if (signal.aborted) return undefined;
      this.#budget = spend(this.#budget, history.weight, nowMs());
      const answer = await history.fetch(restUrl, span.symbol, span.interval, fromUs, history.pageMax);
      if (answer.ok) {
        if (answer.usedWeight !== undefined) this.#budget = observe(this.#budget, answer.usedWeight, nowMs());
        return answer.value;
      }
      reason = describeFailure(answer);
      if (isLimit(answer.status)) {
        this.#budget = blocked(this.#budget, answer.status, answer.retryAfterS, nowMs());
      } else if (answer.status >= 400 && answer.status < 500) break;
      else await this.#wait(RETRY_MS * 2 ** attempt);
    }
    if (signal.aborted) return undefined;
    const what = `no bars of ${span.symbol} from the venue: ${reason}`;
    throw new TapeworksError('TW_KLINE_BACKFILL_VENUE', what, { symbol: span.symbol });
  }

  async #wait(ms: number): Promise<void> {
    if (ms <= 0) return;
    this.#tell({ waitMs: ms });
    await this.#options.sleep(ms);
    this.#tell({ waitMs: undefined });
  }

  #shareAt(us: bigint): number {
    const { fromUs, toUs } = this.#options.span;
    return Math.min(1, Number(us - fromUs) / Number(toUs - fromUs));
  }

  #tell(change: Partial<BackfillReport>): void {
    this.#report = { ...this.#report, ...change };
    this.#options.onProgress(this.#report);
  }
}

/** The venue's own count: all but the trades' ids, and quote volumes to 8 places. */
export function namedBar({ venue, symbol, interval }: BarSeries, bar: BarFigures | TradedBar): NamedBar {
  const quality = bar.trades === 0n ? 'quiet' : 'complete';
  const state = { symbol: 0, interval, quality, closed: true, revision: 1 } as const;
  const ids = { firstId: 0n, lastId: 0n, nextSequence: 0n };
  const own: Bar = { ...state, ...ids, ...bar };
  return { venue, symbol, bar: own };
}
