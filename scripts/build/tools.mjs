import { fork, spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Runs a package's program to its end; what it says is shown only where it fails. */
export function runTool(root, module, args) {
  const child = spawn(process.execPath, [join(root, 'node_modules', module), ...args], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
  return new Promise((done, fail) => {
    child.once('error', fail);
    child.once('close', (code) => (code === 0 ? done() : fail(new Error(output.trim() || `${module} failed`))));
  });
}

/** Compiles `kernels`, each with its `options` for asc, and tells of each as it is done. */
export function compileKernels(root, kernels, onBuilt) {
  const program = fileURLToPath(new URL('kernels.mjs', import.meta.url));
  const child = fork(program, { cwd: root, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const left = new Set(kernels.map(({ name }) => name));
  return new Promise((done, fail) => {
    child.once('error', fail);
    child.on('message', ({ name, complaints }) => {
      if (complaints !== undefined) return fail(new Error(`${name}\n${complaints.trim()}`));
      left.delete(name);
      onBuilt(name);
    });
    child.once('close', () => (left.size === 0 ? done() : fail(new Error(`${[...left].join(', ')} did not compile`))));
    child.send(kernels);
  });
}
