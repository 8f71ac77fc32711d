import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { WebSocketServer } from 'ws';
import type { Ticker } from '../protocols/venue.ts';
import { TickerWatch } from './ticker-watch.ts';

it('what a venue tells of symbols that can be none is left out: a name of any length would break who subscribes to it', async () => {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  const names = ['BTCUSDT', 'X'.repeat(200), '', '__proto__', '币安人生USDT'];
  const data = names.map((s) => ({ e: '24hrMiniTicker', E: 1, s, c: '1', o: '1', h: '1', l: '1', v: '1', q: '1' }));
  server.on('connection', (client) => client.send(JSON.stringify({ stream: '!miniTicker@arr', data })));
  const wsUrl = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const tickers = await new Promise<ReadonlyMap<string, Ticker>>((onTickers) => {
    const watch = new TickerWatch({
      venue: 'binance',
      wsUrl,
      onTickers: (told) => {
        watch.close();
        onTickers(told);
      },
    });
  });
  server.close();
  expect([...tickers.keys()]).toEqual(['BTCUSDT', '币安人生USDT']);
});
