import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json as jsonOf } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PLAN_ROUTE, type TopologyReply } from '../src/protocols/control-api.ts';
import { NO_TREE, type TopologyNode } from '../src/protocols/topology.ts';
import { TopologyApplier, type TopologyHost } from '../src/supervision/topology/apply.ts';
import { compileTopology } from '../src/supervision/topology/compile.ts';
import { STATUS_OF, TopologyControl } from '../src/supervision/topology/control.ts';
import { loadConfiguration } from '../src/supervision/topology/load.ts';
import { KNOWN_VENUES } from '../src/venues/index.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const main = join(root, 'dist/src/cli/main.js');
const around = { venues: KNOWN_VENUES } as const;

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tapeworks-commands-'));
  cpSync(join(root, 'config'), join(folder, 'config'), { recursive: true });
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs `tapeworks` in the folder, without a terminal. */
function tapeworks(args: readonly string[], env: Record<string, string> = {}): Promise<Ran> {
  return new Promise((resolve) => {
    const options = { cwd: folder, env: { PATH: process.env['PATH'] ?? '', ...env } };
    const child = execFile(process.execPath, [main, ...args], options, (_error, out, err) =>
      resolve({ code: child.exitCode ?? -1, out, err }),
    );
  });
}

const topologyPath = () => join(folder, 'config/topology.yaml');
const edit = (from: string, to: string) => {
  const before = readFileSync(topologyPath(), 'utf8');
  expect(before).toContain(from);
  writeFileSync(topologyPath(), before.replace(from, to));
};

describe('tapeworks validate', () => {
  it('says that the shipped files are right', async () => {
    expect(await tapeworks(['validate'])).toMatchObject({ code: 0, err: '' });
    expect(JSON.parse((await tapeworks(['validate', '--json'])).out)).toMatchObject({ ok: true, actors: 22 });
  });

  it('names every mistake by line and column, and exits with 78', async () => {
    edit('binance: { depth: 20,', 'binance: { depht: 500,');
    edit('workers: 2', 'workers: 0');
    expect(await tapeworks(['validate'])).toEqual({
      code: 78,
      out: '',
      err: [
        'config/topology.yaml:18:14 feeds.binance.depht: expected a known key, got "depht"; did you mean `depth`?',
        'config/topology.yaml:26:12 klines.workers: expected 1..64, got 0',
        '',
        'TW_CONFIG_INVALID: 2 errors; nothing was changed.',
        '',
      ].join('\n'),
    });
    const { out } = await tapeworks(['validate', '--json']);
    expect(JSON.parse(out)).toMatchObject({ ok: false, issues: [{ line: 18, column: 14 }, { line: 26 }] });
  });

  it('takes a file in place of the topology, and says which file it means', async () => {
    writeFileSync(join(folder, 'other.yaml'), 'book: { depth: 0 }');
    const ran = await tapeworks(['validate', 'other.yaml']);
    expect(ran.code).toBe(78);
    expect(ran.err).toContain('other.yaml:1:16 book.depth: expected 1..100, got 0\n');
  });

  it('refuses an option that it does not know', async () => {
    const ran = await tapeworks(['validate', '--jsno']);
    expect(ran).toMatchObject({ code: 64, out: '' });
    expect(ran.err).toContain('TW_BAD_USAGE: there is no option --jsno; did you mean `--json`?');
  });
});

describe('tapeworks plan, between two files', () => {
  it('prints the changes and exits with 2, or with 0 when there are none', async () => {
    const old = join(folder, 'old.yaml');
    cpSync(topologyPath(), old);
    edit('bitstamp: { depth: 20 }', 'bitstamp: { depth: 20, staleAfter: 9s }');
    expect(await tapeworks(['plan', 'old.yaml', 'config'])).toEqual({
      code: 2,
      out: [
        '  ~ /feeds/bitstamp  change in place',
        '      settings.staleAfterMs: 5s → 9s',
        '',
        '1 to change in place, 21 unchanged.',
        '',
      ].join('\n'),
      err: '',
    });
    expect(await tapeworks(['plan', 'config', 'config'])).toMatchObject({
      code: 0,
      out: 'No changes: 22 unchanged.\n',
    });
    const { out } = await tapeworks(['plan', 'old.yaml', 'config', '--json']);
    expect(JSON.parse(out)).toMatchObject({ steps: [{ action: 'reconfigure', path: '/feeds/bitstamp' }] });
  });
});

/** A host that keeps nodes in a map; `refuse` makes starting fail. */
class MapHost implements TopologyHost {
  readonly nodes = new Map<string, TopologyNode>();
  refuse = '';
  running = () => [...this.nodes.values()];
  start = async (node: TopologyNode) => {
    if (node.path === this.refuse) throw new Error('no such venue today');
    this.nodes.set(node.path, node);
  };
  stop = async (node: TopologyNode) => void this.nodes.delete(node.path);
  move = this.start;
  reconfigure = this.start;
  restart = this.start;
  health = async () => ({ unwell: [] });
}

describe('tapeworks plan and apply, on a running system', () => {
  const host = new MapHost();
  let server: Server;
  let url = '';
  const token = 'a-token-for-the-test';

  beforeEach(async () => {
    host.nodes.clear();
    host.refuse = '';
    const kernel = join(folder, 'config/kernel.yaml');
    writeFileSync(
      kernel,
      readFileSync(kernel, 'utf8').replace('healthDeadline: 30s', 'healthDeadline: 5s, stableFor: 0ms'),
    );
    const loaded = await loadConfiguration(join(folder, 'config'), around);
    if (!loaded.ok) throw new Error('the shipped files are wrong');
    const clock = { nowMs: () => performance.now(), sleep: (ms: number, signal: AbortSignal) => wait(ms, signal) };
    const applier = new TopologyApplier(host, clock, NO_TREE);
    await applier.apply(compileTopology(loaded.value), { deadlineMs: 10_000, stableForMs: 0 });
    const control = new TopologyControl(applier, around, () => {});
    server = createServer(async (request, response) => {
      const allowed = request.headers.authorization === `Bearer ${token}`;
      const denied: TopologyReply = {
        kind: 'error',
        code: 'TW_CONTROL_REFUSED',
        message: 'the token is not the right one',
      };
      const body: unknown = await jsonOf(request);
      const answer = () => (request.url === PLAN_ROUTE ? control.plan(body) : control.apply(body));
      const reply = allowed ? await answer() : denied;
      response.writeHead(allowed ? STATUS_OF[reply.kind] : 401).end(JSON.stringify(reply));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(() => server.close());

  const asked = (...args: string[]) => tapeworks([...args, '--url', url], { TAPEWORKS_TOKEN: token });

  it('shows the plan, applies it, and then has nothing to do', async () => {
    edit('  coinbase: { depth: 20, thread: feeds }\n', '');
    const planned = await asked('plan');
    expect(planned).toMatchObject({ code: 2, err: '' });
    expect(planned.out).toContain('  - /feeds/coinbase  stop on feeds\n');
    expect(host.nodes.has('/feeds/coinbase')).toBe(true);
    expect(await asked('apply', '--yes')).toMatchObject({ code: 0, err: '' });
    expect(host.nodes.has('/feeds/coinbase')).toBe(false);
    expect(JSON.parse((await asked('apply', '--yes', '--json')).out)).toMatchObject({
      kind: 'applied',
      plan: { steps: [] },
    });
  });

  it('says what failed and what was undone', async () => {
    edit('  coinbase: { depth: 20, thread: feeds }\n', '  coinbase: { depth: 20, thread: feeds, connections: 2 }\n');
    host.refuse = '/feeds/coinbase-2';
    const before = new Map(host.nodes);
    const ran = await asked('apply', '--yes');
    expect(ran.code).toBe(1);
    expect(ran.err).toContain('TW_TOPOLOGY_ROLLED_BACK: start /feeds/coinbase-2: no such venue today.\n');
    expect(ran.err).toContain('  undone by: reconfigure /feeds/coinbase\n');
    expect(new Map(host.nodes)).toEqual(before);
  });

  it('changes nothing for a wrong file, a wrong token, or without being told yes', async () => {
    const before = new Map(host.nodes);
    const wrong = await tapeworks(['apply', '--yes', '--url', url], { TAPEWORKS_TOKEN: 'guessed' });
    expect(wrong.code).toBe(1);
    expect(wrong.err).toContain('TW_TOKEN_REFUSED: 401 from');
    expect((await asked('apply')).code).toBe(64);
    edit('workers: 2', 'workers: 0');
    expect((await asked('apply', '--yes')).code).toBe(78);
    expect(new Map(host.nodes)).toEqual(before);
  });

  it('does not send its token in plain text to another machine, nor to no one', async () => {
    const far = await tapeworks(['plan', '--url', 'http://192.0.2.1:9090'], { TAPEWORKS_TOKEN: token });
    expect(far.err).toContain('TW_CONFIG_UNSAFE: the token is not sent to http://192.0.2.1:9090 in plain text');
    await new Promise((resolve) => server.close(resolve));
    expect(await asked('plan')).toMatchObject({ code: 69, out: '' });
  });
});

async function wait(ms: number, signal: AbortSignal): Promise<void> {
  await pause(ms, undefined, { signal, ref: false }).catch(() => {});
}
