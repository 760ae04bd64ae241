/** `demo`: runs only embedded servers, and ignores configured URLs. */
import type { Command } from '../command-line/command.ts';
import { demoFlags, optionsOf } from '../command-line/demo-flags.ts';
import { runExitCodes } from './run.ts';

/** Variables with addresses and credentials of external servers. */
const externalOptions =
  /^(?:LEDGER_URL|LEDGER_TOKEN(?:_FILE)?|LEDGER_OAUTH_\w+|LEDGER_(?:CA|CERT|KEY)_FILE|DATABASE_URL(?:_FILE)?)$/;

export const demoCommand: Command = {
  name: 'demo',
  usage: '[--speed N] [--chaos] [--seed N] [--option value …]',
  summary: 'run with embedded ledger and database, ignoring configured URLs',
  does: [
    'Runs an embedded Postgres, a sandbox ledger with traffic, and the indexer in one process. Data and ports are kept in',
    'INDEXER_DATA_DIR; the same INDEXER_DEMO_SEED gives the same history. When the indexer has caught up, it prints URLs and',
    'sample queries; `demo-info` prints them again. If a port is taken, the next free one is used, unless INDEXER_HTTP_PORT',
    'is set.',
  ],
  operands: [],
  flags: demoFlags,
  examples: ['demo', 'demo --stop-at 1000 --seed 7'],
  exits: runExitCodes,
  alone: true,
  run: async ({ args, env, stop }) => {
    const { runIndexer } = await import('./run-indexer.ts');
    const demoEnv = Object.fromEntries(Object.entries(env).filter(([name]) => !externalOptions.test(name)));
    await runIndexer(optionsOf(args), demoEnv, stop);
  },
};
