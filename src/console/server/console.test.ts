import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { type ActorDetail, type ActorsMessage, type Pulse, VALUE } from '../../protocols/console-api.ts';
import { TokenFile } from '../../protocols/token-file.ts';
import { type Bench, openConsole, SETTINGS, TOKEN, tokenFile } from './testing.ts';

const open: Bench[] = [];
afterEach(async () => {
  for (const bench of open.splice(0)) await bench.stop();
});
const start = async (...options: Parameters<typeof openConsole>) => {
  const bench = await openConsole(...options);
  open.push(bench);
  return bench;
};
const get = (bench: Bench, path: string, init?: RequestInit) => fetch(`${bench.console.url}${path}`, init);

describe('health', () => {
  it.each([
    ['OK', 200, 200],
    ['DEGRADED', 200, 200],
    ['DOWN', 503, 503],
  ] as const)('%s is answered with %i', async (status, expected, ready) => {
    const bench = await start();
    bench.health = status;
    const answer = await get(bench, '/health');
    expect(answer.status).toBe(expected);
    expect(await answer.json()).toMatchObject({ status });
    expect((await get(bench, '/ready')).status).toBe(ready);
  });
});

describe('metrics', () => {
  it('tell of each actor by its path, beside what the planes count', async () => {
    const bench = await start(
      {},
      { metrics: () => '# TYPE kernel_redis_read_total counter\nkernel_redis_read_total 7\n' },
    );
    for (let at = 0; at < 5; at++) bench.counter.tell('count');
    await bench.system.summary('/jobs/counter');
    const text = await (await get(bench, '/metrics')).text();
    expect(text).toContain('kernel_redis_read_total 7\n');
    expect(text).toMatch(/^actor_messages_total\{path="\/jobs\/counter"\} \d+$/m);
    expect(text).toContain('actor_mailbox_dropped_total{path="/jobs/counter",policy="reject"} 0');
    expect(text).toContain('actor_up{path="/jobs/counter"} 1');
    expect(text).toContain('actor_dead_letters_total 0');
  });

  it('are gone when switched off', async () => {
    expect((await get(await start({ metrics: false }), '/metrics')).status).toBe(404);
  });
});

/** Reads server-sent events until one of the topic satisfies the test. */
async function until<T>(bench: Bench, topic: string, isMet: (message: T) => boolean): Promise<T> {
  const abort = new AbortController();
  const answer = await get(bench, `/api/live?topics=${topic}`, { signal: abort.signal });
  let text = '';
  for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const frames = text.split('\n\n');
    text = frames.pop()!;
    for (const frame of frames.filter((line) => line.startsWith(`event: ${topic}\n`))) {
      const message = JSON.parse(frame.slice(frame.indexOf('data: ') + 6)) as T;
      if (!isMet(message)) continue;
      abort.abort();
      return message;
    }
  }
  throw new Error('the stream ended');
}

describe('the live stream', () => {
  it('begins with the whole tree and goes on with what changed', async () => {
    const bench = await start();
    let at = -1;
    const delta = await until<ActorsMessage>(bench, 'actors', (message) => {
      if (message.kind === 'full') {
        at = message.shapes.findIndex((shape) => shape.path === '/jobs/counter');
        bench.counter.tell('count');
        return false;
      }
      return message.changed.some(([index, values]) => index === at && values[VALUE.messages] > 0);
    });
    expect(delta.kind).toBe('delta');
  });

  it('shows a failure, its words and the restart', async () => {
    const bench = await start();
    bench.counter.tell('crash');
    const pulse = await until<Pulse>(bench, 'pulse', ({ problems }) =>
      problems.some((one) => /restarted/.test(one.text)),
    );
    await until<ActorsMessage>(bench, 'actors', (message) =>
      message.kind === 'full'
        ? message.values.some((row) => row[VALUE.restarts] === 1)
        : message.changed.some(([, row]) => row[VALUE.restarts] === 1),
    );
    expect(pulse.problems[0]).toMatchObject({ page: 'actors', subject: '/jobs/counter', severity: 'warning' });
    const detail = (await (await get(bench, '/api/actors/detail?path=/jobs/counter')).json()) as ActorDetail;
    expect(detail.events.map((event) => event.kind)).toEqual(
      expect.arrayContaining(['failed', 'restarting', 'started']),
    );
    expect(detail.values[VALUE.failure]).toBe('asked to <b>crash</b>');
    expect(detail.summary).toEqual({ counted: 0 });
  });

  it('has room for so many and refuses the next', async () => {
    const bench = await start({ maxDashboards: 2 });
    const aborts = [new AbortController(), new AbortController()];
    for (const { signal } of aborts) await get(bench, '/api/live?topics=pulse', { signal });
    const refused = await get(bench, '/api/live?topics=pulse');
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toBe('10');
    for (const abort of aborts) abort.abort();
  });
});

describe('control', () => {
  const act = (bench: Bench, action: string) =>
    get(bench, '/api/control/actor', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${TOKEN}` },
      body: JSON.stringify({ action, path: '/jobs/counter' }),
    });
  const counter = (bench: Bench) => bench.system.tree().children[0]!.children[0]!;

  it('is off unless it is switched on', async () => {
    const bench = await start({ tokenFile: tokenFile() });
    const answer = await act(bench, 'suspend');
    expect(answer.status).toBe(403);
    expect(await answer.json()).toMatchObject({ kind: 'error', code: 'TW_HTTP_CONTROL_OFF' });
    expect(counter(bench).state).toBe('running');
  });

  it('suspends and resumes', async () => {
    const bench = await start({ control: true, tokenFile: tokenFile() });
    expect((await act(bench, 'suspend')).status).toBe(200);
    expect(counter(bench).state).toBe('suspended');
    expect((await act(bench, 'resume')).status).toBe(200);
    expect(counter(bench).state).toBe('running');
  });

  it('restarts', async () => {
    const bench = await start({ control: true, tokenFile: tokenFile() });
    const restarted = new Promise<void>((resolve) => {
      bench.system.events.listen((event) => event.kind === 'started' && event.incarnation === 2 && resolve());
    });
    expect((await act(bench, 'restart')).status).toBe(200);
    await restarted;
    expect(counter(bench).restarts).toBe(1);
  });
});

describe('the console', () => {
  it('says which port is taken and what to do', async () => {
    const first = await start();
    const second = openConsole({ port: first.console.port });
    await expect(second).rejects.toMatchObject({
      code: 'TW_PORT_TAKEN',
      remedy: expect.stringContaining('kernel.yaml'),
    });
  });

  it.each([
    ['another machine could reach it in plain text', { host: '0.0.0.0', tokenFile: 'x' }],
    [
      'another machine could reach it without a token',
      { host: '192.0.2.1', tls: { certFile: '', keyFile: '', clientCaFile: null } },
    ],
    ['anyone here could change things', { control: true }],
  ])('does not open where %s', async (_what, settings) => {
    await expect(openConsole(settings)).rejects.toMatchObject({ code: 'TW_BIND_UNSAFE' });
  });

  it('says what is wrong with a token file', async () => {
    const file = tokenFile();
    writeFileSync(file, 'short');
    await expect(openConsole({ tokenFile: file })).rejects.toMatchObject({ code: 'TW_TOKEN_FILE' });
  });

  it('takes a new token without a restart', () => {
    const file = tokenFile();
    let now = 0;
    const token = new TokenFile(file, () => now);
    expect(token.accepts(`Bearer ${TOKEN}`)).toBe(true);
    writeFileSync(file, 'another-token-of-some-length');
    now = 2000;
    expect(token.accepts(`Bearer ${TOKEN}`)).toBe(false);
    expect(token.accepts('Bearer another-token-of-some-length')).toBe(true);
    writeFileSync(file, '');
    now = 4000;
    expect(token.accepts('Bearer another-token-of-some-length')).toBe(true);
  });

  it('holds only so many connections', async () => {
    const bench = await start({ maxConnections: 3 });
    const sockets = Array.from({ length: 3 }, () => connect({ port: bench.console.port, host: SETTINGS.host }));
    await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once('connect', resolve))));
    await expect(get(bench, '/health')).rejects.toThrow();
    for (const socket of sockets) socket.destroy();
  });

  it('stops with dashboards open', async () => {
    const bench = await start();
    const answer = await get(bench, '/api/live?topics=pulse');
    await bench.console.stop();
    await expect(answer.text()).resolves.toContain('event: pulse');
  });
});
