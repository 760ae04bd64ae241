/** Runs several statements on one snapshot of the database, with times in UTC. */
import { DatabaseError, type ClientBase } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { NodeRights } from '../../model/push/node-rights.ts';
import { type Database, rollBack } from '../connection/database.ts';
import { reportPlanning } from '../connection/report-planning.ts';
import { giveRights } from './node-sessions.ts';

/**
 * Runs `read` in a read-only transaction with one snapshot.
 * @param rights what the transaction may see if `read` switches to a role of `grant-reader --node-tokens`
 * @throws IndexerError QUERY_REFUSED if a bound, a template or a party is unknown here, or if a bound is neither an
 * offset nor a time; any error of `read`; STORE_ errors
 */
export function inSnapshot<T>(
  database: Database,
  readRows: (client: ClientBase) => Promise<T>,
  rights?: NodeRights,
): Promise<T> {
  return database.withClient(async (client) => {
    const access = rights === undefined ? 'read only' : 'read write';
    await client.query(`begin transaction isolation level repeatable read, ${access}; ${reportPlanning}`);
    try {
      if (rights !== undefined) await giveRights(client, rights);
      await client.query("set local time zone 'UTC'");
      return await readRows(client);
    } catch (thrown) {
      throw toReadError(thrown);
    } finally {
      await rollBack(client);
    }
  });
}

/** The error for an unknown offset, an unknown name or an invalid time. It has the message of Postgres. */
function toReadError(thrown: unknown): unknown {
  if (!(thrown instanceof DatabaseError) || !/^(?:LI003|22|42704|42P0[89])/u.test(thrown.code ?? '')) return thrown;
  const remedy = thrown.hint ?? 'enter an offset, or a time with its zone such as 2026-01-31T00:00:00Z';
  return new IndexerError(`${thrown.message} (SQLSTATE ${thrown.code ?? ''})`, {
    code: 'QUERY_REFUSED',
    remedy,
    cause: thrown,
  });
}
