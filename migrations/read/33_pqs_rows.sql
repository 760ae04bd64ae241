-- Contracts with the names of PQS. Joins for names, times and events are left joins on unique keys, so that a query
-- only executes the joins of columns that it selects. Functions are single queries, so that conditions reach indexes.

create or replace function :pqs.__archive_node(contract_id text, "offset" bigint) returns integer
  language sql stable parallel safe
begin atomic
  select e.ended_node_id from ended e
   where id_text(e.contract_id) = __archive_node.contract_id and e.ended_offset = __archive_node."offset"
   order by e.ended_node_id limit 1;
end;
comment on function :pqs.__archive_node(text, bigint) is 'Node of the event that archived a contract at an offset.';

create or replace view :pqs.__template_rows as
  select concat_ws(':', coalesce(t.package_name, t.package_id), t.module_name, t.entity_name) as template_fqn,
         'template'::text as payload_type,
         :pqs.__event_pk(c."offset", c.node_id) as create_event_pk,
         cast(row (c."offset", c.node_id) as :pqs.event_id) as create_event_id,
         c."offset" as created_at_ix, c."offset" as created_at_offset,
         :pqs.__event_pk(l.deactivated_offset, l.ended_node_id) as archive_event_pk,
         case when l.ended_node_id is not null
              then cast(row (l.deactivated_offset, l.ended_node_id) as :pqs.event_id) end as archive_event_id,
         case when l.ended_by = 'a' then l.deactivated_offset end as archived_at_ix,
         case when l.ended_by = 'a' then l.deactivated_offset end as archived_at_offset,
         case when l.ended_by is distinct from 'w'
              then int8range(c."offset", coalesce(l.deactivated_offset, l.unhosted_since)) end as life_ix,
         l.contract_id, c.payload, c.contract_key, decode(base64_text(c.created_event_blob), 'base64') as metadata,
         c.created_at as created_effective_at, case when l.ended_by = 'a' then l.ended_at end as archived_effective_at,
         c.redaction_id, coalesce(t.package_name, t.package_id) as package_name,
         (select p.package_version from packages p
           where p.package_id = coalesce(nullif(c.representative_package_id, ''), t.package_id)) as package_version,
         coalesce(nullif(c.representative_package_id, ''), t.package_id) as package_id,
         w.signatories, w.observers, w.witness_parties as witnesses, l.ended_by is not distinct from 'w' as divulged_only,
         t.package_id as creation_package_id,
         decode(nullif(base64_text(c.contract_key_hash), ''), 'base64') as contract_key_hash, c.reassignment_counter,
         (select s.synchronizer_id from synchronizers s where s.synchronizer_pk = c.synchronizer_pk) as synchronizer_id,
         uc.record_time, id_text(uc.update_id) as update_id,
         (select b.indexed_at from batches b where b.batch_offset = uc.batch_offset) as indexed_at,
         c.template_pk as type_pk, case when l.ended_by is distinct from 'w' then l.template_pk end as lived_pk,
         case when l.ended_by is distinct from 'w' then l.activated_offset end as activated_offset,
         case when l.ended_by is distinct from 'w' then l.deactivated_offset end as deactivated_offset,
         case c.origin when 'c' then 'create' when 'a' then 'assign' when 's' then 'seed' end as origin, c.node_id,
         l.ended_by
    from contracts c
    join contract_states l on l.activated_offset = c."offset" and l.node_id = c.node_id
                          and l.contract_id = id_text(c.contract_id) and l.template_pk = c.template_pk
    left join contract_parties w on w.parties_pk = c.parties_pk
    left join templates t on t.template_pk = c.template_pk
    left join updates uc on uc."offset" = c."offset";
comment on view :pqs.__template_rows is 'Activations of contracts and witnessed creates, one row each, with the columns of type contract and the columns by which functions filter.';

-- Not based on __template_rows, whose columns would be copied again for each query.
create or replace view :pqs.__interface_rows as
  select concat_ws(':', coalesce(k.package_name, (select p.package_name from packages p where p.package_id = k.package_id),
                                 k.package_id), k.module_name, k.entity_name) as template_fqn,
         'interface'::text as payload_type,
         :pqs.__event_pk(c."offset", c.node_id) as create_event_pk,
         cast(row (c."offset", c.node_id) as :pqs.event_id) as create_event_id,
         c."offset" as created_at_ix, v."offset" as created_at_offset,
         :pqs.__event_pk(l.deactivated_offset, l.ended_node_id) as archive_event_pk,
         case when l.ended_node_id is not null
              then cast(row (l.deactivated_offset, l.ended_node_id) as :pqs.event_id) end as archive_event_id,
         case when l.ended_by = 'a' then l.deactivated_offset end as archived_at_ix,
         case when l.ended_by = 'a' then l.deactivated_offset end as archived_at_offset,
         case when l.ended_by is distinct from 'w'
              then int8range(c."offset", coalesce(l.deactivated_offset, l.unhosted_since)) end as life_ix,
         l.contract_id,
         :pqs.with_nulls(v.view, (select o.fields from omitted_fields o where o.template_pk = v.interface_pk)) as payload,
         null::jsonb as contract_key, decode(base64_text(c.created_event_blob), 'base64') as metadata,
         c.created_at as created_effective_at, case when l.ended_by = 'a' then l.ended_at end as archived_effective_at,
         v.redaction_id,
         coalesce((select p.package_name from packages p where p.package_id = v.implementation_package_id),
                  t.package_name, t.package_id) as package_name,
         coalesce((select p.package_version from packages p where p.package_id = v.implementation_package_id),
                  (select p.package_version from packages p
                    where p.package_id = coalesce(nullif(c.representative_package_id, ''), t.package_id))) as package_version,
         coalesce(v.implementation_package_id, nullif(c.representative_package_id, ''), t.package_id) as package_id,
         w.signatories, w.observers, w.witness_parties as witnesses, l.ended_by is not distinct from 'w' as divulged_only,
         t.package_id as creation_package_id, null::bytea as contract_key_hash, c.reassignment_counter,
         (select s.synchronizer_id from synchronizers s where s.synchronizer_pk = c.synchronizer_pk) as synchronizer_id,
         uc.record_time, id_text(uc.update_id) as update_id,
         (select b.indexed_at from batches b where b.batch_offset = uc.batch_offset) as indexed_at,
         v.interface_pk as type_pk, case when l.ended_by is distinct from 'w' then l.template_pk end as lived_pk,
         case when l.ended_by is distinct from 'w' then l.activated_offset end as activated_offset,
         case when l.ended_by is distinct from 'w' then l.deactivated_offset end as deactivated_offset,
         case c.origin when 'c' then 'create' when 'a' then 'assign' when 's' then 'seed' end as origin, c.node_id,
         l.ended_by
    from interface_views v
    join contracts c on c."offset" = v."offset" and c.node_id = v.node_id
    join contract_states l on l.activated_offset = c."offset" and l.node_id = c.node_id
                          and l.contract_id = id_text(c.contract_id) and l.template_pk = c.template_pk
    left join contract_parties w on w.parties_pk = c.parties_pk
    left join templates t on t.template_pk = c.template_pk
    left join templates k on k.template_pk = v.interface_pk
    left join updates uc on uc."offset" = c."offset"
   where v.status_code = 0;
comment on view :pqs.__interface_rows is 'Interface views of contracts, one row each, with the columns of type contract and the columns by which functions filter. Views that failed are omitted.';

-- Only the kinds that a name can mean are planned. Each kind has a constant. If the rest of the kind is a subquery of
-- its own, Postgres compares the constant before it plans this subquery. The empty WITH makes the rest a subquery, and
-- conditions are still pushed down.
-- Interfaces are read by functions, which are inlined only after this comparison, so a query about a template does not
-- plan them.
-- The last part is empty, but the planner estimates one row for it. Estimates of ranges are low: if the estimate of all
-- parts together were one row, the planner would not store them, but compute them again for each row of the joined
-- relation.
create or replace function :pqs.__no_contracts() returns setof :pqs.__template_rows
  language plpgsql stable parallel safe rows 1
  set search_path = pg_catalog, pg_temp
as $$
begin
end
$$;
comment on function :pqs.__no_contracts() is 'Never returns rows; used for the estimate of __contract_rows.';

create or replace function :pqs.__interface_contracts() returns setof :pqs.__interface_rows
  language sql stable parallel safe rows 1000
begin atomic
  select r.* from :pqs.__interface_rows r;
end;
comment on function :pqs.__interface_contracts() is 'The rows of __interface_rows.';

create or replace view :pqs.__contract_rows as
  select 'template'::text as kind, x.* from (with apart as (select) select r.* from :pqs.__template_rows r) x
  union all
  select 'interface', x.* from (with apart as (select) select r.* from :pqs.__interface_contracts() r) x
  union all
  select r.payload_type, r.* from :pqs.__no_contracts() r;
comment on view :pqs.__contract_rows is 'The rows of __template_rows and __interface_rows.';

create or replace view :pqs.__active_interfaces as
  select v.interface_pk as type_pk, l.template_pk, l.contract_id,
         :pqs.with_nulls(v.view, (select o.fields from omitted_fields o where o.template_pk = v.interface_pk)) as payload,
         l."offset", l.node_id, null::bigint as archived, null::integer as ended_node_id, null::timestamptz as archived_at,
         l.synchronizer_pk, v.implementation_package_id, c.representative_package_id, null::jsonb as contract_key,
         null::bytea as contract_key_hash, c.created_event_blob, c.created_at, p.signatories, p.observers, p.witness_parties,
         c.reassignment_counter, v.redaction_id, 0 as past, 9223372036854775807 as stays, 9223372036854775807 as begins,
         0::bigint as reach, l."offset" as guessed, v.interface_pk as own_pk, c.origin, null::"char" as ended_by
    from template_interfaces i, live l left join contract_parties p on p.parties_pk = l.parties_pk, interface_views v
    left join contracts c on c."offset" = v."offset" and c.node_id = v.node_id
   where l.template_pk = i.template_pk and l.unhosted_since is null
     and v."offset" = l."offset" and v.node_id = l.node_id and v.interface_pk = i.interface_pk and v.status_code = 0
  union all
  select v.interface_pk, l.template_pk, l.contract_id,
         :pqs.with_nulls(v.view, (select o.fields from omitted_fields o where o.template_pk = v.interface_pk)),
         l."offset", l.node_id, case l.ended_by when 'a' then l.ended_offset end, l.ended_node_id,
         case l.ended_by when 'a' then l.ended_at end, l.synchronizer_pk, v.implementation_package_id,
         c.representative_package_id, null, null, c.created_event_blob, c.created_at, p.signatories, p.observers,
         p.witness_parties, c.reassignment_counter, v.redaction_id, 1, l.ended_offset, l."offset", w.reach, 0::bigint,
         v.interface_pk, c.origin, l.ended_by
    from template_interfaces i, :pqs.__lifetime_reaches() w, (
           select e."offset", e.node_id, e.template_pk, e.synchronizer_pk, e.parties_pk, e.contract_id, e.class,
                  e.ended_offset, e.ended_by, e.ended_at, e.ended_node_id
             from ended e
           union all
           select u."offset", u.node_id, u.template_pk, u.synchronizer_pk, u.parties_pk, u.contract_id,
                  (-2)::smallint, u.unhosted_since, null, null, null
             from live u) l left join contract_parties p on p.parties_pk = l.parties_pk, interface_views v
    left join contracts c on c."offset" = v."offset" and c.node_id = v.node_id
   where l.template_pk = i.template_pk and l.class = w.class
     and v."offset" = l."offset" and v.node_id = l.node_id and v.interface_pk = i.interface_pk and v.status_code = 0;
comment on view :pqs.__active_interfaces is 'Interface part of __active_rows.';

create or replace function :pqs.__interfaces_active() returns setof :pqs.__active_interfaces
  language sql stable parallel safe rows 1000
begin atomic
  select r.* from :pqs.__active_interfaces r;
end;
comment on function :pqs.__interfaces_active() is 'The rows of __active_interfaces.';

-- Active and past contracts. A contract is active at an offset if it began at or before the offset and ends after it.
-- Past contracts are searched only among those whose lifetime class can reach the offset. For contracts active now,
-- these two conditions are constants that exclude nothing.
-- The parts have only the columns that conditions and indexes use. The other columns are looked up in the select list,
-- once for all parts and only if selected. The only JOIN of the parts is that of parties, by which contracts are found,
-- because every joined column would be copied for each use. Contracts whose parties left the participant are in live;
-- they count as ended at the offset at which their parties left.
create or replace view :pqs.__active_rows as
  select concat_ws(':', coalesce(k.package_name, (select p.package_name from packages p where p.package_id = k.package_id),
                                 k.package_id), k.module_name, k.entity_name) as template_fqn,
         r.kind as payload_type,
         :pqs.__event_pk(r."offset", r.node_id) as create_event_pk,
         cast(row (r."offset", r.node_id) as :pqs.event_id) as create_event_id,
         r."offset" as created_at_ix, r."offset" as created_at_offset,
         :pqs.__event_pk(r.archived, r.ended_node_id) as archive_event_pk,
         case when r.archived is not null
              then cast(row (r.archived, r.ended_node_id) as :pqs.event_id) end as archive_event_id,
         r.archived as archived_at_ix, r.archived as archived_at_offset,
         int8range(r."offset", nullif(r.stays, 9223372036854775807)) as life_ix,
         id_text(r.contract_id) as contract_id, r.payload, r.contract_key,
         decode(base64_text(r.created_event_blob), 'base64') as metadata, r.created_at as created_effective_at,
         r.archived_at as archived_effective_at, r.redaction_id,
         coalesce((select p.package_name from packages p where p.package_id = r.implementation_package_id),
                  t.package_name, t.package_id) as package_name,
         (select p.package_version from packages p
           where p.package_id = coalesce(r.implementation_package_id, nullif(r.representative_package_id, ''), t.package_id))
           as package_version,
         coalesce(r.implementation_package_id, nullif(r.representative_package_id, ''), t.package_id) as package_id,
         r.signatories, r.observers, r.witness_parties as witnesses, false as divulged_only,
         t.package_id as creation_package_id,
         decode(nullif(base64_text(r.contract_key_hash), ''), 'base64') as contract_key_hash, r.reassignment_counter,
         (select s.synchronizer_id from synchronizers s where s.synchronizer_pk = r.synchronizer_pk) as synchronizer_id,
         u.record_time, id_text(u.update_id) as update_id,
         (select b.indexed_at from batches b where b.batch_offset = u.batch_offset) as indexed_at,
         r.type_pk, r.past, r.stays, r.begins, r.reach, r.guessed, r.own_pk,
         case r.origin when 'c' then 'create' when 'a' then 'assign' when 's' then 'seed' end as origin, r.ended_by
    from (
      select 'template'::text as kind, x.*
        from (with apart as (select)
              select l.template_pk as type_pk, l.template_pk, l.contract_id, c.payload, l."offset", l.node_id,
                     null::bigint as archived, null::integer as ended_node_id, null::timestamptz as archived_at,
                     l.synchronizer_pk, null::text as implementation_package_id, c.representative_package_id, c.contract_key,
                     c.contract_key_hash, c.created_event_blob, c.created_at, p.signatories, p.observers, p.witness_parties,
                     c.reassignment_counter, c.redaction_id, 0 as past, 9223372036854775807 as stays,
                     9223372036854775807 as begins, 0::bigint as reach, l."offset" as guessed, c.template_pk as own_pk,
                     c.origin, null::"char" as ended_by
                from live l left join contract_parties p on p.parties_pk = l.parties_pk, contracts c
               where l.unhosted_since is null and c."offset" = l."offset" and c.node_id = l.node_id) x
      union all
      select 'template', x.*
        from (with apart as (select)
              select l.template_pk as type_pk, l.template_pk, l.contract_id, c.payload, l."offset", l.node_id,
                     case l.ended_by when 'a' then l.ended_offset end, l.ended_node_id,
                     case l.ended_by when 'a' then l.ended_at end, l.synchronizer_pk, null::text,
                     c.representative_package_id, c.contract_key, c.contract_key_hash, c.created_event_blob, c.created_at,
                     p.signatories, p.observers, p.witness_parties, c.reassignment_counter, c.redaction_id,
                     1, l.ended_offset, l."offset" as begins, w.reach, 0::bigint, c.template_pk, c.origin, l.ended_by
                from :pqs.__lifetime_reaches() w, (
                       select e."offset", e.node_id, e.template_pk, e.synchronizer_pk, e.parties_pk, e.contract_id, e.class,
                              e.ended_offset, e.ended_by, e.ended_at, e.ended_node_id
                         from ended e
                       union all
                       select u."offset", u.node_id, u.template_pk, u.synchronizer_pk, u.parties_pk, u.contract_id,
                              (-2)::smallint, u.unhosted_since, null, null, null
                         from live u) l left join contract_parties p on p.parties_pk = l.parties_pk, contracts c
               where l.class = w.class and c."offset" = l."offset" and c.node_id = l.node_id) x
      union all
      select 'interface', x.* from (with apart as (select) select r.* from :pqs.__interfaces_active() r) x) r
    left join templates t on t.template_pk = r.template_pk
    left join templates k on k.template_pk = r.type_pk
    left join updates u on u."offset" = r."offset";
comment on view :pqs.__active_rows is 'Contracts and interface views, active and ended, with the columns of type contract and the columns by which function active filters.';

create or replace view :pqs.__archivals as
  select e."offset", id_text(e.contract_id) as contract_id, e.choice_pk, e.node_id
    from exercises e
   where e.consuming
  union all
  select a."offset", id_text(a.contract_id), 0 as choice_pk, a.node_id
    from archives a;
comment on view :pqs.__archivals is 'Events that archived a contract: consuming exercises and archived events.';
comment on column :pqs.__archivals."offset" is 'Offset of the archive.';
comment on column :pqs.__archivals.contract_id is 'Archived contract.';
comment on column :pqs.__archivals.choice_pk is 'Key of the choice; 0 for an archived event.';
comment on column :pqs.__archivals.node_id is 'Node of the event.';

create or replace view :pqs.__archived_interfaces as
  select v.interface_pk as type_pk, l.template_pk, l.contract_id,
         :pqs.with_nulls(v.view, (select o.fields from omitted_fields o where o.template_pk = v.interface_pk)) as payload,
         l."offset", l.node_id, a."offset" as archived, a.node_id as ended_node_id, l.ended_at as archived_at,
         l.synchronizer_pk, v.implementation_package_id, c.representative_package_id, null::jsonb as contract_key,
         null::bytea as contract_key_hash, c.created_event_blob, c.created_at, p.signatories, p.observers, p.witness_parties,
         c.reassignment_counter, v.redaction_id, 0 as choice_pk, v.interface_pk as own_pk, c.origin
    from template_interfaces i, :pqs.__archivals a, ended l left join contract_parties p on p.parties_pk = l.parties_pk,
         interface_views v
    left join contracts c on c."offset" = v."offset" and c.node_id = v.node_id
   where id_text(l.contract_id) = a.contract_id and l.ended_offset = a."offset" and l.ended_by <> 'w'
     and l.template_pk = i.template_pk
     and v."offset" = l."offset" and v.node_id = l.node_id and v.interface_pk = i.interface_pk and v.status_code = 0;
comment on view :pqs.__archived_interfaces is 'Interface part of __archived_rows.';

create or replace function :pqs.__interfaces_archived() returns setof :pqs.__archived_interfaces
  language sql stable parallel safe rows 1000
begin atomic
  select r.* from :pqs.__archived_interfaces r;
end;
comment on function :pqs.__interfaces_archived() is 'The rows of __archived_interfaces.';

create or replace function :pqs.__no_archives() returns setof :pqs.__archived_interfaces
  language plpgsql stable parallel safe rows 1
  set search_path = pg_catalog, pg_temp
as $$
begin
end
$$;
comment on function :pqs.__no_archives() is 'Never returns rows; used for the estimate of __archived_rows, see __contract_rows.';

create or replace view :pqs.__archived_rows as
  select concat_ws(':', coalesce(k.package_name, (select p.package_name from packages p where p.package_id = k.package_id),
                                 k.package_id), k.module_name, k.entity_name) as template_fqn,
         r.kind as payload_type,
         :pqs.__event_pk(r."offset", r.node_id) as create_event_pk,
         cast(row (r."offset", r.node_id) as :pqs.event_id) as create_event_id,
         r."offset" as created_at_ix, r."offset" as created_at_offset,
         :pqs.__event_pk(r.archived, r.ended_node_id) as archive_event_pk,
         cast(row (r.archived, r.ended_node_id) as :pqs.event_id) as archive_event_id,
         r.archived as archived_at_ix, r.archived as archived_at_offset,
         int8range(r."offset", r.archived) as life_ix,
         id_text(r.contract_id) as contract_id, r.payload, r.contract_key,
         decode(base64_text(r.created_event_blob), 'base64') as metadata, r.created_at as created_effective_at,
         r.archived_at as archived_effective_at, r.redaction_id,
         coalesce((select p.package_name from packages p where p.package_id = r.implementation_package_id),
                  t.package_name, t.package_id) as package_name,
         (select p.package_version from packages p
           where p.package_id = coalesce(r.implementation_package_id, nullif(r.representative_package_id, ''), t.package_id))
           as package_version,
         coalesce(r.implementation_package_id, nullif(r.representative_package_id, ''), t.package_id) as package_id,
         r.signatories, r.observers, r.witness_parties as witnesses, false as divulged_only,
         t.package_id as creation_package_id,
         decode(nullif(base64_text(r.contract_key_hash), ''), 'base64') as contract_key_hash, r.reassignment_counter,
         (select s.synchronizer_id from synchronizers s where s.synchronizer_pk = r.synchronizer_pk) as synchronizer_id,
         u.record_time, id_text(u.update_id) as update_id,
         (select b.indexed_at from batches b where b.batch_offset = u.batch_offset) as indexed_at,
         r.type_pk, r.choice_pk, r.kind, r.own_pk,
         case r.origin when 'c' then 'create' when 'a' then 'assign' when 's' then 'seed' end as origin
    from (
      select 'template'::text as kind, x.*
        from (with apart as (select)
              select l.template_pk as type_pk, l.template_pk, l.contract_id, c.payload, l."offset", l.node_id,
                     a."offset" as archived, a.node_id as ended_node_id, l.ended_at as archived_at, l.synchronizer_pk,
                     null::text as implementation_package_id, c.representative_package_id, c.contract_key,
                     c.contract_key_hash, c.created_event_blob, c.created_at, p.signatories, p.observers, p.witness_parties,
                     c.reassignment_counter, c.redaction_id, a.choice_pk, c.template_pk as own_pk, c.origin
                from :pqs.__archivals a, ended l left join contract_parties p on p.parties_pk = l.parties_pk, contracts c
               where id_text(l.contract_id) = a.contract_id and l.ended_offset = a."offset" and l.ended_by <> 'w'
                 and c."offset" = l."offset" and c.node_id = l.node_id) x
      union all
      select 'interface', x.* from (with apart as (select) select r.* from :pqs.__interfaces_archived() r) x
      union all
      select r.implementation_package_id, r.* from :pqs.__no_archives() r) r
    left join templates t on t.template_pk = r.template_pk
    left join templates k on k.template_pk = r.type_pk
    left join updates u on u."offset" = r."offset";
comment on view :pqs.__archived_rows is 'Archived contracts and interface views, with the columns of type contract and the columns by which function archives filters.';

create or replace function :pqs.payload_with_nulls(contract :pqs.contract) returns jsonb
  language sql stable parallel safe
begin atomic
  select case (contract).payload_type when 'interface' then (contract).payload
              else :pqs.with_nulls((contract).payload, (
                     select o.fields from omitted_fields o join templates t on t.template_pk = o.template_pk
                      where t.package_id = (contract).creation_package_id
                        and (contract).template_fqn = concat_ws(':', t.package_name, t.module_name, t.entity_name))) end;
end;
comment on function :pqs.payload_with_nulls(:pqs.contract) is
  'Payload with explicit nulls for trailing fields that are None. Call it as payload_with_nulls(a.*). Column payload of a template has the value as the ledger sent it, so that indexes on it are used.';
