-- Explanations of an update, a contract or a command: the acting parties, the reason and the result. Limited to rows
-- visible to the reader.

-- A field that is None may be null or missing. Records are compared field by field, all other values as a unit.
create or replace function :explore.changed_fields(before jsonb, after jsonb) returns jsonb
  language sql immutable parallel safe
begin atomic
  with recursive compared (field, before, after) as (
    select '{}'::text[], before, after
    union all
    select c.field || k.key, c.before -> k.key, c.after -> k.key
      from compared c
     cross join lateral (select jsonb_object_keys(c.before) as key union select jsonb_object_keys(c.after)) k
     where jsonb_typeof(c.before) = 'object' and jsonb_typeof(c.after) = 'object' and c.before <> c.after)
  select jsonb_agg(jsonb_build_object('field', to_jsonb(c.field), 'before', c.before, 'after', c.after) order by c.field)
    from compared c
   where (jsonb_typeof(c.before) is distinct from 'object' or jsonb_typeof(c.after) is distinct from 'object')
     and nullif(c.before, 'null') is distinct from nullif(c.after, 'null');
end;
comment on function :explore.changed_fields(jsonb, jsonb) is
  'Differences between two payloads: a list of objects with field (names from the payload down to the value), before and after; null if the payloads are equal.';

create or replace function :explore.reason_of(argument jsonb, result jsonb) returns text
  language sql immutable parallel safe
  return coalesce(
    argument #>> '{extraArgs,meta,values,splice.lfdecentralizedtrust.org/reason}',
    argument #>> '{transfer,meta,values,splice.lfdecentralizedtrust.org/reason}',
    argument #>> '{transferLegSides,0,meta,values,splice.lfdecentralizedtrust.org/reason}',
    argument #>> '{meta,values,splice.lfdecentralizedtrust.org/reason}',
    result #>> '{meta,values,splice.lfdecentralizedtrust.org/reason}');
comment on function :explore.reason_of(jsonb, jsonb) is
  'Reason of an exercise, from the metadata of the token standard in its argument or result; null if there is none.';

create or replace function :explore.explain_summary(at_offset bigint)
  returns table ("offset" bigint, kind text, update_id text, previous_offset bigint, next_offset bigint, effective_at timestamptz,
                 record_time timestamptz, indexed_at timestamptz, synchronizer_id text, command_id text, workflow_id text,
                 submission_id text, user_id text, act_as text[], acting_parties text[], event_count integer, paid_traffic_cost bigint, trace_id text, trace_parent text,
                 trace_state text, transaction_hash text, external_transaction_hash text)
  language sql stable parallel safe rows 1
begin atomic
  select u."offset",
         case u.kind when 't' then 'transaction' when 'r' then 'reassignment' when 'p' then 'topology' else 'unknown' end,
         id_text(u.update_id), (select max(o."offset") from updates o where o."offset" < at_offset),
         (select min(o."offset") from updates o where o."offset" > at_offset), u.effective_at, u.record_time, b.indexed_at,
         s.synchronizer_id, u.command_id, u.workflow_id, c.submission_id, c.user_id,
         (select array_agg(m.party order by m.party) from submitters m where m.submitters_key = c.submitters_key),
         (select array_agg(distinct a.party order by a.party)
            from (select e.parties_pk, e.node_id > coalesce(max(e.last_descendant_node_id) over (order by e.node_id
                           rows between unbounded preceding and 1 preceding), -1) as is_root
                    from exercises e where e."offset" = at_offset) r
            join event_parties w on w.parties_pk = r.parties_pk
           cross join unnest(w.acting_parties) a (party)
           where r.is_root),
         u.event_count, u.paid_traffic_cost, nullif(split_part(trace_text(u.trace_parent), '-', 2), ''),
         trace_text(u.trace_parent), u.trace_state, id_text(u.transaction_hash), id_text(u.external_transaction_hash)
    from updates u
    left join batches b on b.batch_offset = u.batch_offset
    left join synchronizers s on s.synchronizer_pk = u.synchronizer_pk
    left join completions c on c."offset" = u."offset"
   where u."offset" = at_offset;
end;
comment on function :explore.explain_summary(bigint) is
  'Summary of one update: its id, the offsets of the previous and next update, effective and record time, its submitter (if completions are read), the parties that acted in its outermost exercises, cost and trace. No row if no update is stored at the offset.';

create or replace function :explore.explain_update(at_offset bigint)
  returns table ("offset" bigint, node_id integer, parent_node_id integer, depth integer, event_type text, template_fqn text,
                 package_id text, package_version text, choice text, interface_fqn text, contract_id text,
                 acting_parties text[], signatories text[], observers text[], witnesses text[], argument jsonb, result jsonb,
                 reason text, before jsonb, after jsonb, changed jsonb, other_node_id integer, other_contract_id text,
                 synchronizer_id text, redaction_id text)
  language sql stable parallel safe rows 100
begin atomic
  select at_offset, n.node_id, n.parent_node_id, n.depth, n.event_type,
         :explore.fqn(coalesce(t.package_name, t.package_id), t.module_name, t.entity_name), t.package_id, p.package_version,
         coalesce(h.choice, y.kind),
         case when i.template_pk is not null then
           :explore.fqn(coalesce(i.package_name, ip.package_name, i.package_id), i.module_name, i.entity_name) end,
         n.contract_id, w.acting_parties, cp.signatories, cp.observers, coalesce(w.witness_parties, cp.witness_parties, rw.witness_parties),
         e.argument::jsonb, e.result::jsonb, :explore.reason_of(e.argument::jsonb, e.result::jsonb),
         b.payload, a.payload, case when b.payload is not null and a.payload is not null then
           :explore.changed_fields(b.payload, a.payload) end,
         n.other_node_id, id_text(case n.event_type when 'created' then o.contract_id else a.contract_id end),
         s.synchronizer_id, coalesce(e.redaction_id, b.redaction_id, a.redaction_id)
    from :explore.update_tree(at_offset) n
    left join templates t on t.template_pk = n.template_pk
    left join packages p on p.package_id = t.package_id
    left join exercises e on e."offset" = at_offset and e.node_id = n.node_id and n.event_type in ('archived', 'exercised')
    left join event_parties w on w.parties_pk = e.parties_pk
    left join choices h on h.choice_pk = e.choice_pk
    left join templates i on i.template_pk = h.interface_pk
    left join packages ip on ip.package_id = i.package_id
    left join (select * from contracts /*workers
                where "offset" = any (array(select o.before_offset from :explore.update_tree(at_offset) o)) offset 0 workers*/) b
           on b."offset" = n.before_offset and b.node_id = n.before_node_id
    left join contracts a on a."offset" = at_offset and a.node_id = case when n.event_type in ('created', 'assigned') then n.node_id
                                                                         when n.event_type = 'archived' then n.other_node_id end
    left join contract_parties cp on cp.parties_pk = case when n.event_type in ('created', 'assigned') then a.parties_pk
                                                          else b.parties_pk end
    left join exercises o on n.event_type = 'created' and o."offset" = at_offset and o.node_id = n.other_node_id
    left join reassignments r on n.event_type = 'unassigned' and r."offset" = at_offset and r.node_id = n.node_id and r.kind = 'u'
    left join event_parties rw on rw.parties_pk = r.parties_pk
    left join topology_events y on n.event_type = 'topology' and y."offset" = at_offset and y.event_index = n.node_id
    left join updates u on u."offset" = at_offset
    left join synchronizers s on s.synchronizer_pk = coalesce(r.source_pk, a.synchronizer_pk, u.synchronizer_pk)
   order by n.node_id;
end;
comment on function :explore.explain_update(bigint) is
  'Events of the update at an offset as a tree, in the order of their nodes. before is the payload of a consumed contract, after the payload of a created contract. If a contract replaced another of the same template and key, each has other_node_id and other_contract_id of the other, and the row of the consumed contract has after and changed as well. No rows if no update is stored at the offset.';

create or replace function :explore.explain_update(update_id text)
  returns table ("offset" bigint, node_id integer, parent_node_id integer, depth integer, event_type text, template_fqn text,
                 package_id text, package_version text, choice text, interface_fqn text, contract_id text,
                 acting_parties text[], signatories text[], observers text[], witnesses text[], argument jsonb, result jsonb,
                 reason text, before jsonb, after jsonb, changed jsonb, other_node_id integer, other_contract_id text,
                 synchronizer_id text, redaction_id text)
  language sql stable parallel safe rows 100
begin atomic
  select n.* from (select :explore.update_offset(update_id) as at_offset offset 0) k
   cross join lateral :explore.explain_update(k.at_offset) n
   where k.at_offset is not null
   order by n.node_id;
end;
comment on function :explore.explain_update(text) is
  'Events of the update with this id as a tree, with the columns of explain_update(bigint). No rows if no such update is stored.';

create or replace function :explore.explain_contract(contract_id text, max_exercises bigint default 1000)
  returns table ("offset" bigint, node_id integer, event_type text, effective_at timestamptz, record_time timestamptz,
                 update_id text, template_fqn text, package_id text, package_version text, choice text, interface_fqn text,
                 acting_parties text[], synchronizer_id text, target text, other_contract_id text, contents jsonb, result jsonb,
                 reason text, redaction_id text)
  language sql stable parallel safe rows 10
begin atomic
  with states as materialized (
    select s.* from contract_states s where s.contract_id = explain_contract.contract_id),
  rows_of_it as (
    -- Create, assign or seed entry of the contract.
    select s.activated_offset as "offset", s.node_id, 1 as place,
           case c.origin when 'c' then 'created' when 'a' then 'assigned' else 'seeded' end as event_type,
           s.template_pk, null::integer as choice_pk, null::integer as interface_pk, null::integer as parties_pk,
           s.synchronizer_pk, null::integer as target_pk, c.payload as contents, null::jsonb as result, c.redaction_id,
           c.created_at
      from states s
      left join (select * from contracts /*workers
                  where "offset" = any (array(select a.activated_offset from contract_states a
                                               where a.contract_id = explain_contract.contract_id)) offset 0 workers*/) c
             on c."offset" = s.activated_offset and c.node_id = s.node_id
    union all
    select v."offset", v.node_id, 2, 'viewed', s.template_pk, null, v.interface_pk, null, s.synchronizer_pk, null,
           coalesce(v.view, to_jsonb(v.status_message)), null, v.redaction_id, null
      from states s
      join (select * from interface_views /*workers
             where "offset" = any (array(select a.activated_offset from contract_states a
                                          where a.contract_id = explain_contract.contract_id)) offset 0 workers*/) v on v."offset" = s.activated_offset and v.node_id = s.node_id
    union all
    -- The archive is the newest exercise. If the contract has very many exercises, the newest ones are read in the order
    -- of offsets, starting at the archive. The row after the limit becomes the row "omitted".
    select k."offset", k.node_id, 3,
           case when k.is_omitted then 'omitted' when e.consuming then 'archived' else 'exercised' end, e.template_pk,
           e.choice_pk, null, e.parties_pk, null, null, e.argument::jsonb, e.result::jsonb, e.redaction_id, null
      from (select x."offset", x.node_id,
                   row_number() over (order by x."offset" desc, x.node_id desc) > max_exercises is true as is_omitted
              from (select x."offset", x.node_id from exercises x
                     where id_text(x.contract_id) = explain_contract.contract_id
                       and x."offset" <= coalesce((select max(s.deactivated_offset) from states s where s.ended_by = 'a'),
                                                  9223372036854775807)
                     order by x."offset" desc, x.node_id desc limit max_exercises + 1) x) k
      left join (select * from exercises /*workers where id_text(contract_id) = explain_contract.contract_id offset 0 workers*/) e
             on e."offset" = k."offset" and e.node_id = k.node_id and not k.is_omitted
    union all
    select a."offset", a.node_id, 3, 'archived', a.template_pk, null, null, null, null, null, null, null, null, null
      from archives a where id_text(a.contract_id) = explain_contract.contract_id
    union all
    select r."offset", r.node_id, 3, 'unassigned', r.template_pk, null, null, null, r.source_pk, r.target_pk, null, null, null, null
      from reassignments r
     where id_text(r.contract_id) = explain_contract.contract_id and r.kind = 'u'
    union all
    select s.unhosted_since, null, 0, 'unhosted', s.template_pk, null, null, null, s.synchronizer_pk, null, null, null, null, null
      from states s where s.unhosted_since is not null
    union all
    -- Ends whose event is not stored, or not visible to this reader.
    select s.deactivated_offset, s.ended_node_id, 4, case s.ended_by when 'a' then 'archived' else 'ended' end, s.template_pk,
           null, null, null, s.synchronizer_pk, null, null, null, null, null
      from states s
     where s.ended_by in ('a', 'e')
       and not exists (select from (select * from exercises /*workers
                                     where id_text(contract_id) = explain_contract.contract_id offset 0 workers*/) e
                        where e."offset" = s.deactivated_offset and e.consuming
                          and id_text(e.contract_id) = s.contract_id)
       and not exists (select from (select * from archives /*workers
                                     where id_text(contract_id) = explain_contract.contract_id offset 0 workers*/) a where a."offset" = s.deactivated_offset and id_text(a.contract_id) = s.contract_id))
  -- The create of an assigned contract is older than events before the assignment.
  select r."offset", r.node_id, r.event_type,
         coalesce(u.effective_at, case when r.event_type <> 'assigned' then r.created_at end), u.record_time, id_text(u.update_id),
         :explore.fqn(coalesce(t.package_name, t.package_id), t.module_name, t.entity_name), t.package_id, p.package_version,
         h.choice, case when i.template_pk is not null then
           :explore.fqn(coalesce(i.package_name, ip.package_name, i.package_id), i.module_name, i.entity_name) end,
         w.acting_parties, s.synchronizer_id, g.synchronizer_id,
         -- Evaluated only in these cases, because a case expression does not evaluate other branches.
         case when r.event_type in ('created', 'archived') then
           (select x.contract_id
              from (select * from :explore.update_tree(r."offset")) n
              join (select * from :explore.update_tree(r."offset")) x on x.node_id = n.other_node_id
             where n.node_id = r.node_id) end,
         r.contents, r.result,
         :explore.reason_of(case when h.choice is not null then r.contents end, r.result), r.redaction_id
    from rows_of_it r
    left join (select * from updates /*workers
                where "offset" = any (array(select o."offset" from rows_of_it o)) offset 0 workers*/) u on u."offset" = r."offset"
    left join templates t on t.template_pk = r.template_pk
    left join packages p on p.package_id = t.package_id
    left join choices h on h.choice_pk = r.choice_pk
    left join templates i on i.template_pk = coalesce(r.interface_pk, h.interface_pk)
    left join packages ip on ip.package_id = i.package_id
    left join event_parties w on w.parties_pk = r.parties_pk
    left join synchronizers s on s.synchronizer_pk = coalesce(r.synchronizer_pk, u.synchronizer_pk)
    left join synchronizers g on g.synchronizer_pk = r.target_pk
   order by r."offset", r.place, r.node_id;
end;
comment on function :explore.explain_contract(text, bigint) is
  'History of a contract, one row per event. Of its exercises, only the newest max_exercises; null means all. event_type is created, assigned or seeded (with its payload as contents), viewed (through an interface of the filter), exercised and archived (with the argument), omitted (the exercises up to this offset and node exceed max_exercises), unassigned (to target), unhosted (its parties left the participant; its state since is not known), ended (by an update that is not stored). effective_at is null for reassignments, which have only a record_time. package_version is the version in the event, which may be newer than that of the create. other_contract_id is the contract that this contract replaced, or that replaced it. No rows if no such contract is stored.';

-- An update with this command id is found by its completion, or directly if completions are not read.
create or replace function :explore.explain_command(command_id text)
  returns table ("offset" bigint, succeeded boolean, update_id text, record_time timestamptz, effective_at timestamptz,
                 submission_id text, user_id text, act_as text[], synchronizer_id text, workflow_id text, error_code text,
                 error_category integer, status_code integer, reason text, is_retryable boolean, contract_id text,
                 template_fqn text, choice text, accepted_offset bigint, deduplication_offset bigint,
                 deduplication_period interval, paid_traffic_cost bigint, trace_id text, redaction_id text)
  language sql stable parallel safe rows 1
begin atomic
  select c."offset", c.succeeded, c.update_id, c.record_time, u.effective_at, c.submission_id, c.user_id, c.act_as,
         c.synchronizer_id, u.workflow_id, c.error_code, c.error_category, c.status_code, r.reason, r.is_retryable,
         c.contract_id, r.template_fqn, r.choice, r.accepted_offset, c.deduplication_offset, c.deduplication_period,
         c.paid_traffic_cost, nullif(split_part(c.trace_parent, '-', 2), ''), c.redaction_id
    from :explore.completions c
    left join :explore.rejected_commands r on r."offset" = c."offset"
    left join updates u on u."offset" = c."offset"
   where c.command_id = explain_command.command_id
  union all
  select u."offset", true, id_text(u.update_id), u.record_time, u.effective_at, null, null, null, s.synchronizer_id,
         u.workflow_id, null, null, 0, null, null, null, null, null, u."offset", null, null, u.paid_traffic_cost,
         nullif(split_part(trace_text(u.trace_parent), '-', 2), ''), null
    from updates u
    left join synchronizers s on s.synchronizer_pk = u.synchronizer_pk
   where u.command_id = explain_command.command_id
     and not exists (select from completions c where c."offset" = u."offset" and c.command_id = explain_command.command_id)
   order by 1;
end;
comment on function :explore.explain_command(text) is
  'Results of the commands with this id, one row per submission. An accepted command has its update. A rejected command has the reason, is_retryable, and accepted_offset if another submission was accepted. Without completions (see completion_coverage), only accepted commands.';
