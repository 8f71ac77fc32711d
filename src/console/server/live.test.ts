import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { BarView } from '../../protocols/console-api.ts';
import { LiveHub } from './live.ts';
import { BarsTopic, type Topic } from './topics.ts';

/** A state of half a megabyte that is another one whenever it is looked at. */
class Torrent implements Topic {
  version = 0;
  closed = false;
  refresh(): void {
    this.version++;
  }
  frame() {
    return { text: `${this.version} ${'x'.repeat(500_000)}`, cursor: this.version };
  }
  close(): void {
    this.closed = true;
  }
}

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

async function open(torrent: Torrent): Promise<{ hub: LiveHub; socket: Socket }> {
  const hub = new LiveHub((name) => (name === 'torrent' ? torrent : undefined), 5);
  const server = createServer((request, response) => hub.open(request, response, ['torrent']));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const socket = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' });
  cleanups.push(() => {
    socket.destroy();
    hub.close();
    server.close();
  });
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await new Promise((resolve) => socket.once('readable', resolve));
  return { hub, socket };
}

describe('a live reader', () => {
  it('that does not read is not written to, and then gets the present, not the past', async () => {
    const torrent = new Torrent();
    const { hub, socket } = await open(torrent);
    for (let tick = 0; tick < 500; tick++) {
      hub.tick();
      await new Promise(setImmediate);
    }
    // 500 looks of half a megabyte would be 250 MB; what waits is what fits the sockets, and one frame.
    expect(hub.skipped).toBeGreaterThan(400);
    const present = torrent.version;
    const versions = new Set<number>();
    let tail = '';
    socket.setEncoding('latin1');
    await new Promise<void>((resolve) => {
      socket.on('data', (chunk: string) => {
        for (const [, version] of (tail + chunk).matchAll(/data: (\d+) /g)) versions.add(Number(version));
        tail = (tail + chunk).slice(-20);
        if (Math.max(...versions) >= present) resolve();
        else hub.tick();
      });
    });
    expect(versions.size).toBeLessThan(60);
  });

  it('takes its topics along when it goes', async () => {
    const torrent = new Torrent();
    const { hub, socket } = await open(torrent);
    expect(hub.readers).toBe(1);
    socket.destroy();
    await expect.poll(() => hub.readers).toBe(0);
    expect(torrent.closed).toBe(true);
  });
});

describe('bars that change', () => {
  const bar = (openAtMs: number, revision: number) => ({ openAtMs, revision }) as BarView;

  it('are told once each, however often they changed, and as a reset when too many were missed', () => {
    let tell: (bar: BarView) => void = () => {};
    const source = {
      catalogue: () => ({ symbols: [], intervals: [], feeds: {} }),
      history: async () => [],
      listen: (_symbol: string, _interval: string, listener: (bar: BarView) => void) => {
        tell = listener;
        return () => {};
      },
    };
    const topic = new BarsTopic(source, 'a', '1m');
    const start = topic.frame(0)!.cursor;
    for (let revision = 1; revision <= 1000; revision++) tell(bar(7, revision));
    expect(JSON.parse(topic.frame(start)!.text)).toEqual({ bars: [bar(7, 1000)], reset: false });
    for (let at = 0; at < 600; at++) tell(bar(1000 + at, 1));
    expect(JSON.parse(topic.frame(start)!.text)).toMatchObject({ reset: true });
    const last = topic.frame(start)!.cursor;
    expect(topic.frame(last)).toBeUndefined();
  });
});
