-- Views over several tables: events, parties, activity.

create or replace view :explore.events as
  select c."offset", c.node_id, case c.origin when 'c' then 'created' else 'assigned' end as event_type,
         l.contract_id, :explore.fqn(coalesce(t.package_name, t.package_id), t.module_name, t.entity_name) as template_fqn,
         coalesce(t.package_name, t.package_id) as package_name, t.module_name, t.entity_name, t.package_id,
         null::text as choice, u.effective_at, u.record_time, s.synchronizer_id, p.witness_parties as parties,
         c.payload, null::jsonb as argument, null::jsonb as result, id_text(u.update_id) as update_id
    from contracts c
    join contract_states l on l.activated_offset = c."offset" and l.node_id = c.node_id
                          and l.contract_id = id_text(c.contract_id) and l.template_pk = c.template_pk
    join templates t on t.template_pk = c.template_pk
    left join contract_parties p on p.parties_pk = c.parties_pk
    left join updates u on u."offset" = c."offset"
    left join synchronizers s on s.synchronizer_pk = c.synchronizer_pk
   where c.origin <> 's'
  union all
  select e."offset", e.node_id, case when e.consuming then 'archived' else 'exercised' end,
         id_text(e.contract_id), :explore.fqn(coalesce(t.package_name, t.package_id), t.module_name, t.entity_name),
         coalesce(t.package_name, t.package_id), t.module_name, t.entity_name, t.package_id,
         h.choice, u.effective_at, u.record_time, s.synchronizer_id, p.witness_parties,
         null, e.argument::jsonb, e.result::jsonb, id_text(u.update_id)
    from exercises e
    left join choices h on h.choice_pk = e.choice_pk
    left join templates t on t.template_pk = h.template_pk
    left join event_parties p on p.parties_pk = e.parties_pk
    left join updates u on u."offset" = e."offset"
    left join synchronizers s on s.synchronizer_pk = u.synchronizer_pk
  union all
  select a."offset", a.node_id, 'archived',
         id_text(a.contract_id), :explore.fqn(coalesce(t.package_name, t.package_id), t.module_name, t.entity_name),
         coalesce(t.package_name, t.package_id), t.module_name, t.entity_name, t.package_id,
         null, u.effective_at, u.record_time, s.synchronizer_id, p.witness_parties, null, null, null, id_text(u.update_id)
    from archives a
    left join templates t on t.template_pk = a.template_pk
    left join event_parties p on p.parties_pk = a.parties_pk
    left join updates u on u."offset" = a."offset"
    left join synchronizers s on s.synchronizer_pk = u.synchronizer_pk
  union all
  select r."offset", r.node_id, 'unassigned',
         id_text(r.contract_id), :explore.fqn(coalesce(t.package_name, t.package_id), t.module_name, t.entity_name),
         coalesce(t.package_name, t.package_id), t.module_name, t.entity_name, t.package_id,
         null, null, u.record_time, s.synchronizer_id, p.witness_parties, null, null, null, id_text(u.update_id)
    from reassignments r
    left join templates t on t.template_pk = r.template_pk
    left join event_parties p on p.parties_pk = r.parties_pk
    left join updates u on u."offset" = r."offset"
    left join synchronizers s on s.synchronizer_pk = r.source_pk
   where r.kind = 'u' and not r.incomplete
  union all
  select y."offset", y.event_index, 'topology', null, null, null, null, null, null,
         y.kind, null, u.record_time, s.synchronizer_id, array[y.party_id],
         null, jsonb_build_object('participant', y.participant_id, 'permission', y.participant_permission), null,
         id_text(u.update_id)
    from topology_events y
    left join updates u on u."offset" = y."offset"
    left join synchronizers s on s.synchronizer_pk = u.synchronizer_pk;
comment on view :explore.events is
  'Events of all kinds, one row each, in the order of "offset" and node_id. A consuming exercise is one row, of type archived. Rows with a choice are exercises, except topology events. Contracts found by the seed are not events: see contracts. Restrict queries to a range of offsets, a contract or a template; otherwise all history is read. For the newest events: where "offset" > latest_offset() - 1000 order by "offset" desc. Complete where coverage reports complete; non-consuming exercises need the shape LEDGER_EFFECTS.';

create or replace view :explore.activity as
  select a.hour, :explore.fqn(coalesce(t.package_name, t.package_id), t.module_name, t.entity_name) as template_fqn,
         coalesce(t.package_name, t.package_id) as package_name, t.module_name, t.entity_name, t.package_id,
         h.choice, s.synchronizer_id, a.creates, a.archives, a.exercises
    from activity_hourly a
    join templates t on t.template_pk = a.template_pk
    left join choices h on h.choice_pk = a.choice_pk
    left join synchronizers s on s.synchronizer_pk = a.synchronizer_pk;
comment on view :explore.activity is
  'Events per hour of record time by template, choice and synchronizer. Small and always current, so charts do not have to read events. Includes events that were pruned later, but no events of a gap. Exercises need the shape LEDGER_EFFECTS.';

create or replace view :explore.activity_updates as
  select a.hour, s.synchronizer_id, a.transactions, a.paid_traffic_cost,
         a.delay_seconds / nullif(a.transactions, 0) as mean_delay_seconds,
         a.total_creates as creates, a.total_archives as archives, a.total_exercises as exercises
    from activity_hourly a
    left join synchronizers s on s.synchronizer_pk = a.synchronizer_pk
   where a.template_pk = 0;
comment on view :explore.activity_updates is
  'Totals per hour of record time and synchronizer: events of all templates, traffic cost, and the delay until updates were recorded.';
