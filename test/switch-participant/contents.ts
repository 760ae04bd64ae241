/**
 * Reads stored data without offsets, node ids and other data that only one participant has. Rows are identified by
 * update ids and contract ids. The result is equal for indexes of two participants of one network.
 */
import { query } from '../support/database.ts';

const templateOf = "t.package_id || ':' || t.module_name || ':' || t.entity_name";

/** One text per row, sorted. @param format the complete row, or its kind and a hash for long histories */
export async function contentsOf(
  url: string,
  schema = 'ledger',
  format: 'whole' | 'hashed' = 'whole',
): Promise<readonly string[]> {
  const update = `(select u.update_id from ${schema}.decoded_updates u where u."offset" =`;
  const rows = await query(
    url,
    `select ${format === 'whole' ? 'line::text' : "(line ->> 0) || ' ' || md5(line::text)"} as line from (
       select json_build_array('update', u.update_id, u.kind, u.effective_at, u.record_time, s.synchronizer_id, u.workflow_id,
                split_part(u.trace_parent, '-', 2), u.event_count, u.transaction_hash, u.external_transaction_hash) as line
         from ${schema}.decoded_updates u left join ${schema}.synchronizers s using (synchronizer_pk)
       union all
       select json_build_array('contract', ${update} c."offset"), c.contract_id, c.origin, ${templateOf}, s.synchronizer_id,
                c.payload, c.contract_key, c.signatories, c.observers, c.witness_parties, c.created_at,
                c.reassignment_counter, c.created_event_blob, c.acs_delta,
                row_number() over (partition by c."offset" order by c.node_id))
         from ${schema}.decoded_contracts c left join ${schema}.templates t using (template_pk)
         left join ${schema}.synchronizers s using (synchronizer_pk)
       union all
       select json_build_array('exercise', ${update} e."offset"), e.contract_id, ${templateOf}, h.choice, e.argument, e.result,
                e.acting_parties, e.witness_parties, e.consuming, e.acs_delta, e.last_descendant_node_id - e.node_id,
                row_number() over (partition by e."offset" order by e.node_id))
         from ${schema}.decoded_exercises e left join ${schema}.templates t using (template_pk)
         left join ${schema}.choices h on h.choice_pk = e.choice_pk
       union all
       select json_build_array('view', ${update} v."offset"), v.contract_id, ${templateOf}, v.view, v.status_code)
         from ${schema}.decoded_interface_views v left join ${schema}.templates t on t.template_pk = v.interface_pk
       union all
       select json_build_array('reassignment', ${update} r."offset"), r.kind, r.contract_id, r.reassignment_id,
                r.reassignment_counter, a.synchronizer_id, b.synchronizer_id, r.submitter, r.witness_parties)
         from ${schema}.decoded_reassignments r
         left join ${schema}.synchronizers a on a.synchronizer_pk = r.source_pk
         left join ${schema}.synchronizers b on b.synchronizer_pk = r.target_pk
       union all
       select json_build_array('topology', ${update} y."offset"), y.kind, y.party_id, y.participant_id, y.event_index)
         from ${schema}.topology_events y
       union all
       select json_build_array('lifetime', l.contract_id, s.synchronizer_id, ${update} l.activated_offset),
                ${update} l.deactivated_offset), l.ended_by, l.ended_at, l.unhosted_since is not null)
         from ${schema}.lifetimes l left join ${schema}.synchronizers s using (synchronizer_pk)
       union all
       select json_build_array('count', ${templateOf}, n.activated, n.deactivated)
         from ${schema}.active_counts n left join ${schema}.templates t using (template_pk)
       union all
       select json_build_array('hour', a.hour, ${templateOf}, h.choice, s.synchronizer_id, a.creates, a.archives, a.exercises,
                a.transactions, a.delay_seconds, a.total_creates, a.total_archives, a.total_exercises)
         from ${schema}.activity_hourly a left join ${schema}.templates t using (template_pk)
         left join ${schema}.choices h on h.choice_pk = a.choice_pk
         left join ${schema}.synchronizers s using (synchronizer_pk)) all_rows`,
  );
  return rows.map(({ line }) => String(line)).sort();
}

/** Rows that occur more often on one side than on the other. */
export function difference(
  storedContents: readonly string[],
  expected: readonly string[],
): { readonly lost: readonly string[]; readonly added: readonly string[] } {
  const counts = new Map<string, number>();
  for (const line of expected) counts.set(line, (counts.get(line) ?? 0) + 1);
  for (const line of storedContents) counts.set(line, (counts.get(line) ?? 0) - 1);
  const lines = [...counts];
  return {
    lost: lines.filter(([, count]) => count > 0).map(([line]) => line),
    added: lines.filter(([, count]) => count < 0).map(([line]) => line),
  };
}
