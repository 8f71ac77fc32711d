import { Gauge, type Metric, Registry } from 'prom-client';
import type { HealStats } from '../actors/kline-backfill/gap-healer.ts';
import type { BarsStanding } from '../actors/kline-persistence/actor.ts';
import { ScrapedMetric } from '../supervision/telemetry/scraped-metric.ts';
import { namesOf } from './bars-source.ts';
import { someOf } from './health.ts';
import type { KlineSymbol } from './kline-symbols.ts';

export interface KlineFigures {
  readonly standing: BarsStanding | undefined;
  readonly symbols: readonly KlineSymbol[];
  /** Symbols for which no connection has a stream left, as `venue:SYMBOL`. */
  readonly unserved: readonly string[];
  /** Undefined where no bars are stored. */
  readonly healing: HealStats | undefined;
}

/** A metric has a line for each; beyond that they are only counted. */
const UNSERVED_NAMED_MAX = 2_000;

/** The Prometheus text of the K-line plane. */
export function klineMetrics({ standing, symbols, unserved, healing }: KlineFigures): Promise<string> {
  const registry = new Registry();
  const gauge = (name: string, help: string, labels: readonly string[] = []) =>
    new Gauge({ name, help, labelNames: [...labels], registers: [registry] });
  const served = gauge('kline_symbols', 'Symbols whose trades make bars, by whether their worker has them.', ['state']);
  const placed = symbols.filter(({ isPlaced }) => isPlaced).length;
  served.set({ state: 'placed' }, placed);
  served.set({ state: 'waiting' }, symbols.length - placed - unserved.length);
  served.set({ state: 'unserved' }, unserved.length);
  const missing = gauge('kline_symbol_unserved', 'Symbols for which no connection has a stream left.', [
    'venue',
    'symbol',
  ]);
  for (const name of unserved.slice(0, UNSERVED_NAMED_MAX)) {
    const [venue, symbol] = namesOf(name);
    missing.set({ venue, symbol }, 1);
  }
  const counter = (name: string, help: string, value: number) => {
    const metric = new ScrapedMetric('counter', name, help);
    metric.add(() => [{ labels: {}, value }]);
    registry.registerMetric(metric as unknown as Metric);
  };
  if (healing !== undefined) {
    gauge('kline_gap_bars', "Stored gap bars that wait to be replaced by the venue's own.").set(healing.gaps);
    counter('kline_healed_total', "Stored gap bars replaced by the venue's own.", healing.healed);
    counter(
      'kline_disproved_total',
      'Stored bars that were called whole and were not as the venue has them.',
      healing.disproved,
    );
    counter(
      'kline_unproven_total',
      'Stored bars from before a loss of which the venue could not say whether they are whole.',
      healing.unproven,
    );
    counter('kline_heal_failures_total', 'Questions for gap bars that brought nothing.', healing.failed);
  }
  if (standing === undefined) return registry.metrics();
  const { mode, inMemory, inSpill, lost, stored } = standing;
  const waiting = gauge('kline_pending_bars', 'Bars that wait for Postgres, by where they are.', ['place']);
  waiting.set({ place: 'memory' }, inMemory);
  waiting.set({ place: 'spill' }, inSpill);
  gauge('kline_store_up', '1 while bars are stored as they change, 0 while they are spilled.').set(
    mode === 'flowing' ? 1 : 0,
  );
  gauge('kline_spill_lost_records', 'Spilled states of symbols that were damaged on the disk.').set(lost);
  counter('kline_stored_bars_total', 'Bars written to Postgres.', stored);
  return registry.metrics();
}

/** What health says of bars that wait; nothing while they are stored as they change. */
function standingReasons(standing: BarsStanding | undefined): string[] {
  if (standing === undefined) return [];
  const { mode, inMemory, inSpill, lost, trouble, spillTrouble } = standing;
  const where = `${inSpill} closed bars wait in the spill, ${inMemory} bars in memory`;
  return [
    ...(mode === 'out' ? [`${trouble ?? 'Postgres has not answered yet'}: ${where}`] : []),
    ...(mode === 'draining' ? [`Postgres is back: ${where}`] : []),
    ...(mode !== 'flowing' && spillTrouble !== undefined ? [`the spill takes no bars: ${spillTrouble}`] : []),
    ...(lost > 0 ? [`${lost} spilled states of symbols were damaged: see \`tapeworks spill verify\``] : []),
  ];
}

/** The log has one line when bars begin to wait, one for each new reason, and one when all are stored. */
export function standingNews(before: BarsStanding | undefined, now: BarsStanding): string[] {
  const mode = before?.mode ?? 'flowing';
  if (now.mode === 'out' && (mode !== 'out' || now.trouble !== before?.trouble))
    return [`bars: ${standingReasons(now).join('; ')}`];
  return now.mode === 'flowing' && mode !== 'flowing'
    ? ['bars: Postgres takes them again; all that waited are stored']
    : [];
}

/** What health says of stored gaps that the trades' repair has left. */
function healingReasons(healing: HealStats | undefined): string[] {
  if (healing === undefined || healing.gaps === 0) return [];
  const { gaps, trouble } = healing;
  return [`${gaps} gap bars being healed${trouble === undefined ? '' : ` (${trouble.slice(0, 200)})`}`];
}

/** What health says of symbols for which no connection has a stream left. */
function unservedReasons(names: readonly string[]): string[] {
  return names.length === 0 ? [] : [`TW_KLINE_NO_STREAM_LEFT: ${someOf(names)}`];
}

/** What health says of storing, healing and streams. */
export function planeReasons(
  standing: BarsStanding | undefined,
  healing: HealStats | undefined,
  unserved: readonly string[],
): string[] {
  return [...standingReasons(standing), ...healingReasons(healing), ...unservedReasons(unserved)];
}
