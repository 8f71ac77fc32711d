import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { fromDecimal } from '../protocols/kline.ts';
import { BINANCE } from './binance/facts.ts';
import { askRest, fetchWhole } from './rest.ts';

async function serve(listener: RequestListener) {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = async () => {
    server.closeAllConnections();
    server.close();
  };
  return { url, [Symbol.asyncDispose]: close };
}

it.each([
  ['what is no JSON', '<html>', (text: string) => JSON.parse(text)],
  ['a price of more places than are kept', '1.123456789', (text: string) => fromDecimal(text, 8)],
])('an answer of %s is a failure, and rejects nothing', async (_what, answer, read) => {
  await using server = await serve((_, response) => response.end(answer));
  expect(await askRest(BINANCE.rest, server.url, '/', read)).toMatchObject({ ok: false, status: 200 });
});

it('an answer that never comes is given up in time, whatever the garbage collector does meanwhile', async () => {
  await using server = await serve(() => {});
  setFlagsFromString('--expose-gc');
  const collecting = setInterval(runInNewContext('gc') as () => void, 20);
  await expect(fetchWhole(server.url, undefined, 200)).rejects.toThrow('within 200 ms');
  clearInterval(collecting);
});

it('an answer that never ends is given up', async () => {
  const blanks = Buffer.alloc(1 << 20, ' ');
  await using server = await serve((_, response) => {
    response.on('drain', () => response.write(blanks));
    response.write(blanks);
  });
  await expect(fetchWhole(server.url)).rejects.toThrow('longer than');
});
