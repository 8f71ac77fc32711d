// Every command beside one running program, as a person or a script would use it.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { bin, main, Running, root, runProgram, Workplace } from './harness.ts';

const ESCAPE = '\u001b';
let place: Workplace;
let program: Running;

beforeAll(async () => {
  place = await Workplace.make();
  program = new Running(place);
  await program.ready;
}, 120_000);
afterAll(async () => {
  await program?.stop();
  place?.remove();
});

const pidIn = (text: string) => Number(/process (\d+)/.exec(text)?.[1]);

describe('a running program', () => {
  it('printed one object when it was ready', async () => {
    expect(await program.ready).toMatchObject({
      ready: true,
      dashboard: `http://127.0.0.1:${place.ports.http}`,
      grpc: `127.0.0.1:${place.ports.grpc}`,
      servers: { postgres: { state: 'up', origin: 'embedded' } },
    });
  });

  it('is not disturbed by a second one on its data, which says whose it is', async () => {
    const { code, err } = await place.run(['up']);
    expect(code).toBe(1);
    expect(err).toMatch(/^TW_ALREADY_RUNNING: tapeworks already runs on .*, as process \d+\n {2}[A-Z].*\n$/);
    expect(pidIn(err)).toBe(program.child.pid);
    expect((await place.run(['status'])).code).not.toBe(69);
  });

  it('has noted where its data comes from', () => {
    expect(readFileSync(join(place.data, 'venues'), 'utf8')).toBe('simulated\n');
  });

  it('is named to a second one that wants its ports', async () => {
    const other = await Workplace.make(place.ports);
    const { code, err } = await other.run(['up']);
    other.remove();
    expect(code).toBe(1);
    expect(err).toMatch(/^TW_PORT_TAKEN: HTTP .* is taken by .*; gRPC .* is taken by .*; simulated venues .*\n/);
    if (process.platform === 'linux') expect(pidIn(err)).toBe(program.child.pid);
  });

  it('is examined by doctor, with its servers and ports', async () => {
    const { out } = await place.run(['doctor', '--json']);
    const { findings } = JSON.parse(out) as { findings: { area: string; severity: string; text: string }[] };
    const texts = (area: string) => findings.filter((one) => one.area === area).map(({ text }) => text);
    expect(findings.filter(({ severity }) => severity === 'failure')).toEqual([]);
    expect(texts('locks')).toEqual([`tapeworks runs here as process ${program.child.pid}`]);
    expect(texts('ports').every((text) => text.endsWith('is served by the running tapeworks'))).toBe(true);
    expect(texts('servers').join('\n')).toMatch(/Postgres: fsync on/);
    expect(texts('clock').join('\n')).toMatch(/Postgres's clock agrees/);
  });

  it('is found by status where the configuration puts it', async () => {
    const { code, out } = await place.run(['status']);
    expect([0, 2]).toContain(code);
    expect(out).toMatch(/^(OK|DEGRADED) {2}simulated venues, up \d+s, /);
    expect(JSON.parse((await place.run(['status', '--json'])).out)).toMatchObject({
      actors: { total: expect.any(Number) },
    });
  });

  it.each([
    ['status', []],
    ['top', []],
    ['top', ['--book', 'BTC-USD']],
    ['doctor', []],
    ['validate', []],
    ['dlq', ['list']],
    ['spill', ['list']],
    ['help', []],
  ])('%s %j sends no escape codes into a pipe', async (name, args) => {
    const { out, err } = await place.run([name, ...args]);
    expect(out + err).not.toContain(ESCAPE);
    expect((out + err).trim()).not.toBe('');
  });

  it('shows its tree and its book to scripts', async () => {
    const tree = JSON.parse((await place.run(['top', '--json'])).out) as { path: string; state: string }[];
    expect(tree.map(({ path }) => path)).toContain('/book/merger');
    const book = JSON.parse((await place.run(['top', '--book', 'BTC-USD', '--json', '--once'])).out) as object;
    expect(book).toMatchObject({ symbol: 'BTC-USD', bids: expect.any(Array) });
  });

  it('is left quietly by a reader that has seen enough', async () => {
    const script = `"${process.execPath}" "${main}" top --book BTC-USD --json | head -n 2; exit "\${PIPESTATUS[0]}"`;
    const { code, out, err } = await runProgram('bash', ['-c', script], { cwd: place.folder });
    expect([code, err, out.trim().split('\n').length]).toEqual([0, '', 2]);
  });

  it('lets its bars be compared with the venue that it has them from, and filled from there', async () => {
    const { code, err } = await place.run(['audit', 'klines', '--json']);
    expect([[0, 1].includes(code ?? -1), err]).toEqual([true, '']);
    const from = new Date(Date.now() - 3 * 60_000).toISOString();
    expect(await place.run(['backfill', 'BTCUSDT', '--from', from, '--json'])).toMatchObject({ code: 0, err: '' });
  });

  it('has its dead letters looked for in the boxes of all configured streams', async () => {
    const other = await Workplace.make();
    other.edit('data: .tapeworks', `data: ${place.data}`);
    other.editTopology('events: { shards: 1 }', 'events: { shards: 1 }, orders: { shards: 2 }');
    const { code, err } = await other.run(['dlq', 'show', '1-1']);
    other.remove();
    expect([code, err.split('\n')[0]]).toEqual([
      1,
      'TW_NO_DEAD_LETTER: there is no dead letter 1-1 in events:dlq, orders:dlq',
    ]);
  });

  it('exports every metric that the alerts and the dashboard ask for', async () => {
    const text = await (await fetch(`http://127.0.0.1:${place.ports.http}/metrics`)).text();
    const exported = new Set([...text.matchAll(/^# TYPE (\S+) /gm)].map((match) => match[1]!));
    const { groups } = parse(readFileSync(join(root, 'monitoring/alerts.yml'), 'utf8')) as {
      groups: { rules: { expr: string }[] }[];
    };
    const dashboard = readFileSync(join(root, 'monitoring/grafana/dashboards/tapeworks.json'), 'utf8');
    const queries = [
      ...groups.flatMap(({ rules }) => rules.map(({ expr }) => expr)),
      ...[...dashboard.matchAll(/"expr": "((?:[^"\\]|\\.)*)"/g)].map((match) => JSON.parse(`"${match[1]}"`) as string),
    ];
    const asked = queries.flatMap(
      (expr) =>
        expr.replace(/"[^"]*"/g, '').match(/\b(?:actor|kernel|orderbook|kline|process|nodejs|tapeworks)_\w+/g) ?? [],
    );
    expect(asked.length).toBeGreaterThan(30);
    const missing = asked.filter(
      (name) => !exported.has(name) && !exported.has(name.replace(/_(bucket|sum|count)$/, '')),
    );
    expect([...new Set(missing)]).toEqual([]);
  });
});

describe('after Ctrl-C', () => {
  it('everything has ended, and the data is still there', async () => {
    expect(await program.stop()).toBe(0);
    expect((await place.run(['status'])).code).toBe(69);
    const { out } = await place.run(['doctor', '--json']);
    const locks = (JSON.parse(out) as { findings: { area: string; text: string }[] }).findings.filter(
      ({ area }) => area === 'locks',
    );
    expect(locks.map(({ text }) => text)).toEqual(['nobody runs here, and no lock was left behind']);
    expect(existsSync(join(place.data, 'postgres/PG_VERSION'))).toBe(true);
    const dlq = await place.run(['dlq', 'list']);
    expect([dlq.code, dlq.err.split(':')[0]]).toEqual([69, 'TW_SERVER_UNREACHABLE']);
  });

  it('a start that is asked to forget, without any Redis, begins afresh and says what is down', async () => {
    writeFileSync(join(place.data, 'left-over'), '');
    const password = readFileSync(join(place.data, 'postgres.secret'), 'utf8');
    // What was fetched before is out of reach, and so is what could fetch it.
    rmSync(join(place.data, 'cache'));
    const again = new Running(place, ['--reset'], { PATH: '/nowhere' });
    try {
      const { servers } = (await again.ready) as { servers: Record<string, unknown> };
      expect(servers['redis']).toMatchObject({ state: 'down', code: 'TW_REDIS_UNAVAILABLE' });
      expect(existsSync(join(place.data, 'left-over'))).toBe(false);
      expect(readFileSync(join(place.data, 'postgres.secret'), 'utf8')).not.toBe(password);
      const { code, out } = await place.run(['status']);
      expect([code, out]).toEqual([2, expect.stringContaining('TW_REDIS_UNAVAILABLE')]);
      const { out: book } = await place.run(['top', '--book', 'BTC-USD', '--json', '--once']);
      expect(JSON.parse(book)).toMatchObject({ symbol: 'BTC-USD' });
    } finally {
      expect(await again.stop()).toBe(0);
    }
  });
});

it('the launcher hands exit codes and output on', async () => {
  const { code, out, err } = await runProgram(process.execPath, [bin, 'validate', '--json'], { cwd: place.folder });
  expect([code, err]).toEqual([0, '']);
  expect(JSON.parse(out)).toMatchObject({ ok: true });
});
