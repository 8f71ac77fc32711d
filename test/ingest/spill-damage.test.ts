import { describe, expect, it } from 'vitest';
import { type SpillOptions, SpillStore } from '../../src/actors/spill/spill-store.ts';
import { PowerLossFs } from './power-loss-fs.ts';
import { Random, runSeed } from './random.ts';

const SEEDS = process.env['TAPEWORKS_LONG'] === '1' ? 5_000 : 500;
const first = runSeed();

const optionsFor = (fs: PowerLossFs, more: Partial<SpillOptions> = {}): SpillOptions => ({
  folder: '/spill',
  fs,
  segmentBytes: 3_000,
  segmentAgeMs: 60_000,
  bytesMax: 1_000_000,
  freeBytesMin: 0,
  nowSeconds: () => 1_731_700_000,
  reached: () => undefined,
  ...more,
});

const textOf = (n: number) => `envelope ${n} ${'x'.repeat(n % 90)}`;
const inputs = (from: number, count: number) =>
  Array.from({ length: count }, (_, at) => ({
    entryId: `${from + at}-0`,
    tsKernel: 1_731_700_000_123_456_789n + BigInt(from + at),
    deliveries: 1,
    envelope: Buffer.from(textOf(from + at)),
  }));

async function filled(fs: PowerLossFs, total: number): Promise<void> {
  const store = await SpillStore.open(optionsFor(fs));
  for (let at = 0; at < total; at += 10) await store.append(inputs(at, 10));
  await store.seal();
}

async function replayAll(store: SpillStore): Promise<Map<number, string>> {
  const found = new Map<number, string>();
  for (;;) {
    const chunk = await store.nextChunk(7);
    if (chunk === undefined) return found;
    for (const record of chunk.records) found.set(Number(record.entryId.split('-')[0]), record.envelope.toString());
    await store.commit(chunk);
  }
}

type Damage = (fs: PowerLossFs, names: readonly string[], random: Random) => void;
const edit =
  (change: (bytes: Buffer, random: Random) => Buffer): Damage =>
  (fs, names, random) => {
    const path = `/spill/${random.pick(names)}`;
    fs.put(path, change(Buffer.from(fs.bytesOf(path)), random));
  };

const DAMAGES: Readonly<Record<string, { damage: Damage; keepsAll?: boolean }>> = {
  'a flipped bit': {
    damage: edit((bytes, random) => {
      const at = random.below(bytes.length);
      bytes[at] = bytes[at]! ^ (1 << random.below(8));
      return bytes;
    }),
  },
  'a cut-off end': { damage: edit((bytes, random) => bytes.subarray(0, random.below(bytes.length))) },
  'a page of zeros': {
    damage: edit((bytes, random) => {
      const at = random.below(bytes.length);
      return bytes.fill(0, at, Math.min(bytes.length, at + 512));
    }),
  },
  'a length of FF FF FF FF': {
    damage: edit((bytes, random) => {
      const at = bytes.indexOf(Buffer.from([0xa5, 0x54, 0x57, 0x53]), random.below(bytes.length));
      return at < 0 ? bytes : bytes.fill(0xff, at + 4, at + 8);
    }),
  },
  'an empty file': { damage: edit(() => Buffer.alloc(0)) },
  'nothing but noise': { damage: edit((bytes, random) => bytes.map(() => random.below(256)) as Buffer) },
  'a garbage tail': {
    damage: edit((bytes) => Buffer.concat([bytes, Buffer.from('garbage!'.repeat(20))])),
    keepsAll: true,
  },
  'a segment twice': {
    damage: (fs, names, random) => {
      fs.put(
        `/spill/00000000000000009999.${random.pick(names).split('.')[1]}.seg`,
        fs.bytesOf(`/spill/${random.pick(names)}`),
      );
    },
    keepsAll: true,
  },
  'two files with their names swapped': {
    damage: (fs, names) => {
      const [one, other] = [`/spill/${names[0]}`, `/spill/${names.at(-1)}`];
      const bytes = fs.bytesOf(one);
      fs.put(one, fs.bytesOf(other));
      fs.put(other, bytes);
    },
    keepsAll: true,
  },
};

describe.each(Object.entries(DAMAGES))('a spill with %s', (_, { damage, keepsAll }) => {
  it('opens, replays every whole record, and counts what is gone', async () => {
    for (let seed = first; seed < first + Math.ceil(SEEDS / Object.keys(DAMAGES).length); seed++) {
      const random = new Random(seed);
      const fs = new PowerLossFs(random);
      const total = random.between(1, 12) * 10;
      await filled(fs, total);
      damage(
        fs,
        (await fs.list('/spill')).filter((name) => name.endsWith('.seg')),
        random,
      );
      const store = await SpillStore.open(optionsFor(fs));
      const found = await replayAll(store);
      const label = `TAPEWORKS_SEED=${seed}`;
      for (const [n, text] of found) expect(text, label).toBe(textOf(n));
      const lost = store.damage.reduce((sum, note) => sum + note.lost, 0);
      if (keepsAll) expect(found.size, label).toBe(total);
      else expect(found.size + lost, label).toBe(total);
      if (lost > 0) expect(await store.unacknowledgedDamage(), label).not.toEqual([]);
      expect(store.unreadable, label).toEqual([]);
    }
  });
});

describe('a damaged segment', () => {
  it('stays red over restarts until it is acknowledged, and is looked for in Redis once', async () => {
    const fs = new PowerLossFs(new Random(1));
    await filled(fs, 30);
    const [name] = (await fs.list('/spill')).filter((file) => file.endsWith('.seg'));
    fs.put(`/spill/${name}`, fs.bytesOf(`/spill/${name}`).subarray(0, 200));
    const opened = await SpillStore.open(optionsFor(fs));
    const [note] = await opened.pendingDamage();
    await opened.settleDamage([note!], 3);
    const again = await SpillStore.open(optionsFor(fs));
    expect(await again.pendingDamage()).toEqual([]);
    expect(await again.unacknowledgedDamage()).toMatchObject([{ segment: name, recovered: 3 }]);
  });
});

describe('a chunk', () => {
  it('that takes the last records of a segment ends it, even where it is full', async () => {
    const fs = new PowerLossFs(new Random(1));
    const store = await SpillStore.open(optionsFor(fs));
    await store.append(inputs(0, 10));
    const chunk = await store.nextChunk(10);
    expect(chunk).toMatchObject({ endsSegment: true });
    await store.commit(chunk!);
    expect(store.segments).toBe(0);
  });
});

describe('a segment that is being sealed', () => {
  it('can be replayed at every moment of it', async () => {
    for (let moment = 0; moment < 80; moment++) {
      const fs = new PowerLossFs(new Random(1));
      const store = await SpillStore.open(optionsFor(fs, { segmentBytes: 100 }));
      const appended = store.append(inputs(0, 10));
      for (let turn = 0; turn < moment; turn++) await Promise.resolve();
      const early = await replayAll(store);
      await appended;
      const late = await replayAll(store);
      expect([...early.keys(), ...late.keys()], `moment ${moment}`).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    }
  });
});

describe('the quota', () => {
  it('refuses with TW_SPILL_FULL and takes batches again after replay made room', async () => {
    const fs = new PowerLossFs(new Random(1));
    const store = await SpillStore.open(optionsFor(fs, { bytesMax: 1_000 }));
    await store.append(inputs(0, 10));
    await expect(store.append(inputs(10, 10))).rejects.toMatchObject({ code: 'TW_SPILL_FULL' });
    expect(store.records).toBe(10);
    expect((await replayAll(store)).size).toBe(10);
    await store.append(inputs(10, 10));
    expect(store.oldestEntryId).toBe('10-0');
  });
});
