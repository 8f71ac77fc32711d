import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NO_TREE, type TopologyNode, type TopologyTree } from '../../protocols/topology.ts';
import { type ApplyClock, TopologyApplier, type TopologyHealth, type TopologyHost } from './apply.ts';
import { compileTopology, parentOf } from './compile.ts';
import { configurationFrom } from './testing.ts';

const seed = Number(process.env['TAPEWORKS_SEED'] ?? Date.now() % 2 ** 31);
const numRuns = process.env['TAPEWORKS_LONG'] === '1' ? 3_000 : 60;
const compiled = (topology: string, kernel = '{}') => compileTopology(configurationFrom({ topology, kernel }));

/** Time that passes only when someone waits; whoever waits the shortest goes on first. */
class FakeClock implements ApplyClock {
  #now = 0;
  nowMs = () => this.#now;
  async sleep(ms: number, signal: AbortSignal): Promise<void> {
    // Whatever can settle by itself settles before time passes.
    for (let turn = 0; turn < 20 && !signal.aborted; turn++) await Promise.resolve();
    if (!signal.aborted) this.#now += ms;
  }
}

/** How an operation goes wrong: before it did anything, half way (the actor is gone), after it was done, or never ends. */
type Fault = 'before' | 'half' | 'after' | 'hang';

/** A host in memory that insists on supervision order: no child without its parent, no two actors on a pinned thread. */
class MemoryHost implements TopologyHost {
  readonly nodes = new Map<string, TopologyNode>();
  readonly log: string[] = [];
  /** Faults by the number of the operation, counted from 0. */
  faults = new Map<number, Fault>();
  unwell: (look: number) => TopologyHealth['unwell'] = () => [];
  idle: (look: number) => TopologyHealth['unwell'] = () => [];
  #looks = 0;

  running = () => [...this.nodes.values()].reverse();
  start = (node: TopologyNode, signal: AbortSignal) => this.#do('start', node, signal, () => this.#put(node));
  stop = (node: TopologyNode, signal: AbortSignal) => this.#do('stop', node, signal, () => this.#take(node));
  move = (node: TopologyNode, _was: TopologyNode, signal: AbortSignal) => this.#replace('move', node, signal);
  reconfigure = (node: TopologyNode, _was: TopologyNode, signal: AbortSignal) =>
    this.#do('reconfigure', node, signal, () => this.nodes.set(node.path, node));
  restart = (node: TopologyNode, _was: TopologyNode, signal: AbortSignal) => this.#replace('restart', node, signal);
  health = async () => {
    const look = this.#looks++;
    return { unwell: this.unwell(look), idle: this.idle(look) };
  };

  #replace(action: string, node: TopologyNode, signal: AbortSignal): Promise<void> {
    return this.#do(action, node, signal, () => {
      this.#expectRoom(node);
      this.nodes.set(node.path, node);
    });
  }

  #expectRoom({ path, placement }: TopologyNode): void {
    const others = [...this.nodes.values()].filter((other) => other.path !== path);
    const taken = others.some((other) => other.placement.thread === placement.thread);
    if (placement.kind === 'pinned' && taken) throw new Error(`${placement.thread} is taken`);
  }

  #put(node: TopologyNode): void {
    const parent = parentOf(node.path);
    if (this.nodes.has(node.path)) throw new Error(`${node.path} runs already`);
    if (parent !== undefined && !this.nodes.has(parent)) throw new Error(`${node.path} has no parent`);
    this.#expectRoom(node);
    this.nodes.set(node.path, node);
  }

  #take(node: TopologyNode): void {
    const children = [...this.nodes.keys()].filter((path) => parentOf(path) === node.path);
    if (children.length > 0) throw new Error(`${node.path} still has ${children.join(' ')}`);
    if (!this.nodes.delete(node.path)) throw new Error(`${node.path} does not run`);
  }

  async #do(action: string, node: TopologyNode, signal: AbortSignal, effect: () => void): Promise<void> {
    const fault = this.faults.get(this.log.length);
    this.log.push(`${action} ${node.path}`);
    if (fault === 'before') throw new Error('broke before');
    if (fault === 'half') {
      const children = [...this.nodes.keys()].filter((path) => parentOf(path) === node.path);
      if (children.length === 0) this.nodes.delete(node.path);
      throw new Error('broke half way');
    }
    if (fault === 'hang') {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      throw new Error('aborted');
    }
    effect();
    if (fault === 'after') throw new Error('broke after');
  }
}

const OPTIONS = { deadlineMs: 30_000, stableForMs: 2_000 } as const;
const digests = (nodes: Iterable<TopologyNode>) =>
  Object.fromEntries([...nodes].map((node) => [node.path, node.digest]).sort());

async function startedWith(tree: TopologyTree) {
  const host = new MemoryHost();
  const applier = new TopologyApplier(host, new FakeClock(), NO_TREE);
  expect(await applier.apply(tree, OPTIONS)).toMatchObject({ kind: 'applied' });
  host.log.length = 0;
  return { host, applier };
}

describe('applying a topology', () => {
  it('takes the steps of the plan in order', async () => {
    const { host, applier } = await startedWith(compiled('feeds: { binance: {}, kraken: {} }'));
    const outcome = await applier.apply(compiled('feeds: { binance: { staleAfter: 9s } }'), OPTIONS);
    expect(outcome).toMatchObject({ kind: 'applied' });
    expect(host.log).toEqual(['stop /feeds/kraken', 'restart /book/merger', 'reconfigure /feeds/binance']);
  });

  it('does nothing, and looks at no health, when nothing changes', async () => {
    const { host, applier } = await startedWith(compiled('{}'));
    host.unwell = () => [{ path: '/feeds/kraken', reason: 'down' }];
    expect(await applier.apply(compiled('{}'), OPTIONS)).toMatchObject({ kind: 'applied' });
    expect(host.log).toEqual([]);
  });

  it('goes back when a step fails, and says which and why', async () => {
    const before = compiled('feeds: { binance: {}, kraken: {} }');
    const { host, applier } = await startedWith(before);
    host.faults = new Map([[1, 'half']]);
    expect(await applier.apply(compiled('feeds: { binance: {} }'), OPTIONS)).toMatchObject({
      kind: 'rolled-back',
      code: 'TW_TOPOLOGY_ROLLED_BACK',
      reason: 'restart /book/merger: broke half way',
      astray: [],
    });
    expect(host.log).toEqual([
      ...['stop /feeds/kraken', 'restart /book/merger', 'start /book/merger', 'start /feeds/kraken'],
    ]);
    expect(digests(host.running())).toEqual(digests(before.nodes));
    expect(applier.current).toBe(before);
  });

  it('goes back when it is not healthy by the deadline', async () => {
    const before = compiled('{}');
    const { host, applier } = await startedWith(before);
    host.unwell = () => [{ path: '/book/merger', reason: 'no book' }];
    expect(await applier.apply(compiled('book: { depth: 5 }'), OPTIONS)).toMatchObject({
      kind: 'rolled-back',
      reason: 'not healthy by the deadline: /book/merger (no book)',
    });
    expect(digests(host.running())).toEqual(digests(before.nodes));
  });

  it('goes back when a feed that it changed brings nothing by the deadline, and brought something before', async () => {
    const before = compiled('feeds: { binance: {}, kraken: {} }');
    const { host, applier } = await startedWith(before);
    const wanted = compiled('feeds: { binance: { staleAfter: 9s }, kraken: {} }');
    const silent = { path: '/feeds/binance', reason: 'connection refused' };
    host.idle = () => (host.log.length === 0 ? [] : [silent]);
    expect(await applier.apply(wanted, { ...OPTIONS, mustServe: true })).toMatchObject({
      kind: 'rolled-back',
      reason: 'not healthy by the deadline: /feeds/binance (connection refused)',
    });
    expect(digests(host.running())).toEqual(digests(before.nodes));
  });

  it.each([
    ['that brought nothing before', () => [{ path: '/feeds/binance', reason: 'out' }]],
    ['that it does not touch', (look: number) => (look === 0 ? [] : [{ path: '/feeds/kraken', reason: 'out' }])],
  ])('is not held up by a feed %s', async (_, idle) => {
    const { host, applier } = await startedWith(compiled('feeds: { binance: {}, kraken: {} }'));
    host.idle = idle;
    const wanted = compiled('feeds: { binance: { staleAfter: 9s }, kraken: {} }');
    expect(await applier.apply(wanted, { ...OPTIONS, mustServe: true })).toMatchObject({ kind: 'applied' });
  });

  it('wants health to last', async () => {
    const { host, applier } = await startedWith(compiled('{}'));
    host.unwell = (look) => (look % 10 === 0 ? [{ path: '/feeds/kraken', reason: 'restarting' }] : []);
    const outcome = await applier.apply(compiled('book: { depth: 5 }'), OPTIONS);
    expect(outcome).toMatchObject({ kind: 'rolled-back' });
  });

  it('gives up an operation that does not end, and goes back', async () => {
    const before = compiled('{}');
    const { host, applier } = await startedWith(before);
    host.faults = new Map([[0, 'hang']]);
    expect(await applier.apply(compiled('book: { depth: 5 }'), OPTIONS)).toMatchObject({
      kind: 'rolled-back',
      reason: 'restart /book/merger: not done in time',
    });
    expect(digests(host.running())).toEqual(digests(before.nodes));
  });

  it('says what is astray when going back fails too', async () => {
    const { host, applier } = await startedWith(compiled('{}'));
    host.faults = new Map(Array.from({ length: 50 }, (_, operation) => [operation, 'half']));
    expect(await applier.apply(compiled('book: { depth: 5 }'), OPTIONS)).toMatchObject({
      ...{ kind: 'rollback-failed', code: 'TW_TOPOLOGY_ROLLBACK_FAILED', astray: ['/book/merger'] },
    });
  });

  it('refuses a second one meanwhile', async () => {
    const { applier } = await startedWith(compiled('{}'));
    const first = applier.apply(compiled('book: { depth: 5 }'), OPTIONS);
    expect(await applier.apply(compiled('book: { depth: 6 }'), OPTIONS)).toMatchObject({
      ...{ kind: 'refused', code: 'TW_TOPOLOGY_BUSY' },
    });
    expect(await first).toMatchObject({ kind: 'applied' });
  });

  it('refuses what needs a new process, and a plan that was made for another tree', async () => {
    const { host, applier } = await startedWith(compiled('{}'));
    expect(await applier.apply(compiled('{}', 'data: elsewhere'), OPTIONS)).toMatchObject({
      ...{ kind: 'refused', code: 'TW_TOPOLOGY_NEEDS_RESTART' },
    });
    const stale = { ...OPTIONS, expectedFrom: 'another' };
    expect(await applier.apply(compiled('book: { depth: 5 }'), stale)).toMatchObject({
      ...{ kind: 'refused', code: 'TW_TOPOLOGY_CHANGED' },
    });
    expect(host.log).toEqual([]);
  });
});

describe('any sequence of topologies, faults and illness', () => {
  const venue = fc.record({
    ...{ depth: fc.integer({ min: 1, max: 3 }), connections: fc.integer({ min: 1, max: 2 }) },
    thread: fc.constantFrom('main', 'a', 'b'),
  });
  const topology = fc.record({
    ...{ workers: fc.integer({ min: 1, max: 4 }), depth: fc.integer({ min: 1, max: 3 }) },
    ...{ klines: fc.boolean(), book: fc.boolean(), ingest: fc.boolean(), onWorkerThread: fc.boolean() },
    feeds: fc.uniqueArray(fc.tuple(fc.constantFrom('binance', 'bitstamp', 'kraken', 'coinbase'), venue), {
      ...{ minLength: 1, selector: ([name]) => name },
    }),
  });
  const round = fc.record({
    topology,
    faults: fc.array(
      fc.tuple(fc.integer({ min: 0, max: 12 }), fc.constantFrom<Fault>('before', 'half', 'after', 'hang')),
      {
        maxLength: 2,
      },
    ),
    unwellLooks: fc.constantFrom(0, 3, 1_000),
  });

  /** What one draw asks for, written as a person would. The merger may sit on the thread of a worker that is not there. */
  const written = (drawn: (typeof round extends fc.Arbitrary<infer R> ? R : never)['topology']) => {
    const used = new Set(drawn.feeds.map(([, { thread }]) => thread).filter((thread) => thread !== 'main'));
    const spare = drawn.book && drawn.onWorkerThread && drawn.klines && drawn.workers < 4;
    const threads = [...used].map((name) => `${name}: { kind: loop }`);
    if (spare) threads.push(`klines-${drawn.workers}: { kind: pinned }`);
    return [
      `threads: { ${threads.join(', ')} }`,
      `book: { enabled: ${drawn.book}, depth: ${drawn.depth}, thread: ${spare ? `klines-${drawn.workers}` : 'merger'} }`,
      `klines: { enabled: ${drawn.klines}, workers: ${drawn.workers} }`,
      `ingest: { enabled: ${drawn.ingest} }`,
      `feeds: { ${drawn.feeds.map(([name, feed]) => `${name}: { depth: ${feed.depth}, connections: ${feed.connections}, thread: ${feed.thread} }`).join(', ')} }`,
    ].join('\n');
  };

  it(`ends in the desired tree or in the previous one, exactly (TAPEWORKS_SEED=${seed})`, async () => {
    const seen = new Set<string>();
    const base = compiled('{}');
    await fc.assert(
      fc.asyncProperty(fc.array(round, { minLength: 1, maxLength: 5 }), async (rounds) => {
        const { host, applier } = await startedWith(base);
        for (const { topology: drawn, faults, unwellLooks } of rounds) {
          const previous = applier.current;
          const desired = compiled(written(drawn));
          host.log.length = 0;
          host.faults = new Map(faults);
          let looks = 0;
          host.unwell = () => (looks++ < unwellLooks ? [{ path: '/feeds', reason: 'ill' }] : []);
          const outcome = await applier.apply(desired, OPTIONS);
          seen.add(outcome.kind);
          expect(['applied', 'rolled-back']).toContain(outcome.kind);
          if (faults.length === 0 && unwellLooks < 1_000) expect(outcome.kind).toBe('applied');
          const expected = outcome.kind === 'applied' ? desired : previous;
          expect(digests(host.running())).toEqual(digests(expected.nodes));
          expect(applier.current).toBe(expected);
        }
      }),
      { seed, numRuns },
    );
    expect([...seen].sort()).toEqual(['applied', 'rolled-back']);
  }, 600_000);
});
