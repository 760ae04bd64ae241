/** Runs several statements on one state of the database, with times in UTC. */
import { DatabaseError, type ClientBase } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import { type Database, rollBack } from '../connection/database.ts';
import { reportPlanning } from '../connection/report-planning.ts';

/**
 * Runs `read` in a read-only transaction that sees one state.
 * @throws IndexerError QUERY_REFUSED if a bound, a template or a party is not known here, or a bound is neither an
 * offset nor a time; as `read`; STORE_ errors
 */
export function inSnapshot<T>(database: Database, read: (client: ClientBase) => Promise<T>): Promise<T> {
  return database.withClient(async (client) => {
    await client.query(`begin transaction isolation level repeatable read, read only; ${reportPlanning}`);
    try {
      await client.query("set local time zone 'UTC'");
      return await read(client);
    } catch (thrown) {
      throw refusal(thrown);
    } finally {
      await rollBack(client);
    }
  });
}

/** Unknown offsets, unknown names and invalid times, with the message of Postgres. */
function refusal(thrown: unknown): unknown {
  if (!(thrown instanceof DatabaseError) || !/^(?:LI003|22|42704|42P0[89])/u.test(thrown.code ?? '')) return thrown;
  const remedy = thrown.hint ?? 'enter an offset, or a time with its zone such as 2026-01-31T00:00:00Z';
  return new IndexerError(`${thrown.message} (SQLSTATE ${thrown.code ?? ''})`, {
    code: 'QUERY_REFUSED',
    remedy,
    cause: thrown,
  });
}
