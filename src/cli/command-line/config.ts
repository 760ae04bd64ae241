/**
 * `ledger-indexer config`: prints the configuration of a run, with the origin of each value and with secrets masked.
 */
import { configMarkdown, describeConfig } from '../../config/config.ts';
import { aligned } from './aligned.ts';
import { json, type Command } from './command.ts';

export const configCommand: Command = {
  name: 'config',
  summary: 'print the effective configuration and the origin of each value',
  does: ['Secrets are never printed. All problems are listed together.'],
  operands: [],
  flags: [json, { name: 'markdown', doc: 'print all options as a markdown table' }],
  examples: ['config', 'config --json'],
  exits: [[78, 'the configuration is invalid']],
  alone: true,
  /** @throws IndexerError CONFIGURATION_INVALID */
  run: async ({ args, env, print }) => {
    if (args.has('markdown')) return print(configMarkdown());
    const rows = describeConfig(env, args.options);
    if (args.has('json')) return print(JSON.stringify(rows, undefined, 2));
    const cells = rows.map((row) => [row.env, row.value, row.origin]);
    for (const line of aligned(cells, { columns: [{}, { most: 60 }] })) print(line);
  },
};
