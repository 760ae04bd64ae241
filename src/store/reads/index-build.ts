/** Builds indexes on tables that are in use. It uses CONCURRENTLY, outside a transaction and without a time limit. */
import { escapeIdentifier } from 'pg';
import type { PoolClient, QueryConfig } from 'pg';
import { withContext, type IndexerError } from '../../errors/indexer-error.ts';
import type { Database } from '../connection/database.ts';
import { toStoreError } from '../connection/store-error.ts';

/** The driver cannot disable its time limit for a single query, so this limit is very long. */
const buildLimitMs = 24 * 60 * 60 * 1000;

/**
 * Builds the index unless it exists, and resolves to true if it was built. An invalid index left by an interrupted
 * build is removed first.
 * @param name name of the index, unquoted
 * @param definition the SQL after `create index concurrently name`, e.g. `on contracts ("offset")`
 */
export function buildIndex(database: Database, name: string, definition: string): Promise<boolean> {
  return withoutTimeout(database, (client) => build(client, database.schema, name, definition));
}

/**
 * Makes Postgres keep statistics of an expression, and collects them. Without them, Postgres can only guess how many
 * rows an index finds.
 * @param definition the SQL after `create statistics name`
 */
export function keepStatistics(database: Database, name: string, definition: string): Promise<void> {
  return withoutTimeout(database, async (client) => {
    await client.query(withBuildTimeout(`create statistics if not exists ${escapeIdentifier(name)} ${definition}`));
    await client.query(withBuildTimeout('analyze contracts'));
  });
}

/** Number of newest contracts that are searched for existing fields. */
const sampleSize = 1_000;

/**
 * Undefined if a contract has the field; otherwise the fields that the newest contracts have.
 * @param expression expression over `payload`, as `payloadExpression` returns it
 */
export function unseenField(database: Database, expression: string): Promise<readonly string[] | undefined> {
  return withoutTimeout(database, async (client) => {
    const matchingRows = await client.query(
      withBuildTimeout(`select from contracts where (${expression}) is not null limit 1`),
    );
    if (matchingRows.rows.length > 0) return undefined;
    const { rows } = await client.query<{ key: string }>(
      `select distinct k.key
         from (select payload from contracts where jsonb_typeof(payload) = 'object' order by "offset" desc limit $1) c
        cross join lateral jsonb_object_keys(c.payload) k (key)`,
      [sampleSize],
    );
    return rows.map(({ key }) => key);
  });
}

/** Runs `work` on a client without a statement timeout. */
function withoutTimeout<T>(database: Database, work: (client: PoolClient) => Promise<T>): Promise<T> {
  return database.withClient(async (client) => {
    const { rows } = await client.query<{ usual: string }>(`select current_setting('statement_timeout') as usual`);
    await client.query('set statement_timeout = 0');
    const workResult = await work(client);
    // The usual limit is restored afterwards. A client that failed is not used again.
    await client.query(`select set_config('statement_timeout', $1, false)`, [rows[0]?.usual ?? '0']);
    return workResult;
  });
}

async function build(client: PoolClient, schema: string, name: string, definition: string): Promise<boolean> {
  const { rows } = await client.query<{ valid: boolean }>(
    `select i.indisvalid as valid from pg_index i join pg_class c on c.oid = i.indexrelid
       join pg_namespace n on n.oid = c.relnamespace where n.nspname = $1 and c.relname = $2`,
    [schema, name],
  );
  if (rows[0]?.valid === true) return false;
  const quotedName = escapeIdentifier(name);
  if (rows[0] !== undefined) {
    await client.query(withBuildTimeout(`drop index concurrently ${escapeIdentifier(schema)}.${quotedName}`));
  }
  try {
    await client.query(withBuildTimeout(`create index concurrently ${quotedName} ${definition}`));
  } catch (thrown) {
    throw await withInvalidIndexDropped(client, `${escapeIdentifier(schema)}.${quotedName}`, toStoreError(thrown));
  }
  return true;
}

/**
 * Drops the invalid index that a failed build left, because every write would still update it. @returns the error to
 * throw
 */
async function withInvalidIndexDropped(client: PoolClient, index: string, error: IndexerError): Promise<IndexerError> {
  try {
    await client.query(withBuildTimeout(`drop index concurrently if exists ${index}`));
    const remedyOverride =
      error.code === 'STORE_DATA_REFUSED'
        ? { remedy: 'index another expression: a stored value does not fit this one' }
        : {};
    return withContext(error, { message: `no index was built: ${error.message}`, ...remedyOverride });
  } catch {
    return withContext(error, {
      message: `the index ${index} was not finished: ${error.message}`,
      remedy: `run the command again, or \`drop index concurrently if exists ${index}\`: until then every write updates it without benefit`,
    });
  }
}

function withBuildTimeout(text: string): QueryConfig & { query_timeout: number } {
  return { text, query_timeout: buildLimitMs };
}
