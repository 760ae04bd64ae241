/** Fills tables of active contracts in the background, slice by slice between batches, and hands them to their views. */
import type { ClientBase } from 'pg';
import type { Database } from '../database.ts';
import { escapeIdentifier } from 'pg';
import { readSchemas } from '../readers/read-schemas.ts';
import { secureViews } from '../readers/secure-views.ts';
import { materializedNames } from './names.ts';

/** Contracts of one template version in a slice, at about 20 µs each: so long a batch may wait for it. */
const sliceRows = 2_000;
const lockLimit = '500ms';

/** What a step did. */
export type FillStep = 'filled' | 'ready' | 'idle';

interface FillRow {
  readonly view: string;
  readonly until: number | null;
  readonly upTo: number | null;
  readonly filled: number;
}

/**
 * One slice of one table, or its handing over. To be called again until there is nothing to do; what was cut short goes
 * on from the last slice.
 * @throws IndexerError STORE_LOCKED (retry) when somebody reads the view that is to read the table
 */
export async function fillStep(database: Database): Promise<FillStep> {
  const building = await database.withClient((client) => unfinished(client, database.schema));
  if (building === undefined) return 'idle';
  const filled = await database.transaction((client) => fillSlice(client, database.schema, building));
  if (!filled) return 'filled';
  await handOver(database, building);
  return 'ready';
}

/** The first view whose table is not ready and has all its triggers, while a seed is published. */
async function unfinished(client: ClientBase, storage: string): Promise<string | undefined> {
  const { rows } = await client.query<{ view: string }>(
    `select m.view_name as view from materialized m, stream s
      where m.state = 'building' and s.seeded_at is not null order by m.view_name`,
  );
  for (const { view } of rows) {
    const names = materializedNames({ name: view, columns: [] }, readSchemas(storage));
    const { rowCount } = await client.query('select from pg_trigger where tgrelid = $1::regclass and tgname = $2', [
      `${names.storage}.stream`,
      names.trigger('complete'),
    ]);
    if (rowCount !== 0) return view;
  }
  return undefined;
}

/** True when there is nothing left. The row of the stream is held, so that no batch moves on meanwhile. */
async function fillSlice(client: ClientBase, storage: string, view: string): Promise<boolean> {
  await client.query('select from stream for update');
  await client.query(
    `update materialized m set fill_until = s.checkpoint, kept_to = coalesce(m.kept_to, s.checkpoint)
       from stream s where m.view_name = $1 and m.fill_until is null`,
    [view],
  );
  const { rows } = await client.query<FillRow>(
    `select m.view_name as view, m.fill_until as until, m.filled_to as filled, (
              select min(slice.last) from typed_views v
                join templates t on t.module_name = v.module_name and t.entity_name = v.entity_name
                                and t.package_name = v.package_name
               cross join lateral (select l.activated_offset as last from lifetimes l
                                    where l.template_pk = t.template_pk and l.deactivated_offset is null
                                      and l.activated_offset > m.filled_to
                                    order by l.activated_offset offset $2 limit 1) slice
               where v.view_name = m.view_name) as "upTo"
       from materialized m where m.view_name = $1 and m.state = 'building'`,
    [view, sliceRows - 1],
  );
  const [row] = rows;
  if (row === undefined || row.until === null) return false;
  const upTo = Math.min(row.upTo ?? row.until, row.until);
  const { fill } = materializedNames({ name: view, columns: [] }, readSchemas(storage));
  await client.query(`select ${fill}($1, $2)`, [row.filled, upTo]);
  await client.query('update materialized set filled_to = $2 where view_name = $1', [view, upTo]);
  return upTo >= row.until;
}

/** The view reads the table from now on, unless something made another slice necessary. */
async function handOver(database: Database, view: string): Promise<void> {
  const schemas = readSchemas(database.schema);
  const { tableName } = materializedNames({ name: view, columns: [] }, schemas);
  const table = `${escapeIdentifier(schemas.typed)}.${escapeIdentifier(tableName)}`;
  await database.withClient((client) => client.query(`analyze ${table}`));
  await database.transaction(async (client) => {
    await client.query(`set local lock_timeout = '${lockLimit}'`);
    await client.query('select pg_advisory_xact_lock(hashtext($1))', [`ledger_indexer_views:${database.schema}`]);
    const { rows } = await client.query<{ script: string }>(
      `update materialized set state = 'ready'
        where view_name = $1 and state = 'building' and filled_to >= fill_until returning table_view as script`,
      [view],
    );
    if (rows[0] === undefined) return;
    await client.query(rows[0].script);
    await secureViews(client, schemas);
  });
}
