import type pg from 'pg';
import { expect } from 'vitest';
import { fromDecimal } from '../../src/protocols/kline.ts';
import type { Simulator } from '../../src/venues/simulation/simulator.ts';
import { until } from '../books/harness.ts';

interface Row extends pg.QueryResultRow {
  readonly ms: string;
  readonly quality: string;
  readonly open: string;
  readonly high: string;
  readonly low: string;
  readonly close: string;
  readonly volume: string;
  readonly quote: string;
  readonly trades: string;
}

const barsSql = (symbol: string) => `SELECT (extract(epoch from open_time) * 1000)::bigint::text AS ms, quality,
  open::text, high::text, low::text, close::text, volume::text, quote_volume::text AS quote, trades::text
  FROM klines WHERE venue = 'binance' AND symbol = '${symbol}' AND "interval" = '1s' AND closed
  AND quality <> 'partial-first' ORDER BY open_time`;

/** Waits until no stored bar of these symbols is a gap, then holds every one of them against the venue's own. */
export async function expectStoredTruth(
  simulator: Simulator,
  query: (sql: string) => Promise<Row[]>,
  symbols: readonly string[],
): Promise<void> {
  for (const symbol of symbols) {
    let rows: Row[] = [];
    let isAsking = false;
    const look = async () => {
      isAsking = true;
      rows = await query(barsSql(symbol));
      isAsking = false;
    };
    await until(
      () => {
        if (!isAsking) void look();
        return rows.length > 0 && rows.every(({ quality }) => quality !== 'gap');
      },
      () => JSON.stringify(rows.filter(({ quality }) => quality === 'gap')),
    );
    const first = Number(rows[0]!.ms);
    expect(
      rows.map(({ ms }) => Number(ms)),
      `${symbol}: no window is left out`,
    ).toEqual(rows.map((_, at) => first + at * 1000));
    const { priceDecimals, amountDecimals } = simulator.truth.listing('binance', symbol);
    for (const row of rows) {
      const [bar] = simulator.truth.bars('binance', symbol, { interval: '1s', startMs: Number(row.ms), limit: 1 });
      const price = (text: string) => fromDecimal(text, priceDecimals);
      const ours = {
        ...{ open: price(row.open), high: price(row.high), low: price(row.low), close: price(row.close) },
        volume: fromDecimal(row.volume, amountDecimals),
        quoteVolume: fromDecimal(row.quote, priceDecimals + amountDecimals),
        trades: Number(row.trades),
      };
      const { open, high, low, close, volume, quoteVolume, trades } = bar!;
      expect(ours, `${symbol} ${row.ms} ${row.quality}`).toEqual({
        ...{ open, high, low, close, volume, quoteVolume },
        trades: Number(trades),
      });
    }
  }
}
