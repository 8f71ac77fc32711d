// What many, slow and loud clients can do to the console: be refused, and nothing to the others.
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { type Bench, openConsole, SETTINGS, sendRaw } from './testing.ts';

let bench: Bench;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await bench.stop();
});

const get = (target: string, ...headers: string[]) =>
  [`GET ${target} HTTP/1.1`, `Host: 127.0.0.1:${bench.console.port}`, ...headers, '', ''].join('\r\n');

interface Client {
  readonly socket: Socket;
  text: string;
  isClosed: boolean;
}

/** Connects and sends; what comes back is kept, unless the client does not read. */
function client(bytes: string, options: { readonly reads?: boolean } = {}): Client {
  const socket = connect({ port: bench.console.port, host: '127.0.0.1' });
  const made: Client = { socket, text: '', isClosed: false };
  sockets.push(socket);
  socket.on('error', () => {});
  socket.on('close', () => {
    made.isClosed = true;
  });
  if (options.reads ?? true) {
    socket.on('data', (chunk: Buffer) => {
      made.text = (made.text + chunk.toString('latin1')).slice(0, 100_000);
    });
  }
  socket.write(bytes);
  return made;
}

const answers = async () => (await sendRaw(bench.console.port, get('/health', 'Connection: close'))).status;

describe('the console', () => {
  it('holds no more connections than it may, and serves again when they are gone', async () => {
    // They say nothing, and must not be cut for that before all are counted.
    bench = await openConsole({ requestTimeoutMs: 60_000 });
    const clients = Array.from({ length: 1000 }, () => client(''));
    await expect
      .poll(() => clients.filter(({ isClosed }) => isClosed).length, { timeout: 10_000 })
      .toBe(1000 - SETTINGS.maxConnections);
    for (const { socket } of clients) socket.destroy();
    await expect.poll(answers).toBe(200);
  });

  it('opens no more live streams than it may, and says so to the others', async () => {
    bench = await openConsole();
    const readers = Array.from({ length: 40 }, () => client(get('/api/live?topics=pulse')));
    await expect.poll(() => readers.filter(({ text }) => text.includes('event: pulse')).length).toBe(4);
    await expect.poll(() => readers.filter(({ text }) => text.startsWith('HTTP/1.1 503')).length).toBe(36);
    expect(readers.filter(({ text }) => text.includes('TW_HTTP_TOO_MANY'))).toHaveLength(36);
    expect(bench.console.counts.dashboards).toBe(4);
  });

  it('goes on for those who read, beside those who do not', async () => {
    bench = await openConsole();
    const slow = [1, 2, 3].map(() => client(get('/api/live?topics=pulse,actors,events'), { reads: false }));
    const reader = client(get('/api/live?topics=pulse,actors,events'));
    await expect.poll(() => reader.text.match(/event: pulse/g)?.length ?? 0, { timeout: 10_000 }).toBeGreaterThan(2);
    expect(slow.every(({ isClosed }) => !isClosed)).toBe(true);
    expect(await answers()).toBe(200);
  });

  it('cuts a live stream whose client sends anything but a request', async () => {
    bench = await openConsole();
    const loud = client(get('/api/live?topics=pulse'));
    await expect.poll(() => loud.text).toContain('event: pulse');
    const megabyte = Buffer.alloc(2 ** 20, 0x81);
    for (let count = 0; count < 16; count++) loud.socket.write(megabyte);
    await expect.poll(() => loud.isClosed).toBe(true);
    await expect.poll(() => bench.console.counts.dashboards).toBe(0);
    expect(await answers()).toBe(200);
  });

  it('holds back a client that asks and asks behind a stream that does not end', async () => {
    bench = await openConsole();
    const before = bench.console.counts.requests;
    const greedy = client(get('/api/live?topics=pulse'));
    for (let count = 0; count < 20_000; count++) greedy.socket.write(get('/api/actors'));
    await sleep(500);
    // Answers wait behind the stream, and while so many bytes wait nothing more is read from this client.
    expect(bench.console.counts.requests - before).toBeLessThan(2000);
    expect(await answers()).toBe(200);
  });

  it('speaks no WebSocket, whatever the origin', async () => {
    bench = await openConsole();
    const upgrade = [
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: eA==',
    ];
    for (const origin of [`http://127.0.0.1:${bench.console.port}`, 'https://evil.example']) {
      const answer = client(get('/api/live', ...upgrade, `Origin: ${origin}`));
      await expect.poll(() => answer.text).toMatch(/^HTTP\/1\.1 4\d\d /);
    }
  });

  it('opens no live stream for a page of another site', async () => {
    bench = await openConsole();
    const close = 'Connection: close';
    const answer = await sendRaw(
      bench.console.port,
      get('/api/live?topics=pulse', close, 'Origin: https://evil.example'),
    );
    expect(answer).toMatchObject({ status: 403 });
    expect(answer.body).toContain('TW_HTTP_ORIGIN');
  });
});
