import type { LaneCounts } from '../../src/protocols/ingest-snapshot.ts';

type Counted = Readonly<Partial<Record<keyof LaneCounts, number>>>;

/** What must have happened at least once in a run: a run that never met these paths has shown nothing about them. */
const PATHS: Readonly<Record<string, readonly (keyof LaneCounts)[]>> = {
  redelivery: ['redelivered'],
  conflict: ['duplicates', 'replayDuplicates'],
  spill: ['spilled'],
  replay: ['replayed'],
  'torn tail': ['tornTails'],
  'claim from a dead consumer': ['claimed'],
  'group made again': ['groupRecreations'],
  'lost records found in Redis': ['spillRecovered'],
};
export const BAD_CLASSES_MIN = 20;

/** The paths that a run never met, by name. */
export function neverMet(counts: Counted, badClasses: number): readonly string[] {
  const unmet = Object.entries(PATHS)
    .filter(([, names]) => names.every((name) => (counts[name] ?? 0) === 0))
    .map(([path]) => path);
  return badClasses >= BAD_CLASSES_MIN ? unmet : [...unmet, `${BAD_CLASSES_MIN} classes of bad input`];
}
