-- Contracts by name and offsets. Functions are single queries, so that Postgres makes them part of the query that calls them.

-- Two sources, each now and in the past, of which those are planned that a name can mean. They yield what conditions and
-- indexes are about; all else is looked up in the list of columns, once for all four and only where it is asked for. No JOIN
-- in them but that of parties, by which contracts are found: planning is most of the time of a small query, and every joined
-- column would be copied for each use. Contracts whose parties left the participant stand in live, and ended when they left.
-- The subselect asks for a name once; the planner cannot look into it and would read whole tables for a rare template. So a
-- second condition says the same without one, for the estimate alone: its first half, taken to be rare, is always true.
-- Offsets are asked for before anything is looked for: where nothing can be found, conditions on rows are never looked at.
-- In the sources, not below them: Postgres before 16 then keeps every join of the list of columns, whether asked for or not.
create or replace function :pqs.active(qname text default null, "offset" bigint default :pqs.latest_offset())
  returns setof :pqs.contract
  language sql stable parallel safe rows 1000
begin atomic
  select concat_ws(':', coalesce(k.package_name, (select p.package_name from packages p where p.package_id = k.package_id),
                                 k.package_id), k.module_name, k.entity_name),
         r.payload_type, :pqs.__event_pk(r."offset", r.node_id), cast(row (r."offset", r.node_id) as :pqs.event_id),
         r."offset", r."offset",
         :pqs.__event_pk(r.archived, r.ended_node_id),
         case when r.archived is not null then cast(row (r.archived, r.ended_node_id) as :pqs.event_id) end,
         r.archived, r.archived, int8range(r."offset", r.ended), id_text(r.contract_id), r.payload, r.contract_key,
         decode(base64_text(r.created_event_blob), 'base64'), r.created_at,
         r.archived_at, r.redaction_id,
         coalesce((select p.package_name from packages p where p.package_id = r.implementation_package_id),
                  t.package_name, t.package_id),
         (select p.package_version from packages p
           where p.package_id = coalesce(r.implementation_package_id, nullif(r.representative_package_id, ''), t.package_id)),
         coalesce(r.implementation_package_id, nullif(r.representative_package_id, ''), t.package_id),
         r.signatories, r.observers, r.witness_parties, false, t.package_id,
         decode(nullif(base64_text(r.contract_key_hash), ''), 'base64'), r.reassignment_counter,
         (select s.synchronizer_id from synchronizers s where s.synchronizer_pk = r.synchronizer_pk),
         u.record_time, id_text(u.update_id), (select b.indexed_at from batches b where b.batch_offset = u.batch_offset)
    from (
      select 'template'::text as payload_type, l.template_pk as type_pk, l.template_pk, l.contract_id, c.payload,
             l."offset", l.node_id, null::bigint as ended, null::bigint as archived, null::integer as ended_node_id,
             null::timestamptz as archived_at, l.synchronizer_pk, null::text as implementation_package_id,
             c.representative_package_id, c.contract_key, c.contract_key_hash, c.created_event_blob,
             c.created_at, p.signatories, p.observers, p.witness_parties, c.reassignment_counter, c.redaction_id
        from live l left join contract_parties p on p.parties_pk = l.parties_pk, contracts c
       where not :pqs.__is_interface(qname) and (select :pqs.__inside(active."offset")) is not null
         and l.template_pk = any ((select :pqs.__type_pks(qname))::integer[])
         and (l."offset" + 0 = l."offset" or l.template_pk = any (:pqs.__type_pks(qname)))
         and l.unknown_since is null and l."offset" <= (select :pqs.__inside(active."offset"))
         and c."offset" = l."offset" and c.node_id = l.node_id and c.template_pk = l.template_pk
      union all
      select 'template', l.template_pk, l.template_pk, l.contract_id, c.payload, l."offset", l.node_id, l.ended_offset,
             case l.ended_by when 'a' then l.ended_offset end, l.ended_node_id, case l.ended_by when 'a' then l.ended_at end,
             l.synchronizer_pk, null, c.representative_package_id, c.contract_key, c.contract_key_hash, c.created_event_blob,
             c.created_at, p.signatories, p.observers, p.witness_parties, c.reassignment_counter, c.redaction_id
        from :pqs.__lifetime_windows(active."offset") w, (
               select e."offset", e.node_id, e.template_pk, e.synchronizer_pk, e.parties_pk, e.contract_id, e.class,
                      e.ended_offset, e.ended_by, e.ended_at, e.ended_node_id
                 from ended e
               union all
               select u."offset", u.node_id, u.template_pk, u.synchronizer_pk, u.parties_pk, u.contract_id,
                      (-2)::smallint, u.unknown_since, null, null, null
                 from live u) l left join contract_parties p on p.parties_pk = l.parties_pk, contracts c
       where not :pqs.__is_interface(qname) and (select :pqs.__is_past(active."offset"))
         and l.template_pk = any ((select :pqs.__type_pks(qname))::integer[])
         and l.class = w.class and l."offset" > w.after_offset and l."offset" <= w.at_offset and l.ended_offset > w.at_offset
         and c."offset" = l."offset" and c.node_id = l.node_id and c.template_pk = l.template_pk
      union all
      select 'interface', v.interface_pk, l.template_pk, l.contract_id,
             :pqs.padded(v.view, (select pd.padding from paddings pd where pd.template_pk = v.interface_pk)),
             l."offset", l.node_id, null, null, null, null, l.synchronizer_pk, v.implementation_package_id,
             c.representative_package_id, null, null, c.created_event_blob, c.created_at, p.signatories, p.observers,
             p.witness_parties, c.reassignment_counter, v.redaction_id
        from live l left join contract_parties p on p.parties_pk = l.parties_pk, interface_views v
        left join contracts c on c."offset" = v."offset" and c.node_id = v.node_id
       where not :pqs.__is_template(qname) and (select :pqs.__inside(active."offset")) is not null
         and l.template_pk = any ((select :pqs.__implementing_pks(qname))::integer[])
         and (l."offset" + 0 = l."offset" or l.template_pk = any (:pqs.__implementing_pks(qname)))
         and l.unknown_since is null and l."offset" <= (select :pqs.__inside(active."offset"))
         and v."offset" = l."offset" and v.node_id = l.node_id
         and v.interface_pk = any ((select :pqs.__type_pks(qname))::integer[]) and v.status_code = 0
      union all
      select 'interface', v.interface_pk, l.template_pk, l.contract_id,
             :pqs.padded(v.view, (select pd.padding from paddings pd where pd.template_pk = v.interface_pk)),
             l."offset", l.node_id, l.ended_offset, case l.ended_by when 'a' then l.ended_offset end, l.ended_node_id,
             case l.ended_by when 'a' then l.ended_at end, l.synchronizer_pk, v.implementation_package_id,
             c.representative_package_id, null, null, c.created_event_blob, c.created_at, p.signatories, p.observers,
             p.witness_parties, c.reassignment_counter, v.redaction_id
        from :pqs.__lifetime_windows(active."offset") w, (
               select e."offset", e.node_id, e.template_pk, e.synchronizer_pk, e.parties_pk, e.contract_id, e.class,
                      e.ended_offset, e.ended_by, e.ended_at, e.ended_node_id
                 from ended e
               union all
               select u."offset", u.node_id, u.template_pk, u.synchronizer_pk, u.parties_pk, u.contract_id,
                      (-2)::smallint, u.unknown_since, null, null, null
                 from live u) l left join contract_parties p on p.parties_pk = l.parties_pk, interface_views v
        left join contracts c on c."offset" = v."offset" and c.node_id = v.node_id
       where not :pqs.__is_template(qname) and (select :pqs.__is_past(active."offset"))
         and l.template_pk = any ((select :pqs.__implementing_pks(qname))::integer[])
         and l.class = w.class and l."offset" > w.after_offset and l."offset" <= w.at_offset and l.ended_offset > w.at_offset
         and v."offset" = l."offset" and v.node_id = l.node_id
         and v.interface_pk = any ((select :pqs.__type_pks(qname))::integer[]) and v.status_code = 0) r
    left join templates t on t.template_pk = r.template_pk
    left join templates k on k.template_pk = r.type_pk
    left join updates u on u."offset" = r."offset";
end;
comment on function :pqs.active(text, bigint) is
  'Contracts of a template, or views of an interface, that were active at an offset; by default now. Of everything without a name. An error for an offset that the session does not read, see oldest_offset and latest_offset. Any shape.';

create or replace function :pqs.creates(
  qname text default null, from_offset bigint default :pqs.oldest_offset(), to_offset bigint default :pqs.latest_offset())
  returns setof :pqs.contract
  language sql stable parallel safe rows 1000
begin atomic
  select template_fqn, payload_type, create_event_pk, create_event_id, created_at_ix, created_at_offset,
         archive_event_pk, archive_event_id, archived_at_ix, archived_at_offset, life_ix, contract_id, payload,
         contract_key, metadata, created_effective_at, archived_effective_at, redaction_id,
         package_name, package_version, package_id, signatories, observers, witnesses, divulged_only,
         creation_package_id, contract_key_hash, reassignment_counter, synchronizer_id, record_time, update_id, indexed_at
    from (
      select r.* from :pqs.__template_rows r
       where r.type_pk = any (:pqs.__type_pks(qname)) and r.origin <> 'assign'
         and r.created_at_offset >= (select :pqs.__from(from_offset))
         and r.created_at_offset <= (select :pqs.__inside(to_offset))
      union all
      select r.* from :pqs.__interface_rows r
       where r.type_pk = any (:pqs.__type_pks(qname)) and r.origin <> 'assign'
         and r.created_at_offset >= (select :pqs.__from(from_offset))
         and r.created_at_offset <= (select :pqs.__inside(to_offset))) r
   where (select :pqs.__from(from_offset)) is not null and (select :pqs.__inside(to_offset)) is not null;
end;
comment on function :pqs.creates(text, bigint, bigint) is
  'Contracts of a template, or views of an interface, created from one offset to another, both included. Seeded contracts count as created at the seed. An error where the session does not read, see oldest_offset and latest_offset. Any shape.';

create or replace view :pqs.__archivals as
  select e."offset", id_text(e.contract_id) as contract_id, e.choice_pk, e.node_id
    from exercises e
   where e.consuming
  union all
  select a."offset", id_text(a.contract_id), 0 as choice_pk, a.node_id
    from archives a;
comment on view :pqs.__archivals is 'What archived a contract: consuming exercises and archived events.';
comment on column :pqs.__archivals."offset" is 'Offset of the archive.';
comment on column :pqs.__archivals.contract_id is 'Contract that was archived.';
comment on column :pqs.__archivals.choice_pk is 'Number of the choice; 0 for an archived event.';
comment on column :pqs.__archivals.node_id is 'Node of the event.';

-- By module and name: a contract may be archived by a choice of another version than the one that was asked for.
create or replace function :pqs.__consuming_choices(qname text) returns integer[]
  language sql stable parallel safe
  return (select array_agg(h.choice_pk) || 0 from choices h join templates t on t.template_pk = h.template_pk
           where qname is null
              or (t.module_name, t.entity_name) in (select n.module_name, n.entity_name from templates n
                                                     where n.template_pk = any (:pqs.__type_pks(qname))));
comment on function :pqs.__consuming_choices(text) is
  'Numbers of the choices that can archive contracts of a template, with 0 for archived events.';

create or replace function :pqs.archives(
  qname text default null, from_offset bigint default coalesce(:pqs.pruned_offset(), :pqs.oldest_offset()),
  to_offset bigint default :pqs.latest_offset())
  returns setof :pqs.contract
  language sql stable parallel safe rows 1000
begin atomic
  select concat_ws(':', coalesce(k.package_name, (select p.package_name from packages p where p.package_id = k.package_id),
                                 k.package_id), k.module_name, k.entity_name),
         r.payload_type, :pqs.__event_pk(r."offset", r.node_id), cast(row (r."offset", r.node_id) as :pqs.event_id),
         r."offset", r."offset",
         :pqs.__event_pk(r.archived, r.archive_node), cast(row (r.archived, r.archive_node) as :pqs.event_id),
         r.archived, r.archived, int8range(r."offset", r.archived), id_text(r.contract_id), r.payload, r.contract_key,
         decode(base64_text(r.created_event_blob), 'base64'), r.created_at,
         r.archived_at, r.redaction_id,
         coalesce((select p.package_name from packages p where p.package_id = r.implementation_package_id),
                  t.package_name, t.package_id),
         (select p.package_version from packages p
           where p.package_id = coalesce(r.implementation_package_id, nullif(r.representative_package_id, ''), t.package_id)),
         coalesce(r.implementation_package_id, nullif(r.representative_package_id, ''), t.package_id),
         r.signatories, r.observers, r.witness_parties, false, t.package_id,
         decode(nullif(base64_text(r.contract_key_hash), ''), 'base64'), r.reassignment_counter,
         (select s.synchronizer_id from synchronizers s where s.synchronizer_pk = r.synchronizer_pk),
         u.record_time, id_text(u.update_id), (select b.indexed_at from batches b where b.batch_offset = u.batch_offset)
    from (
      select 'template'::text as payload_type, l.template_pk as type_pk, l.template_pk, l.contract_id, c.payload,
             l."offset", l.node_id, a."offset" as archived, a.node_id as archive_node, l.ended_at as archived_at,
             l.synchronizer_pk, null::text as implementation_package_id, c.representative_package_id, c.contract_key,
             c.contract_key_hash, c.created_event_blob, c.created_at, p.signatories, p.observers, p.witness_parties,
             c.reassignment_counter, c.redaction_id
        from :pqs.__archivals a, ended l left join contract_parties p on p.parties_pk = l.parties_pk, contracts c
       where (select :pqs.__inside(from_offset)) is not null and (select :pqs.__inside(to_offset)) is not null
         and a.choice_pk = any ((select :pqs.__consuming_choices(qname))::integer[])
         and a."offset" >= (select :pqs.__inside(from_offset)) and a."offset" <= (select :pqs.__inside(to_offset))
         and id_text(l.contract_id) = a.contract_id and l.ended_offset = a."offset" and l.ended_by <> 'w'
         and l.template_pk = any ((select :pqs.__type_pks(qname))::integer[])
         and c."offset" = l."offset" and c.node_id = l.node_id and c.template_pk = l.template_pk
      union all
      select 'interface', v.interface_pk, l.template_pk, l.contract_id,
             :pqs.padded(v.view, (select pd.padding from paddings pd where pd.template_pk = v.interface_pk)),
             l."offset", l.node_id, a."offset", a.node_id, l.ended_at, l.synchronizer_pk,
             v.implementation_package_id, c.representative_package_id, null, null, c.created_event_blob, c.created_at,
             p.signatories, p.observers, p.witness_parties, c.reassignment_counter, v.redaction_id
        from :pqs.__archivals a, ended l left join contract_parties p on p.parties_pk = l.parties_pk, interface_views v
        left join contracts c on c."offset" = v."offset" and c.node_id = v.node_id
       where (select :pqs.__inside(from_offset)) is not null and (select :pqs.__inside(to_offset)) is not null
         and cardinality((select :pqs.__implementing_pks(qname))) > 0
         and a."offset" >= (select :pqs.__inside(from_offset)) and a."offset" <= (select :pqs.__inside(to_offset))
         and id_text(l.contract_id) = a.contract_id and l.ended_offset = a."offset" and l.ended_by <> 'w'
         and l.template_pk = any ((select :pqs.__implementing_pks(qname))::integer[])
         and v."offset" = l."offset" and v.node_id = l.node_id
         and v.interface_pk = any ((select :pqs.__type_pks(qname))::integer[]) and v.status_code = 0) r
    left join templates t on t.template_pk = r.template_pk
    left join templates k on k.template_pk = r.type_pk
    left join updates u on u."offset" = r."offset";
end;
comment on function :pqs.archives(text, bigint, bigint) is
  'Contracts of a template, or views of an interface, archived from one offset to another, both included. An error where the session does not read, see oldest_offset and latest_offset. Any shape.';

create or replace function :pqs.lookup_contract(contract_id text, qname text default null)
  returns setof :pqs.contract
  language sql stable parallel safe rows 3
begin atomic
  select template_fqn, payload_type, create_event_pk, create_event_id, created_at_ix, created_at_offset,
         archive_event_pk, archive_event_id, archived_at_ix, archived_at_offset, life_ix, r.contract_id, payload,
         contract_key, metadata, created_effective_at, archived_effective_at, redaction_id,
         package_name, package_version, package_id, signatories, observers, witnesses, divulged_only,
         creation_package_id, contract_key_hash, reassignment_counter, synchronizer_id, record_time, update_id, indexed_at
    from (
      select t.* from :pqs.__template_rows t where t.contract_id = lookup_contract.contract_id
         and t.type_pk = any (:pqs.__type_pks(qname))
      union all
      select i.* from :pqs.__interface_rows i where i.contract_id = lookup_contract.contract_id
         and i.type_pk = any (:pqs.__type_pks(qname))) r;
end;
comment on function :pqs.lookup_contract(text, text) is
  'A contract whatever its state, and its interface views; only as what the name says where one is given.';

create or replace view :pqs.transactions as
  select u."offset" as ix, u."offset", id_text(u.update_id) as transaction_id, u.effective_at, u.workflow_id,
         cast(row (trace_text(u.trace_parent), u.trace_state) as :pqs.trace_context) as trace_context,
         decode(id_text(u.external_transaction_hash), 'hex') as external_transaction_hash, u.paid_traffic_cost,
         s.synchronizer_id, u.record_time, b.indexed_at
    from updates u
    left join batches b on b.batch_offset = u.batch_offset
    left join synchronizers s on s.synchronizer_pk = u.synchronizer_pk
   where u.kind in ('t', 'r');
comment on view :pqs.transactions is 'Transactions and reassignments; join created_at_ix, archived_at_ix and exercised_at_ix to ix.';
comment on column :pqs.transactions.ix is 'The offset.';
comment on column :pqs.transactions."offset" is 'Offset.';
comment on column :pqs.transactions.transaction_id is 'Update id.';
comment on column :pqs.transactions.effective_at is 'Ledger effective time; null for reassignments.';
comment on column :pqs.transactions.workflow_id is 'Workflow id.';
comment on column :pqs.transactions.trace_context is 'W3C trace context: (trace_context).trace_parent.';
comment on column :pqs.transactions.external_transaction_hash is 'Hash of an externally signed transaction.';
comment on column :pqs.transactions.paid_traffic_cost is 'Traffic this participant paid; null if it did not submit.';
comment on column :pqs.transactions.synchronizer_id is 'Synchronizer.';
comment on column :pqs.transactions.record_time is 'Record time.';
comment on column :pqs.transactions.indexed_at is 'When it was written here.';
