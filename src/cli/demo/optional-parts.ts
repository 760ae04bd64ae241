/**
 * Loads the sandbox ledger and the embedded Postgres, which are separate packages for the demo and for tests. A
 * production installation has neither. If a package is missing, the error names the command that installs it.
 */
import type * as DemoLedgerModule from 'ledger-indexer-sandbox/demo/demo-ledger';
import type * as SandboxModule from 'ledger-indexer-sandbox/demo/sandbox';
import type * as FailureModule from 'ledger-indexer-sandbox/wire/failure';
import type * as PostgresModule from 'ledger-indexer-postgres/embedded-postgres';
import { IndexerError } from '../../errors/indexer-error.ts';
import { version } from '../../version.ts';

const bin = 'ledger-indexer';

/**
 * The demo's ledger.
 * @throws IndexerError DEMO_PART_MISSING if the package is not installed, as the other functions do
 */
export const demoLedger = (): Promise<typeof DemoLedgerModule> =>
  importPart('ledger-indexer-sandbox', import('ledger-indexer-sandbox/demo/demo-ledger'));

/** A sandbox participant with the data of the demo. */
export const demoSandbox = (): Promise<typeof SandboxModule> =>
  importPart('ledger-indexer-sandbox', import('ledger-indexer-sandbox/demo/sandbox'));

/** Errors of the sandbox. */
export const sandboxFailures = (): Promise<typeof FailureModule> =>
  importPart('ledger-indexer-sandbox', import('ledger-indexer-sandbox/wire/failure'));

/** The embedded Postgres. */
export const embeddedPostgres = (): Promise<typeof PostgresModule> =>
  importPart('ledger-indexer-postgres', import('ledger-indexer-postgres/embedded-postgres'));

/**
 * Connection URL of the embedded server that runs in a folder; undefined if none runs.
 * @param isExpected whether a server is known to run there. If so, a missing package is an error. If not, a missing
 * package means that no server is running
 * @throws IndexerError DEMO_PART_MISSING
 */
export async function runningServerUrl(dataDir: string, isExpected = false): Promise<string | undefined> {
  try {
    const runningServer = await importPart('ledger-indexer-postgres', import('ledger-indexer-postgres/running-server'));
    return await runningServer.runningServerUrl(dataDir);
  } catch (thrown) {
    if (!isExpected && thrown instanceof IndexerError && thrown.code === 'DEMO_PART_MISSING') return undefined;
    throw thrown;
  }
}

const folders = { 'ledger-indexer-sandbox': 'ledger-sandbox', 'ledger-indexer-postgres': 'embedded-postgres' };

async function importPart<Module>(name: keyof typeof folders, moduleImport: Promise<Module>): Promise<Module> {
  try {
    return await moduleImport;
  } catch (thrown) {
    const isMissingModule = thrown instanceof Error && 'code' in thrown && thrown.code === 'ERR_MODULE_NOT_FOUND';
    // If an installed package lacks one of its own dependencies, the original error is thrown.
    if (!isMissingModule || !thrown.message.includes(`'${name}'`)) throw thrown;
    throw new IndexerError(
      `package ${name} is not installed next to this ${bin}; a clone of the repository contains it`,
      {
        code: 'DEMO_PART_MISSING',
        remedy:
          `run \`npx ${bin}\` in a clone of the repository; or install the package here from the release, or from the tarball that ` +
          `\`npm pack --workspace packages/${folders[name]}\` creates there: npm install ./${name}-${version}.tgz; ` +
          'or set LEDGER_URL and DATABASE_URL',
        cause: thrown,
      },
    );
  }
}
