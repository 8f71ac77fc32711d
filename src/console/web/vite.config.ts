import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';
import solid from 'vite-plugin-solid';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const output = here('../../../dist/console');

/** Leaves compressed twins beside the files, so that the server never compresses. */
function compressed(): Plugin {
  return {
    name: 'compressed-twins',
    apply: 'build',
    closeBundle() {
      for (const entry of readdirSync(output, { recursive: true, withFileTypes: true })) {
        if (!entry.isFile() || !/\.(?:js|css|html|svg)$/.test(entry.name)) continue;
        const file = join(entry.parentPath, entry.name);
        const bytes = readFileSync(file);
        writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }));
        writeFileSync(
          `${file}.br`,
          brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } }),
        );
      }
    },
  };
}

export default defineConfig({
  root: here('.'),
  plugins: [solid(), compressed()],
  build: {
    outDir: output,
    emptyOutDir: true,
    target: 'es2022',
    // Inlined files would be data: URLs, and an inlined polyfill a script; the content security policy allows neither.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});
