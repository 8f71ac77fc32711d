import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** All files below `folder`, as paths from `root`, in order; none where there is no such folder. */
export function filesBelow(root, folder) {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { withFileTypes: true })
    .flatMap((entry) => {
      const path = `${folder}/${entry.name}`;
      return entry.isDirectory() ? filesBelow(root, path) : [path];
    })
    .sort();
}

/** The file that an output was made from: a.js and a.js.map from a.ts, kernels/a.wasm from kernels/assembly/a.ts. */
function sourceOf(output) {
  if (output.endsWith('.wasm')) return output.replace(/([^/]+)\.wasm$/, 'assembly/$1.ts');
  return output.replace(/\.js(\.map)?$/, '.ts');
}

/** What was deleted or renamed among the sources must not live on: it would be run as a test, or as a migration. */
export function removeOrphans(root, folders, sources) {
  const known = new Set(sources);
  for (const file of folders.flatMap((folder) => filesBelow(root, `dist/${folder}`))) {
    if (!known.has(sourceOf(file.slice('dist/'.length)))) rmSync(join(root, file));
  }
}
