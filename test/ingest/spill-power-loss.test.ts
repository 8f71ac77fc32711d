import { describe, expect, it } from 'vitest';
import { type SpillInput, type SpillOptions, SpillStore } from '../../src/actors/spill/spill-store.ts';
import { PowerLoss, PowerLossFs } from './power-loss-fs.ts';
import { Random, runSeed } from './random.ts';

const SEEDS = process.env['TAPEWORKS_LONG'] === '1' ? 20_000 : 1_000;
const first = runSeed();

const optionsFor = (fs: PowerLossFs): SpillOptions => ({
  folder: '/spill',
  fs,
  segmentBytes: 2_000,
  segmentAgeMs: 60_000,
  bytesMax: 1_000_000,
  freeBytesMin: 0,
  nowSeconds: () => 1_731_700_000,
  reached: () => undefined,
});

/** The world outside the spill: what it promised, and what reached Postgres. */
class Ledger {
  readonly promised: string[] = [];
  readonly issued = new Set<string>();
  readonly stored = new Map<string, string>();
  readonly order: string[] = [];

  store(entryId: string, text: string): void {
    if (!this.stored.has(entryId)) this.order.push(entryId);
    this.stored.set(entryId, text);
  }
}

async function replayOnce(store: SpillStore, ledger: Ledger, random: Random): Promise<boolean> {
  const chunk = await store.nextChunk(random.between(1, 8));
  if (chunk === undefined) return false;
  for (const record of chunk.records) ledger.store(record.entryId, record.envelope.toString());
  if (random.chance(0.1)) store.rewind();
  else await store.commit(chunk);
  return true;
}

/** A full disk may refuse the note; then it is written another time. */
async function settleSome(store: SpillStore, random: Random): Promise<void> {
  try {
    await store.settleDamage(await store.pendingDamage(), random.below(2));
  } catch (error) {
    if (error instanceof PowerLoss) throw error;
  }
}

async function live(store: SpillStore, ledger: Ledger, random: Random): Promise<void> {
  for (let step = 0; step < 30; step++) {
    // Now and then Redis has been searched for what the damage took, and someone has looked at it.
    if (random.chance(0.1)) await settleSome(store, random);
    if (random.chance(0.75)) {
      const batch: SpillInput[] = Array.from({ length: random.between(1, 12) }, () => {
        const entryId = `${1_000 + ledger.issued.size}-0`;
        ledger.issued.add(entryId);
        return { entryId, tsKernel: 5n, deliveries: 1, envelope: Buffer.from(`envelope of ${entryId}`) };
      });
      try {
        await store.append(batch);
        ledger.promised.push(...batch.map((record) => record.entryId));
      } catch (error) {
        if (error instanceof PowerLoss || (error as { cause?: unknown }).cause instanceof PowerLoss)
          throw new PowerLoss();
      }
    } else await replayOnce(store, ledger, random);
  }
}

async function oneLife(seed: number): Promise<string[]> {
  const random = new Random(seed);
  const fs = new PowerLossFs(random);
  const ledger = new Ledger();
  for (let crash = 0; crash < 4; crash++) {
    fs.operationsLeft = random.between(1, 120);
    fs.fullShare = random.chance(0.3) ? 0.05 : 0;
    fs.syncFailureShare = random.chance(0.3) ? 0.05 : 0;
    try {
      await live(await SpillStore.open(optionsFor(fs)), ledger, random);
    } catch (error) {
      if (!(error instanceof PowerLoss)) throw error;
    }
    fs.losePower();
  }
  fs.fullShare = fs.syncFailureShare = 0;
  const store = await SpillStore.open(optionsFor(fs));
  while (await replayOnce(store, ledger, random));
  const faults = ledger.promised.filter((id) => !ledger.stored.has(id)).map((id) => `missing ${id}`);
  for (const [id, text] of ledger.stored) {
    if (!ledger.issued.has(id)) faults.push(`spurious ${id}`);
    if (text !== `envelope of ${id}`) faults.push(`corrupt ${id}`);
  }
  const promised = new Set(ledger.promised);
  const replayed = ledger.order.filter((id) => promised.has(id));
  const seen = new Set(replayed);
  if (replayed.join() !== ledger.promised.filter((id) => seen.has(id)).join()) faults.push('out of order');
  // Whatever stage of start-up the power cut short, the next one finishes it.
  faults.push(...store.unreadable);
  await store.settleDamage(await store.pendingDamage(), 0);
  if ((await store.pendingDamage()).length > 0) faults.push('damage that is never settled');
  if (store.segments !== 0 || store.records !== 0) faults.push(`${store.segments} segments left`);
  return faults;
}

describe('the spill, when the power goes at any operation', () => {
  it(`loses nothing it promised, over ${SEEDS} seeds`, { timeout: 600_000 }, async () => {
    const failed: string[] = [];
    for (let seed = first; seed < first + SEEDS && failed.length < 3; seed++) {
      const faults = await oneLife(seed);
      if (faults.length > 0) failed.push(`TAPEWORKS_SEED=${seed}: ${faults.slice(0, 5).join(', ')}`);
    }
    expect(failed).toEqual([]);
  });
});
