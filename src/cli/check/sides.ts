/** All checks of both sides, run: what of each can be asked, and what that says. */
import { loadConfig, type Config } from '../../config/config.ts';
import { toIndexerError } from '../../errors/indexer-error.ts';
import type { Database } from '../../store/connection/database.ts';
import { databaseChecks, openForChecks } from './database-checks.ts';
import { ledgerChecks, openLedger } from './ledger-checks.ts';
import type { LedgerView } from './ledger-view.ts';
import { pass, runChecks, skip, type Check, type Finding, type Outcome } from './outcome.ts';
import { streamChecks } from './stream-checks.ts';

/** In the order in which they are shown. @param words options of the configuration @param limitMs of each check, milliseconds */
export async function allOutcomes(
  words: readonly string[],
  env: NodeJS.ProcessEnv,
  limitMs: number,
): Promise<readonly Outcome[]> {
  let config: Config;
  try {
    config = loadConfig(words, env);
  } catch (thrown) {
    return [failed('configuration', thrown)];
  }
  const stop = new AbortController();
  const first = one('configuration', pass('every option is known and has a value it can have'));
  const sides = await openSides(config, limitMs, stop.signal);
  const { ledger, database } = sides;
  try {
    const checks = [first, ...sides.ledgerChecks, ...sides.databaseChecks, ...streamChecks(ledger, database)];
    return await runChecks(checks, limitMs);
  } finally {
    stop.abort();
    await database?.close(0);
  }
}

interface Sides {
  readonly ledger: LedgerView | undefined;
  readonly ledgerChecks: readonly Check[];
  readonly database: Database | undefined;
  readonly databaseChecks: readonly Check[];
}

/** What of each side can be asked; a side that cannot even be opened is one failed line. */
async function openSides(config: Config, limitMs: number, signal: AbortSignal): Promise<Sides> {
  const { url: ledgerUrl } = config.ledger;
  const { url: databaseUrl } = config.database;
  const inside = (name: string, what: string): Check[] => [
    one(name, skip(`${what}: it runs embedded in the same process, there is nothing to check`)),
  ];
  const opened = async <T>(
    name: string,
    open: () => Promise<T> | T,
  ): Promise<{ side?: T; broken: readonly Check[] }> => {
    try {
      return { side: await open(), broken: [] };
    } catch (thrown) {
      const { name: _name, ...finding } = failed(name, thrown);
      return { broken: [one(name, finding)] };
    }
  };
  const ledger =
    ledgerUrl === undefined ? undefined : await opened('ledger', () => openLedger(config, ledgerUrl, limitMs, signal));
  const database =
    databaseUrl === undefined ? undefined : await opened('postgres', () => openForChecks(config, limitMs));
  return {
    ledger: ledger?.side,
    ledgerChecks: ledger?.side
      ? ledgerChecks(ledger.side)
      : (ledger?.broken ?? inside('ledger', 'LEDGER_URL is not set')),
    database: database?.side,
    databaseChecks: database?.side
      ? databaseChecks(database.side, config)
      : (database?.broken ?? inside('postgres', 'DATABASE_URL is not set')),
  };
}

function one(name: string, finding: Finding): Check {
  return { name, run: () => Promise.resolve(finding) };
}

function failed(name: string, thrown: unknown): Outcome {
  const { message, remedy, code } = toIndexerError(thrown);
  return { name, state: 'fail', found: message, fix: remedy, code };
}
