import type { ServiceDefinition } from '@grpc/grpc-js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { summaryBytes } from '../../protocols/book-layout.ts';
import { SummaryEncoder } from './encode.ts';
import { loadProtos } from './grpc-server.ts';
import { type TestSummary, writeSummary } from './testing.ts';

const DEPTH = 10;
const VENUES = ['binance', 'bitstamp', 'kraken'];
const service = loadProtos(['orderbook.proto'])['orderbook.OrderbookAggregator'] as ServiceDefinition;
const decode = (bytes: Buffer) => service['BookSummary']!.responseDeserialize(bytes) as Record<string, never>;

const u64 = fc.oneof(
  fc.bigInt(0n, 2n ** 64n - 1n),
  fc.bigInt(0n, 10n ** 13n),
  fc.constantFrom(0n, 1n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 63n, 2n ** 64n - 1n),
);
const level = fc.record({ price: u64, amount: u64, venue: fc.nat(VENUES.length - 1) });
const timeNs = fc.bigInt(1n, 2n ** 52n);
const summaries: fc.Arbitrary<TestSummary> = fc.record({
  sequence: u64,
  spread: fc.bigInt(-(2n ** 63n) + 1n, 2n ** 63n - 1n),
  mergedNs: timeNs,
  receivedNs: timeNs,
  bids: fc.array(level, { maxLength: DEPTH }),
  asks: fc.array(level, { maxLength: DEPTH }),
  venues: fc.array(fc.record({ isIn: fc.boolean(), receivedNs: timeNs, sequence: u64 }), {
    minLength: VENUES.length,
    maxLength: VENUES.length,
  }),
});

function exact(units: bigint, decimals: number): string {
  const digits = (units < 0n ? -units : units).toString().padStart(decimals + 1, '0');
  const text = `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`.replace(/\.?0+$/, '');
  return units < 0n ? `-${text}` : text;
}

describe('the summary encoder', () => {
  it('writes every number so that an ordinary protobuf decoder reads it back to the last digit', () => {
    const memory = new SharedArrayBuffer(2 * summaryBytes(VENUES.length, DEPTH) + 64);
    const encoder = new SummaryEncoder(memory, { venues: VENUES, depth: DEPTH }, 0);
    const symbol = { name: 'BTC-USD', priceDecimals: 8, amountDecimals: 6 };
    fc.assert(
      fc.property(summaries, fc.integer({ min: 1, max: DEPTH }), (summary, depth) => {
        writeSummary(memory, 64, DEPTH, summary);
        const message = decode(encoder.encode(64, symbol, depth)) as unknown as {
          spread: number;
          spread_exact: string;
          symbol: string;
          sequence: string;
          latency_ns: string;
          received_unix_us: string;
          bids: { exchange: string; price: number; amount: number; price_exact: string; amount_exact: string }[];
          asks: { exchange: string; price: number; amount: number; price_exact: string; amount_exact: string }[];
          venues: { name: string; live: boolean; sequence: string }[];
        };
        const expectedSide = (levels: TestSummary['bids']) =>
          levels.slice(0, depth).map(({ price, amount, venue }) => ({
            exchange: VENUES[venue],
            price: Number(exact(price, 8)),
            amount: Number(exact(amount, 6)),
            price_exact: exact(price, 8),
            amount_exact: exact(amount, 6),
          }));
        expect(message.bids).toEqual(expectedSide(summary.bids));
        expect(message.asks).toEqual(expectedSide(summary.asks));
        expect(message.spread_exact).toBe(exact(summary.spread, 8));
        expect(message.spread).toBe(Number(exact(summary.spread, 8)));
        expect(message.symbol).toBe('BTC-USD');
        expect(message.sequence).toBe(summary.sequence.toString());
        const latency = summary.mergedNs - summary.receivedNs;
        expect(message.latency_ns).toBe((latency > 0n ? latency : 0n).toString());
        expect(message.venues.map(({ name, live, sequence }) => ({ name, live, sequence }))).toEqual(
          summary.venues.map((venue, index) => ({
            name: VENUES[index],
            live: venue.isIn,
            sequence: venue.sequence.toString(),
          })),
        );
      }),
      { numRuns: 2000 },
    );
  });
});
