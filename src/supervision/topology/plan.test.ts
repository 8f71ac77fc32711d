import { describe, expect, it } from 'vitest';
import { NO_TREE, type TopologyTree } from '../../protocols/topology.ts';
import { viewOf } from '../../protocols/topology-plan.ts';
import { compileTopology } from './compile.ts';
import { planTopology } from './plan.ts';
import { renderPlan } from './render-plan.ts';
import { configurationFrom } from './testing.ts';

const compiled = (topology: string, kernel = '{}') => compileTopology(configurationFrom({ topology, kernel }));
const stepsBetween = (current: TopologyTree, desired: TopologyTree) =>
  planTopology(current, desired).steps.map((step) => `${step.action} ${step.path}`);

const SMALL = 'klines: { enabled: false }\ningest: { enabled: false }\nfeeds: { binance: {} }';

describe('a plan', () => {
  it('has no steps between a tree and itself', () => {
    const plan = planTopology(compiled('{}'), compiled('{}'));
    expect(plan.steps).toEqual([]);
    expect(plan.unchanged).toHaveLength(compiled('{}').nodes.length);
  });

  it('starts everything in order from nothing, and stops it in reverse', () => {
    const tree = compiled('{}');
    const paths = tree.nodes.map((node) => node.path);
    expect(stepsBetween(NO_TREE, tree)).toEqual(paths.map((path) => `start ${path}`));
    expect(stepsBetween(tree, NO_TREE)).toEqual([...paths].reverse().map((path) => `stop ${path}`));
  });

  it('stops before it starts', () => {
    expect(stepsBetween(compiled(SMALL), compiled(SMALL.replace('binance', 'kraken')))).toEqual([
      ...['stop /feeds/binance', 'restart /book/merger', 'start /feeds/kraken'],
    ]);
  });

  it('changes in place what an actor takes while it runs, and restarts for the rest', () => {
    const before = compiled(SMALL);
    const live = compiled(SMALL.replace('{ binance: {} }', '{ binance: { staleAfter: 9s } }'));
    const cold = compiled(SMALL.replace('{ binance: {} }', '{ binance: { staleAfter: 9s, depth: 7 } }'));
    expect(stepsBetween(before, live)).toEqual(['reconfigure /feeds/binance']);
    expect(stepsBetween(before, cold)).toEqual(['restart /feeds/binance']);
  });

  it('moves an actor to another thread', () => {
    const moved = compiled('threads: { a: { kind: loop } }\nfeeds: { binance: { thread: a } }');
    const withBinance = compiled('feeds: { binance: {} }');
    expect(stepsBetween(withBinance, moved)).toEqual(['move /feeds/binance']);
  });

  it('empties a thread that is to be made otherwise before the first of its actors starts again', () => {
    const actors = ['/ingest/spill', '/ingest/sink', '/ingest/stream.events'];
    expect(stepsBetween(compiled('{}'), compiled('threads: { kernel: { kind: loop, cpu: 0 } }'))).toEqual([
      ...[...actors].reverse().map((path) => `stop ${path}`),
      ...actors.map((path) => `start ${path}`),
    ]);
  });

  it('stops those behind an actor that starts anew first, where they stand on it', () => {
    const plan = planTopology(compiled('{}'), compiled('{}', 'sink: { batchRows: 500 }'));
    expect(plan.steps.map((step) => `${step.action} ${step.path}`)).toEqual([
      ...['stop /ingest/stream.events', 'stop /ingest/sink', 'start /ingest/sink', 'start /ingest/stream.events'],
    ]);
    expect(plan.unchanged).not.toContain('/ingest/stream.events');
    const reader = compiled('{}', 'ingest: { readCount: 500 }');
    expect(stepsBetween(compiled('{}'), reader)).toEqual(['restart /ingest/stream.events']);
    const alone = 'supervision: { ingest: { strategy: one-for-one } }';
    expect(stepsBetween(compiled(alone), compiled(alone, 'sink: { batchRows: 500 }'))).toEqual([
      ...['restart /ingest/sink'],
    ]);
    const all = 'supervision: { ingest: { strategy: one-for-all } }';
    expect(stepsBetween(compiled(all), compiled(all, 'ingest: { readCount: 500 }'))).toHaveLength(6);
  });

  it.each([
    ['klines: { repair: false }', 'restart /klines/symbols'],
    ['klines: { heal: { every: 2m } }', 'reconfigure /klines/symbols'],
    ['klines: { persistEvery: 2s }', 'restart /klines/persistence'],
    ['klines: { discovery: { enabled: false } }', 'restart /klines/symbols'],
  ])('says of %s what the program does: %s', (topology, step) => {
    expect(stepsBetween(compiled('{}'), compiled(topology))).toEqual([step]);
  });

  it('takes supervision in place, except for what an actor is made with', () => {
    const intensity = compiled(`${SMALL}\nsupervision: { feeds: { intensity: 3 } }`);
    const mailbox = compiled(`${SMALL}\nsupervision: { feeds: { mailbox: { capacity: 3 } } }`);
    expect(stepsBetween(compiled(SMALL), intensity)).toEqual(['reconfigure /feeds', 'reconfigure /feeds/binance']);
    const shutdown = compiled(`${SMALL}\nsupervision: { feeds: { shutdown: 9s } }`);
    for (const made of [mailbox, shutdown]) {
      expect(stepsBetween(compiled(SMALL), made)).toEqual(['reconfigure /feeds', 'restart /feeds/binance']);
    }
  });

  it('starts a new worker before the others give to it, and stops an old one after they have taken', () => {
    const two = compiled('klines: { workers: 2 }');
    const three = compiled('klines: { workers: 3 }');
    expect(stepsBetween(two, three)).toEqual([
      ...['start /klines/worker-2', 'reconfigure /klines/worker-0', 'reconfigure /klines/worker-1'],
      'reconfigure /klines/symbols',
    ]);
    expect(stepsBetween(three, two)).toEqual([
      ...['reconfigure /klines/worker-0', 'reconfigure /klines/worker-1', 'reconfigure /klines/symbols'],
      'stop /klines/worker-2',
    ]);
  });

  it('stops a worker first when its thread is wanted by another actor, or when all of its part goes', () => {
    const thread = 'threads: { klines-1: { kind: pinned } }\n';
    const taken = compiled(`${thread}klines: { workers: 1 }\nbook: { thread: klines-1 }`);
    expect(stepsBetween(compiled('{}'), taken)[0]).toBe('stop /klines/worker-1');
    expect(stepsBetween(compiled('{}'), compiled('klines: { enabled: false }')).slice(0, 5)).toEqual([
      ...['stop /klines/symbols', 'stop /klines/persistence', 'stop /klines/worker-1', 'stop /klines/worker-0'],
      'stop /klines',
    ]);
  });

  it('empties a pinned thread before another actor takes it', () => {
    const before = compiled(
      'threads: { klines-1: { kind: pinned } }\nklines: { workers: 1 }\nbook: { thread: klines-1 }',
    );
    expect(stepsBetween(before, compiled('klines: { workers: 2 }'))).toEqual([
      ...['stop /book/merger', 'start /klines/worker-1', 'reconfigure /klines/worker-0'],
      ...['reconfigure /klines/symbols', 'start /book/merger'],
    ]);
  });

  it('names what only a new process can take', () => {
    const plan = planTopology(
      compiled('{}'),
      compiled('{}', 'data: elsewhere\nlog: { level: debug }\nshutdown: { drain: 7s }'),
    );
    expect(plan.needsNewProcess).toEqual(['settings.dataFolder', 'settings.shutdown.drainMs']);
  });
});

describe('a plan for people', () => {
  it('shows each step, what changes from what to what, and a sum', () => {
    const before = compiled('klines: { workers: 2 }\ningest: { enabled: false }\nfeeds: { binance: {}, kraken: {} }');
    const after = compiled(
      'threads: { a: { kind: loop } }\nklines: { workers: 1 }\ningest: { enabled: false }\nbook: { depth: 5 }\n' +
        'feeds: { binance: { staleAfter: 90s, thread: a }, kraken: { maxFrame: 1MiB }, bitstamp: { trades: false } }',
    );
    expect(renderPlan(viewOf(planTopology(before, after)), false)).toBe(
      [
        '  ~ /klines/worker-0  change in place',
        '      settings.symbols: +binance:ETHUSDT +binance:ETHBTC',
        '      settings.workers: 2 → 1',
        '  ~ /klines/symbols   change in place',
        '      settings.workers: 2 → 1',
        '+/- /book/merger      restart on merger',
        '      settings.depth: 10 → 5',
        '      settings.venues: +bitstamp',
        ' -> /feeds/binance    move from feed-binance to a',
        '      placement.thread: feed-binance → a',
        '      settings.staleAfterMs: 5s → 90s',
        '  + /feeds/bitstamp   start on feed-bitstamp',
        '+/- /feeds/kraken     restart on feed-kraken',
        '      settings.maxFrameBytes: 8MiB → 1MiB',
        '  - /klines/worker-1  stop on klines-1',
        '',
        '1 to start, 1 to stop, 1 to move, 2 to change in place, 2 to restart, 10 unchanged.',
        '',
      ].join('\n'),
    );
  });

  it('says so when there is nothing to do, and when a new process is needed', () => {
    const same = planTopology(compiled('{}'), compiled('{}'));
    expect(renderPlan(viewOf(same), false)).toBe(`No changes: ${same.unchanged.length} unchanged.\n`);
    const other = planTopology(compiled('{}'), compiled('{}', 'data: elsewhere'));
    expect(renderPlan(viewOf(other), false)).toContain('Only a new process can take: settings.dataFolder.');
  });
});
