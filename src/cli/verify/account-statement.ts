/** `verify --account-statement`: compares an account statement with the tables. */
import { readFile } from 'node:fs/promises';
import type { Config } from '../../config/config.ts';
import { ExitCode } from '../../errors/exit-code.ts';
import {
  type Bound,
  readAccountStatement,
  type AccountStatement,
  AccountStatementHash,
  type AccountStatementHead,
  type AccountStatementRow,
} from '../../store/reads/account-statement.ts';
import type { Print } from '../command-line/command.ts';
import { misuse } from '../command-line/refusals.ts';
import { withDatabase } from '../database/with-database.ts';

const statementTimeoutMs = 60 * 60_000;

/** A file with the output of `account-statement --json`. */
interface Written extends AccountStatementHead {
  readonly rows: readonly AccountStatementRow[];
  readonly sha256: string;
}

/**
 * Resolves to exit code 0 if the statement is unchanged and matches the tables, otherwise 1.
 * @throws IndexerError USAGE if the file is not a statement; QUERY_REFUSED if its offsets are not stored; STORE_ errors
 */
export async function verifyAccountStatement(
  file: string,
  config: Config,
  print: Print,
): Promise<ExitCode | undefined> {
  const statement = await readFrom(file);
  if (hashOf(statement) !== statement.sha256) {
    print('different: the statement was changed after it was created: its rows do not match its SHA-256');
    return ExitCode.different;
  }
  const { party, instrument, admin, from, to } = statement;
  const opening = { command: 'verify', feature: 'verify', statementTimeoutMs } as const;
  const found = await withDatabase(config, opening, (database) =>
    readAccountStatement(database, { party, instrument, admin, from, to }, (made) => difference(statement, made)),
  );
  if (found === undefined) {
    print(`equal: ${String(statement.rows.length)} rows, SHA-256 ${statement.sha256}`);
    return undefined;
  }
  for (const line of found) print(line);
  return ExitCode.different;
}

function hashOf(written: Written): string {
  const hash = new AccountStatementHash(written);
  for (const row of written.rows) hash.add(row);
  return hash.digest();
}

/** Lines that describe the first difference; undefined if the tables match. */
async function difference(statement: Written, made: AccountStatement): Promise<readonly string[] | undefined> {
  if (statement.participant !== made.participant) {
    return [
      `different: the statement is of participant ${statement.participant ?? 'unknown'}, the tables of ${made.participant ?? 'unknown'}`,
    ];
  }
  for (const bound of ['from', 'to'] as const) {
    if (sameTime(statement[bound], made[bound])) continue;
    const [statementTime, stored] = [statement[bound].recordTime, made[bound].recordTime];
    return [
      `different: offset ${String(statement[bound].offset)} was recorded at ${stored ?? ''}, not at ${statementTime ?? ''}`,
    ];
  }
  let index = 0;
  for await (const rows of made.pages) {
    for (const row of rows) {
      if (JSON.stringify(row) !== JSON.stringify(statement.rows[index])) return differentAt(index, statement, row);
      index += 1;
    }
  }
  return index === statement.rows.length ? undefined : differentAt(index, statement, undefined);
}

/** Whether two times are equal; true if one of them is unknown. */
function sameTime(claim: Bound, stored: Bound): boolean {
  return claim.recordTime === null || stored.recordTime === null || claim.recordTime === stored.recordTime;
}

function differentAt(index: number, { rows }: Written, made: AccountStatementRow | undefined): readonly string[] {
  const text = (row: AccountStatementRow | undefined): string =>
    row === undefined ? 'no such row' : JSON.stringify(row);
  return [
    `different from row ${String(index + 1)}`,
    `  the statement: ${text(rows[index])}`,
    `  the tables:    ${text(made)}`,
  ];
}

async function readFrom(file: string): Promise<Written> {
  const text = await readFile(file, 'utf8').catch((thrown: unknown) => {
    throw wrong(file, thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'it cannot be read');
  });
  try {
    const statement = JSON.parse(text) as Written;
    hashOf(statement);
    if (typeof statement.party !== 'string' || typeof statement.sha256 !== 'string')
      throw wrong(file, 'it has another format');
    return statement;
  } catch {
    throw wrong(file, 'it has another format');
  }
}

function wrong(file: string, why: string) {
  return misuse(
    `${file} is not the output of account-statement --json: ${why}`,
    'pass the output of `ledger-indexer account-statement --json`',
  );
}
