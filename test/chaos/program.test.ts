import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Random, runSeed } from '../ingest/random.ts';
import { FLAWLESS } from './oracle.ts';
import { ProgramProcess } from './program.ts';
import { STREAMS, signalAll, World } from './world.ts';

const LONG = process.env['TAPEWORKS_LONG'] === '1';
const TIMES = LONG ? 10 : 2;
const RATE = LONG ? 3_000 : 1_000;
const seed = runSeed();
const label = `TAPEWORKS_SEED=${seed}`;

let world: World;
let program: ProgramProcess;
beforeAll(async () => {
  world = await World.open(Random.of(seed, 'program'), 'events:dlq');
  program = new ProgramProcess(world);
});
afterAll(async () => {
  await program?.kill();
  await world?.close();
});

/** What cannot be stored in time stays pending for the next start; the end does not wait for it. */
async function endedBesideFrozenPostgres(): Promise<void> {
  await program.start();
  const pids = world.postgresPids();
  signalAll(pids, 'SIGSTOP');
  await sleep(500);
  const asked = performance.now();
  program.signal('SIGTERM');
  await program.ended();
  const seconds = (performance.now() - asked) / 1_000;
  process.stdout.write(`chaos: the program ended after ${seconds.toFixed(1)} s beside a frozen Postgres\n`);
  signalAll(pids, 'SIGCONT');
  expect(seconds, 'seconds to its end').toBeLessThan(10);
}

describe('the whole program, told to end under load', () => {
  it(`ends within 10 s ${TIMES} times in a row, with nothing pending that it read and nothing stored twice`, {
    timeout: LONG ? 900_000 : 300_000,
  }, async () => {
    const random = Random.of(seed, 'program ends');
    world.producer.start(RATE);
    for (let time = 0; time < TIMES; time++) {
      await program.start();
      const before = await world.storedCount();
      await world.until('it stores', async () => (await world.storedCount()) > before);
      await sleep(random.between(0, 500));
      const asked = performance.now();
      program.signal('SIGTERM');
      expect(await program.ended(), program.log).toEqual({ code: 0, signal: null });
      const seconds = (performance.now() - asked) / 1_000;
      process.stdout.write(`chaos: the program ended after ${seconds.toFixed(1)} s (${time + 1} of ${TIMES})\n`);
      expect(seconds, 'seconds to its end').toBeLessThan(10);
      for (const stream of STREAMS)
        expect((await world.client.xpending(stream, 'kernel'))[0], `pending in ${stream}`).toBe(0);
    }
    if (LONG) await endedBesideFrozenPostgres();
    await world.producer.pause();
    await program.start();
    const sent = world.producer.good.size;
    await world.until('everything is stored', async () => (await world.storedCount()) >= sent);
    program.signal('SIGTERM');
    await program.ended();
    // The collector outlives the readers by a moment: what it sent then waits, unread, for the next start.
    expect({ ...(await world.oracle.judge()), pending: 0 }, label).toEqual(FLAWLESS);
  });
});
