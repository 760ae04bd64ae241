/** Age of the oldest row of a database, as a number of transaction ids. Postgres stops all writes at two billion. */
import type { ClientBase } from 'pg';

export interface TransactionIds {
  /** The database of the server with the oldest row. */
  readonly database: string;
  readonly age: number;
  /** Above this age, autovacuum freezes rows even if it is otherwise disabled. */
  readonly freezeAge: number;
}

export async function transactionIds(client: ClientBase): Promise<TransactionIds> {
  const { rows } = await client.query<TransactionIds>(
    `select datname::text as database, age(datfrozenxid) as age, current_setting('autovacuum_freeze_max_age')::int as "freezeAge"
       from pg_database order by age(datfrozenxid) desc, datname limit 1`,
  );
  const [oldest] = rows;
  if (oldest === undefined) throw new TypeError('the server lists no database');
  return oldest;
}
