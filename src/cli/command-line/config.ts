/**
 * `ledger-indexer config`: the configuration this run would have, with the origin of every value and no secrets.
 */
import { configMarkdown, describeConfig } from '../../config/config.ts';
import { aligned } from './aligned.ts';
import { json, type Command } from './command.ts';

export const configCommand: Command = {
  name: 'config',
  summary: 'effective configuration with the origin of each value; --json, --markdown',
  does: ['Secrets are never shown. Everything that is wrong is listed at once.'],
  operands: [],
  flags: [json, { name: 'markdown', doc: 'every option as a table for documentation' }],
  examples: ['config', 'config --json'],
  exits: [[78, 'the configuration is invalid']],
  alone: true,
  /** @throws IndexerError CONFIGURATION_INVALID */
  run: async ({ given, env, print }) => {
    if (given.has('markdown')) return print(configMarkdown());
    const rows = describeConfig(env, given.options);
    if (given.has('json')) return print(JSON.stringify(rows, undefined, 2));
    const cells = rows.map((row) => [row.env, row.value, row.origin]);
    for (const line of aligned(cells, { columns: [{}, { most: 60 }] })) print(line);
  },
};
