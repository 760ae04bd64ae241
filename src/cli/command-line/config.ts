/**
 * `ledger-indexer config`: the configuration this run would have, with the origin of every value and no secrets.
 */
import { configMarkdown, describeConfig } from '../../config/config.ts';
import { parse } from './parse.ts';
import { commandNamed } from '../table/command-table.ts';

/**
 * Writes the effective configuration as an aligned table, with `--json` as one JSON array, with `--markdown` the option
 * table for documentation. All other arguments are read as option flags.
 * @throws IndexerError CONFIGURATION_INVALID
 */
export function configCommand(argv: readonly string[], env: NodeJS.ProcessEnv, write: (line: string) => void): void {
  const given = parse(commandNamed('config'), argv);
  if (given.has('markdown')) {
    write(configMarkdown());
    return;
  }
  const rows = describeConfig(given.options, env);
  if (given.has('json')) {
    write(JSON.stringify(rows, undefined, 2));
    return;
  }
  const envWidth = Math.max(...rows.map((row) => row.env.length));
  const valueWidth = Math.min(60, Math.max(...rows.map((row) => row.value.length)));
  for (const row of rows) write(`${row.env.padEnd(envWidth)}  ${row.value.padEnd(valueWidth)}  ${row.origin}`);
}
