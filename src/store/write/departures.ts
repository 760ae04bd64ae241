/**
 * A party that leaves the participant takes the participant's knowledge of its contracts with it: no event ends them
 * here. They are marked as unhosted in the transaction that stores the event of its departure. This reads every
 * contract once, which may take long; a batch without such an event is not affected.
 */
import type { ClientBase, QueryConfig } from 'pg';
import type { Batch } from '../../model/batch.ts';
import type { Database } from '../connection/database.ts';
import { countRows, tablesOf } from '../connection/query-builder.ts';
import type { Statement } from '../connection/round-trip.ts';

/** Limit of that one statement, milliseconds. */
const limitMs = 60 * 60 * 1000;

const allowTime = `select set_config('statement_timeout', '${String(limitMs)}', true)`;

/** Send them after everything that ends contracts; empty if no party left. */
export function departureStatements({ departure }: Batch): Statement[] {
  if (departure === undefined) return [];
  return [
    { name: 'allow-time', text: allowTime },
    { name: 'mark-unhosted', text: 'select mark_unhosted($1, false)', values: [departure], limitMs },
  ];
}

/**
 * Repeats the marks from an offset as if none were there: with a late update other contracts were active, or other
 * parties hosted, when a party left. Part of the caller's transaction.
 */
export async function markUnhostedAgain(client: ClientBase, from: number): Promise<void> {
  await client.query(allowTime);
  const marking: QueryConfig & { query_timeout: number } = {
    text: 'select mark_unhosted($1, true)',
    values: [from],
    query_timeout: limitMs,
  };
  await client.query(marking);
}

/** Number of contracts that are neither active nor ended. Reads an index that has no other rows. */
export async function unhostedContracts(database: Database): Promise<number> {
  const row = await database.withClient((client) =>
    tablesOf(client).selectFrom('live').select(countRows).where('unhosted_since', 'is not', null).executeTakeFirst(),
  );
  return row?.count ?? 0;
}
