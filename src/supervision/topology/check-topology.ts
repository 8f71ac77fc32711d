import { isWanted } from '../../protocols/symbols.ts';
import { type Checker, type LocatedConfiguration, type Surroundings, showDuration } from './checker.ts';
import type { SettledTopology } from './kline-venues.ts';
import { didYouMean } from './nearest.ts';
import { threadUses } from './threads.ts';
import type { TopologyConfig } from './topology-schema.ts';
import type { YamlDocument } from './yaml-document.ts';

export function checkTopology(check: Checker, files: LocatedConfiguration, around: Surroundings): void {
  const venues = around.venues.map(({ id }) => id);
  const { document, value } = files.topology;
  for (const venue of Object.keys(value.feeds)) {
    check.expectOneOf(document, ['feeds', venue], 'a known venue', venues, venue);
  }
  checkInstruments(check, document, value, venues);
  checkBook(check, document, value);
  checkKlines(check, document, value, files.kernel.value.limits.symbols);
  checkBarScales(check, document, value);
  checkThreads(check, document, value);
  checkBackoffs(check, document, value);
}

function checkInstruments(
  check: Checker,
  document: YamlDocument,
  { instruments }: TopologyConfig,
  venues: readonly string[],
): void {
  const some = Object.keys(instruments).length > 0;
  check.expect(some, document, ['instruments'], 'at least one instrument', { text: 'none' });
  const owners = new Map<string, string>();
  for (const [name, instrument] of Object.entries(instruments)) {
    const mapped = Object.entries(instrument.venues);
    check.expect(mapped.length > 0, document, ['instruments', name, 'venues'], 'at least one venue', { text: 'none' });
    for (const [venue, symbol] of mapped) {
      const path = ['instruments', name, 'venues', venue];
      check.expectOneOf(document, path, 'a known venue', venues, venue);
      const key = `${venue} ${symbol.toLowerCase()}`;
      const owner = owners.get(key);
      check.expect(owner === undefined, document, path, `a symbol that is not yet ${owner} there`, symbol);
      owners.set(key, owner ?? name);
    }
  }
}

function checkBook(check: Checker, document: YamlDocument, { book, instruments }: TopologyConfig): void {
  const names = Object.keys(instruments);
  book.symbols?.forEach((symbol, index) => {
    check.expectOneOf(document, ['book', 'symbols', index], 'one of the instruments', names, symbol);
  });
  check.expectDistinct(document, ['book', 'symbols'], book.symbols ?? []);
  if (book.defaultSymbol === undefined) return;
  const path = ['book', 'defaultSymbol'];
  check.expectOneOf(document, path, "one of the book's symbols", book.symbols ?? names, book.defaultSymbol);
}

function checkKlines(check: Checker, document: YamlDocument, topology: SettledTopology, symbolsMax: number): void {
  const { klines, feeds } = topology;
  const { venues } = klines;
  venues.forEach((venue, index) => {
    const path = ['klines', 'venues', index];
    check.expectOneOf(document, path, 'one of the feeds', Object.keys(feeds), venue);
    const trades = feeds[venue]?.trades ?? true;
    check.expect(trades, document, path, `feeds.${venue}.trades to be true`, { text: 'false' });
  });
  check.expectDistinct(document, ['klines', 'venues'], venues);
  check.expectDistinct(document, ['klines', 'intervals'], klines.intervals);
  const { discovery, workers, cpus = [] } = klines;
  discovery.venues.forEach((venue, index) => {
    check.expectOneOf(document, ['klines', 'discovery', 'venues', index], 'one of klines.venues', venues, venue);
  });
  const { maxSymbols = symbolsMax } = discovery;
  const path = ['klines', 'discovery', 'maxSymbols'];
  const expected = `at most limits.symbols of kernel.yaml (${symbolsMax})`;
  check.expect(maxSymbols <= symbolsMax, document, path, expected, maxSymbols);
  const text = `${cpus.length}`;
  check.expect(cpus.length <= workers, document, ['klines', 'cpus'], `at most klines.workers (${workers})`, { text });
}

/** Bars are summed, stored and served with as many decimals for every symbol. */
const BAR_SCALE = 8;

function checkBarScales(check: Checker, document: YamlDocument, { klines, instruments }: SettledTopology): void {
  if (!klines.enabled) return;
  const { venues } = klines;
  for (const [name, instrument] of Object.entries(instruments)) {
    const symbols = venues.flatMap((venue) => instrument.venues[venue] ?? []);
    const makesBars = symbols.some((symbol) => isWanted(klines.symbols, symbol));
    const expected = `${BAR_SCALE} for an instrument that makes bars, or its symbols in klines.symbols.exclude`;
    const path = ['instruments', name, 'scale'];
    check.expect(!makesBars || instrument.scale === BAR_SCALE, document, path, expected, instrument.scale);
  }
}

function checkThreads(check: Checker, document: YamlDocument, value: TopologyConfig): void {
  const { threads } = value;
  const names = Object.keys(threads);
  check.expect(!names.includes('main'), document, ['threads', 'main'], 'another name; main is always there', 'main');
  const uses = threadUses(value);
  const tenants = new Map<string, string>();
  for (const { path, thread, actor, needs, ownThread } of uses) {
    const declared = threads[thread];
    const exists = declared !== undefined || thread === ownThread || thread === 'main';
    check.expect(exists, document, path, 'one of the threads', thread, {
      suggestion: didYouMean(thread, [...names, ownThread]),
    });
    const kind = declared?.kind ?? (thread === 'main' ? 'main' : needs);
    const fits = kind === needs || (kind === 'main' && needs === 'loop');
    check.expect(fits, document, path, `a ${needs} thread for ${actor}`, {
      text: kind === 'main' ? 'main' : `${thread}, which is ${kind}`,
    });
    if (needs !== 'pinned') continue;
    const tenant = tenants.get(thread);
    const expected = `a pinned thread of its own for ${actor}`;
    check.expect(tenant === undefined, document, path, expected, { text: `${thread}, which runs ${tenant}` });
    tenants.set(thread, tenant ?? actor);
  }
  for (const name of names.filter((thread) => thread !== 'main')) {
    const used = uses.some((use) => use.thread === name);
    check.expect(
      used,
      document,
      ['threads', name],
      'a thread that some actor runs on',
      { text: 'none on it' },
      {
        suggestion: didYouMean(name, new Set(uses.map((use) => use.thread))),
      },
    );
  }
}

function checkBackoffs(check: Checker, document: YamlDocument, value: TopologyConfig): void {
  const inOrder = (path: string[], { min, max }: { readonly min: number; readonly max: number }) =>
    check.expect(max >= min, document, [...path, 'max'], `at least min (${showDuration(min)})`, {
      text: showDuration(max),
    });
  for (const [venue, feed] of Object.entries(value.feeds)) inOrder(['feeds', venue, 'reconnect'], feed.reconnect);
  for (const [part, settings] of Object.entries(value.supervision)) {
    inOrder(['supervision', part, 'backoff'], settings.backoff);
  }
}
