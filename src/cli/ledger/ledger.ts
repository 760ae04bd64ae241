/** `ledger-indexer ledger <verb>`: what an operator wants to know from the participant, or to do there, by hand. */
import type { Command } from '../command-line/command.ts';

export const ledgerCommand: Command = {
  name: 'ledger',
  usage: '<verb> [--option value …]',
  summary: 'ask the participant by hand: contracts, updates, packages, parties …; ledger --help',
  does: ['Every verb has a help of its own: ledger-indexer ledger acs --help'],
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
  /** @throws IndexerError USAGE, CONFIGURATION_INVALID, INTERRUPTED and whatever the ledger answers */
  run: async (call) => {
    const { runVerb } = await import('./verbs.ts');
    await runVerb(call);
  },
};
