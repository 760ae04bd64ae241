/**
 * Marks contracts as unhosted when their parties leave the participant. The participant then no longer reports events
 * of these contracts, so nothing would end them here. They are marked in the transaction that stores the departure.
 * This reads every contract once, which may take long; batches without a departure are not affected.
 */
import type { ClientBase, QueryConfig } from 'pg';
import type { Batch } from '../../model/batch.ts';
import type { Database } from '../connection/database.ts';
import { countRows, tablesOf } from '../connection/query-builder.ts';
import type { Statement } from '../connection/round-trip.ts';

/** Time limit of the statement that marks contracts, milliseconds. */
const limitMs = 60 * 60 * 1000;

const extendTimeout = `select set_config('statement_timeout', '${String(limitMs)}', true)`;

/**
 * The statements that mark contracts as unhosted. Send them after all statements that end contracts. Empty if no party
 * has left the participant.
 */
export function departureStatements({ departure: departureOffset }: Batch): Statement[] {
  if (departureOffset === undefined) return [];
  return [
    { name: 'allow-time', text: extendTimeout },
    { name: 'mark-unhosted', text: 'select mark_unhosted($1, false)', values: [departureOffset], limitMs },
  ];
}

/**
 * Removes the marks from an offset on and sets them again. With a late update, other contracts may have been active or
 * other parties hosted when a party left. Runs in the caller's transaction.
 */
export async function markUnhostedAgain(client: ClientBase, from: number): Promise<void> {
  await client.query(extendTimeout);
  const marking: QueryConfig & { query_timeout: number } = {
    text: 'select mark_unhosted($1, true)',
    values: [from],
    query_timeout: limitMs,
  };
  await client.query(marking);
}

/** Number of contracts that are neither active nor ended. Reads an index that contains only these contracts. */
export async function unhostedContracts(database: Database): Promise<number> {
  const row = await database.withClient((client) =>
    tablesOf(client).selectFrom('live').select(countRows).where('unhosted_since', 'is not', null).executeTakeFirst(),
  );
  return row?.count ?? 0;
}
