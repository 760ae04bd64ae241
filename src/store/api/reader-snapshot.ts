/** Reads as a client of `/api`: in a read-only snapshot, with the rights of its role, and within a time limit. */
import { DatabaseError, escapeIdentifier, type ClientBase, type QueryResult } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { ApiReader } from '../../model/push/read-api.ts';
import { type Database, rollBack } from '../connection/database.ts';
import { readSchemas } from '../connection/read-schemas.ts';
import { reportPlanning } from '../connection/report-planning.ts';
import { giveRights } from '../reads/node-sessions.ts';

/** The state that a read sees. */
export interface Snapshot {
  readonly client: ClientBase;
  /** The checkpoint; null until the seed is complete. */
  readonly offset: number | null;
}

export interface ReadSettings {
  /** Time limit of one statement. */
  readonly statementMs: number;
  /** With custom plans, the planner knows the values: it uses partial indexes, and indexes on fields of payloads. */
  readonly planning: 'force_custom_plan' | 'force_generic_plan';
}

/**
 * Runs `read` in one snapshot. For statements of this program only: a statement of a user could leave the role.
 * @throws IndexerError NAME_UNKNOWN, NAME_AMBIGUOUS, OFFSET_UNKNOWN, QUERY_REFUSED; STORE_ errors; any error of `read`
 */
export async function inReaderSnapshot<T>(
  database: Database,
  { role, rights }: ApiReader,
  { statementMs, planning }: ReadSettings,
  read: (snapshot: Snapshot) => Promise<T>,
): Promise<T> {
  const { explore } = readSchemas(database.schema);
  const settings = [
    reportPlanning,
    `set local plan_cache_mode = ${planning}`,
    `set local time zone 'UTC'`,
    `set local statement_timeout = ${String(statementMs)}`,
    ...(role === null ? [] : [`set local role ${escapeIdentifier(role)}`]),
    `select ${escapeIdentifier(explore)}.latest_offset() as "offset"`,
  ].join('; ');
  // An error of the request is returned to here, because a connection whose work throws is closed.
  const outcome = await database.withClient(async (client) => {
    const begin = `begin transaction isolation level repeatable read, ${rights === undefined ? 'read only' : 'read write'}`;
    try {
      if (rights === undefined)
        return { value: await read({ client, offset: await lastOffset(client, `${begin}; ${settings}`) }) };
      await client.query(begin);
      await giveRights(client, rights);
      return { value: await read({ client, offset: await lastOffset(client, settings) }) };
    } catch (thrown) {
      const error = toRequestError(thrown);
      if (!(error instanceof IndexerError)) throw error;
      return { error };
    } finally {
      await rollBack(client);
    }
  });
  if ('error' in outcome) throw outcome.error;
  return outcome.value;
}

/** Runs several statements in one round trip. The driver returns a result for each. */
async function lastOffset(client: ClientBase, statements: string): Promise<number | null> {
  const results = (await client.query(statements)) as unknown as readonly QueryResult<{ offset: number | null }>[];
  return results.at(-1)?.rows[0]?.offset ?? null;
}

/** Errors of names and bounds have the message of our own functions, which name no stored value but names. */
function toRequestError(thrown: unknown): unknown {
  if (!(thrown instanceof DatabaseError)) return thrown;
  const { code = '', message, hint } = thrown;
  if (code === '42704') {
    return new IndexerError(message, {
      code: 'NAME_UNKNOWN',
      remedy: hint ?? 'correct the name',
      facts: { nearest: /^Nearest (?:names|parties): (.*)$/.exec(hint ?? '')?.[1] ?? '' },
    });
  }
  if (code === '42P08') return new IndexerError(message, { code: 'NAME_AMBIGUOUS', cause: thrown });
  if (code === 'LI003') return new IndexerError(message, { code: 'OFFSET_UNKNOWN', cause: thrown });
  if (!code.startsWith('22')) return thrown;
  return new IndexerError(`a value is outside the range of its type (SQLSTATE ${code})`, {
    code: 'QUERY_REFUSED',
    remedy: 'correct the values of the parameters',
  });
}
