/** `verify --account-statement`: compares an account statement with the tables. */
import { readFile } from 'node:fs/promises';
import type { Config } from '../../config/config.ts';
import { ExitCode } from '../../errors/exit-code.ts';
import {
  type StatementBound,
  readAccountStatement,
  type AccountStatement,
  AccountStatementHash,
  statementVersion,
  type AccountStatementHead,
} from '../../store/reads/account-statement.ts';
import { statementColumns, type AccountStatementRow } from '../../store/reads/statement-row.ts';
import type { PrintLine } from '../command-line/command.ts';
import { usageError } from '../command-line/refusals.ts';
import { withDatabase } from '../database/with-database.ts';

const statementTimeoutMs = 60 * 60_000;

/** A file with the output of `account-statement --json`. */
interface WrittenStatement extends AccountStatementHead {
  /** Missing in version 1. */
  readonly version?: number;
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
  print: PrintLine,
): Promise<ExitCode | undefined> {
  const statement = await readStatementFile(file);
  if (hashOf(statement) !== statement.sha256) {
    print('different: the statement was changed after it was created: its rows do not match its SHA-256');
    return ExitCode.different;
  }
  const { party, instrument, admin, from, to } = statement;
  const openOptions = { command: 'verify', feature: 'verify', statementTimeoutMs } as const;
  const differences = await withDatabase(config, openOptions, (database) =>
    readAccountStatement(database, { party, instrument, admin, from, to }, (recreated) =>
      difference(statement, recreated),
    ),
  );
  if (differences === undefined) {
    const limit = versionOf(statement) === 1 ? '; of an earlier version, whose kinds and owners are not compared' : '';
    print(`equal: ${String(statement.rows.length)} rows, SHA-256 ${statement.sha256}${limit}`);
    return undefined;
  }
  for (const line of differences) print(line);
  return ExitCode.different;
}

function hashOf(statement: WrittenStatement): string {
  const hash = new AccountStatementHash(statement, versionOf(statement));
  for (const row of statement.rows) hash.add(row);
  return hash.digest();
}

function versionOf({ version }: WrittenStatement): number {
  return version ?? 1;
}

/** Columns of version 1, and those of them whose values have other rules since. */
const [firstColumns, changedColumns] = [17, new Set(['kind', 'other_owners'])];

/**
 * The rows to compare with a statement of this version. Rows of version 1 have no closing balances and no values in US
 * dollars.
 */
function comparedRow(row: AccountStatementRow, version: number): AccountStatementRow | undefined {
  if (version !== 1) return row;
  if (row[statementColumns.indexOf('kind')] === 'closing') return undefined;
  return row.slice(0, firstColumns).map((value, index) => (isChanged(index) ? null : value));
}

function isChanged(index: number): boolean {
  return changedColumns.has(statementColumns[index] ?? '');
}

/** Lines that describe the first difference; undefined if the tables match. */
async function difference(
  statement: WrittenStatement,
  recreated: AccountStatement,
): Promise<readonly string[] | undefined> {
  if (statement.participant !== recreated.participant) {
    return [
      `different: the statement is of participant ${statement.participant ?? 'unknown'}, the tables of ${recreated.participant ?? 'unknown'}`,
    ];
  }
  for (const bound of ['from', 'to'] as const) {
    if (isSameTime(statement[bound], recreated[bound])) continue;
    const [statementTime, storedTime] = [statement[bound].recordTime, recreated[bound].recordTime];
    return [
      `different: offset ${String(statement[bound].offset)} was recorded at ${storedTime ?? ''}, not at ${statementTime ?? ''}`,
    ];
  }
  let index = 0;
  const version = versionOf(statement);
  for await (const rows of recreated.pages) {
    for (const recreatedRow of rows) {
      const row = comparedRow(recreatedRow, version);
      if (row === undefined) continue;
      const writtenRow = comparedRow(statement.rows[index] ?? [], version);
      if (JSON.stringify(row) !== JSON.stringify(writtenRow)) return differenceAt(index, statement, recreatedRow);
      index += 1;
    }
  }
  return index === statement.rows.length ? undefined : differenceAt(index, statement, undefined);
}

/** Whether two times are equal; true if one of them is unknown. */
function isSameTime(claim: StatementBound, storedBound: StatementBound): boolean {
  return claim.recordTime === null || storedBound.recordTime === null || claim.recordTime === storedBound.recordTime;
}

function differenceAt(
  index: number,
  { rows }: WrittenStatement,
  recreatedRow: AccountStatementRow | undefined,
): readonly string[] {
  const text = (row: AccountStatementRow | undefined): string =>
    row === undefined ? 'no such row' : JSON.stringify(row);
  return [
    `different from row ${String(index + 1)}`,
    `  the statement: ${text(rows[index])}`,
    `  the tables:    ${text(recreatedRow)}`,
  ];
}

async function readStatementFile(file: string): Promise<WrittenStatement> {
  const text = await readFile(file, 'utf8').catch((thrown: unknown) => {
    throw statementFileError(
      file,
      thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'it cannot be read',
    );
  });
  const statement = parseStatement(text);
  if (statement === undefined) throw statementFileError(file, 'it has another format');
  if (![1, statementVersion].includes(versionOf(statement)))
    throw statementFileError(file, `its version is ${String(statement.version)}`);
  return statement;
}

function parseStatement(text: string): WrittenStatement | undefined {
  try {
    const statement = JSON.parse(text) as WrittenStatement;
    hashOf(statement);
    return typeof statement.party === 'string' && typeof statement.sha256 === 'string' ? statement : undefined;
  } catch {
    return undefined;
  }
}

function statementFileError(file: string, reason: string) {
  return usageError(
    `${file} is not the output of account-statement --json: ${reason}`,
    'pass the output of `ledger-indexer account-statement --json`',
  );
}
