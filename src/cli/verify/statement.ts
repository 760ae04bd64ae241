/** `verify --statement`: whether the tables still say what a statement says that was made from them. */
import { readFile } from 'node:fs/promises';
import type { Config } from '../../config/config.ts';
import { ExitCode } from '../../errors/exit-code.ts';
import { hashOf, readStatement, type Statement, type StatementRow } from '../../store/reads/statement.ts';
import type { Print } from '../command-line/command.ts';
import { misuse } from '../command-line/refusals.ts';
import { withDatabase } from '../database/with-database.ts';

const statementTimeoutMs = 60 * 60_000;

/**
 * The exit code is 0 when the statement is whole and the tables say the same, else 1.
 * @throws IndexerError USAGE for a file that is no statement; QUERY_REFUSED where its offsets are not known here; STORE_ errors
 */
export async function verifyStatement(file: string, config: Config, print: Print): Promise<ExitCode | undefined> {
  const given = await readFrom(file);
  if (hashOf(given) !== given.sha256) {
    print('different: the statement was changed after it was made: its rows do not have its SHA-256');
    return ExitCode.different;
  }
  const { party, instrument, from, to } = given;
  const wanted = { party, instrument, from, to };
  const opening = { command: 'verify', statementTimeoutMs };
  const made = await withDatabase(config, opening, (database) => readStatement(database, wanted));
  if (made.sha256 === given.sha256) {
    print(`equal: ${String(made.rows.length)} rows, SHA-256 ${made.sha256}`);
    return undefined;
  }
  for (const line of differences(given, made)) print(line);
  return ExitCode.different;
}

function differences(given: Statement, made: Statement): readonly string[] {
  if (given.participant !== made.participant) {
    return [
      `different: the statement is of participant ${given.participant ?? 'unknown'}, the tables of ${made.participant ?? 'unknown'}`,
    ];
  }
  const lines = (rows: readonly StatementRow[]): readonly string[] => rows.map((row) => JSON.stringify(row));
  const [before, now] = [lines(given.rows), lines(made.rows)];
  const at = before.findIndex((line, index) => line !== now[index]);
  const place = at < 0 ? before.length : at;
  return [
    `different from row ${String(place + 1)} on`,
    `  the statement: ${before[place] ?? 'no such row'}`,
    `  the tables:    ${now[place] ?? 'no such row'}`,
  ];
}

async function readFrom(file: string): Promise<Statement> {
  const text = await readFile(file, 'utf8').catch((thrown: unknown) => {
    throw wrong(file, thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'it cannot be read');
  });
  try {
    const given = JSON.parse(text) as Statement;
    hashOf(given);
    if (typeof given.party !== 'string' || typeof given.sha256 !== 'string') throw wrong(file, 'it is none');
    return given;
  } catch {
    throw wrong(file, 'it is none');
  }
}

function wrong(file: string, why: string) {
  return misuse(`${file} is no statement: ${why}`, 'give the file that `ledger-indexer statement --json` wrote');
}
