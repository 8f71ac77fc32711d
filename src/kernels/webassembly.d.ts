// The type library for servers does not describe WebAssembly; this is the part of it that the kernels use.
declare global {
  namespace WebAssembly {
    class Module {
      constructor(bytes: Uint8Array);
    }
    class Instance {
      constructor(module: Module, imports: Record<string, Record<string, unknown>>);
      readonly exports: Record<string, unknown>;
    }
    class Memory<B extends ArrayBufferLike = ArrayBuffer> {
      constructor(descriptor: { initial: number; maximum?: number; shared?: boolean });
      readonly buffer: B;
      grow(pages: number): number;
    }
    class RuntimeError extends Error {}
  }
}

export {};
