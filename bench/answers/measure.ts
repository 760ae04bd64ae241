/** Runs one statement as a reader would, and measures the time until its first rows have arrived. */
import { Client, DatabaseError, Query } from 'pg';
import type { Statement } from './statements/statement.ts';

/** Number of rows that are waited for: a page of results. */
export const pageRows = 1_000;
/** SQLSTATE of a statement that was canceled. */
const canceled = '57014';
/** Maximum time that a session may take to end, milliseconds. */
const endLimitMs = 30_000;

export interface Execution {
  readonly ms: number;
  /** At most {@link pageRows}. */
  readonly rows: number;
  readonly error: string | undefined;
  readonly timedOut: boolean;
}

export interface Sessions {
  readonly readerUrl: string;
  readonly ownerUrl: string;
  readonly limitSeconds: number;
  /** Session of the owner, which ends sessions that have more rows than are read. */
  readonly admin: Client;
}

/**
 * Runs the statement in a session of its own. It is sent as it is: with a row limit in the protocol, as `pg-cursor`
 * sets it, Postgres would start no parallel workers. So a session with more rows is ended instead.
 */
export async function runStatement({ sql, role }: Statement, sessions: Sessions): Promise<Execution> {
  const client = new Client({
    connectionString: role === 'reader' ? sessions.readerUrl : sessions.ownerUrl,
    application_name: 'bench answers',
    options: `-c statement_timeout=${String(sessions.limitSeconds * 1_000)}`,
  });
  // A session that is ended reports an error.
  client.on('error', () => undefined);
  await client.connect();
  try {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    const execution = await firstRows(client, sql);
    if (execution.rows >= pageRows) {
      await sessions.admin.query('select pg_terminate_backend($1, $2)', [rows[0]?.pid, endLimitMs]);
    }
    return execution;
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Values stay texts, because their conversion is not measured. */
const types = { getTypeParser: () => (value: string) => value };

function firstRows(client: Client, text: string): Promise<Execution> {
  return new Promise((resolve) => {
    let rows = 0;
    const began = performance.now();
    const done = (error?: Error): void => {
      resolve({
        ms: performance.now() - began,
        rows,
        error: error?.message,
        timedOut: error instanceof DatabaseError && error.code === canceled,
      });
    };
    const query = new Query({ text, types });
    query.on('row', () => {
      rows += 1;
      if (rows === pageRows) done();
    });
    query.on('end', () => {
      done();
    });
    query.on('error', done);
    client.query(query);
  });
}
