/**
 * Notes changes of history for the projections, in the transaction that makes the change. Updates of rows are noted by
 * triggers, see migrations/0015_projections.sql. Rows that are added or removed at earlier offsets are noted here,
 * because a trigger for them would slow down the stream.
 */
import type { ClientBase } from 'pg';
import type { Database } from '../connection/database.ts';

/** A range of offsets; null is no limit. */
export interface ChangedRange {
  /** Exclusive. */
  readonly after: number | null;
  /** Inclusive. */
  readonly upTo: number | null;
}

/** All history. */
export const everything: ChangedRange = { after: null, upTo: null };

/**
 * Notes a range, unless this transaction has noted it already. A note of another transaction may be removed before this
 * one commits.
 */
export async function noteChange(client: ClientBase, { after, upTo }: ChangedRange): Promise<void> {
  await client.query(
    `insert into projection_changes (offsets)
     select int8range($1, $2, '(]')
      where exists (select from projections)
        and not exists (select from projection_changes c
                         where c.offsets @> int8range($1, $2, '(]') and c.xmin = pg_current_xact_id()::xid)`,
    [after, upTo],
  );
}

/** Notes an update that was stored late, and all offsets at which its contracts have events. */
export async function noteLateUpdate(client: ClientBase, offset: number): Promise<void> {
  await client.query(
    `insert into projection_changes (offsets)
     with late as materialized (select id_text(c.contract_id) as id from contracts c where c."offset" = $1)
     select int8range(a.at, a.at, '[]')
       from (select $1::bigint
             union select e.ended_offset from late n join ended e on id_text(e.contract_id) = n.id
             union select e.unhosted_since from late n join ended e on id_text(e.contract_id) = n.id
             union select l.unhosted_since from late n join live l on id_text(l.contract_id) = n.id
             union select x."offset" from late n join exercises x on id_text(x.contract_id) = n.id) a (at)
      where a.at is not null and exists (select from projections)`,
    [offset],
  );
}

/** Whether the tables have the triggers that note changes. On Citus they have none. */
export async function canNoteChanges(database: Database): Promise<boolean> {
  return database.transaction(async (client) => {
    const { rowCount } = await client.query(
      `select from pg_trigger where tgrelid = 'contracts'::regclass and tgname = 'note_changed_contracts'`,
    );
    return rowCount === 1;
  });
}
