/** Rules about data derived from the events: quarantine, totals per hour, redactions, coverage, dictionaries. */
import type { Invariant } from './invariant.ts';

/**
 * SQL: by synchronizer, the time since which hours are complete. If history was pruned, this is the first remaining
 * hour.
 */
const completeHourSql = `
  select u.synchronizer_pk, case when st.pruned_to_offset is null then '-infinity'
                                 else date_trunc('hour', min(u.record_time) filter (where u."offset" > st.pruned_to_offset), 'UTC') end as since
    from updates u cross join stream st group by u.synchronizer_pk, st.pruned_to_offset`;

const hour = `date_trunc('hour', u.record_time, 'UTC')`;

/** SQL: counts computed from the rows, by hour, template, choice and synchronizer. */
const countedHours = `
  select ${hour} as hour, c.template_pk, 0 as choice_pk, u.synchronizer_pk, 1 as creates, 0 as archives, 0 as exercises
    from contracts c join updates u using ("offset") where c.origin = 'c'
  union all
  select ${hour}, a.template_pk, 0, u.synchronizer_pk, 0, 1, 0 from archives a join updates u using ("offset")
  union all
  select ${hour}, e.template_pk, e.choice_pk, u.synchronizer_pk, 0, e.consuming::integer, 1
    from exercises e join updates u using ("offset")`;

const storedHours = `select hour, template_pk, choice_pk, synchronizer_pk, creates, archives, exercises
                  from activity_hourly where template_pk > 0`;

/** SQL: delay of an update in seconds, calculated as the writer does: as a multiple of 2^-20. */
const lateUpdateSql = `case when u.kind = 't'
  then coalesce(round(extract(epoch from u.record_time - u.effective_at)::numeric * 1048576), 0)::double precision / 1048576
  else 0 end`;

/** SQL: all references by number to a template, choice, synchronizer or party set. */
const namedContracts = `
  select 'templates' as dictionary, template_pk as pk from contracts
  union select 'templates', template_pk from live
  union select 'templates', template_pk from ended
  union select 'templates', template_pk from exercises
  union select 'templates', template_pk from archives
  union select 'templates', template_pk from reassignments
  union select 'templates', interface_pk from interface_views
  union select 'templates', template_pk from choices
  union select 'templates', nullif(interface_pk, 0) from choices
  union select 'templates', template_pk from template_interfaces
  union select 'templates', interface_pk from template_interfaces
  union select 'templates', template_pk from active_counts
  union select 'choices', choice_pk from exercises
  union select 'synchronizers', synchronizer_pk from contracts
  union select 'synchronizers', synchronizer_pk from live
  union select 'synchronizers', synchronizer_pk from ended
  union select 'synchronizers', synchronizer_pk from updates
  union select 'synchronizers', source_pk from reassignments
  union select 'synchronizers', target_pk from reassignments
  union select 'contract_parties', parties_pk from contracts
  union select 'contract_parties', parties_pk from live
  union select 'contract_parties', parties_pk from ended
  union select 'event_parties', parties_pk from exercises
  union select 'event_parties', parties_pk from archives
  union select 'event_parties', parties_pk from reassignments`;

/** Rules I19, I21 to I25, I30, I31 and I37. */
export const recordInvariants: readonly Invariant[] = [
  {
    id: 'I19',
    says: 'an update in quarantine is below the checkpoint and in no other table',
    sql: `select q."offset", null::text as contract_id, 'in quarantine above the checkpoint' as found
            from quarantine q cross join stream st where q."offset" > st.checkpoint
          union all
          select q."offset", null, 'in quarantine, and stored as well' from quarantine q join updates u using ("offset")`,
  },
  {
    id: 'I21',
    says: 'sums per hour match the events',
    sql: `select null::bigint as "offset", null::text as contract_id,
                 'hour ' || hour || ', template ' || template_pk || ', choice ' || choice_pk || ', synchronizer '
                 || synchronizer_pk || ': creates, archives and exercises are off by ' || sum(creates) || ', '
                 || sum(archives) || ' and ' || sum(exercises) as found
            from (${storedHours} union all
                  select hour, template_pk, choice_pk, synchronizer_pk, -creates, -archives, -exercises
                    from (${countedHours}) c where hour is not null) r
            left join (${completeHourSql}) w using (synchronizer_pk)
           cross join stream st
           where hour > w.since or w.since is null and st.pruned_to_offset is null
           group by hour, template_pk, choice_pk, synchronizer_pk
          having sum(creates) <> 0 or sum(archives) <> 0 or sum(exercises) <> 0`,
  },
  {
    id: 'I22',
    says: 'sums of all templates per hour match those of the templates and the updates',
    sql: `select null::bigint as "offset", null::text as contract_id,
                 'hour ' || hour || ', synchronizer ' || synchronizer_pk || ': transactions, creates, archives and '
                 || 'exercises are off by ' || sum(transactions) || ', ' || sum(creates) || ', ' || sum(archives)
                 || ' and ' || sum(exercises) as found
            from (select hour, synchronizer_pk, transactions, total_creates as creates, total_archives as archives,
                         total_exercises as exercises from activity_hourly where template_pk = 0
                  union all
                  select hour, synchronizer_pk, 0, -creates, -archives, -exercises
                    from activity_hourly where template_pk > 0
                  union all
                  select ${hour}, u.synchronizer_pk, -1, 0, 0, 0 from updates u
                   where u.kind = 't' and u.record_time is not null) r
            left join (${completeHourSql}) w using (synchronizer_pk)
           cross join stream st
           where hour > w.since or w.since is null and st.pruned_to_offset is null
           group by hour, synchronizer_pk
          having sum(transactions) <> 0 or sum(creates) <> 0 or sum(archives) <> 0 or sum(exercises) <> 0`,
  },
  {
    id: 'I23',
    says: 'a redacted row has no contents, and its redaction is known',
    sql: `select r."offset", r.contract_id, r.place || r.what as found
            from (select "offset", contract_id, 'contract' as place, redaction_id,
                         payload is not null or contract_key is not null or created_event_blob is not null as kept
                    from decoded_contracts where redaction_id is not null
                  union all
                  select "offset", contract_id, 'view', redaction_id, view is not null
                    from decoded_interface_views where redaction_id is not null
                  union all
                  select "offset", contract_id, 'exercise', redaction_id, argument is not null or result is not null
                    from decoded_exercises where redaction_id is not null
                  union all
                  select "offset", id_text(contract_id), 'completion', redaction_id, status_message is not null
                    from completions where redaction_id is not null) x
           cross join lateral (values (x."offset", x.contract_id, x.place,
             case when x.kept then ' still has contents'
                  when not exists (select from redactions d where d.redaction_id = x.redaction_id)
                  then ' was redacted, but its redaction is not recorded' end)) r ("offset", contract_id, place, what)
           where r.what is not null`,
  },
  {
    id: 'I24',
    says: 'ranges of coverage do not overlap, and one reaches the checkpoint',
    sql: `select a.from_offset as "offset", null::text as contract_id,
                 'overlaps the range after offset ' || b.from_offset as found
            from coverage a join coverage b on a.from_offset < b.from_offset
             and (a.to_offset is null or a.to_offset > b.from_offset)
          union all
          select st.checkpoint, null, 'the checkpoint is in no open range'
            from stream st where st.seeded_at is not null
             and not exists (select from coverage c where c.to_offset is null and c.from_offset <= st.checkpoint)`,
  },
  {
    id: 'I25',
    says: 'every small number is in its dictionary',
    sql: `select null::bigint as "offset", null::text as contract_id, 'number ' || n.pk || ' is not in ' || dictionary as found
            from (${namedContracts}) n
           where n.pk is not null
             and not case n.dictionary
                   when 'templates' then exists (select from templates d where d.template_pk = n.pk)
                   when 'choices' then exists (select from choices d where d.choice_pk = n.pk)
                   when 'contract_parties' then exists (select from contract_parties d where d.parties_pk = n.pk)
                   when 'event_parties' then exists (select from event_parties d where d.parties_pk = n.pk)
                   else exists (select from synchronizers d where d.synchronizer_pk = n.pk) end`,
  },
  {
    id: 'I30',
    says: 'traffic costs and delays per hour match the updates',
    sql: `select null::bigint as "offset", null::text as contract_id,
                 'hour ' || hour || ', synchronizer ' || synchronizer_pk || ': traffic cost ' || sum(cost) || ', of the updates '
                 || least(sum(paid), 9223372036854775807) || '; delay ' || sum(delay) || ' s, of the updates ' || sum(late)
                 || ' s' as found
            from (select hour, synchronizer_pk, paid_traffic_cost::numeric as cost, 0::numeric as paid,
                         delay_seconds as delay, 0::double precision as late
                    from activity_hourly where template_pk = 0
                  union all
                  select ${hour}, u.synchronizer_pk, 0, coalesce(u.paid_traffic_cost, 0), 0, ${lateUpdateSql}
                    from updates u
                   where u.record_time is not null and (u.kind = 't' or u.paid_traffic_cost is not null)) r
            left join (${completeHourSql}) w using (synchronizer_pk)
           cross join stream st
           where hour > w.since or w.since is null and st.pruned_to_offset is null
           group by hour, synchronizer_pk
          having sum(cost) <> least(sum(paid), 9223372036854775807)
              or abs(sum(delay) - sum(late)) > 0.000001 * count(*)`,
  },
  {
    id: 'I31',
    says: 'a row of sums fills the columns of its kind only',
    sql: `select null::bigint as "offset", null::text as contract_id,
                 'hour ' || hour || ', template ' || template_pk || ', choice ' || choice_pk || ', synchronizer '
                 || synchronizer_pk || case when template_pk = 0 then ': sums of a template in the row of the updates'
                                            else ': sums of updates in the row of a template' end as found
            from activity_hourly
           where case when template_pk = 0 then choice_pk <> 0 or creates <> 0 or archives <> 0 or exercises <> 0
                      else transactions <> 0 or paid_traffic_cost <> 0 or delay_seconds <> 0 or total_creates <> 0
                           or total_archives <> 0 or total_exercises <> 0 end`,
  },
  {
    id: 'I37',
    says: 'all references to a package use the name in its archive',
    sql: `select null::bigint as "offset", null::text as contract_id,
                 'package ' || package_id || ': its columns do not match its model' as found
            from packages
           where (package_id, package_name, package_version, language_version) is distinct from
                 (model ->> 'packageId', model ->> 'name', model ->> 'version', model ->> 'languageVersion')
          union all
          select null, null, 'template ' || t.template_pk || ': another package name than the package has'
            from templates t join packages p using (package_id) where t.package_name <> p.package_name
          union all
          select null, null, 'package ' || package_id || ': several names' from templates
           group by package_id having count(distinct package_name) > 1`,
  },
];

// Rules about redactions: recorded redactions and redacted rows must agree.

/**
 * SQL: whether exercise `e` was redacted in the update that is stored at its offset. Redactions for updates of another
 * ledger are ignored.
 */
const recordedRedactions = `
  exists (select from redacted_exercises x left join updates u on u."offset" = x."offset"
           where x."offset" = e."offset" and x.node_id = e.node_id and x.update_id is not distinct from id_text(u.update_id))`;
const redactedCondition = (alias: string, condition = 'true'): string =>
  `exists (select from redacted_contracts r where r.contract_id = ${alias}.contract_id and ${condition})`;
const unknownRedactionCondition = (table: string): string =>
  `not exists (select from redactions d where d.redaction_id = ${table}.redaction_id)`;

/** Rule I36. */
export const redactionInvariants: readonly Invariant[] = [
  {
    id: 'I36',
    says: 'redacted rows are recorded, and recorded redactions are applied',
    sql: `select c."offset", c.contract_id, 'contract ' || case when c.redaction_id is null then 'has contents that were redacted'
                 else 'was redacted, but is not in redacted_contracts' end as found
            from decoded_contracts c where (c.redaction_id is not null) <> ${redactedCondition('c')}
          union all
          select v."offset", v.contract_id, 'view ' || case when v.redaction_id is null then 'has contents that were redacted'
                 else 'was redacted, but is not in redacted_contracts' end
            from decoded_interface_views v where (v.redaction_id is not null) <> ${redactedCondition('v')}
          union all
          select e."offset", e.contract_id, 'exercise ' || e.node_id || case when e.redaction_id is null
                 then ' has contents that were redacted' else ' was redacted, but the redaction is not recorded' end
            from decoded_exercises e where (e.redaction_id is not null) <> (${redactedCondition('e', 'r.exercises')} or ${recordedRedactions})
          union all
          select c."offset", c.contract_id, 'completion ' || case when c.redaction_id is null
                 then 'has a message that was redacted' else 'was redacted, but is not in redacted_contracts' end
            from (select "offset", id_text(contract_id) as contract_id, redaction_id from completions) c
           where (c.redaction_id is not null) <> ${redactedCondition('c')}
          union all
          select null, contract_id, 'redacted, but its redaction is not recorded' from redacted_contracts where ${unknownRedactionCondition('redacted_contracts')}
          union all
          select "offset", null, 'node ' || node_id || ' redacted, but its redaction is not recorded'
            from redacted_exercises where ${unknownRedactionCondition('redacted_exercises')}`,
  },
];
