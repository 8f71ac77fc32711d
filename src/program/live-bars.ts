import type { NamedBar } from '../actors/kline-persistence/rows.ts';
import { type Bar, tailOf } from '../protocols/kline.ts';

export type BarListener = (bars: readonly NamedBar[]) => void;

/** Bars that all series together keep; each has its share, within these bounds. */
const BARS_KEPT = 100_000;
const PER_SERIES_MIN = 4;
const PER_SERIES_MAX = 500;

/** Revised bars whose last told revision is known. Workers amend only what is younger than that. */
const REVISIONS_KEPT = 100_000;

/**
 * The newest bars of every symbol and interval, as the workers last told them, and whoever wants to hear of changes.
 *
 * Where bars are stored, a further revision of a closed bar is told when it is: one that a killed process took with it would be followed by a
 * lower one.
 */
export class LiveBars {
  readonly #isStored: boolean;
  readonly #series = new Map<string, Map<bigint, NamedBar>>();
  readonly #told = new Map<string, NamedBar>();
  /** The highest revision that was told of each closed bar, where that is not its first. */
  readonly #revisions = new Map<string, number>();
  readonly #listeners = new Set<BarListener>();

  constructor(isStored: boolean) {
    this.#isStored = isStored;
  }

  take(bars: readonly NamedBar[]): void {
    const news = bars.filter((named) => !named.bar.closed || !this.#isTold(named));
    for (const named of news) this.#keep(named);
    this.#tell(this.#isStored ? news.filter((named) => !isRevised(named)) : news);
  }

  /** These bars are stored, or in the spill. Some may be what a worker had shown before it ended, older than what was read to be stored. */
  takeStored(bars: readonly NamedBar[]): void {
    const news = bars.filter((named) => isRevised(named) && !this.#isOutdated(named) && !this.#isTold(named));
    for (const named of news) this.#keep(named);
    this.#tell(news);
  }

  /**
   * These bars were replaced where they are stored. Their worker does not know, and may show further revisions of its own: what is not above
   * these is not stored, and not told.
   */
  takeHealed(bars: readonly NamedBar[]): void {
    const news = bars.filter((named) => !this.#isTold(named));
    for (const named of news) this.#replace(named);
    this.#tell(news);
  }

  #isTold({ venue, symbol, bar }: NamedBar): boolean {
    return bar.revision <= (this.#revisions.get(`${keyOf(venue, symbol, bar.interval)} ${bar.openUs}`) ?? 0);
  }

  /** Only what is there is replaced: a worker that begins anew goes on from these bars, and from where its trades stood. */
  #replace({ venue, symbol, bar }: NamedBar): void {
    const windows = this.#series.get(keyOf(venue, symbol, bar.interval));
    const known = windows?.get(bar.openUs)?.bar;
    if (known === undefined || known.revision > bar.revision) return;
    const { nextSequence, symbol: index } = known;
    windows!.set(bar.openUs, { venue, symbol, bar: { ...bar, nextSequence, symbol: index } });
  }

  #isOutdated({ venue, symbol, bar }: NamedBar): boolean {
    const known = this.#series.get(keyOf(venue, symbol, bar.interval))?.get(bar.openUs)?.bar;
    return known?.closed === true && known.revision > bar.revision;
  }

  #tell(bars: readonly NamedBar[]): void {
    if (bars.length === 0) return;
    for (const named of bars) {
      const key = keyOf(named.venue, named.symbol, named.bar.interval);
      if (isRevised(named)) this.#noteRevision(`${key} ${named.bar.openUs}`, named.bar.revision);
      if (named.bar.openUs >= (this.#told.get(key)?.bar.openUs ?? 0n)) this.#told.set(key, named);
    }
    for (const listener of this.#listeners) listener(bars);
  }

  #noteRevision(key: string, revision: number): void {
    this.#revisions.delete(key);
    this.#revisions.set(key, revision);
    if (this.#revisions.size > REVISIONS_KEPT) this.#revisions.delete(this.#revisions.keys().next().value!);
  }

  /** The newest bar of a series that listeners were told of. */
  newest(venue: string, symbol: string, interval: string): NamedBar | undefined {
    return this.#told.get(keyOf(venue, symbol, interval));
  }

  /** Newest first. */
  series(venue: string, symbol: string, interval: string): NamedBar[] {
    const windows = this.#series.get(keyOf(venue, symbol, interval));
    return [...(windows?.values() ?? [])].sort((a, b) => (a.bar.openUs > b.bar.openUs ? -1 : 1));
  }

  /** Of each of these intervals the newest closed bar and those after it, in order. */
  tail(venue: string, symbol: string, intervals: readonly string[]): Bar[] {
    return tailOf(intervals.flatMap((interval) => this.series(venue, symbol, interval)).map(({ bar }) => bar));
  }

  /** Hears of all bars, as many at a time as came together. The answer ends it. */
  listen(listener: BarListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #keep(named: NamedBar): void {
    const key = keyOf(named.venue, named.symbol, named.bar.interval);
    const windows = this.#series.get(key) ?? new Map<bigint, NamedBar>();
    this.#series.set(key, windows);
    windows.set(named.bar.openUs, named);
    const share = Math.floor(BARS_KEPT / this.#series.size);
    while (windows.size > Math.min(PER_SERIES_MAX, Math.max(PER_SERIES_MIN, share))) {
      let oldest = named.bar.openUs;
      for (const openUs of windows.keys()) if (openUs < oldest) oldest = openUs;
      windows.delete(oldest);
    }
  }
}

function isRevised({ bar }: NamedBar): boolean {
  return bar.closed && bar.revision > 1;
}

function keyOf(venue: string, symbol: string, interval: string): string {
  return `${venue} ${symbol} ${interval}`;
}
