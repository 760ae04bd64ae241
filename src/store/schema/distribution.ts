/**
 * Distributes the tables of a new schema over the workers of Citus. Tables that grow with the history are distributed
 * by offset, all in the same way. The rows of one update are therefore on one worker, and joins by position (offset and
 * node) run there. Dictionaries are on every node. All other tables are on the coordinator. The most important of these
 * is the table with the stream row, where the checkpoint is compared and set. Source: Citus documentation, "Creating
 * and Modifying Distributed Objects (DDL)" and "Citus Utility Functions".
 */
import type { ClientBase } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import { readSchemas } from '../connection/read-schemas.ts';
import { hasCitus, distributedPlanSettings } from '../connection/session-settings.ts';
import { tablesWhere } from '../tables/tables.ts';

/** Number of shards of each large table; undefined for one shard per worker. */
export interface Distribution {
  readonly shards?: number | undefined;
}

/** The table with which the other distributed tables are colocated. */
const first = 'updates';

const byOffset: readonly string[] = [
  first,
  ...tablesWhere(({ nodes }) => nodes === 'by offset').filter((table) => table !== first),
];

/**
 * Tables that are joined with distributed tables, or looked up for each of their rows. They have few rows, except for
 * party sets, which every worker needs.
 */
const replicatedTables: readonly string[] = tablesWhere(({ nodes }) => nodes === 'everywhere');

/**
 * Functions of the read schemas that only read tables that are on every node, and the views they read. If a complete
 * query is sent to a worker, the worker calls these functions.
 */
const distributedReads = {
  explore: {
    functions: [
      'template_pks',
      'is_unseen',
      'token_pks',
      'token_templates',
      'token_choices',
      'token_step_choices',
      'network_templates',
      'network_choices',
    ],
    views: [],
  },
  pqs: {
    functions: [
      '__type_pks',
      '__implementing_pks',
      '__is_defined',
      '__is_template',
      '__is_interface',
      '__payload_types',
      '__choice_pks',
      '__is_choice_defined',
      '__consuming_choices',
    ],
    views: ['__names', '__choice_names'],
  },
} as const;

/**
 * The first migration that must run after the tables are distributed. Citus does not distribute a table if a function
 * on this server depends on it.
 */
const functionsOverTables = '0005_writer_functions';

/**
 * Distributes existing tables that are not distributed yet. If no table is distributed yet, `requestedDistribution`
 * determines whether to distribute, and the first step checks whether this is possible. Runs in the caller's
 * transaction, which holds the migration lock.
 * @param requestedDistribution if undefined, tables are distributed only if some already are
 * @param next the migration that is applied next; undefined if none is left
 * @throws IndexerError `CITUS_REFUSED` if this database has no Citus, or if tables exist on this server only
 */
export async function distribute(
  client: ClientBase,
  requestedDistribution: Distribution | undefined,
  next?: string,
): Promise<void> {
  const wasDistributed = await isDistributed(client);
  if (!wasDistributed && requestedDistribution === undefined) return;
  if (!wasDistributed && !(await isCitusAvailable(client))) {
    throw refusalError(
      'expected the extension citus in this database, found none',
      'run `create extension citus` in this database on every node, and add the workers to the coordinator (citus_add_node)',
    );
  }
  if (next !== undefined && next < functionsOverTables) return;
  if (!wasDistributed && next !== functionsOverTables) {
    throw refusalError(
      'expected a schema without tables, found one with tables on this server',
      'set POSTGRES_SCHEMA to a new schema, which is indexed from the start; existing tables cannot be distributed',
    );
  }
  await distributeMissing(client, requestedDistribution?.shards);
  // This session was set up before the tables were distributed, and it is used again after the commit.
  await client.query(distributedPlanSettings);
}

async function distributeMissing(client: ClientBase, shards: number | undefined): Promise<void> {
  const undistributedTables = await readLocalTables(client);
  if (undistributedTables.size === 0) return;
  // Only one connection per worker is used, so that each statement sees the objects that earlier statements created on
  // that worker.
  await client.query(`set local citus.multi_shard_modify_mode to 'sequential'`);
  await client.query(`select set_config('citus.shard_count', $1, true)`, [String(shards ?? (await workers(client)))]);
  for (const table of byOffset.filter((name) => undistributedTables.has(name))) {
    const colocationTable = table === first ? 'none' : first;
    await client.query(`select create_distributed_table($1, 'offset', colocate_with => $2)`, [table, colocationTable]);
  }
  for (const table of replicatedTables.filter((name) => undistributedTables.has(name))) {
    await client.query('select create_reference_table($1)', [table]);
  }
}

/** Names of the tables that exist on this server only. */
async function readLocalTables(client: ClientBase): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ name: string }>(
    `select name from unnest($1::text[]) name
      where to_regclass(name) is not null
        and not exists (select from pg_dist_partition where logicalrelid = to_regclass(name))`,
    [[...byOffset, ...replicatedTables]],
  );
  return new Set(rows.map(({ name }) => name));
}

/** Whether Citus is installed; without it, no function of Citus may be called. */
async function isCitusAvailable(client: ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ there: boolean }>(`select ${hasCitus} as there`);
  return rows[0]?.there === true;
}

/** Whether the tables of the search path are distributed; false if they do not exist. */
export async function isDistributed(client: ClientBase): Promise<boolean> {
  if (!(await isCitusAvailable(client))) return false;
  const { rows } = await client.query<{ distributed: boolean }>(
    `select exists (select from pg_dist_partition where logicalrelid = to_regclass('${first}')) as distributed`,
  );
  return rows[0]?.distributed === true;
}

/**
 * Used for objects over both local and distributed tables. Until the transaction ends, Citus does not create objects on
 * workers, because some of the tables are missing there. Queries are planned on the coordinator, which has all tables.
 */
export const disableDdlPropagation = 'set local citus.enable_ddl_propagation to off';

/**
 * Adapts functions of the read side to Citus. Runs in the caller's transaction.
 *
 * Citus plans a query in a SQL function from its original text, without the arguments. In PL/pgSQL, Citus gets the
 * query together with its arguments, so functions that read tables are converted to PL/pgSQL. Workers run functions
 * that need only their arguments or tables on every node.
 */
export async function fitFunctions(client: ClientBase, storage: string): Promise<void> {
  const schemas = [Object.values(readSchemas(storage))];
  await client.query(
    `select set_config('ledger_indexer.schemas', array_to_string($1::text[], chr(10)), true)`,
    schemas,
  );
  await client.query(toPlpgsql);
  await client.query('set local citus.enable_ddl_propagation to on');
  await client.query(
    `select create_distributed_function(p.oid) from pg_proc p join pg_namespace n on n.oid = p.pronamespace
      where n.nspname = any ($1) and p.provolatile = 'i' and p.prokind = 'f'`,
    schemas,
  );
  const { explore, pqs } = readSchemas(storage);
  await enableOnWorkers(client, explore, distributedReads.explore);
  await enableOnWorkers(client, pqs, distributedReads.pqs);
}

/**
 * Lets workers run these functions. On a worker, such a function runs a query within a query. Citus must be configured
 * to allow this, because it cannot know that the tables are on every node.
 */
async function enableOnWorkers(
  client: ClientBase,
  schema: string,
  { functions, views }: { readonly functions: readonly string[]; readonly views: readonly string[] },
): Promise<void> {
  const { rows: viewTexts } = await client.query<{ text: string }>(
    `select format('create or replace view %s as %s', c.oid::regclass, pg_get_viewdef(c.oid)) as text
       from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = $1 and c.relname = any ($2)`,
    [schema, views],
  );
  for (const { text } of viewTexts) await client.query(text);
  const { rows } = await client.query<{ called: string }>(
    `select p.oid::regprocedure::text as called, create_distributed_function(p.oid)
       from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname = $1 and p.proname = any ($2)`,
    [schema, functions],
  );
  for (const { called: functionSignature } of rows) {
    await client.query(`alter function ${functionSignature} set citus.allow_nested_distributed_execution to on`);
  }
}

/**
 * In both languages, column names take precedence over parameter names. The server returns the body of a function with
 * qualified names.
 */
const toPlpgsql = `
do $do$
declare
  f record;
  body text;
  path constant text := current_setting('search_path');
begin
  -- With this search path, every name is printed with its schema.
  perform set_config('search_path', 'pg_catalog, pg_temp', true);
  for f in
    select p.oid, p.proretset, pg_get_functiondef(p.oid) as whole, pg_get_function_sqlbody(p.oid) as body
      from pg_proc p join pg_namespace n on n.oid = p.pronamespace
     where n.nspname = any (string_to_array(current_setting('ledger_indexer.schemas'), chr(10)))
       and p.prosqlbody is not null and p.provolatile = 's'
       and exists (select from pg_depend d
                    where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.refclassid = 'pg_class'::regclass)
  loop
    body := case when f.body like 'RETURN %' then format('return (%s);', substr(f.body, 8))
                 else regexp_replace(f.body, '^BEGIN ATOMIC\\s+(.*)END$',
                                     case when f.proretset then 'return query \\1' else 'return (\\1);' end) end;
    if not f.proretset then body := regexp_replace(body, ';\\s*\\);$', ');'); end if;
    execute replace(left(f.whole, position(f.body in f.whole) - 1), ' LANGUAGE sql', ' LANGUAGE plpgsql')
      || format(' as %L', e'#variable_conflict use_column\\nbegin ' || body || ' end');
  end loop;
  perform set_config('search_path', path, true);
end $do$`;

/** Number of nodes that hold shards; 1 for a coordinator without workers. */
async function workers(client: ClientBase): Promise<number> {
  const { rows } = await client.query<{ nodes: number }>(
    `select greatest(count(*), 1)::integer as nodes from pg_dist_node where noderole = 'primary' and shouldhaveshards`,
  );
  return rows[0]?.nodes ?? 1;
}

function refusalError(message: string, remedy: string): IndexerError {
  return new IndexerError(message, { code: 'CITUS_REFUSED', remedy });
}
