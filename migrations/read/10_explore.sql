-- Views for people and BI tools. They have names instead of numbers, and one row per object. They store nothing.
-- Left joins on a key (dictionaries, parties, updates, and contracts joined to their states) cost nothing if the query
-- selects none of their columns. A condition on such a column turns the join into an inner join, which the planner may
-- start from either side: contracts by "offset", states by id, parties by member.

-- Exercises are joined to their template through the choice, so that a condition on the template uses the index on
-- (choice_pk, "offset").

create or replace function :explore.fqn(package_name text, module_name text, entity_name text) returns text
  language sql immutable parallel safe
  return package_name || ':' || module_name || ':' || entity_name;
comment on function :explore.fqn(text, text, text) is
  'Name of a template or interface as one text: package:Module:Entity.';

create or replace view :explore.templates as
  select :explore.fqn(n.package_name, t.module_name, t.entity_name) as template_fqn,
         n.package_name, t.module_name, t.entity_name, t.package_id, p.package_version,
         case when exists (select from (select interface_pk from interface_views /*workers group by 1 offset 0 workers*/) v
                            where v.interface_pk = t.template_pk)
                or exists (select from choices h where h.interface_pk = t.template_pk)
              then 'interface' else 'template' end as kind,
         coalesce(a.activated - a.deactivated - n.unhosted, 0) as active, coalesce(a.activated, 0) as activated,
         n.unhosted
    from templates t
    left join packages p on p.package_id = t.package_id
    left join active_counts a on a.template_pk = t.template_pk
   cross join lateral (
           select coalesce(t.package_name, p.package_name, t.package_id) as package_name,
                  (select count(*)
                     from (select template_pk, unhosted_since from live /*workers
                            where unhosted_since is not null offset 0 workers*/) l
                    where l.template_pk = t.template_pk and l.unhosted_since is not null) as unhosted) n;
comment on view :explore.templates is
  'Templates and interfaces that stored rows use, one row per package version, with the number of active contracts.';

create or replace view :explore.updates as
  select u."offset",
         case u.kind when 't' then 'transaction' when 'r' then 'reassignment' when 'p' then 'topology' else 'unknown' end as kind,
         id_text(u.update_id) as update_id, u.effective_at, u.record_time, s.synchronizer_id, u.command_id, u.workflow_id,
         trace_text(u.trace_parent) as trace_parent, u.trace_state, id_text(u.transaction_hash) as transaction_hash,
         id_text(u.external_transaction_hash) as external_transaction_hash, u.paid_traffic_cost, u.event_count, b.indexed_at,
         coalesce((select p.participant_number from participants p where p.from_offset < u."offset"
                    order by p.participant_number desc limit 1), 1) as participant_number,
         u."offset" - coalesce((select p.offset_shift from participants p where p.from_offset < u."offset"
                                order by p.participant_number desc limit 1), 0)
           as participant_offset
    from updates u
    left join batches b on b.batch_offset = u.batch_offset
    left join synchronizers s on s.synchronizer_pk = u.synchronizer_pk;
comment on view :explore.updates is
  'Updates that the ledger returned: transactions, reassignments, topology. Gaps between offsets are expected. Complete where coverage reports complete.';

create or replace view :explore.contracts as
  select l.contract_id,
         :explore.fqn(coalesce(t.package_name, t.package_id), t.module_name, t.entity_name) as template_fqn,
         coalesce(t.package_name, t.package_id) as package_name, t.module_name, t.entity_name, t.package_id,
         case l.ended_by when 'a' then 'archived' when 'r' then 'unassigned' when 'e' then 'ended' when 'w' then 'witnessed'
              else case when l.unhosted_since is null then 'active' else 'unhosted' end end as status,
         l.ended_by is null and l.unhosted_since is null as is_active,
         c.payload, c.contract_key, p.signatories, p.observers, p.witness_parties as witnesses,
         c."offset" as created_at_offset, c.created_at, u.record_time,
         case when l.ended_by <> 'w' then l.deactivated_offset end as archived_at_offset, l.ended_at as archived_at,
         case c.origin when 'c' then 'create' when 'a' then 'assign' when 's' then 'seed' end as origin,
         s.synchronizer_id, c.reassignment_counter, id_text(u.update_id) as update_id, c.node_id, c.redaction_id,
         case when l.ended_by is null then l.unhosted_since end as unhosted_since
    from contract_states l
    join templates t on t.template_pk = l.template_pk
    left join contracts c on c."offset" = l.activated_offset and c.node_id = l.node_id and c.template_pk = l.template_pk
                         and id_text(c.contract_id) = l.contract_id
    left join contract_parties p on p.parties_pk = l.parties_pk
    left join synchronizers s on s.synchronizer_pk = l.synchronizer_pk
    left join updates u on u."offset" = c."offset";
comment on view :explore.contracts is
  'Contracts, present and past, one row per activation: a reassigned contract has a row for each synchronizer on which it was active. Contracts that were never active for the indexed parties, such as those created and archived by one transaction, have status witnessed. Contracts whose parties left the participant have status unhosted. Contracts that ended by an update that is not stored, such as in a gap, have status ended. Complete where coverage reports complete; from earlier times, only contracts that were still active. To cast fields of the payload, read function contracts with the template instead: Postgres may apply the cast to rows that other conditions exclude. Works with any shape.';

-- The join to contracts omits template_pk: with a condition on the payload the planner would merge on template_pk alone.
create or replace view :explore.active_contracts as
  select id_text(l.contract_id) as contract_id,
         :explore.fqn(coalesce(t.package_name, t.package_id), t.module_name, t.entity_name) as template_fqn,
         coalesce(t.package_name, t.package_id) as package_name, t.module_name, t.entity_name, t.package_id,
         c.payload, c.contract_key, p.signatories, p.observers, p.witness_parties as witnesses,
         l."offset" as created_at_offset, c.created_at, u.record_time,
         s.synchronizer_id, c.reassignment_counter, id_text(u.update_id) as update_id
    from live l
    join templates t on t.template_pk = l.template_pk
    left join contracts c on c."offset" = l."offset" and c.node_id = l.node_id
    left join contract_parties p on p.parties_pk = l.parties_pk
    left join synchronizers s on s.synchronizer_pk = l.synchronizer_pk
    left join updates u on u."offset" = l."offset"
   where l.unhosted_since is null;
comment on view :explore.active_contracts is
  'Contracts active now, at the checkpoint. A count or list of one template reads only active rows, so its cost does not depend on the length of history. To cast fields of the payload, read function active with the template instead: Postgres may apply the cast to rows that other conditions exclude. Works with any shape; while latest_offset() is null it contains the contracts that the seed has read so far.';

create or replace view :explore.exercises as
  select e."offset", e.node_id, id_text(e.contract_id) as contract_id,
         :explore.fqn(coalesce(t.package_name, t.package_id), t.module_name, t.entity_name) as template_fqn,
         t.package_name, t.module_name, t.entity_name, t.package_id,
         h.choice, case when i.template_pk is not null then
           :explore.fqn(coalesce(i.package_name, p.package_name, i.package_id), i.module_name, i.entity_name) end
           as interface_fqn,
         e.argument::jsonb as argument, e.result::jsonb as result, w.acting_parties, w.witness_parties as witnesses, e.consuming, e.last_descendant_node_id,
         u.effective_at, u.record_time, s.synchronizer_id, id_text(u.update_id) as update_id, e.redaction_id,
         (select max(l.activated_offset)
            from (select contract_id, activated_offset from contract_states /*workers offset 0 workers*/) l
           where l.contract_id = id_text(e.contract_id) and l.activated_offset <= e."offset") as contract_created_at_offset
    from exercises e
    left join event_parties w on w.parties_pk = e.parties_pk
    left join choices h on h.choice_pk = e.choice_pk
    left join templates t on t.template_pk = h.template_pk
    left join templates i on i.template_pk = h.interface_pk
    left join packages p on p.package_id = i.package_id
    left join updates u on u."offset" = e."offset"
    left join synchronizers s on s.synchronizer_pk = u.synchronizer_pk;
comment on view :explore.exercises is
  'Exercised choices with argument and result. To cast fields of these, read the typed view of the choice or function exercises of schema pqs instead: Postgres may apply the cast to rows that other conditions exclude. Empty without the shape LEDGER_EFFECTS. Complete where coverage reports complete.';

-- Every row has its contract and state. With left joins the planner starts from the views, so that the first rows of a
-- range are returned at once, and is_active tests node_id so that a condition on it starts from the active contracts.
create or replace view :explore.interface_views as
  select l.contract_id, v."offset",
         :explore.fqn(coalesce(i.package_name, p.package_name, i.package_id), i.module_name, i.entity_name)
           as interface_fqn,
         v.view, v.status_code, v.status_message, v.status_details, v.implementation_package_id,
         :explore.fqn(coalesce(t.package_name, t.package_id), t.module_name, t.entity_name) as template_fqn,
         l.node_id is not null and l.ended_by is null and l.unhosted_since is null as is_active,
         case when l.ended_by <> 'w' then l.deactivated_offset end as archived_at_offset, c.created_at, v.redaction_id
    from interface_views v
    join templates i on i.template_pk = v.interface_pk
    left join packages p on p.package_id = i.package_id
    left join contracts c on c."offset" = v."offset" and c.node_id = v.node_id
    left join contract_states l on l.activated_offset = c."offset" and l.node_id = c.node_id
                               and l.contract_id = id_text(c.contract_id) and l.template_pk = c.template_pk
    left join templates t on t.template_pk = l.template_pk;
comment on view :explore.interface_views is
  'Views of contracts through the interfaces of the filter, present and past, one row per activation and interface. To cast fields of the view, read the typed view of the interface instead: Postgres may apply the cast to rows that other conditions exclude. Needs the interface in the filter. Complete to the same extent as view contracts.';

create or replace view :explore.reassignments as
  select r."offset", r.node_id, case r.kind when 'u' then 'unassign' else 'assign' end as kind,
         id_text(r.contract_id) as contract_id,
         :explore.fqn(coalesce(t.package_name, t.package_id), t.module_name, t.entity_name) as template_fqn,
         r.reassignment_id, r.reassignment_counter, a.synchronizer_id as source, b.synchronizer_id as target, r.submitter,
         r.assignment_exclusivity, w.witness_parties as witnesses, r.incomplete, u.record_time, id_text(u.update_id) as update_id
    from reassignments r
    left join event_parties w on w.parties_pk = r.parties_pk
    left join templates t on t.template_pk = r.template_pk
    left join synchronizers a on a.synchronizer_pk = r.source_pk
    left join synchronizers b on b.synchronizer_pk = r.target_pk
    left join updates u on u."offset" = r."offset";
comment on view :explore.reassignments is
  'Halves of reassignments between synchronizers: one row for the unassign and one for the assign. Complete where coverage reports complete.';
