/**
 * Ends what a former writer left behind. Its epoch is worthless once the lock is ours, but a session of its that hangs in
 * the middle of a batch keeps rows locked: one that waits for COPY data is reached by no time-out of the server, neither
 * statement_timeout nor idle_in_transaction_session_timeout.
 */
import { escapeIdentifier } from 'pg';
import type { ClientBase } from 'pg';

/** Name of the sessions that write batches, by which they are found; fits the 63 bytes of the server. */
export function writerSessionName(schema: string): string {
  return `ledger-indexer ${schema}`;
}

/** Tables that every batch or seed locks. */
const written = ['stream', 'updates', 'contracts'] as const;

/**
 * Terminates the sessions of this role that have written to this schema as an indexer and not committed. To be called by
 * the holder of the lock, before it writes. Resolves to how many there were.
 */
export async function endStaleWriters(client: ClientBase, schema: string): Promise<number> {
  const tables = written.map((table) => `${escapeIdentifier(schema)}.${escapeIdentifier(table)}`);
  const { rows } = await client.query<{ oids: readonly number[] }>(
    'select array(select to_regclass(t)::oid from unnest($1::text[]) t) as oids',
    [tables],
  );
  // Who logs in as one role and works as another may end the sessions of the first, and only while it is the first.
  await client.query('begin; set local role none');
  const { rowCount } = await client.query(
    `select pg_terminate_backend(a.pid)
       from pg_stat_activity a
      where a.datname = current_database() and a.usename = session_user and a.application_name = $1
        and exists (select from pg_locks l
                     where l.pid = a.pid and l.mode = 'RowExclusiveLock' and l.granted
                       and l.database = (select oid from pg_database where datname = current_database())
                       and l.relation = any ($2::oid[]))`,
    [writerSessionName(schema), rows[0]?.oids ?? []],
  );
  await client.query('commit');
  return rowCount ?? 0;
}
