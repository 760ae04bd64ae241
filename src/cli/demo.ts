/** `demo`: everything embedded, whatever URLs the environment names. */
import { runCommand } from './run.ts';

export function demoCommand(argv: readonly string[], env: NodeJS.ProcessEnv, stop: AbortSignal): Promise<void> {
  const { LEDGER_URL: _ledger, LEDGER_TOKEN: _token, LEDGER_TOKEN_FILE: _file, ...rest } = env;
  const { DATABASE_URL: _database, DATABASE_URL_FILE: _databaseFile, ...bare } = rest;
  return runCommand(argv, bare, stop);
}
