/**
 * Rights of reads for users of the participant. All these reads use one role of `grant-reader --node-tokens`, whose
 * policies ask table `node_sessions` for the parties of the current transaction. A row names a transaction by its id, so
 * it gives rights to one transaction of one session, and to no other session of the same login.
 */
import { escapeIdentifier, type ClientBase } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { NodeRights } from '../../model/push/node-rights.ts';
import type { Database } from '../connection/database.ts';

/**
 * Gives rights to the current transaction, which must be able to write. For statements of this program only: a statement
 * of a user could undo `set local role`. Roll the transaction back, so that the row disappears.
 */
export async function giveRights(client: ClientBase, { parties, readsAll }: NodeRights): Promise<void> {
  await client.query(
    `insert into node_sessions (transaction_id, parties, reads_all) values (pg_current_xact_id(), $1, $2)`,
    [parties, readsAll],
  );
  await client.query('set transaction read only');
}

/**
 * Gives rights to the current transaction of another session, which only reads, and whose isolation level is read
 * committed: with one snapshot for the transaction, it would not see the row.
 * @param client the session that reads, as the login of {@link hideStatements}
 * @param writer where the row is written
 * @returns a function that takes the rights away; never rejects
 * @throws IndexerError NODE_READER_REFUSED if users could see statements of each other; STORE_ errors
 */
export async function giveRightsTo(
  client: ClientBase,
  writer: Database,
  { parties, readsAll }: NodeRights,
): Promise<() => Promise<void>> {
  if (!(await hidesStatements(client))) throw statementsVisibleError();
  const { rows } = await client.query<{ id: string }>('select pg_current_xact_id()::text as id');
  const transaction = rows[0]?.id ?? '';
  await writer.withClient((session) =>
    session.query(`insert into node_sessions (transaction_id, parties, reads_all) values ($1, $2, $3)`, [
      transaction,
      parties,
      readsAll,
    ]),
  );
  return async () => {
    const remove = (session: ClientBase): Promise<unknown> =>
      session.query('delete from node_sessions where transaction_id = $1', [transaction]);
    // A row that is left gives no rights, because its transaction has ended.
    await writer.withClient(remove).catch(() => undefined);
  };
}

/** Removes rows of transactions that have ended. */
export async function removeEndedSessions(database: Database): Promise<void> {
  await database.withClient((client) =>
    client.query('delete from node_sessions where transaction_id < pg_snapshot_xmin(pg_current_snapshot())'),
  );
}

// All users read with the same login, and statements of a login are visible to all sessions of that login.

/** Whether statements of this session are hidden from other sessions of its login. */
export async function hidesStatements(client: ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ hidden: boolean }>(
    `select not current_setting('track_activities')::boolean
            and coalesce(current_setting('pg_stat_statements.track', true), 'none') = 'none' as hidden`,
  );
  return rows[0]?.hidden === true;
}

/** The statements that hide the statements of a login. Only a superuser may run them, and the login cannot undo them. */
export function hideStatements(role: string): readonly string[] {
  const name = escapeIdentifier(role);
  return [`alter role ${name} set track_activities = off`, `alter role ${name} set pg_stat_statements.track = 'none'`];
}

function statementsVisibleError(): IndexerError {
  return new IndexerError('users of the query page could see statements of each other in pg_stat_activity', {
    code: 'NODE_READER_REFUSED',
    remedy: 'run `ledger-indexer grant-reader ROLE --node-tokens` for this role as a superuser',
  });
}
