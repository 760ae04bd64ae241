/**
 * `ledger-indexer config`: the configuration this run would have, with the origin of every value and no secrets.
 */
import { configMarkdown, describeConfig } from '../config/config.ts';

/**
 * Writes the effective configuration as an aligned table, with `--json` as one JSON array, with `--markdown` the option
 * table for documentation. All other arguments are read as option flags.
 * @throws IndexerError CONFIGURATION_INVALID
 */
export function configCommand(argv: readonly string[], env: NodeJS.ProcessEnv, write: (line: string) => void): void {
  if (argv.includes('--markdown')) {
    write(configMarkdown());
    return;
  }
  const rows = describeConfig(
    argv.filter((argument) => argument !== '--json'),
    env,
  );
  if (argv.includes('--json')) {
    write(JSON.stringify(rows, undefined, 2));
    return;
  }
  const envWidth = Math.max(...rows.map((row) => row.env.length));
  const valueWidth = Math.min(60, Math.max(...rows.map((row) => row.value.length)));
  for (const row of rows) write(`${row.env.padEnd(envWidth)}  ${row.value.padEnd(valueWidth)}  ${row.origin}`);
}
