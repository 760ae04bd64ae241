/**
 * Changes positions of staged contracts after a switch. Contracts that the new participant knew before the switch have
 * offsets of that participant, which differ from the stored offsets. Only their contract ids match. They get the stored
 * positions before anything is merged.
 */
import type { ClientBase } from 'pg';

/** SQL: the newest switch, and staged contracts with offsets up to the end of the overlap. */
const participantStart = `
  move as (select from_offset, overlap_to_offset from participants where common_offset is not null order by participant_number desc limit 1),
  began as (
    select s."offset", s.node_id, s.contract_id, y.synchronizer_pk
      from :staged.contracts s
      join :staged.synchronizers t on t.synchronizer_pk = s.synchronizer_pk
      join synchronizers y on y.synchronizer_id = t.synchronizer_id
      join move m on s."offset" <= m.overlap_to_offset)`;

/**
 * SQL: the new position of each contract, which is the position of its newest activation before the switch. If a
 * contract is not stored, for example because only another filter returns it, it gets the offset of the switch and a
 * node after the nodes stored there.
 */
const translatedPositions = `
  create table :staged.places as
  with ${participantStart},
  known as (
    select distinct on (b."offset", b.node_id) b."offset", b.node_id, l."offset" as place, l.node_id as node,
           l.ended_offset as ended
      from began b cross join move m
      join (select "offset", node_id, contract_id, synchronizer_pk, null::bigint as ended_offset from live
            union all
            select "offset", node_id, contract_id, synchronizer_pk, ended_offset from ended where ended_by <> 'w') l
        on l.contract_id = b.contract_id and l.synchronizer_pk = b.synchronizer_pk and l."offset" <= m.from_offset
     order by b."offset", b.node_id, l."offset" desc)
  select * from known
  union all
  select b."offset", b.node_id, m.from_offset,
         coalesce((select max(c.node_id) from contracts c where c."offset" = m.from_offset), -1)
           + row_number() over (order by b."offset", b.node_id), m.from_offset
    from began b cross join move m
   where b."offset" <= m.from_offset
     and not exists (select from known k where k."offset" = b."offset" and k.node_id = b.node_id)`;

/** Runs in the caller's transaction, which drops the staging schema at its end. */
export async function translatePositions(client: ClientBase, stagingName: string): Promise<void> {
  const switchedRows = await client.query('select from participants where common_offset is not null limit 1');
  if (switchedRows.rowCount === 0) return;
  await client.query(translatedPositions.replaceAll(':staged', stagingName));
  // While positions are changed, two rows may have the same position, so the primary keys are dropped.
  await client.query(`alter table ${stagingName}.contracts drop constraint contracts_pkey;
    alter table ${stagingName}.interface_views drop constraint interface_views_pkey`);
  const positionJoin = 'from :staged.places p where t."offset" = p."offset" and t.node_id = p.node_id';
  for (const change of [
    `update :staged.ended t set ended_offset = p.ended ${positionJoin} and p.ended is not null`,
    ...['contracts', 'live', 'ended', 'interface_views'].map(
      (table) => `update :staged.${table} t set "offset" = p.place, node_id = p.node ${positionJoin}`,
    ),
    `delete from :staged.reassignments s using reassignments r
      where r.contract_id = s.contract_id and r.kind = s.kind and r.reassignment_id = s.reassignment_id
        and r."offset" <> s."offset"`,
  ]) {
    await client.query(change.replaceAll(':staged', stagingName));
  }
}
