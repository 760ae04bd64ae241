/** `run` (the default): indexes the ledger of LEDGER_URL into DATABASE_URL. If neither is set, it runs a demo. */
import type { Command } from '../command-line/command.ts';

/** Exit codes of a run, in addition to those of every command. */
export const runExitCodes = [
  [0, 'stopped by a signal, or everything up to INDEXER_STOP_AT is stored'],
  [77, 'not permitted: the message names the missing right'],
] as const;

export const runCommand: Command = {
  name: 'run',
  usage: '[--option value …]',
  summary: 'index LEDGER_URL into DATABASE_URL; without both, run a demo (default)',
  does: [
    'Seeds the schema from the active contracts, then follows every update until SIGTERM or Ctrl-C.',
    'After a restart it resumes at the checkpoint in the database. A second process for the same schema is a standby.',
    'With --stop-at it exits when everything up to that offset, and nothing after it, is stored. If it would park, or stores',
    'nothing for INDEXER_PROGRESS_TIMEOUT, it exits with the code of the failure.',
  ],
  operands: [],
  flags: [],
  examples: [
    'run',
    'run --ledger-url http://localhost:7575 --database-url postgres://me@localhost/ledger',
    'run --start oldest --stop-at end',
  ],
  exits: runExitCodes,
  alone: true,
  run: async ({ args, env, stop }) => {
    const { runIndexer } = await import('./run-indexer.ts');
    await runIndexer(args.options, env, stop);
  },
};
