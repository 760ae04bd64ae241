/** Rules about completions: the ranges in which they are complete, and their agreement with stored updates. */
import type { Invariant } from './invariant.ts';

/** SQL: the first difference between a completion and its update, in values that both have; null if they agree. */
const repeated = `
  case when u.update_id is distinct from c.update_id then 'another update id'
       when u.record_time is distinct from c.record_time then 'another record time'
       when s.synchronizer_id is distinct from c.synchronizer_id then 'another synchronizer'
       when u.command_id <> c.command_id then 'another command id'
       when u.trace_parent is distinct from c.trace_parent or u.trace_state is distinct from c.trace_state then 'another trace'
       when u.paid_traffic_cost <> c.paid_traffic_cost then 'another traffic cost' end`;

/** SQL: whether every update of a hosted party is visible, with all its events. */
const allVisibleSql = `
  st.filter -> 'parties' = '[]' and st.filter -> 'templates' = '[]' and st.filter -> 'interfaces' = '[]'
  and st.transaction_shape = 'LEDGER_EFFECTS'`;

/** SQL: the hash of each party set as the writer computes it, except for hashes that begin with ff (stored as 00). */
const keyOf = `
  select s.submitters_key,
         substring(sha256(convert_to('[' || string_agg(to_json(s.party)::text, ',' order by s.party collate "C") || ']', 'UTF8')) from 1 for 16) as hash
    from submitters s group by 1`;

/** Rules I41 to I44. */
export const completionInvariants: readonly Invariant[] = [
  {
    id: 'I41',
    says: 'completions are in their ranges, which do not overlap and end at or before the checkpoint',
    sql: `select c."offset", null::text as contract_id, 'in no range of completions' as found
            from completions c
           where not exists (select from (select * from completion_ranges offset 0) r where c."offset" > r.from_offset and c."offset" <= r.to_offset)
          union all
          select a.from_offset, null, 'overlaps the range after offset ' || b.from_offset
            from completion_ranges a join completion_ranges b on a.from_offset < b.from_offset and a.to_offset > b.from_offset
          union all
          select r.to_offset, null, 'completions past the checkpoint of the stream'
            from completion_ranges r cross join stream st where st.checkpoint is null or r.to_offset > st.checkpoint`,
  },
  {
    id: 'I42',
    says: 'a completion agrees with the update at its offset',
    sql: `select c."offset", null::text as contract_id, ${repeated} as found
            from completions c join updates u using ("offset")
            left join synchronizers s on s.synchronizer_pk = u.synchronizer_pk
           where ${repeated} is not null
          union all
          select c."offset", null, 'accepted, but its update is not stored'
            from completions c cross join stream st
           where c.status_code = 0 and ${allVisibleSql} and c."offset" > coalesce(st.pruned_to_offset, -1)
             and exists (select from coverage r where c."offset" > r.from_offset and c."offset" <= coalesce(r.to_offset, st.checkpoint))
             and not exists (select from updates u where u."offset" = c."offset")
             -- Stored from the previous participant, under its offset there.
             and not exists (select from participants p where c."offset" > p.from_offset and c."offset" <= p.overlap_to_offset)
             and not exists (select from quarantine q where q."offset" = c."offset")
             -- Completions lag: those of parties added later may belong to updates that were followed without them.
             and not exists (select from (select * from completion_ranges offset 0) n
                               join coverage w on w.origin in ('filter', 'filter-extend') and n.from_offset < w.from_offset
                              where n.reason is not null and c."offset" > n.from_offset and c."offset" <= w.from_offset)`,
  },
  {
    id: 'I43',
    says: 'an accepted command has an update and no error, a rejected one has an error and no update',
    sql: `select c."offset", null::text as contract_id,
                 case when c.status_code = 0 then 'accepted, without an update or with an error' else 'rejected, with an update' end as found
            from completions c
           where case when c.status_code = 0
                      then c.update_id is null or (c.error_code, c.error_category, c.status_message, c.contract_id, c.choice_path, c.submitted_at)
                                                  is distinct from (null, null, null, null, null, null)
                      else c.update_id is not null end`,
  },
  {
    id: 'I44',
    says: 'the acting parties of a command are in submitters, each party set under its own key',
    sql: `select c."offset", null::text as contract_id, 'its acting parties are missing' as found
            from completions c where not exists (select from submitters s where s.submitters_key = c.submitters_key)
          union all
          select null, null, 'submitters ' || encode(k.submitters_key, 'hex') || ': not the key of its parties'
            from (${keyOf}) k
           where k.submitters_key <> case get_byte(k.hash, 0) when 255 then set_byte(k.hash, 0, 0) else k.hash end`,
  },
];
