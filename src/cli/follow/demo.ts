/** `demo`: everything embedded, whatever URLs the environment names. */
import type { Command } from '../command-line/command.ts';
import { demoFlags, optionsOf } from '../command-line/demo-flags.ts';
import { runExits } from './run.ts';

/** Where the outside world is and what opens it. */
const outside =
  /^(?:LEDGER_URL|LEDGER_TOKEN(?:_FILE)?|LEDGER_OAUTH_\w+|LEDGER_(?:CA|CERT|KEY)_FILE|DATABASE_URL(?:_FILE)?)$/;

export const demoCommand: Command = {
  name: 'demo',
  usage: '[--speed N] [--chaos] [--seed N] [--option value …]',
  summary: 'run with everything embedded, whatever URLs the environment names',
  does: [
    'An embedded Postgres, a sandbox ledger with traffic and the indexer, in one process. Data and ports stay in',
    'INDEXER_DATA_DIR; the same INDEXER_DEMO_SEED gives the same history. What to look at is printed once it is level',
    'with the ledger, and by `demo-info`. A port that is taken is left for the next free one, unless INDEXER_HTTP_PORT',
    'asks for it.',
  ],
  operands: [],
  flags: demoFlags,
  examples: ['demo', 'demo --stop-at 1000 --seed 7'],
  exits: runExits,
  alone: true,
  run: async ({ given, env, stop }) => {
    const { runIndexer } = await import('./run-indexer.ts');
    const bare = Object.fromEntries(Object.entries(env).filter(([name]) => !outside.test(name)));
    await runIndexer(optionsOf(given), bare, stop);
  },
};
