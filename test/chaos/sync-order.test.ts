import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ACKNOWLEDGE } from '../../src/actors/kernel-ingest/ledger-scripts.ts';
import { EventLoad } from '../ingest/load.ts';
import { Random } from '../ingest/random.ts';
import { STREAMS, World } from './world.ts';

// kill -9 cannot show a missing fdatasync: the page cache outlives the process. The system calls themselves can.

const BATCHES = 5;
const hasStrace = spawnSync('strace', ['-o', '/dev/null', 'true']).status === 0;
let world: World;
beforeAll(async () => {
  world = await World.open(new Random(1));
});
afterAll(() => world?.close());

/**
 * The trace in short: `w` a write to a segment, `s` its sync done, `a` an acknowledgement sent. Each call names the
 * file behind its descriptor (-y): to learn it from the call that opened it would fail whenever another thread's
 * call cuts that line in two.
 */
function orderIn(trace: string): string {
  const syncing = new Set<string>();
  let order = '';
  for (const line of trace.split('\n')) {
    const [, pid = '', call = ''] = /^(\d+)\s+(.*)$/.exec(line) ?? [];
    const [, name, file = ''] = /^(write|pwrite64|writev|fdatasync|sendto)\(\d+<([^>]*)>/.exec(call) ?? [];
    const toSegment = file.endsWith('.open');
    if (name === 'fdatasync' && toSegment && call.includes('unfinished')) syncing.add(pid);
    else if ((name === 'fdatasync' && toSegment) || (/fdatasync resumed/.test(call) && syncing.delete(pid))) {
      if (call.endsWith('= 0')) order += 's';
    } else if (name !== undefined && toSegment) order += 'w';
    // An acknowledgement is a script, named by its digest.
    else if (name !== undefined && call.includes(ACKNOWLEDGE.sha)) order += 'a';
  }
  return order;
}

it('a spilled batch is written, then synced, and only then acknowledged', { timeout: 120_000 }, async ({ skip }) => {
  skip(!hasStrace, 'strace is not installed, or may not trace here');
  const trace = join(world.folder, 'trace');
  world.postgres.process.signal('SIGQUIT');
  await world.postgres.process.whenEnded();
  // -D: the traced kernel, not strace, is the process that gets the signals.
  const calls = 'trace=write,pwrite64,writev,sendto,fdatasync';
  world.kernel.under(['strace', '-D', '-f', '-y', '-s', '400', '-e', calls, '-o', trace]);
  await world.kernel.start();
  const load = new EventLoad(new Random(1), 'connection-0', () => BigInt(Date.now()) * 1_000_000n);
  for (let batch = 1; batch <= BATCHES; batch++) {
    const pipeline = world.client.multi();
    for (let n = 0; n < 20; n++) pipeline.xadd(STREAMS[0], '*', 'envelope', load.next().bytes);
    await pipeline.exec();
    await world.until('the batch is acknowledged', async () => {
      const spilled = await world.client.hget(`${STREAMS[0]}:ledger`, 'spilled');
      return Number(spilled) === batch * 20;
    });
  }
  await world.kernel.kill();
  const order = orderIn(readFileSync(trace, 'utf8'));
  expect(order.match(/a/g)?.length, order).toBeGreaterThanOrEqual(BATCHES);
  expect(order).toMatch(/^(w+sa)+$/);
  await world.restartPostgres();
});
