import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { filesBelow, removeOrphans } from './files.mjs';
import { Fingerprints } from './fingerprints.mjs';
import { stepsOf } from './steps.mjs';
import { compileKernels } from './tools.mjs';

const FOLDERS = ['src', 'bench', 'test', 'scripts', 'examples'];

/** Builds what is out of date. Rejects with what the failing tool said. */
export async function build({ root, check, say }) {
  const sources = FOLDERS.flatMap((folder) => filesBelow(root, folder));
  const recipe = ['package-lock.json', ...sources.filter((file) => file.startsWith('scripts/build/'))];
  const prints = new Fingerprints(root, join(root, 'dist/.built/fingerprints.json'));
  const due = stepsOf(root, sources, check)
    .map((step) => ({ stamps: [step.name], ...step, digest: prints.of([...step.inputs, ...recipe]) }))
    .filter(({ stamps, digest }) => stamps.some((stamp) => readStamp(root, stamp) !== digest));
  prints.save();
  if (due.length === 0) return;
  say(`building ${due.map(({ name }) => name).join(', ')}`);
  removeOrphans(root, FOLDERS, sources);
  // The longest first, so that none is left over at the end: the kernels take as long as all the rest.
  const work = [
    ...kernelWork(root, due, say),
    ...due.filter(({ run }) => run).map((step) => stepWork(root, step, say)),
  ];
  await runAll(work, Math.max(2, availableParallelism()));
}

const stampFile = (root, stamp) => join(root, 'dist/.built', stamp);

function readStamp(root, stamp) {
  const path = stampFile(root, stamp);
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
}

function finish(root, { name, stamps, digest }, startedMs, say) {
  for (const stamp of stamps) {
    mkdirSync(dirname(stampFile(root, stamp)), { recursive: true });
    writeFileSync(stampFile(root, stamp), digest);
  }
  say(`  built  ${name.padEnd(18)} ${((performance.now() - startedMs) / 1000).toFixed(1)} s`);
}

function stepWork(root, step, say) {
  return async () => {
    const startedMs = performance.now();
    await step.run();
    finish(root, step, startedMs, say);
  };
}

/** All kernels are one piece of work: together they take little longer than the first alone. */
function kernelWork(root, due, say) {
  const kernels = due.filter(({ options }) => options);
  if (kernels.length === 0) return [];
  return [
    async () => {
      let startedMs = performance.now();
      const asked = kernels.map(({ name, options }) => ({ name, options }));
      await compileKernels(root, asked, (built) => {
        const kernel = kernels.find(({ name }) => name === built);
        finish(root, kernel, startedMs, say);
        startedMs = performance.now();
      });
    },
  ];
}

/** At most `width` at once. After a failure nothing more is begun, and what runs is let come to its end. */
async function runAll(work, width) {
  const left = [...work];
  let isFailed = false;
  const lane = async () => {
    for (let next = left.shift(); next !== undefined && !isFailed; next = left.shift()) {
      await next().catch((error) => {
        isFailed = true;
        throw error;
      });
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: width }, lane));
  const errors = ends.filter(({ status }) => status === 'rejected').map(({ reason }) => reason.message);
  if (errors.length > 0) throw new Error(errors.join('\n\n'));
}
