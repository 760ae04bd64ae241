/**
 * The sandbox ledger and the embedded Postgres: packages of their own, for the demo and for tests. A production
 * installation has neither; whoever needs one is told where it is.
 */
import type * as DemoLedgerModule from 'ledger-indexer-sandbox/demo/demo-ledger';
import type * as SandboxModule from 'ledger-indexer-sandbox/demo/sandbox';
import type * as FailureModule from 'ledger-indexer-sandbox/wire/failure';
import type * as PostgresModule from 'ledger-indexer-postgres/embedded-postgres';
import { IndexerError } from '../../errors/indexer-error.ts';
import { version } from '../../version.ts';

const bin = 'ledger-indexer';

/** The demo's ledger. @throws IndexerError DEMO_PART_MISSING where the package is not installed; so do the others */
export const demoLedger = (): Promise<typeof DemoLedgerModule> =>
  part('ledger-indexer-sandbox', import('ledger-indexer-sandbox/demo/demo-ledger'));

/** A sandbox participant in the world of the demo. */
export const demoSandbox = (): Promise<typeof SandboxModule> =>
  part('ledger-indexer-sandbox', import('ledger-indexer-sandbox/demo/sandbox'));

/** Refusals of the sandbox. */
export const sandboxFailures = (): Promise<typeof FailureModule> =>
  part('ledger-indexer-sandbox', import('ledger-indexer-sandbox/wire/failure'));

/** The embedded Postgres. */
export const embeddedPostgres = (): Promise<typeof PostgresModule> =>
  part('ledger-indexer-postgres', import('ledger-indexer-postgres/embedded-postgres'));

/**
 * Connection URL of the embedded server that runs in a folder; undefined when none does.
 * @param isExpected whether one is known to run there: then a missing package is an error, and otherwise none can run
 * @throws IndexerError DEMO_PART_MISSING
 */
export async function runningServerUrl(dataDir: string, isExpected = false): Promise<string | undefined> {
  try {
    const running = await part('ledger-indexer-postgres', import('ledger-indexer-postgres/running-server'));
    return await running.runningServerUrl(dataDir);
  } catch (thrown) {
    if (!isExpected && thrown instanceof IndexerError && thrown.code === 'DEMO_PART_MISSING') return undefined;
    throw thrown;
  }
}

const folders = { 'ledger-indexer-sandbox': 'ledger-sandbox', 'ledger-indexer-postgres': 'embedded-postgres' };

async function part<Module>(name: keyof typeof folders, loading: Promise<Module>): Promise<Module> {
  try {
    return await loading;
  } catch (thrown) {
    const missing = thrown instanceof Error && 'code' in thrown && thrown.code === 'ERR_MODULE_NOT_FOUND';
    // A package that is there and lacks one of its own parts is another matter.
    if (!missing || !thrown.message.includes(`'${name}'`)) throw thrown;
    throw new IndexerError(`package ${name} is not installed beside this ${bin}; a clone has it`, {
      code: 'DEMO_PART_MISSING',
      remedy:
        `use the clone (\`npx ${bin}\` in its folder); or install the package here, from the file that ` +
        `\`npm pack --workspace packages/${folders[name]}\` makes in a clone: npm install ./${name}-${version}.tgz; ` +
        'or name a participant and a server (LEDGER_URL, DATABASE_URL)',
      cause: thrown,
    });
  }
}
