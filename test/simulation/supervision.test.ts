import { expect, it } from 'vitest';
import { World } from './world.ts';

// Each sequence has its own seed. One that breaks a promise names it; TAPEWORKS_SEED=<seed> runs that one alone, and
// TAPEWORKS_LONG=1 runs ten times as many.
const FIRST_SEED = Number(process.env['TAPEWORKS_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const IS_REPLAY = process.env['TAPEWORKS_SEED'] !== undefined;
const SEQUENCES = IS_REPLAY ? 1 : process.env['TAPEWORKS_LONG'] === '1' ? 20_000 : 2000;
const ACTIONS = 80;

async function play(seed: number): Promise<World> {
  const world = new World(seed);
  try {
    world.begin();
    for (let action = 0; action < ACTIONS && !world.isDown; action++) await world.act();
    await world.end();
  } catch (error) {
    throw new Error(`TAPEWORKS_SEED=${seed}: ${(error as Error).message}`, { cause: error });
  }
  return world;
}

it(`a supervision tree keeps its promises through ${SEQUENCES} random sequences from seed ${FIRST_SEED}`, async () => {
  const total = { lives: 0, restarts: 0, received: 0, leftBehind: 0, escalated: 0 };
  for (let index = 0; index < SEQUENCES; index++) {
    const { ledger, isDown } = await play(FIRST_SEED + index);
    total.lives += ledger.livesBegun;
    total.restarts += ledger.restarts;
    total.received += ledger.received;
    total.leftBehind += ledger.leftBehind;
    total.escalated += isDown ? 1 : 0;
  }
  if (IS_REPLAY) return;
  // The sequences went where it matters.
  expect(total.lives).toBeGreaterThan(SEQUENCES * 5);
  expect(total.restarts).toBeGreaterThan(SEQUENCES);
  expect(total.received).toBeGreaterThan(SEQUENCES);
  expect(total.leftBehind).toBeGreaterThan(0);
}, 600_000);

it('the same seed gives the same sequence', async () => {
  const [one, two] = [await play(FIRST_SEED), await play(FIRST_SEED)];
  expect(one.clock.now()).toBe(two.clock.now());
  expect(one.ledger).toEqual(two.ledger);
});
