/** Makes and removes what keeps the active contracts of a template in a table of their own. */
import type { ClientBase } from 'pg';
import type { Database } from '../database.ts';
import { readSchemas } from '../readers/read-schemas.ts';
import { secureTable } from '../readers/secure-tables.ts';
import type { NamedView } from '../typed/registry.ts';
import { plainView, type MaterializedDefinition } from './definition.ts';
import { materializedNames, type MaterializedNames } from './names.ts';

/** So long batches are made to wait for a lock that is not granted; it is tried again. */
const lockLimit = '500ms';

/**
 * Makes table, functions and triggers; the table is filled by {@link fillSlice}. Safe to repeat after it was cut short.
 * @param indexed columns as they were asked for
 * @throws IndexerError STORE_LOCKED (retry) when batches were in the way
 */
export async function buildMaterialized(
  database: Database,
  view: NamedView,
  wanted: MaterializedDefinition,
  indexed: readonly string[],
): Promise<void> {
  const schemas = readSchemas(database.schema);
  const { names, mark } = wanted;
  // Locks in the order in which a batch takes them, and that of the stream row apart: a batch has it first or last.
  await changing(database, async (client) => {
    await client.query(`lock table ${names.storage}.contracts, ${names.storage}.lifetimes in share row exclusive mode`);
    await client.query(`${wanted.create}\n${wanted.triggers}`);
    await client.query(
      `insert into materialized (view_name, table_name, state, mark, indexed, table_view, plain_view)
       values ($1, $2, 'building', $3, $4, $5, $6)`,
      [view.name, names.tableName, mark, indexed, wanted.view.script, plainView(view, schemas).script],
    );
    await secureTable(client, schemas, names.tableName);
  });
  await completeAtCommit(database, wanted);
}

/** The trigger on the stream row, unless it is there. Before it is, nothing is filled. */
export async function completeAtCommit(database: Database, { names, streamTrigger }: MaterializedDefinition) {
  await changing(database, async (client) => {
    const { rows } = await client.query(`select from pg_trigger where tgrelid = $1::regclass and tgname = $2`, [
      `${names.storage}.stream`,
      names.trigger('complete'),
    ]);
    if (rows.length === 0) await client.query(streamTrigger);
  });
}

/** Removes everything again; the view must not read the table any more. @throws as {@link buildMaterialized} */
export async function dropMaterialized(database: Database, view: NamedView): Promise<void> {
  const names = materializedNames(view, readSchemas(database.schema));
  await changing(database, (client) => drop(client, names, 'complete', 'stream'));
  await changing(database, async (client) => {
    for (const [event, table] of [
      ['update', 'contracts'],
      ['insert', 'lifetimes'],
      ['update', 'lifetimes'],
      ['delete', 'lifetimes'],
      ['truncate', 'lifetimes'],
    ] as const) {
      await drop(client, names, event, table);
    }
    await client.query(
      `drop function if exists ${names.fill}(bigint, bigint), ${names.keep}(), ${names.complete}();
       drop table if exists ${names.table};`,
    );
    await client.query('delete from materialized where view_name = $1', [names.view]);
  });
}

async function drop(client: ClientBase, { trigger, storage }: MaterializedNames, event: string, table: string) {
  await client.query(`drop trigger if exists "${trigger(event)}" on ${storage}.${table}`);
}

function changing(database: Database, work: (client: ClientBase) => Promise<void>): Promise<void> {
  return database.transaction(async (client) => {
    await client.query(`set local lock_timeout = '${lockLimit}'`);
    await client.query('select pg_advisory_xact_lock(hashtext($1))', [`ledger_indexer_views:${database.schema}`]);
    await work(client);
  });
}
