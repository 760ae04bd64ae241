/** Account statements as one answer. Longer statements are read with the command `account-statement`. */
import type { ClientBase } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { ApiArguments, ApiPosition } from '../../model/push/read-api.ts';
import { otherOwnersOf, type AccountStatementRow } from '../reads/statement-row.ts';
import { textOf } from './route.ts';
import { statementIn } from '../reads/account-statement.ts';

/** Limits of the answer: rows, and characters of all values. */
const maxRows = 10_000;
const maxCharacters = 4_000_000;

export async function readStatementIn(
  client: ClientBase,
  args: ApiArguments,
  storage: string,
): Promise<Readonly<Record<string, string>>> {
  const { party, instrument_id: instrument, instrument_admin: admin, from, to } = args;
  const statement = await statementIn(client, storage, {
    party: textOf(party),
    instrument: optionalText(instrument),
    admin: optionalText(admin),
    from: positionOf(from),
    to: positionOf(to),
  });
  const rows: AccountStatementRow[] = [];
  let characters = 0;
  for await (const page of statement.pages) {
    for (const row of page) characters += row.reduce((sum, value) => sum + (value?.length ?? 0), 0);
    rows.push(...page);
    if (rows.length > maxRows || characters > maxCharacters) throw tooLongError();
  }
  const { version, participant, notes, columns } = statement;
  const fields = {
    version,
    participant,
    from: statement.from,
    to: statement.to,
    notes,
    columns,
    rows,
    labels: Object.fromEntries(await statement.labels([...new Set(rows.flatMap(otherOwnersOf))])),
    totals: statement.totals(),
    sha256: statement.sha256(),
  };
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, JSON.stringify(value)]));
}

function optionalText(value: ApiArguments[string]): string | null {
  return typeof value === 'string' ? value : null;
}

function positionOf(value: ApiArguments[string]): ApiPosition | null {
  return typeof value === 'object' ? value : null;
}

function tooLongError(): IndexerError {
  return new IndexerError(`the statement has more than ${String(maxRows)} rows, or more than 4 MB`, {
    code: 'ANSWER_TOO_LARGE',
    remedy: 'pass a shorter range as from and to, or use the command account-statement',
  });
}
