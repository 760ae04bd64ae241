/** `ledger-indexer ledger <verb>`: requests to the participant, for operators. */
import type { Command } from '../command-line/command.ts';

export const ledgerCommand: Command = {
  name: 'ledger',
  usage: '<verb> [--option value …]',
  summary: 'request contracts, updates, packages and more from the participant',
  does: ['Each verb has its own help: ledger-indexer ledger acs --help'],
  operands: [
    {
      name: 'VERB',
      words: [
        'version',
        'end',
        'openapi',
        'asyncapi',
        'packages',
        'upload-dar',
        'parties',
        'rights',
        'acs',
        'updates',
        'update',
        'completions',
        'submit',
      ],
    },
  ],
  flags: [],
  examples: ['ledger end', 'ledger acs --template "#iou:Iou:Iou"'],
  exits: [
    [69, 'the ledger cannot be reached'],
    [77, 'the user lacks a right'],
  ],
  verbs: true,
  /** @throws IndexerError USAGE, CONFIGURATION_INVALID, INTERRUPTED and errors of the ledger */
  run: async (call) => {
    const { runVerb } = await import('./verbs.ts');
    await runVerb(call);
  },
};
