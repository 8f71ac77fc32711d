// What a server may do to a client before and beneath its frames.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { Connection } from './connection.ts';

const ACCEPT_KEY = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
let server: Server;
let connection: Connection;

/** The answer to the client's request, as text. */
async function answerTo(socket: Socket): Promise<string> {
  socket.on('error', () => {});
  const [request] = (await once(socket, 'data')) as [Buffer];
  const key = /sec-websocket-key: (.*)\r/i.exec(request.toString())![1]!;
  const accept = createHash('sha1').update(`${key}${ACCEPT_KEY}`).digest('base64');
  return `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`;
}

/** Connects, and answers why the connection ended. */
async function connect(
  serve: (socket: Socket, answer: string) => void,
  handshakeTimeoutMs: number,
  alive: () => void = () => {},
): Promise<string> {
  server = createServer((socket) => void answerTo(socket).then((answer) => serve(socket, answer)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return new Promise((closed) => {
    const frames = { frame: () => {}, landing: { room: Buffer.alloc(65_536), landed: () => {} } };
    const events = { opened: () => {}, frames, alive, closed };
    connection = new Connection({ url, maxFrameBytes: 1024, handshakeTimeoutMs }, events);
  });
}
afterEach(() => {
  connection.end();
  server.close();
});

describe('a connection', () => {
  it('gives up a handshake that drips in for longer than it may take', async () => {
    const drip = async (socket: Socket, answer: string) => {
      for (const letter of answer) {
        if (socket.destroyed) return;
        socket.write(letter);
        await sleep(5);
      }
    };
    expect(await connect((socket, answer) => void drip(socket, answer), 100)).toBe('the handshake took too long');
  });

  it('does not pile up pongs for a server that pings and does not read', async () => {
    const pings = 300_000;
    const ping = Buffer.concat([Buffer.from([0x89, 125]), Buffer.alloc(125, 0x70)]);
    let heard = 0;
    let received = 0;
    const flood = async (socket: Socket, answer: string) => {
      socket.pause();
      socket.write(answer);
      for (let sent = 0; sent < pings; sent += 1000)
        socket.write(Buffer.concat(Array.from({ length: 1000 }, () => ping)));
      while (heard < pings) await sleep(5);
      socket.on('data', (data) => {
        received += data.length;
      });
      socket.resume();
      // A pong of 131 bytes for each ping so far; a shorter one shows that all before it have come.
      while (received % 131 === 0) {
        socket.write(Buffer.from([0x89, 0]));
        await sleep(20);
      }
      socket.end();
    };
    await connect(
      (socket, answer) => void flood(socket, answer),
      5_000,
      () => heard++,
    );
    expect(received).toBeLessThan((pings * 131) / 2);
  });
});
