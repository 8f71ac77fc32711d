import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Collector, type CollectorOptions } from '../../src/actors/collector/collector.ts';
import { decodeEnvelope, isRefusal } from '../../src/protocols/envelope.ts';
import { isKind } from '../../src/protocols/topology.ts';
import { type EmbeddedRedis, startRedis } from '../../src/servers/redis.ts';
import { compileTopology } from '../../src/supervision/topology/compile.ts';
import { AGGREGATE_ID_BASE, tradeId as binanceId } from '../../src/venues/binance/text.ts';
import { tradeId as bitstampId } from '../../src/venues/bitstamp/text.ts';
import { venueNamed } from '../../src/venues/index.ts';
import { trimUnits } from '../../src/venues/simulation/decimal.ts';
import type { Simulator } from '../../src/venues/simulation/simulator.ts';
import type { SimulatedTrade } from '../../src/venues/simulation/trade-log.ts';
import { configurationOf } from '../books/harness.ts';

export const VENUES = ['binance', 'bitstamp', 'coinbase', 'kraken'] as const;
export const TOPOLOGY = `
instruments:
  BTC-USD: { venues: { binance: BTCUSDT, bitstamp: btcusd, coinbase: BTC-USD, kraken: BTC/USD } }
  ETH-USD: { venues: { binance: ETHUSDT, bitstamp: ethusd, coinbase: ETH-USD, kraken: ETH/USD } }
feeds:
${VENUES.map((venue) => `  ${venue}: { reconnect: { min: 10ms, max: 50ms } }`).join('\n')}
`;
export const SYMBOLS = {
  binance: ['BTCUSDT', 'ETHUSDT'],
  bitstamp: ['btcusd', 'ethusd'],
  coinbase: ['BTC-USD', 'ETH-USD'],
  kraken: ['BTC/USD', 'ETH/USD'],
} as const;
const INSTRUMENTS = ['BTC-USD', 'ETH-USD'] as const;

export class RedisRig {
  readonly #folder = mkdtempSync(join(tmpdir(), 'tapeworks-collector-'));
  #server: EmbeddedRedis | undefined;
  #port = 0;

  async start(): Promise<string> {
    const place = { folder: join(this.#folder, 'redis'), cache: '.tapeworks/cache', port: this.#port };
    this.#server = await startRedis(place);
    this.#port = Number(new URL(this.#server.url).port);
    return this.#server.url;
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
  }

  async erase(): Promise<void> {
    await this.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

export function startCollector(simulator: Simulator, redisUrl: string, options: Partial<CollectorOptions> = {}) {
  const { configuration } = configurationOf(TOPOLOGY);
  const exchanges = compileTopology(configuration).nodes.filter((node) => isKind(node, 'exchange'));
  return new Collector({
    name: 'collector',
    version: '0.0.0',
    connections: exchanges.map(({ settings }) => ({
      venue: venueNamed(settings.venue),
      settings,
      ...simulator.endpoints(settings.venue),
    })),
    redisUrl,
    streams: ['events'],
    quotesPerSecond: 10,
    outbox: { messages: 100_000, bytes: 2 ** 26 },
    backlogMax: 1_000_000,
    onChange: () => {},
    ...options,
  });
}

const PATIENCE_MS = 15_000;

export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`waited in vain for ${what}`);
    await sleep(20);
  }
}

/** Every stream of every connection is subscribed, so that what the market does from now on is seen. */
export function subscribed(collector: Collector): Promise<void> {
  return until('all streams to be subscribed', () =>
    collector
      .status()
      .connections.every(
        ({ state, phases }) => state === 'open' && !['down', 'subscribing'].some((phase) => (phases[phase] ?? 0) > 0),
      ),
  );
}

export interface StoredEvent {
  readonly id: string;
  readonly type: string;
  readonly source: string;
  readonly symbol: string;
  readonly connection: string;
  readonly tsEvent: bigint;
  readonly payload: Readonly<Record<string, unknown>>;
}

/** The stream as the kernel reads it: what it would refuse fails the test. */
export async function eventsIn(redisUrl: string, stream = 'events'): Promise<StoredEvent[]> {
  const redis = new Redis(redisUrl, { protocol: 2 });
  try {
    const entries = await redis.xrangeBuffer(stream, '-', '+');
    return entries.map(([, [, raw]]) => {
      const event = decodeEnvelope(raw!);
      if (isRefusal(event)) throw new Error(`${event.code} at ${event.path}: ${event.reason}`);
      const text = event.raw.toString('utf8', event.payloadStart, event.payloadEnd);
      return {
        id: event.id,
        type: event.eventType,
        source: event.source,
        symbol: event.symbol,
        connection: event.connection,
        tsEvent: event.tsEvent,
        payload: JSON.parse(text) as Record<string, unknown>,
      };
    });
  } finally {
    redis.disconnect();
  }
}

/** How each venue numbers a trade: what its stream counts by, and the raw trades in it. */
const NUMBERS: Readonly<Record<(typeof VENUES)[number], (trade: SimulatedTrade) => readonly (number | bigint)[]>> = {
  binance: (trade) => [AGGREGATE_ID_BASE + trade.sequence, binanceId(trade.firstId), binanceId(trade.lastId)],
  bitstamp: (trade) => [bitstampId(trade), bitstampId(trade), bitstampId(trade)],
  coinbase: ({ sequence }) => [sequence, sequence, sequence],
  kraken: ({ sequence }) => [sequence, sequence, sequence],
};

/** What the stream must hold of a venue's trades, from the venue's own truth. */
export function expectedTrades(simulator: Simulator, venue: (typeof VENUES)[number], index: number) {
  const symbol = SYMBOLS[venue][index]!;
  const listing = simulator.truth.listing(venue, symbol);
  return simulator.truth.trades(venue, symbol).map((trade) => {
    const [sequence, first, last] = NUMBERS[venue](trade);
    // Binance tells milliseconds, the others microseconds.
    const timeUs = venue === 'binance' ? Math.floor(trade.timeUs / 1000) * 1000 : trade.timeUs;
    return {
      source: venue,
      symbol: INSTRUMENTS[index]!,
      connection: `${venue}-0`,
      tsEvent: BigInt(timeUs) * 1000n,
      payload: {
        price: trimUnits(trade.price, listing.priceDecimals),
        amount: trimUnits(trade.lots, listing.amountDecimals),
        side: trade.takerBuys ? 'buy' : 'sell',
        sequence: String(sequence),
        first_id: String(first),
        last_id: String(last),
        venue_symbol: symbol,
      },
    };
  });
}

export function tradesOf(events: readonly StoredEvent[], venue: string, index: number) {
  return events
    .filter(({ type, source, symbol }) => type === 'trade' && source === venue && symbol === INSTRUMENTS[index])
    .map(({ source, symbol, connection, tsEvent, payload }) => ({ source, symbol, connection, tsEvent, payload }));
}
