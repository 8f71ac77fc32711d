// A connection is replaced without losing an update: on the venue's notice, at an operator's wish, at its age limit.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Program } from '../../src/program/program.ts';
import { isKind } from '../../src/protocols/topology.ts';
import { compileTopology } from '../../src/supervision/topology/compile.ts';
import { type Simulator, startSimulator } from '../../src/venues/simulation/simulator.ts';
import { BookWatch, configurationOf, startBooks, until } from './harness.ts';
import { TrueMarket } from './truth.ts';

const TOPOLOGY = `
threads: { merger: { kind: pinned, cpu: last, idle: park } }
instruments:
  BTC-USD: { venues: { binance: BTCUSDT, bitstamp: btcusd } }
  ETH-USD: { venues: { binance: ETHUSDT, bitstamp: ethusd } }
feeds: { binance: { reconnect: { min: 10ms, max: 50ms } }, bitstamp: { reconnect: { min: 10ms, max: 50ms } } }
`;
const STEP_MS = 10;

let simulator: Simulator;
let market: TrueMarket;
let program: Program;
let watch: BookWatch;

beforeAll(async () => {
  // Sixty market seconds a second: hundreds of trades a second on each symbol.
  simulator = await startSimulator({
    manual: true,
    seed: 3,
    rate: 1000 / STEP_MS,
    speed: 60,
    startMs: 1_770_000_000_000,
  });
  market = new TrueMarket(simulator, [
    { name: 'BTC-USD', symbols: { binance: 'BTCUSDT', bitstamp: 'btcusd' } },
    { name: 'ETH-USD', symbols: { binance: 'ETHUSDT', bitstamp: 'ethusd' } },
  ]);
  market.run(STEP_MS);
  const started = await startBooks(simulator, TOPOLOGY);
  program = started.program;
  watch = new BookWatch(started.port, ['BTC-USD', 'ETH-USD'], (summary) => market.check(summary));
});
afterAll(async () => {
  watch?.close();
  market?.pause();
  await program?.stop();
  await simulator?.stop();
});

const statusOf = (venue: string) => program.exchanges.all().find((status) => status.venue === venue)!;
const exchangeOf = (venue: string) => [...program.books.exchanges].find(([path]) => path.includes(venue))![1].ref;
const framesOf = (venue: string) => statusOf(venue).streams.map(({ frames }) => frames);

/** Runs until every stream of the venue has sent again, and holds the venue to what it promises. */
async function expectNothingLost(venue: string, reconnections: number): Promise<void> {
  const before = framesOf(venue);
  await until(() => framesOf(venue).every((frames, at) => frames > before[at]! + 5), 'all streams to go on');
  const { streams, counters } = statusOf(venue);
  expect(streams.map(({ lost, gaps }) => lost + gaps)).toEqual(streams.map(() => 0));
  expect(counters).toMatchObject({ reconnections, rotationsFailed: 0 });
  await until(() => simulatorClients(venue) === 1, 'the old connections to be closed');
}

const simulatorClients = (venue: string) =>
  (simulator.status() as { venues: Record<string, { clients: number }> }).venues[venue]!.clients;

async function untilAllLive(venue: string): Promise<number> {
  const isLive = () =>
    program.exchanges.all().some((status) => status.venue === venue) &&
    statusOf(venue).streams.every(({ phase }) => phase === 'live');
  await until(isLive, `all streams of ${venue} to be live`);
  return statusOf(venue).counters.rotations;
}

const untilRotated = (venue: string, count: number) =>
  until(
    () => statusOf(venue).counters.rotations >= count && statusOf(venue).connection.state === 'open',
    () => `${count} rotations: ${JSON.stringify(statusOf(venue))}`,
  );

afterEach(() => expect(market.complaints).toEqual([]));

describe.each(['binance', 'bitstamp'])('a connection to %s', (venue) => {
  it("is replaced on the venue's notice, before the venue closes it", async () => {
    const rotations = await untilAllLive(venue);
    simulator.fault({ kind: 'shutdown-notice', venue, durationMs: 20_000 });
    await untilRotated(venue, rotations + 1);
    await expectNothingLost(venue, 0);
  });

  it("is replaced at an operator's wish, again and again", async () => {
    const rotations = await untilAllLive(venue);
    for (let count = 1; count <= 3; count++) {
      exchangeOf(venue).tell({ kind: 'rotate', reason: 'the operator wants it' });
      await untilRotated(venue, rotations + count);
    }
    await expectNothingLost(venue, 0);
  });

  it('is replaced at its age', async () => {
    const rotations = await untilAllLive(venue);
    const { nodes } = compileTopology(configurationOf(TOPOLOGY).configuration);
    const { settings } = nodes
      .filter((node) => isKind(node, 'exchange'))
      .find((node) => node.settings.venue === venue)!;
    exchangeOf(venue).tell({ kind: 'reconfigure', settings: { ...settings, rotateAfterMs: 500 } });
    await untilRotated(venue, rotations + 2);
    exchangeOf(venue).tell({ kind: 'reconfigure', settings });
    await until(() => statusOf(venue).connection.state === 'open', 'the last rotation to end');
    await expectNothingLost(venue, 0);
  });
});
