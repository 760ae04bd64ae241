/** How the tests run: real processes, one Postgres server for all of them, one database for each test file. */
import { configDefaults, defineConfig, type Plugin, type UserWorkspaceConfig } from 'vitest/config';
import { ClosingLineReporter } from './test/support/run/closing-line-reporter.ts';

const packages = new URL('packages/', import.meta.url).pathname;

/** The test files of these endings, such as `slow.test`. */
function filesOf(ending: string): string[] {
  return ['test', 'packages/*/test'].map((folder) => `${folder}/**/*.${ending}.ts`);
}

/** Applies `--exclude` of the command line, which Vitest applies to the root project only. */
const excludeByCommand: Plugin = {
  name: 'exclude-by-command',
  configureVitest: ({ vitest, project: { config } }) => {
    config.exclude.push(...(vitest.config.cliExclude ?? []));
  },
};

/** A project inherits nothing: with `extends`, each would start a Postgres server of its own. */
function project(name: string, include: string[], exclude: string[] = []): UserWorkspaceConfig {
  return {
    plugins: [excludeByCommand],
    resolve: {
      // As they are in the sources, so that a test and the program have one and the same.
      alias: [
        { find: /^ledger-indexer-sandbox\/(.*)$/, replacement: `${packages}ledger-sandbox/src/$1.ts` },
        { find: /^#codegen\/(.*)$/, replacement: `${packages}codegen/src/$1.ts` },
        { find: /^ledger-indexer-lake\/(.*)$/, replacement: `${packages}lake/src/$1.ts` },
        { find: /^ledger-indexer-postgres\/(.*)$/, replacement: `${packages}embedded-postgres/src/$1.ts` },
      ],
    },
    test: {
      name,
      include,
      exclude: [...configDefaults.exclude, ...exclude],
      pool: 'forks',
      // Loading the sources again for each file took a third of all CPU time.
      isolate: false,
      // Files wait for servers and clocks: with three, two cores were idle for an eighth of the time.
      maxWorkers: 4,
      // They only turn a hang into a failure: on a machine that has other work, everything takes several times as long.
      testTimeout: 240_000,
      hookTimeout: 240_000,
    },
  };
}

const slow = filesOf('slow.test');
const long = filesOf('long.test');
const outside = filesOf('outside.test');

export default defineConfig({
  test: {
    // The root project runs it once, before the files of any project.
    globalSetup: ['test/support/run/postgres-server.ts'],
    reporters: ['default', new ClosingLineReporter()],
    teardownTimeout: 60_000,
    projects: [
      project('fast', filesOf('test'), [...slow, ...long, ...outside]),
      project('slow', slow),
      // Many processes killed, many cases of one table, packaging: half of all processor time for a tenth of the files.
      project('long', long),
      // These need a program or data that npm does not install.
      project('outside', outside),
    ],
  },
});
