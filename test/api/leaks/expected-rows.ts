/** Rows of a route, read by SQL with the role of the reader: without pages, cursors and the HTTP server. */
import { DatabaseError, type Client } from 'pg';
import type { ApiArguments } from '../../../src/model/push/read-api.ts';
import { checkParameters } from '../../../src/observe/api/parameters.ts';
import { resolved } from '../../../src/store/api/resolved-arguments.ts';
import type { RowsRoute } from '../../../src/store/api/route.ts';
import { Statement } from '../../../src/store/api/statement.ts';
import type { LeakRequest } from './requests.ts';

const schemas = { storage: 'ledger', explore: 'explore' };

/** The rows as sorted JSON texts; undefined if SQL refuses the values. */
export async function expectedRows(
  route: RowsRoute,
  { inPath, query, condition }: LeakRequest,
  client: Client,
): Promise<readonly string[] | undefined> {
  const given = checkParameters(route, new Map(Object.entries(inPath)), new URLSearchParams(query));
  if (typeof given['status'] === 'number') return undefined;
  await client.query('savepoint request');
  try {
    const args = await resolved(route, given as ApiArguments, client, schemas);
    const statement = new Statement(schemas.explore);
    const from = route.from(args, statement);
    const conditions = route.parameters.flatMap(({ name, condition: add }) => {
      const value = args[name];
      return add === undefined || value === undefined ? [] : [add(value, statement)];
    });
    const where = [...conditions, ...(condition === undefined ? [] : [condition]), 'true'].join(' and ');
    const text = `select row_to_json(x)::text as line from (select ${columnsOf(route)} from ${from} r where ${where}) x`;
    const { rows } = await client.query<{ line: string }>(text, statement.values);
    return rows.map(({ line }) => JSON.stringify(JSON.parse(line))).sort();
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.code === '42501') throw error;
    return undefined;
  } finally {
    await client.query('rollback to savepoint request');
  }
}

/** Exact numbers are texts without zeros at their end. */
function columnsOf({ columns }: RowsRoute): string {
  return Object.entries(columns)
    .map(([name, kind]) => {
      if (kind === 'number') return `trim_scale(r."${name}")::text as "${name}"`;
      return kind === 'numbers' ? `r."${name}"::text[] as "${name}"` : `r."${name}"`;
    })
    .join(', ');
}
