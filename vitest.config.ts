/** How the tests run: real processes, one Postgres server for all of them, one database for each test file. */
import { defineConfig } from 'vitest/config';
import { ClosingLineReporter } from './test/support/closing-line-reporter.ts';

const packages = new URL('packages/', import.meta.url).pathname;

export default defineConfig({
  resolve: {
    // As they are in the sources, so that a test and the program have one and the same.
    alias: [
      { find: /^ledger-indexer-sandbox\/(.*)$/, replacement: `${packages}ledger-sandbox/src/$1.ts` },
      { find: /^ledger-indexer-postgres\/(.*)$/, replacement: `${packages}embedded-postgres/src/$1.ts` },
    ],
  },
  test: {
    include: ['test/**/*.test.ts', 'packages/*/test/**/*.test.ts'],
    globalSetup: ['test/support/postgres-server.ts'],
    reporters: ['default', new ClosingLineReporter()],
    pool: 'forks',
    // Files wait for servers and clocks: with three, two cores were idle for an eighth of the time.
    maxWorkers: 4,
    // They only turn a hang into a failure: on a machine that has other work, everything takes several times as long.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    teardownTimeout: 60_000,
  },
});
