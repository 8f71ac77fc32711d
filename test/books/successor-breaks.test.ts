// A successor that had a stream's book and lost it again has nothing to take over with.
import { afterEach, expect, it } from 'vitest';
import type { WebSocket } from 'ws';
import { until } from './harness.ts';
import { StandIn } from './stand-in.ts';

const TIME = '2026-01-01T00:00:00.123456Z';
const [BTC, ETH] = ['BTC/USD', 'ETH/USD'];
let standIn: StandIn;
afterEach(() => standIn.stop());

const waited = (what: string) => () => `${what}: ${JSON.stringify([standIn.status(), standIn.heard.slice(-5)])}`;
const frame = (type: string, symbol: string, bid: number, proof = '') =>
  `{"channel":"book","type":"${type}","data":[{"symbol":"${symbol}","bids":[{"price":9,"qty":${bid}}],"asks":[],${proof}"timestamp":"${TIME}"}]}`;

/** Acks all, and begins the books of those that are granted. */
const answering = (granted: ReadonlySet<string | undefined>) => (text: string, say: (frame: string) => void) => {
  const { method, params, req_id } = JSON.parse(text) as {
    method: string;
    req_id: number;
    params?: { channel: string; symbol: string[] };
  };
  for (const symbol of params?.symbol ?? []) {
    say(JSON.stringify({ method, req_id, result: { channel: 'book', symbol }, success: true }));
    if (method === 'subscribe' && granted.has(symbol)) say(frame('snapshot', symbol, 1));
  }
};

it('keeps the old connection until the successor has that book anew', async () => {
  const granted = new Set([BTC, ETH]);
  const answer = answering(granted);
  standIn = new StandIn('kraken', { answer, symbols: [BTC!, ETH!], settings: { trades: false } });
  await standIn.start();
  await until(() => standIn.counting.size === 2, waited('both books'));
  const old: WebSocket = standIn.socket;

  granted.delete(ETH);
  standIn.rotate();
  await until(() => standIn.socket !== old, waited('the successor'));
  const joins = () => standIn.heard.filter((text) => text.includes('"subscribe"')).length;
  await until(() => joins() === 2, waited('the successor to ask'));
  granted.clear();
  // The one book is broken again before the other one has come.
  standIn.say(frame('update', BTC!, 2, '"checksum":1,'));
  await until(() => joins() === 3, waited('the book to be joined again'));
  standIn.say(frame('snapshot', ETH!, 1));
  standIn.say(frame('update', ETH!, 3));
  old.send(frame('update', ETH!, 4));
  await until(() => standIn.counting.get(ETH!)?.bids[0] === '4@9', waited('the old connection to go on'));
  old.send(frame('update', BTC!, 5));
  await until(() => standIn.counting.get(BTC!)?.bids[0] === '5@9', waited('the old connection to go on'));
  expect(standIn.status().counters).toMatchObject({ rotations: 0, reconnections: 0 });

  standIn.say(frame('snapshot', BTC!, 6));
  await until(() => standIn.counting.get(BTC!)?.bids[0] === '6@9', waited('the successor to take over'));
  expect(standIn.counting.get(ETH!)!.bids).toEqual(['3@9']);
  expect(standIn.status().counters).toMatchObject({ rotations: 1, reconnections: 0 });
});

it('takes over a book that the old connection has just lost', async () => {
  const granted = new Set([BTC, ETH]);
  const answer = answering(granted);
  const reconnect = { minMs: 60_000, maxMs: 60_000, jitter: 0, resetAfterMs: 60_000 };
  standIn = new StandIn('kraken', { answer, symbols: [BTC!, ETH!], settings: { trades: false, reconnect } });
  await standIn.start();
  await until(() => standIn.counting.size === 2, waited('both books'));
  const old: WebSocket = standIn.socket;

  granted.delete(ETH);
  standIn.rotate();
  await until(() => standIn.heard.filter((text) => text.includes('"subscribe"')).length === 2, waited('the requests'));
  standIn.say(frame('update', BTC!, 2));
  old.send(frame('update', BTC!, 3, '"checksum":1,'));
  await until(() => !standIn.counting.has(BTC!), waited('the old book to be out'));
  standIn.say(frame('snapshot', ETH!, 1));
  await until(() => standIn.status().counters.rotations === 1, waited('the rotation'));
  // It does not change, and is there all the same.
  await until(() => standIn.status().streams.every(({ phase }) => phase === 'live'), waited('both feeds to be live'));
  await until(() => standIn.counting.size === 2, waited('both books'));
  expect(standIn.counting.get(BTC!)!.bids).toEqual(['2@9']);
});
