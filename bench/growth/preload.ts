/**
 * Databases with many existing contracts, for growth. SQL creates them in the server, 90 % archived, and they are
 * copied for each run. Their payloads are small, because rows that no statement uses again cost a run only disk space.
 * Primary keys and indexes are built after the rows, which is fast.
 */
import { escapeIdentifier, type Client } from 'pg';
import { filterFingerprint } from '../../src/ledger/api/request-format.ts';
import { migrateSchema, schema, withClient, type RunDatabase, type Server } from '../postgres.ts';
import { synchronizerId, templateName } from '../replay/names.ts';
import type { ExpectedCounts } from '../replay/profiles.ts';
import { preloadedPerActive } from '../replay/recording.ts';
import { preloadedDictionaries, preloadedStream, preloadedTables } from '../storage.ts';

/** SQL for `contractId('preloaded', n)` of names.ts. */
const idSql = `(select '00' || h || 'ca111220' || reverse(h)
                  from (select encode(sha256(convert_to('preloaded:' || n, 'UTF8')), 'hex') as h) as hash)`;

/** SQL for a table `preloaded (n, id)` with the numbers and ids of the contracts. */
export function preloadedSql(contracts: number): string {
  return `(select n, ${idSql} as id from generate_series(1, ${String(contracts)}) as n) as preloaded`;
}

/** Creates a migrated database with the given number of contracts. */
export async function preloadedDatabase(server: Server, contracts: number): Promise<RunDatabase> {
  const database = await migrateSchema(await server.createDatabase());
  await withClient(database.url, async (client) => {
    await client.query(`set search_path = ${schema}; set maintenance_work_mem = '1GB'; set work_mem = '256MB'`);
    await addDictionaries(client);
    await addStream(client);
    for (const { table, columns, where: condition = 'true' } of preloadedTables) {
      const rebuild = await withoutIndexes(client, table);
      const values = Object.entries(columns);
      await client.query(
        `insert into ${table} (${values.map(([name]) => escapeIdentifier(name)).join(', ')})
         select ${values.map(([, sql]) => sql).join(', ')} from ${preloadedSql(contracts)} where ${condition}`,
      );
      for (const statement of rebuild) await client.query(statement);
      await client.query(`vacuum (analyze) ${table}`);
    }
    await client.query('checkpoint');
  });
  return database;
}

const shape = 'LEDGER_EFFECTS';

/** Filter of the stream in a preloaded database: that of an indexer without further configuration. */
export function preloadedFilter(): ReturnType<typeof filterFingerprint> {
  return filterFingerprint({
    parties: [],
    templates: [],
    wantedInterfaces: [],
    createdEventBlobs: false,
    shape,
    topology: true,
  });
}

/** Counts that a preloaded database adds to a run. */
export function preloadedCounts(contracts: number): Pick<ExpectedCounts, 'contracts' | 'active'> {
  return { contracts, active: Math.floor(contracts / preloadedPerActive) };
}

/** Adds the dictionary entries that these rows refer to. The indexer finds them and continues the numbering. */
async function addDictionaries(client: Client): Promise<void> {
  const { id, packageName } = templateName(0);
  const [packageId, moduleName, entityName] = id.split(':');
  await client.query(preloadedDictionaries.synchronizer, [synchronizerId]);
  await client.query(preloadedDictionaries.template, [packageId, moduleName, entityName, packageName]);
  await client.query(preloadedDictionaries.parties);
}

async function addStream(client: Client): Promise<void> {
  const { json, hash } = preloadedFilter();
  await client.query(preloadedStream, [json, hash, shape]);
}

interface Index {
  readonly name: string;
  readonly definition: string;
  readonly constraint: string | null;
}

/** Drops the indexes of a table; returns the statements that re-create them. */
export async function withoutIndexes(client: Client, table: string): Promise<readonly string[]> {
  const { rows } = await client.query<Index>(
    `select i.indexrelid::regclass::text as name, pg_get_indexdef(i.indexrelid) as definition,
            case when c.oid is not null then pg_get_constraintdef(c.oid) end as constraint
       from pg_index i left join pg_constraint c on c.conindid = i.indexrelid
      where i.indrelid = $1::regclass`,
    [table],
  );
  const rebuild: string[] = [];
  for (const { name, definition, constraint } of rows) {
    const add = `alter table ${table} add constraint ${name} ${constraint ?? ''}`;
    rebuild.push(constraint === null ? definition : add);
    await client.query(constraint === null ? `drop index ${name}` : `alter table ${table} drop constraint ${name}`);
  }
  return rebuild;
}
