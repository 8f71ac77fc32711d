import { appendFileSync, copyFileSync, readFileSync, renameSync, truncateSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { diskFs } from '../../src/actors/spill/file-system.ts';
import { scanSegment } from '../../src/actors/spill/segment-scan.ts';
import type { Random } from '../ingest/random.ts';

// What happens to segments between two lives of a kernel. Finished ones know how many records they had, so that the number
// of lost ones is exact; of the one that was being written, only a torn tail is looked at here.

interface Damage {
  /** Some records cannot be read any more. */
  readonly loses: boolean;
  /** Does it, and answers how many records that cost. */
  inflict(paths: readonly string[], random: Random): Promise<number>;
}

const finished = (paths: readonly string[]) => paths.filter((path) => path.endsWith('.seg'));
const recordsIn = async (path: string) => (await scanSegment(diskFs, path)).records;

/** Spoils half of the finished segments and counts what that cost. */
const spoiling = (spoil: (path: string, random: Random) => void): Damage => ({
  loses: true,
  async inflict(paths, random) {
    const chosen = finished(paths).filter((_, at) => at % 2 === 0);
    let lost = 0;
    for (const path of chosen) {
      const before = await recordsIn(path);
      spoil(path, random);
      lost += before - (await recordsIn(path));
    }
    return lost;
  },
});

function flip(path: string, random: Random): void {
  const bytes = readFileSync(path);
  const at = 32 + random.below(bytes.length - 64);
  for (let n = at; n < at + 8; n++) bytes[n] = bytes[n]! ^ 0xff;
  writeFileSync(path, bytes);
}

export const DAMAGES = {
  torn: {
    loses: false,
    async inflict(paths, random) {
      for (const path of paths.filter((one) => one.endsWith('.open'))) {
        const bytes = readFileSync(path);
        // The first part of a record, as a write leaves it that the crash cut short.
        appendFileSync(path, bytes.subarray(32, 32 + Math.min(bytes.length - 32, random.between(5, 300))));
      }
      return 0;
    },
  },
  flipped: spoiling(flip),
  truncated: spoiling((path, random) => {
    const { length } = readFileSync(path);
    truncateSync(path, random.between(40, length - 40));
  }),
  duplicated: {
    loses: false,
    async inflict(paths) {
      for (const [at, path] of finished(paths).entries()) {
        const number = String(9_000_000 + at).padStart(20, '0');
        copyFileSync(path, join(dirname(path), `${number}.${basename(path).split('.')[1]}.seg`));
      }
      return 0;
    },
  },
  swapped: {
    loses: false,
    async inflict(paths) {
      const folders = new Set(paths.map(dirname));
      for (const folder of folders) {
        const [first, second] = finished(paths).filter((path) => dirname(path) === folder);
        if (first === undefined || second === undefined) continue;
        renameSync(first, join(folder, 'aside'));
        renameSync(second, first);
        renameSync(join(folder, 'aside'), second);
      }
      return 0;
    },
  },
  empty: spoiling((path) => truncateSync(path, 0)),
} as const satisfies Record<string, Damage>;

export type DamageKind = keyof typeof DAMAGES;
