// Whatever a server sends and however the network cuts it: each message arrives once, whole and in order, by one way or the other.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createServer as createSecureServer } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Connection } from '../../src/actors/exchange/connection.ts';
import { selfSigned } from '../../src/console/server/self-signed.ts';
import { Random, testSeed } from '../../src/kernels/oracle/random.ts';
import { deferred } from '../../src/supervision/deferred.ts';

const ACCEPT_KEY = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const TEXT = 1;
const CLOSE = 8;
const PING = 9;
const FIN = 0x80;
const seed = testSeed();

/** One frame as it stands on the wire. */
function wire(first: number, payload: Buffer): Buffer {
  const { length } = payload;
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  head[0] = first;
  head[1] = length < 126 ? length : length < 65_536 ? 126 : 127;
  if (length >= 65_536) head.writeBigUInt64BE(BigInt(length), 2);
  else if (length >= 126) head.writeUInt16BE(length, 2);
  return Buffer.concat([head, payload]);
}

const ping = () => wire(FIN | PING, Buffer.from('ping'));

/** A message in one frame, or in several with pings between them. */
function message(random: Random, payload: Buffer): Buffer {
  if (random.chance(85)) return wire(FIN | TEXT, payload);
  const parts: Buffer[] = [];
  for (let at = 0, first = TEXT; at < payload.length; first = 0) {
    const end = Math.min(payload.length, at + 1 + random.below(payload.length));
    parts.push(wire(first | (end === payload.length ? FIN : 0), payload.subarray(at, end)));
    if (random.chance(30)) parts.push(ping());
    at = end;
  }
  return parts.length === 0 ? wire(FIN | TEXT, payload) : Buffer.concat(parts);
}

let stop: () => void = () => {};
const trust = process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
beforeEach(() => {
  // The servers here sign for themselves.
  process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
});
afterEach(() => {
  stop();
  if (trust === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
  else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = trust;
});

/** A connection to a server of which `serve` has the one socket, and what has come of it by each way. */
async function stage(
  serve: (socket: Socket, answer: string) => void,
  { isSecure = false, maxFrameBytes = 150_000 }: { isSecure?: boolean; maxFrameBytes?: number } = {},
) {
  const onSocket = async (socket: Socket) => {
    socket.on('error', () => {});
    socket.setNoDelay(true);
    const [request] = (await once(socket, 'data')) as [Buffer];
    socket.resume();
    const key = /sec-websocket-key: (.*)\r/i.exec(request.toString())![1]!;
    const accept = createHash('sha1').update(`${key}${ACCEPT_KEY}`).digest('base64');
    const head = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n';
    serve(socket, `${head}Sec-WebSocket-Accept: ${accept}\r\n\r\n`);
  };
  const server = isSecure
    ? createSecureServer(selfSigned(), onSocket)
    : createServer({ allowHalfOpen: true }, onSocket);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const room = Buffer.alloc(65_536);
  const heard: string[] = [];
  let landed = 0;
  let more = () => {};
  const hear = (bytes: Buffer) => {
    heard.push(createHash('sha1').update(bytes).digest('hex'));
    more();
  };
  const frames = {
    frame: hear,
    landing: {
      room,
      landed: (from: number, length: number) => {
        landed++;
        hear(room.subarray(from, from + length));
        // As a kernel does, which needs zeros around what it reads.
        room.fill(0);
      },
    },
  };
  const url = `${isSecure ? 'wss' : 'ws'}://127.0.0.1:${(server.address() as AddressInfo).port}/stream?name=value`;
  const open = deferred<void>();
  const closed = deferred<{ reason: string; isOversized: boolean }>();
  const connection = new Connection(
    { url, maxFrameBytes, handshakeTimeoutMs: 5_000 },
    {
      ...{ opened: () => open.resolve(), alive: () => {}, frames },
      closed: (reason, isOversized) => closed.resolve({ reason, isOversized }),
    },
  );
  stop = () => {
    connection.end();
    server.close();
  };
  return {
    heard,
    open: open.promise,
    closed: closed.promise,
    landed: () => landed,
    connection,
    until: async (count: number) => {
      while (heard.length < count) {
        const next = deferred<void>();
        more = next.resolve;
        if (heard.length < count) await next.promise;
      }
    },
  };
}

describe.each([false, true])('over a socket (TLS: %s)', (isSecure) => {
  it(`every message arrives once and in order (seed ${seed})`, { timeout: 60_000 }, async () => {
    const random = new Random(seed);
    const sizes = [0, 1, 5, 125, 126, 127, 1_300, 7_000, 16_384, 20_000, 65_531, 65_532, 65_535, 65_536, 120_000];
    const sent: string[] = [];
    const next = () => {
      const payload = Buffer.alloc(random.pick(sizes), `${sent.length},`);
      sent.push(createHash('sha1').update(payload).digest('hex'));
      return message(random, payload);
    };
    const begun = deferred<Socket>();
    const { heard, landed, until } = await stage(
      (socket, answer) => {
        // The first ones come with the answer to the handshake, the last of them cut in two.
        const first = Buffer.concat([Buffer.from(answer), next(), ping(), next()]);
        const cut = random.chance(50) ? first.length : answer.length + random.below(first.length - answer.length);
        socket.write(first.subarray(0, cut));
        setTimeout(() => {
          socket.write(first.subarray(cut));
          begun.resolve(socket);
        }, 5);
      },
      { isSecure },
    );
    const socket = await begun.promise;
    for (let round = 0; round < 300; round++) {
      const bytes = Buffer.concat(
        Array.from({ length: random.chance(70) ? 1 : 1 + random.below(5) }, () => (random.chance(5) ? ping() : next())),
      );
      for (let at = 0; at < bytes.length; ) {
        const end = random.chance(70) ? bytes.length : Math.min(bytes.length, at + 1 + random.below(bytes.length));
        socket.write(bytes.subarray(at, end));
        at = end;
        if (random.chance(50)) await new Promise(setImmediate);
      }
      // Sometimes the next one comes when nothing waits any more, mostly it runs into those before.
      if (random.chance(40)) await until(sent.length);
    }
    await until(sent.length);
    expect(heard).toEqual(sent);
    expect(landed()).toBeGreaterThan(20);
    expect(landed()).toBeLessThan(sent.length);
  });
});

/** A connection whose handshake is over, and the server's end of it. */
async function opened(maxFrameBytes?: number) {
  const server = deferred<Socket>();
  const made = await stage(
    (socket, answer) => {
      socket.write(answer);
      server.resolve(socket);
    },
    maxFrameBytes === undefined ? {} : { maxFrameBytes },
  );
  const socket = await server.promise;
  await made.open;
  /** Sends bytes that the other side reads by themselves. */
  const say = async (...parts: Buffer[]) => {
    for (const part of parts) {
      socket.write(part);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };
  await say(wire(FIN | TEXT, Buffer.from('first')));
  await made.until(1);
  return { ...made, socket, say };
}

describe('a connection', () => {
  it('is closed by a frame that is too long, however it came', async () => {
    const { say, closed, heard } = await opened(1_000);
    await say(wire(FIN | TEXT, Buffer.alloc(1_001)));
    expect(await closed).toMatchObject({ isOversized: true });
    expect(heard).toHaveLength(1);
  });

  it('takes a piece of a frame for what it is, though it look like a frame', async () => {
    const { say, heard, landed, until } = await opened();
    const looks = wire(FIN | TEXT, Buffer.from('looks like one'));
    const payload = Buffer.concat([Buffer.from('begins '), looks, Buffer.from(' ends')]);
    const whole = wire(FIN | TEXT, payload);
    await say(whole.subarray(0, 2 + 7), looks, whole.subarray(2 + 7 + looks.length));
    // The head in two pieces, the second of which might be a short frame.
    const short = wire(FIN | TEXT, Buffer.alloc(0x8100));
    await say(short.subarray(0, 2), short.subarray(2, 4), short.subarray(4));
    await until(3);
    const digest = (bytes: Buffer) => createHash('sha1').update(bytes).digest('hex');
    expect(heard.slice(1)).toEqual([digest(payload), digest(Buffer.alloc(0x8100))]);
    expect(landed()).toBe(1);
  });

  it('takes nothing that comes after a close', async () => {
    const { say, socket, closed, heard } = await opened();
    await say(wire(FIN | CLOSE, Buffer.from([0x03, 0xe8])), wire(FIN | TEXT, Buffer.from('late')));
    socket.end();
    await closed;
    expect(heard).toHaveLength(1);
  });

  it('refuses a frame inside a message in fragments, alone as it may be', async () => {
    const { say, closed, heard } = await opened();
    await say(wire(TEXT, Buffer.from('begun')), wire(FIN | TEXT, Buffer.from('another')));
    expect((await closed).reason).toMatch(/opcode/);
    expect(heard).toHaveLength(1);
  });
});
