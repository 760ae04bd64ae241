/**
 * Stores lifetimes of contracts in a range of earlier updates. Everything after the range is stored already, so the
 * first end of each contract is known. A contract that ended in or after the range is stored as ended, with the
 * position of its end.
 */
import type { ClientBase } from 'pg';
import { insertEndedSql } from '../write/batch-writer.ts';
import { markUnhostedAgain } from '../write/departures.ts';
import { otherParties } from './earlier-rows.ts';

const sameAssignmentSql =
  'id_text(t.contract_id) = id_text(s.contract_id) and t."offset" = s."offset" and t.node_id = s.node_id';

/** Runs in the caller's transaction, after the rows of the range were stored and its lifetimes were staged. */
export async function insertLifetimes(client: ClientBase, { from }: { readonly from: number }): Promise<void> {
  await client.query(
    `create temporary table staged_states on commit drop as
     select "offset", node_id, template_pk, synchronizer_pk, parties_pk, contract_id, null::bigint as ended_offset,
            null::"char" as ended_by, null::timestamptz as ended_at, null::integer as ended_node_id,
            null::bigint as unhosted_since
       from staged_live
     union all
     select "offset", node_id, template_pk, synchronizer_pk, parties_pk, contract_id, ended_offset, ended_by, ended_at,
            ended_node_id, null
       from staged_ended;
     analyze staged_states`,
  );
  for (const table of ['live', 'ended']) {
    await client.query(
      `update ${table} t set parties_pk = s.parties_pk from staged_states s
        where ${sameAssignmentSql} and ${otherParties('contract_parties')}`,
    );
  }
  await addStays(client);
  await collectEnds(client, from);
  await endActivations(client);
  await markUnhosted(client, from);
}

/**
 * Adds activations that are not stored, and activations of contracts that the previous filter returned only to
 * witnesses.
 */
async function addStays(client: ClientBase): Promise<void> {
  await client.query(
    `delete from ended t using staged_states s
      where ${sameAssignmentSql} and t.ended_by = 'w' and s.ended_by is distinct from 'w'`,
  );
  await client.query(
    `create temporary table staged_new on commit drop as
     select s.* from staged_states s
      where not exists (select from live t where ${sameAssignmentSql}) and not exists (select from ended t where ${sameAssignmentSql})`,
  );
  await client.query(
    `with alive as (
       insert into live ("offset", node_id, template_pk, synchronizer_pk, parties_pk, contract_id)
       select "offset", node_id, template_pk, synchronizer_pk, parties_pk, contract_id
         from staged_new where ended_offset is null),
     gone as (${insertEndedSql(`staged_new where ended_by <> 'w'`)}),
     witnessed as (
       insert into ended ("offset", ended_offset, node_id, template_pk, synchronizer_pk, parties_pk, class, ended_by, contract_id)
       select "offset", ended_offset, node_id, template_pk, synchronizer_pk, parties_pk, -1, ended_by, contract_id
         from staged_new where ended_by = 'w')
     insert into active_counts as a (template_pk, activated, deactivated)
     select template_pk, count(*), count(ended_offset) from staged_new where ended_by is distinct from 'w' group by 1
     on conflict (template_pk) do update
       set activated = a.activated + excluded.activated, deactivated = a.deactivated + excluded.deactivated`,
  );
}

/** Creates table `staged_ends`: ends of the contracts of the range, in the range and after it. */
async function collectEnds(client: ClientBase, from: number): Promise<void> {
  await client.query(
    `create temporary table staged_touched on commit drop as
     select id_text(contract_id) as id from staged_states where ended_by is distinct from 'w'
     union select id_text(contract_id) from staged_exercises where consuming and acs_delta is distinct from false
     union select id_text(contract_id) from staged_archives
     union select id_text(contract_id) from staged_reassignments where kind = 'u';
     analyze staged_touched`,
  );
  await client.query(
    `create temporary table staged_ends on commit drop as
     select c.id, u.synchronizer_pk, e."offset" as ended_offset, e.node_id as ended_node_id, 'a'::"char" as ended_by,
            coalesce(u.effective_at, u.record_time) as ended_at
       from staged_touched c
       join exercises e on id_text(e.contract_id) = c.id
       join updates u on u."offset" = e."offset"
      where e.consuming and e.acs_delta is distinct from false and e."offset" > ${String(from)}
     union all
     select c.id, u.synchronizer_pk, a."offset", a.node_id, 'a', coalesce(u.effective_at, u.record_time)
       from staged_touched c
       join archives a on id_text(a.contract_id) = c.id
       join updates u on u."offset" = a."offset"
      where a."offset" > ${String(from)}
     union all
     select c.id, r.source_pk, r."offset", null, 'r', u.record_time
       from staged_touched c
       join reassignments r on id_text(r.contract_id) = c.id
       join updates u on u."offset" = r."offset"
      where r.kind = 'u' and not r.incomplete and r."offset" > ${String(from)};
     analyze staged_ends`,
  );
}

/** Ends each activation at the first end that follows it. */
async function endActivations(client: ClientBase): Promise<void> {
  await client.query(
    `with known as materialized (
       select l."offset", l.node_id, c.id, f.*
         from staged_touched c
         join live l on id_text(l.contract_id) = c.id
        cross join lateral (
          select e.ended_offset, e.ended_node_id, e.ended_by, e.ended_at from staged_ends e
           where e.id = c.id and e.synchronizer_pk = l.synchronizer_pk and e.ended_offset > l."offset"
           order by e.ended_offset limit 1) f),
     gone as (
       delete from live l using known k
        where id_text(l.contract_id) = k.id and l."offset" = k."offset" and l.node_id = k.node_id
       returning l.*, k.ended_offset, k.ended_node_id, k.ended_by, k.ended_at),
     moved as (${insertEndedSql('gone')})
     update active_counts a set deactivated = a.deactivated + n.ended
       from (select template_pk, count(*) as ended from gone group by 1) n
      where a.template_pk = n.template_pk`,
  );
  // If a list of active contracts contained a contract in flight, the list did not say when the contract left its
  // synchronizer.
  await client.query(
    `update ended t set ended_at = e.ended_at
       from staged_ends e
      where id_text(t.contract_id) = e.id and t.synchronizer_pk = e.synchronizer_pk and t.ended_offset = e.ended_offset
        and t.ended_by = e.ended_by and t.ended_at is null and e.ended_at is not null`,
  );
}

/**
 * Marks contracts whose parties have left the participant since. The search reads all activations, so it runs only if
 * such contracts are possible.
 */
async function markUnhosted(client: ClientBase, from: number): Promise<void> {
  const { rows } = await client.query(
    `select from topology_events y
      where y.kind = 'ParticipantAuthorizationRevoked' and y."offset" > $1
        and (exists (select from staged_topology_events s where s."offset" = y."offset" and s.event_index = y.event_index)
             or exists (select from staged_new n left join ended e
                            on id_text(e.contract_id) = id_text(n.contract_id) and e."offset" = n."offset" and e.node_id = n.node_id
                         where n."offset" < y."offset" and y."offset" < coalesce(e.ended_offset, y."offset" + 1)))
      limit 1`,
    [from],
  );
  if (rows.length > 0) await markUnhostedAgain(client, from + 1);
}
