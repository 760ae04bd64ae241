/**
 * Merges staged views of interfaces that were added later into the stream, up to its exact checkpoint, in one
 * transaction. Contracts and exercises are staged only so that the views can be attached to them. They are not added to
 * the stream if they are missing there.
 */
import { escapeIdentifier } from 'pg';
import type { ClientBase } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { Database } from '../connection/database.ts';
import { openRange } from './coverage-ranges.ts';
import { lockStream, maintain, refusalError, type StreamFacts } from './maintenance.ts';
import { translatePositions } from './switched-positions.ts';
import { mapTemplates, removeRedacted } from './staged-rows.ts';
import { dropStaging, stagingSchema } from './staging.ts';
import { everything, noteChange } from '../projections/note-change.ts';

export interface ViewMerge {
  readonly interfaces: readonly string[];
  /** Contracts active at this offset or created after it were staged. */
  readonly completeFrom: number;
  readonly checkpoint: number;
  readonly epoch: number;
}

/**
 * Checks that this role may create the staging schema and change the rows that the merge changes.
 * @throws IndexerError INTERFACE_BACKFILL_REFUSED
 */
export async function assertCanBackfill(database: Database, staging: string): Promise<void> {
  const {
    role,
    mayCreate: canCreate,
    mayMerge: canMerge,
  } = await database.withClient(async (client) => {
    const { rows } = await client.query<{ role: string; mayCreate: boolean; mayMerge: boolean }>(
      `select current_user::text as role,
              exists (select from pg_namespace where nspname = $1)
                or has_database_privilege(current_database(), 'create') as "mayCreate",
              has_table_privilege('exercises', 'update') and has_table_privilege('archives', 'update') as "mayMerge"`,
      [staging],
    );
    return rows[0] ?? { role: '', mayCreate: true, mayMerge: true };
  });
  if (!canMerge) {
    throw refusalError(
      'interfaces',
      `role "${role}" may add rows to this stream but not change them, and views of interfaces added later change some`,
      'stop the indexer, run it once as the owner of the tables (the migrator) with INDEXER_STOP_AT=end, start it again',
    );
  }
  if (canCreate) return;
  throw refusalError(
    'interfaces',
    `role "${role}" may not create schema "${staging}", in which views of interfaces are staged`,
    `let the owner of the database run: create schema ${escapeIdentifier(staging)} authorization ${escapeIdentifier(role)}`,
  );
}

/**
 * Merges the views and raises the epoch. Only the holder of the writer lock calls it. Resolves to the number of views.
 * @throws IndexerError WRITER_FENCED (fenced) unless the checkpoint is where the views end
 */
export function mergeViews(database: Database, merge: ViewMerge): Promise<number> {
  return maintain(database, async (client) => {
    const stream = await lockStream(client);
    if (stream?.checkpoint !== merge.checkpoint || stream.epoch !== merge.epoch) {
      throw new IndexerError('the stream moved while views were merged: another writer is at work', {
        code: 'WRITER_FENCED',
      });
    }
    const stagingName = escapeIdentifier(stagingSchema(database.schema, 'interfaces'));
    await mapTemplates(client, stagingName);
    await translatePositions(client, stagingName);
    await removeRedacted(client, stagingName);
    const views = await copyViews(client, stagingName);
    await registerInterfaceNames(client, stagingName);
    await noteChange(client, everything);
    await recordOtherInterfaces(client, stagingName, stream, merge);
    await client.query(
      `update filter_interfaces
          set state = 'followed', updated_at = now(),
              complete_from = case when unknown_at_offset >= $2 then coalesce(complete_from, 0) else $2 end
        where interface_id = any ($1)`,
      [merge.interfaces, merge.completeFrom],
    );
    // The new epoch makes the next session read the new names.
    await client.query('update stream set epoch = epoch + 1');
    await dropStaging(client, database.schema, 'interfaces');
    return views;
  });
}

/** @returns number of views added */
async function copyViews(client: ClientBase, stagingName: string): Promise<number> {
  const { rowCount } = await client.query(
    `insert into interface_views ("offset", node_id, interface_pk, status_code, view, status_message, status_details,
                                  implementation_package_id, redaction_id)
     select v."offset", v.node_id, i.ours, v.status_code, v.view, v.status_message, v.status_details,
            v.implementation_package_id, v.redaction_id
       from ${stagingName}.interface_views v
       join ${stagingName}.template_map i on i.staged = v.interface_pk
       join ${stagingName}.contracts s on s."offset" = v."offset" and s.node_id = v.node_id
       join contracts c on c."offset" = v."offset" and c.node_id = v.node_id and c.contract_id = s.contract_id
     on conflict do nothing`,
  );
  return rowCount ?? 0;
}

/**
 * Exercises and archives list the requested interfaces together with the parties. If a row was visible through the new
 * interfaces, its party set gets the new names, after the existing names.
 */
async function registerInterfaceNames(client: ClientBase, stagingName: string): Promise<void> {
  const matchingRows = (table: string): string =>
    `select e.parties_pk as ours, s.parties_pk as staged
       from ${stagingName}.${table} s join ${table} e using ("offset", node_id) where e.contract_id = s.contract_id`;
  await client.query(
    `create table ${stagingName}.named as
     select m.ours, m.staged, o.acting_parties, o.witness_parties,
            o.implemented_interfaces || array(
              select n.name from unnest(s.implemented_interfaces) with ordinality n (name, place)
               where n.name <> all (o.implemented_interfaces) order by n.place) as implemented_interfaces
       from (${matchingRows('exercises')} union ${matchingRows('archives')}) m
       join event_parties o on o.parties_pk = m.ours
       join ${stagingName}.event_parties s on s.parties_pk = m.staged
      where not s.implemented_interfaces <@ o.implemented_interfaces`,
  );
  const columns = 'acting_parties, witness_parties, implemented_interfaces';
  await client.query(
    `insert into event_parties (parties_pk, ${columns})
     select (select greatest(max(parties_pk), 0) from event_parties) + row_number() over (order by n.first), ${columns}
       from (select min(ours) as first, ${columns} from ${stagingName}.named group by ${columns}) n
      where not exists (select from event_parties m where (m.acting_parties, m.witness_parties, m.implemented_interfaces)
                                                        = (n.acting_parties, n.witness_parties, n.implemented_interfaces))`,
  );
  await client.query(
    `create table ${stagingName}.renumbered as
     select n.ours, n.staged, min(m.parties_pk) as parties_pk
       from ${stagingName}.named n join event_parties m using (${columns}) group by 1, 2;
     analyze ${stagingName}.renumbered`,
  );
  for (const table of ['exercises', 'archives']) {
    await client.query(
      `update ${table} e set parties_pk = r.parties_pk
         from ${stagingName}.${table} s join ${stagingName}.renumbered r on r.staged = s.parties_pk
        where e."offset" = s."offset" and e.node_id = s.node_id and e.contract_id = s.contract_id and e.parties_pk = r.ours`,
    );
  }
}

/**
 * If the filter names templates, an interface also returns contracts of other templates. These contracts are stored
 * from here on. Earlier contracts are missing. `coverage` records this.
 */
async function recordOtherInterfaces(
  client: ClientBase,
  stagingName: string,
  { filter, filterHash, shape }: StreamFacts,
  { interfaces, checkpoint }: ViewMerge,
): Promise<void> {
  const { templates } = JSON.parse(filter) as { readonly templates: readonly string[] };
  if (templates.length === 0) return;
  const { rows } = await client.query<{ others: boolean }>(
    `select exists (select from ${stagingName}.contracts s
                     where not exists (select from contracts c where c."offset" = s."offset" and c.node_id = s.node_id))
              as others`,
  );
  if (rows[0]?.others !== true) return;
  const reason = `contracts of templates that are not named are visible through ${interfaces.join(', ')} from here on`;
  await openRange(client, checkpoint, { from: checkpoint, origin: 'filter', filterHash, shape, reason });
}
