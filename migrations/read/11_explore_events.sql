-- Views over several tables: what happened, who took part, how much.

create or replace view :explore.events as
  select c."offset", c.node_id, case c.origin when 'create' then 'created' else 'assigned' end as event_type,
         c.contract_id, :explore.fqn(coalesce(t.package_name, t.package_id), t.module_name, t.entity_name) as template_fqn,
         coalesce(t.package_name, t.package_id) as package_name, t.module_name, t.entity_name, t.package_id,
         null::text as choice, u.effective_at, u.record_time, s.synchronizer_id, c.witness_parties as parties,
         c.payload, null::jsonb as argument, null::jsonb as result, u.update_id
    from contracts c
    join templates t on t.template_pk = c.template_pk
    left join updates u on u."offset" = c."offset"
    left join synchronizers s on s.synchronizer_pk = c.synchronizer_pk
   where c.origin <> 'seed'
  union all
  select e."offset", e.node_id, case when e.consuming then 'archived' else 'exercised' end,
         e.contract_id, :explore.fqn(coalesce(t.package_name, t.package_id), t.module_name, t.entity_name),
         coalesce(t.package_name, t.package_id), t.module_name, t.entity_name, t.package_id,
         h.choice, u.effective_at, u.record_time, s.synchronizer_id, e.witness_parties,
         null, e.argument, e.result, u.update_id
    from exercises e
    left join choices h on h.choice_pk = e.choice_pk
    left join templates t on t.template_pk = h.template_pk
    left join updates u on u."offset" = e."offset"
    left join synchronizers s on s.synchronizer_pk = u.synchronizer_pk
  union all
  select a."offset", a.node_id, 'archived',
         a.contract_id, :explore.fqn(coalesce(t.package_name, t.package_id), t.module_name, t.entity_name),
         coalesce(t.package_name, t.package_id), t.module_name, t.entity_name, t.package_id,
         null, u.effective_at, u.record_time, s.synchronizer_id, a.witness_parties, null, null, null, u.update_id
    from archives a
    left join templates t on t.template_pk = a.template_pk
    left join updates u on u."offset" = a."offset"
    left join synchronizers s on s.synchronizer_pk = u.synchronizer_pk
  union all
  select r."offset", r.node_id, 'unassigned',
         r.contract_id, :explore.fqn(coalesce(t.package_name, t.package_id), t.module_name, t.entity_name),
         coalesce(t.package_name, t.package_id), t.module_name, t.entity_name, t.package_id,
         null, null, u.record_time, s.synchronizer_id, r.witness_parties, null, null, null, u.update_id
    from reassignments r
    left join templates t on t.template_pk = r.template_pk
    left join updates u on u."offset" = r."offset"
    left join synchronizers s on s.synchronizer_pk = r.source_pk
   where r.kind = 'unassign' and not r.incomplete
  union all
  select y."offset", y.event_index, 'topology', null, null, null, null, null, null,
         y.kind, null, u.record_time, s.synchronizer_id, array[y.party_id],
         null, jsonb_build_object('participant', y.participant_id, 'permission', y.participant_permission), null, u.update_id
    from topology_events y
    left join updates u on u."offset" = y."offset"
    left join synchronizers s on s.synchronizer_pk = u.synchronizer_pk;
comment on view :explore.events is
  'Everything that happened, one row per event, in the order of "offset" and node_id. A consuming exercise is one row, of type archived; all exercises are the rows with a choice, except topology. Contracts found by the seed are no events: see contracts. Give a range of offsets, a contract or a template: without one the whole history is read. The latest: where "offset" > latest_offset() - 1000 order by "offset" desc. Complete where coverage says known; exercises that archived nothing need the shape LEDGER_EFFECTS.';

create or replace view :explore.parties as
  with roles as (
    select p.party, p.role, c."offset", c.created_at as at
      from contracts c
     cross join lateral (
             select party, 'signatory' as role from unnest(c.signatories) party
             union all select party, 'observer' from unnest(c.observers) party
             union all select party, 'witness' from unnest(c.witness_parties) party) p
    union all
    select party, 'actor', e."offset", u.effective_at
      from exercises e
     cross join unnest(e.acting_parties) party
      left join updates u on u."offset" = e."offset"
  )
  select party, count(*) filter (where role = 'signatory') as signatory_of,
         count(*) filter (where role = 'observer') as observer_of, count(*) filter (where role = 'witness') as witness_of,
         count(*) filter (where role = 'actor') as exercised,
         min("offset") as first_offset, max("offset") as last_offset, min(at) as first_at, max(at) as last_at
    from roles
   group by party;
comment on view :explore.parties is
  'What each party took part in, over all history. Heavy: it reads every contract and exercise, also for one party. Complete where coverage says known; exercised needs the shape LEDGER_EFFECTS.';

create or replace view :explore.activity as
  select a.hour, :explore.fqn(coalesce(t.package_name, t.package_id), t.module_name, t.entity_name) as template_fqn,
         coalesce(t.package_name, t.package_id) as package_name, t.module_name, t.entity_name, t.package_id,
         h.choice, s.synchronizer_id, a.creates, a.archives, a.exercises
    from activity_hourly a
    join templates t on t.template_pk = a.template_pk
    left join choices h on h.choice_pk = a.choice_pk
    left join synchronizers s on s.synchronizer_pk = a.synchronizer_pk;
comment on view :explore.activity is
  'Events per hour of record time by template, choice and synchronizer. Small and always current: charts need no event. Counts what was pruned since as well, and nothing of a gap; exercises need the shape LEDGER_EFFECTS.';

create or replace view :explore.activity_updates as
  select a.hour, s.synchronizer_id, a.transactions, a.paid_traffic_cost,
         a.delay_seconds / nullif(a.transactions, 0) as mean_delay_seconds,
         a.total_creates as creates, a.total_archives as archives, a.total_exercises as exercises
    from activity_hourly a
    left join synchronizers s on s.synchronizer_pk = a.synchronizer_pk
   where a.template_pk = 0;
comment on view :explore.activity_updates is
  'Updates per hour of record time and synchronizer: events of all templates, cost, and how long they took to be recorded.';
