/** `run` (the default): indexes the ledger of LEDGER_URL into DATABASE_URL; without both, a demo. */
import type { Command } from '../command-line/command.ts';

/** What a run may end with, beside what any command may. */
export const runExits = [
  [0, 'stopped as asked, or everything up to INDEXER_STOP_AT is stored'],
  [77, 'not permitted: the message names the missing right'],
] as const;

export const runCommand: Command = {
  name: 'run',
  usage: '[--option value …]',
  summary: 'index LEDGER_URL into DATABASE_URL; without both, run a demo (default)',
  does: [
    'Seeds the schema from the active contracts, then follows every update until SIGTERM or Ctrl-C.',
    'Started again it goes on at the checkpoint in the database. A second one beside it waits as standby.',
    'With --stop-at it ends by itself once everything up to that offset, and nothing above it, is stored; where it would',
    'otherwise park and wait for an operator, or store nothing for INDEXER_PROGRESS_TIMEOUT, it ends with the exit code of',
    'the failure.',
  ],
  operands: [],
  flags: [],
  examples: [
    'run',
    'run --ledger-url http://localhost:7575 --database-url postgres://me@localhost/ledger',
    'run --start oldest --stop-at end',
  ],
  exits: runExits,
  alone: true,
  run: async ({ given, env, stop }) => {
    const { runIndexer } = await import('./run-indexer.ts');
    await runIndexer(given.options, env, stop);
  },
};
