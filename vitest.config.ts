import { defineConfig } from 'vitest/config';

// The tests run from the compiled tree, so that worker threads and child processes load exactly what is shipped.
export default defineConfig({
  test: {
    include: ['dist/{src,test}/**/*.test.js'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    reporters: ['default', './scripts/closing-line-reporter.mjs'],
  },
});
