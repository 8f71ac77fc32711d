// A subscriber that stops reading while summaries flow on and on: the others get every one of them, what the server holds
// for it stays within a bound that does not depend on their number, it is told what it skipped, and is cut in the end.
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { credentials, type ServerWritableStream, status } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { BookService, type SummaryRequest } from '../../src/actors/publisher/book-service.ts';
import { SummaryEncoder } from '../../src/actors/publisher/encode.ts';
import { loadProtos, type RunningGrpc, rawService, startGrpc } from '../../src/actors/publisher/grpc-server.ts';
import { WRITES_MAX } from '../../src/actors/publisher/subscriber.ts';
import { writeSummary } from '../../src/actors/publisher/testing.ts';
import { SUMMARY, summaryBytes } from '../../src/protocols/book-layout.ts';
import { BookWatch, bookClient, type ClientSummary, until } from './harness.ts';

const LONG = process.env['TAPEWORKS_LONG'] === '1';
/** Together far more than sockets and windows can swallow: a summary of this depth takes about 10 kB. */
const SUMMARIES = LONG ? 100_000 : 4_000;
const DEPTH = 100;
const MESSAGE_BYTES_MAX = 12_000;
const VENUES = ['binance', 'bitstamp'];
const SYMBOL = { name: 'BTC-USD', priceDecimals: 8, amountDecimals: 8 };
const SERVICE = 'orderbook.OrderbookAggregator';
const CUT_AFTER_MS = 60_000;
const SETTINGS = {
  ...{ host: '127.0.0.1', port: 0, tls: null, tokenFile: null, defaultSymbol: SYMBOL.name, maxSubscribers: 10 },
  ...{ maxStreamsPerConnection: 10, maxSymbols: 10, maxRequestBytes: 65_536, keepaliveMs: 600_000 },
  cutSlowAfterMs: CUT_AFTER_MS,
};

let clockMs = 0;
let published = 0;
let grpc: RunningGrpc;
let service: BookService;
let steady: BookWatch;
const steadySequences: number[] = [];
const memory = new SharedArrayBuffer(summaryBytes(VENUES.length, DEPTH));
const record = new DataView(memory);

beforeAll(async () => {
  const level = (price: number, venue: number) => ({ price: BigInt(price * 1e8), amount: 123_456_789n, venue });
  writeSummary(memory, 0, DEPTH, {
    ...{ sequence: 0n, spread: 100_000_000n, mergedNs: 1n, receivedNs: 1n },
    bids: Array.from({ length: DEPTH }, (_, at) => level(97_234 - at, at % 2)),
    asks: Array.from({ length: DEPTH }, (_, at) => level(97_235 + at, at % 2)),
    venues: VENUES.map(() => ({ isIn: true, receivedNs: 1n, sequence: 1n })),
  });
  service = new BookService({
    ...{ symbols: [SYMBOL], defaultSymbol: SYMBOL.name, depth: DEPTH, maxSubscribers: 10, maxSymbols: 10 },
    encoder: new SummaryEncoder(memory, { venues: VENUES, depth: DEPTH }, 0),
    latest: () => (published === 0 ? undefined : 0),
    cutSlowAfterMs: CUT_AFTER_MS,
    now: () => clockMs,
  });
  const protos = loadProtos(['orderbook.proto']);
  const BookSummary = (call: ServerWritableStream<SummaryRequest, Buffer>) => service.subscribe(call);
  const served = { name: SERVICE, definition: rawService(protos, SERVICE), implementation: { BookSummary } };
  grpc = await startGrpc(SETTINGS, protos, [served]);
  steady = new BookWatch(grpc.port, [], ({ sequence }) => steadySequences.push(Number(sequence)));
  await until(() => service.stats().subscribers === 1, 'the steady subscriber');
});
afterAll(async () => {
  steady?.close();
  service?.close();
  await grpc?.stop(100);
});

/** Publishes summaries as fast as the steady subscriber takes them; answers the most that was held meanwhile. */
async function publish(count: number): Promise<number> {
  let heldMost = 0;
  for (let left = count; left > 0; left--) {
    record.setBigUint64(SUMMARY.sequence, BigInt(++published), true);
    service.publish(0, 0);
    while (steadySequences.at(-1) !== published) await new Promise((resolve) => setImmediate(resolve));
    heldMost = Math.max(heldMost, service.stats().heldBytes);
  }
  return heldMost;
}

/** Between the client and the server: a network that can get stuck. */
class Network {
  readonly #server: Server;
  readonly #sockets: Socket[] = [];

  private constructor(server: Server) {
    this.#server = server;
  }

  static async to(port: number): Promise<Network> {
    const server = createServer();
    const network = new Network(server);
    server.on('connection', (client) => {
      const upstream = createConnection(port, '127.0.0.1');
      network.#sockets.push(client, upstream);
      for (const socket of [client, upstream]) socket.on('error', () => socket.destroy());
      client.pipe(upstream).pipe(client);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return network;
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port;
  }

  stick(): void {
    const [client, upstream] = this.#sockets as [Socket, Socket];
    upstream.unpipe(client);
    upstream.pause();
  }

  flow(): void {
    const [client, upstream] = this.#sockets as [Socket, Socket];
    upstream.pipe(client);
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
/** Buffers that are still in use: what was let go is given back a little after its collection. */
async function bufferBytes(): Promise<number> {
  for (let pass = 0; pass < 3; pass++) {
    collectGarbage();
    await sleep(50);
  }
  return process.memoryUsage().arrayBuffers;
}

describe.each(['that does not read', 'whose network is stuck'])('a subscriber %s', (how) => {
  let network: Network;
  let client: ReturnType<typeof bookClient>;
  let call: ReturnType<typeof client.BookSummary>;
  const got: ClientSummary[] = [];
  let end: { code: status; details: string } | undefined;
  const stall = () => (how === 'that does not read' ? call.pause() : network.stick());
  const goOn = () => (how === 'that does not read' ? call.resume() : network.flow());

  beforeEach(async () => {
    network = await Network.to(grpc.port);
    // A window so wide that nothing but the network holds the server back.
    const options = how === 'that does not read' ? {} : { 'grpc-node.flow_control_window': 256 << 20 };
    client = bookClient(network.port, credentials.createInsecure(), options);
    call = client.BookSummary({});
    call.on('data', (summary: ClientSummary) => got.push(summary));
    call.on('error', (error) => {
      end = error as unknown as typeof end;
    });
    await until(() => service.stats().subscribers === 2, 'the second subscriber');
    await publish(5);
    await until(() => got.at(-1)?.sequence === String(published), 'it to be served');
  });
  afterEach(() => {
    client.close();
    network.close();
  });

  it('costs a bounded number of bytes, is told what it skipped, and is cut; the others miss nothing', {
    timeout: LONG ? 900_000 : 60_000,
  }, async () => {
    const before = await bufferBytes();
    const from = published;
    stall();
    const heldMost = await publish(SUMMARIES);
    expect(heldMost).toBeGreaterThan(0);
    // Writes on their way, the latest that waits, and the one that the steady subscriber is being handed.
    expect(heldMost).toBeLessThanOrEqual((WRITES_MAX + 2) * MESSAGE_BYTES_MAX);
    expect((await bufferBytes()) - before).toBeLessThan(4 << 20);

    goOn();
    await until(() => got.at(-1)!.sequence === String(published), 'it to be as far as the others');
    const told = got.slice(1).map(({ skipped }) => Number(skipped));
    const missed = got.slice(1).map(({ sequence }, at) => Number(sequence) - Number(got[at]!.sequence) - 1);
    expect(told).toEqual(missed);
    expect(Math.max(...told)).toBeGreaterThan(SUMMARIES / 10);

    stall();
    await publish(SUMMARIES);
    clockMs += CUT_AFTER_MS + 1;
    await until(() => service.stats().subscribers === 1, 'it to be cut');
    expect(service.stats()).toMatchObject({ cut: how === 'that does not read' ? 1 : 2, heldBytes: 0 });
    await publish(5);
    goOn();
    await until(() => end !== undefined, 'it to hear of it');
    expect(end).toMatchObject({ code: status.RESOURCE_EXHAUSTED, details: expect.stringContaining('read faster') });

    const expected = Array.from({ length: published - from }, (_, at) => from + 1 + at);
    expect(steadySequences.slice(-expected.length)).toEqual(expected);
    expect(steady.error).toBeUndefined();
  });
});
