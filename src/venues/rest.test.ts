import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { fromDecimal } from '../protocols/kline.ts';
import { BINANCE } from './binance/facts.ts';
import { askRest } from './rest.ts';

it.each([
  ['what is no JSON', '<html>', (text: string) => JSON.parse(text)],
  ['a price of more places than are kept', '1.123456789', (text: string) => fromDecimal(text, 8)],
])('an answer of %s is a failure, and rejects nothing', async (_what, answer, read) => {
  const server = createServer((_request, response) => response.end(answer)).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  expect(await askRest(BINANCE.rest, `http://127.0.0.1:${port}`, '/', read)).toMatchObject({ ok: false, status: 200 });
  server.close();
});
