import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { isKind, type TopologyTree } from '../../protocols/topology.ts';
import { compileTopology } from './compile.ts';
import { loadConfiguration } from './load.ts';
import { configurationFrom, KNOWN, type WrittenFiles } from './testing.ts';

const compiled = (files: WrittenFiles) => compileTopology(configurationFrom(files));
const pathsOf = (tree: TopologyTree) => tree.nodes.map((node) => node.path);
const nodeAt = (tree: TopologyTree, path: string) => tree.nodes.find((node) => node.path === path)!;
const configFolder = fileURLToPath(new URL('../../../../config', import.meta.url));

describe('the compiled tree', () => {
  it('is whole from an empty configuration', () => {
    expect(pathsOf(compiled({}))).toEqual([
      ...['/', '/control', '/control/watchdog'],
      ...['/ingest', '/ingest/spill', '/ingest/sink', '/ingest/stream.events'],
      ...['/klines', '/klines/worker-0', '/klines/worker-1', '/klines/persistence', '/klines/symbols'],
      ...['/book', '/book/merger', '/serving', '/serving/publisher', '/serving/console'],
      ...['/feeds', '/feeds/binance', '/feeds/bitstamp', '/feeds/coinbase', '/feeds/kraken'],
    ]);
  });

  it('is whole from the files that are shipped', async () => {
    const loaded = await loadConfiguration(configFolder, KNOWN);
    expect(loaded).toMatchObject({ ok: true });
    if (loaded.ok) expect(pathsOf(compileTopology(loaded.value))).toEqual(pathsOf(compiled({})));
  });

  it('places actors on the threads that the shipped topology names', () => {
    const shipped = readFileSync(`${configFolder}/topology.yaml`, 'utf8');
    const tree = compiled({ topology: shipped });
    expect(nodeAt(tree, '/book/merger').placement).toMatchObject({ thread: 'merger', kind: 'pinned', cpu: 'last' });
    expect(nodeAt(tree, '/feeds/kraken').placement.thread).toBe('feeds');
  });

  it('names the children of each node in the order in which they start', () => {
    const tree = compiled({ topology: 'feeds: { kraken: {}, binance: { connections: 2 } }' });
    expect(nodeAt(tree, '/feeds').children).toEqual(['/feeds/binance', '/feeds/binance-2', '/feeds/kraken']);
    for (const node of tree.nodes) {
      for (const child of node.children) expect(pathsOf(tree)).toContain(child);
    }
  });

  it('does not depend on the order of keys, nor on how a value is written', () => {
    const one = compiled({ topology: 'book: { depth: 5 }\nfeeds:\n  binance: { staleAfter: 60s, depth: 7 }' });
    const two = compiled({ topology: 'feeds: { binance: { depth: 7, staleAfter: 1m } }\nbook:\n  depth: 5' });
    expect(two).toEqual(one);
  });

  it('changes the digest of exactly the nodes that a setting reaches', () => {
    const before = compiled({});
    const after = compiled({ topology: 'book: { depth: 11 }' });
    const changed = after.nodes.filter((node) => node.digest !== nodeAt(before, node.path).digest);
    expect(changed.map((node) => node.path)).toEqual(['/book/merger']);
  });

  it('leaves out what is switched off', () => {
    const off = 'ingest: { enabled: false }\nklines: { enabled: false }\nbook: { enabled: false }\nfeeds: {}';
    expect(pathsOf(compiled({ topology: off }))).toEqual([
      ...['/', '/control', '/control/watchdog', '/serving', '/serving/publisher', '/serving/console', '/feeds'],
    ]);
  });

  it('gives each declared stream and each stream of an enabled module its readers', () => {
    const tree = compiled({
      topology: 'ingest: { streams: { events: { shards: 2, whenFullByType: { quote: drop-oldest } } } }',
      modules: {
        'a.yaml': 'name: a\ncommand: a\nstreams: [events, a-only]',
        'b.yaml': 'name: b\ncommand: b\nenabled: false\nstreams: [b-only]',
      },
    });
    const readers = tree.nodes.filter((node) => isKind(node, 'kernel-ingest'));
    expect(readers.map((node) => node.path)).toEqual([
      ...['/ingest/stream.a-only', '/ingest/stream.events.0', '/ingest/stream.events.1'],
    ]);
    expect(readers[1]!.settings).toMatchObject({
      ...{ stream: 'events', shard: 0, shards: 2, whenFull: 'block', deadLetterStream: 'events:dlq' },
      whenFullByType: { quote: 'drop-oldest' },
      modules: [{ name: 'a', silentAfterMs: 60_000 }],
    });
  });
});

describe('the partition of symbols', () => {
  const partition = (topology: string) =>
    compiled({ topology })
      .nodes.filter((node) => isKind(node, 'partition-worker'))
      .map((node) => node.settings.symbols);

  it('gives every symbol to exactly one worker, with dense indices', () => {
    for (const workers of [1, 2, 3, 5]) {
      const all = partition(`klines: { workers: ${workers} }`).flat();
      expect(all.map((symbol) => symbol.index).sort((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    }
  });

  it('deals a busy venue out over the workers', () => {
    const shares = partition('{}').map((symbols) => symbols.filter(({ venue }) => venue === 'binance').length);
    expect(shares).toEqual([2, 2]);
  });

  it('moves nothing when an instrument is added at the end', () => {
    const btc = 'BTC-USD: { venues: { binance: BTCUSDT, bitstamp: btcusd } }';
    const before = partition(`instruments: { ${btc} }`);
    const after = partition(`instruments: { ${btc}, ADA-USD: { venues: { binance: ADAUSDT } } }`);
    before.forEach((symbols, worker) => {
      expect(after[worker]!.slice(0, symbols.length)).toEqual(symbols);
    });
  });

  it('keeps to the patterns', () => {
    const symbols = partition('klines: { symbols: { include: ["*USDT", ethbtc], exclude: ["SOL*"] } }').flat();
    expect(symbols.map(({ symbol }) => symbol).sort()).toEqual(['BTCUSDT', 'ETHUSDT', 'ethbtc']);
  });
});
