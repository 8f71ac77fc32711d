import { readFileSync } from 'node:fs';

export type KernelName = 'decode' | 'merge' | 'bars' | 'envelopes';

const compiled = new Map<KernelName, WebAssembly.Module>();

/** The kernel's module, compiled once a thread; each instance has its own memory or is given one. */
export function kernelModule(name: KernelName): WebAssembly.Module {
  let module = compiled.get(name);
  if (module === undefined) {
    module = new WebAssembly.Module(readFileSync(new URL(`./${name}.wasm`, import.meta.url)));
    compiled.set(name, module);
  }
  return module;
}

/** What asc's runtime asks of its host: a place to report a trap. */
export const KERNEL_ENV = {
  abort(): never {
    throw new WebAssembly.RuntimeError('a kernel ran out of memory');
  },
};
