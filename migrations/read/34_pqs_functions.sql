-- Contracts by name and offsets. Functions are single queries, so that Postgres can inline them into the query that calls
-- them.

-- Only the kinds that a name can mean are planned, see __contract_rows. The body is little more than a list of columns,
-- because Postgres parses the stored tree of a function with every query, but caches that of a view. array_position and
-- with_name prevent casts in a user's query from being applied to payloads of other templates, see active of explore.
-- The subselect resolves a name once. The planner does not know its result and would scan complete tables for a rare
-- template. So a second condition repeats the name without a subselect, only for the estimate: its first half, which
-- the planner estimates to be rarely true, is always true.
-- Offsets are checked before any rows are searched, because conditions on rows are not evaluated if no rows are found.
-- Each condition names a column of the view, so that it is pushed down into the parts. If one does not, Postgres before
-- 16 executes the joins of all columns, even of columns that are not selected.
create or replace function :pqs.active(qname text default null, "offset" bigint default :pqs.latest_offset())
  returns setof :pqs.contract
  language sql stable parallel safe rows 1000
begin atomic
  select template_fqn, payload_type, create_event_pk, create_event_id, created_at_ix, created_at_offset,
         archive_event_pk, archive_event_id, archived_at_ix, archived_at_offset, life_ix, contract_id,
         /*alone*/case when :explore.with_name(qname) then/*alone*/ payload /*alone*/end/*alone*/,
         /*alone*/case when :explore.with_name(qname) then/*alone*/ contract_key /*alone*/end/*alone*/,
         metadata, created_effective_at, archived_effective_at, redaction_id,
         package_name, package_version, package_id, signatories, observers, witnesses, divulged_only,
         creation_package_id, contract_key_hash, reassignment_counter, synchronizer_id, record_time, update_id, indexed_at
    from :pqs.__active_rows r
   where r.payload_type = any (:pqs.__payload_types(qname))
     and r.past <= (select :pqs.__past(active."offset"))
     and r.type_pk = any ((select :pqs.__type_pks(qname))::integer[])
     and (r.guessed + 0 = r.guessed or r.type_pk = any (:pqs.__type_pks(qname)))
     /*alone*/and (qname is null or array_position((select :pqs.__type_pks(qname)), r.own_pk) is not null)/*alone*/
     and r.created_at_offset <= (select active."offset") and r.stays > (select active."offset")
     and r.begins > (select active."offset") - r.reach;
end;
comment on function :pqs.active(text, bigint) is
  'Contracts of a template, or views of an interface, that were active at an offset; by default now. Without a name, all contracts and views. Offsets outside the range that the session reads are an error, see oldest_offset and latest_offset. Works with any shape.';

create or replace function :pqs.creates(
  qname text default null, from_offset bigint default :pqs.oldest_offset(), to_offset bigint default :pqs.latest_offset())
  returns setof :pqs.contract
  language sql stable parallel safe rows 1000
begin atomic
  select template_fqn, payload_type, create_event_pk, create_event_id, created_at_ix, created_at_offset,
         archive_event_pk, archive_event_id, archived_at_ix, archived_at_offset, life_ix, contract_id,
         /*alone*/case when :explore.with_name(qname) then/*alone*/ payload /*alone*/end/*alone*/,
         /*alone*/case when :explore.with_name(qname) then/*alone*/ contract_key /*alone*/end/*alone*/,
         metadata, created_effective_at, archived_effective_at, redaction_id,
         package_name, package_version, package_id, signatories, observers, witnesses, divulged_only,
         creation_package_id, contract_key_hash, reassignment_counter, synchronizer_id, record_time, update_id, indexed_at
    from :pqs.__contract_rows r
   where r.kind = any (:pqs.__payload_types(qname))
     and r.type_pk = any (:pqs.__type_pks(qname)) and r.origin <> 'assign'
     /*alone*/and (qname is null or array_position((select :pqs.__type_pks(qname)), r.type_pk) is not null)/*alone*/
     and r.created_at_offset >= (select :pqs.__from(from_offset))
     and r.created_at_offset <= (select :pqs.__inside(to_offset))
     and (r.kind is null) <> ((select :pqs.__from(from_offset)) is not null and (select :pqs.__inside(to_offset)) is not null);
end;
comment on function :pqs.creates(text, bigint, bigint) is
  'Contracts of a template, or views of an interface, created from one offset to another, both inclusive. Seeded contracts count as created at the seed. Offsets outside the range that the session reads are an error, see oldest_offset and latest_offset. Works with any shape.';

-- Compared by module and name, because a choice of another version of the template may archive a contract.
create or replace function :pqs.__consuming_choices(qname text) returns integer[]
  language sql stable parallel safe
  return (select array_agg(h.choice_pk) || 0 from choices h join templates t on t.template_pk = h.template_pk
           where qname is null
              or (t.module_name, t.entity_name) in (select n.module_name, n.entity_name from templates n
                                                     where n.template_pk = any (:pqs.__type_pks(qname))));
comment on function :pqs.__consuming_choices(text) is
  'Keys of the choices that can archive contracts of a template, and 0 for archived events.';

create or replace function :pqs.archives(
  qname text default null, from_offset bigint default coalesce(:pqs.pruned_offset(), :pqs.oldest_offset()),
  to_offset bigint default :pqs.latest_offset())
  returns setof :pqs.contract
  language sql stable parallel safe rows 1000
begin atomic
  select template_fqn, payload_type, create_event_pk, create_event_id, created_at_ix, created_at_offset,
         archive_event_pk, archive_event_id, archived_at_ix, archived_at_offset, life_ix, contract_id,
         /*alone*/case when :explore.with_name(qname) then/*alone*/ payload /*alone*/end/*alone*/,
         /*alone*/case when :explore.with_name(qname) then/*alone*/ contract_key /*alone*/end/*alone*/,
         metadata, created_effective_at, archived_effective_at, redaction_id,
         package_name, package_version, package_id, signatories, observers, witnesses, divulged_only,
         creation_package_id, contract_key_hash, reassignment_counter, synchronizer_id, record_time, update_id, indexed_at
    from :pqs.__archived_rows r
   where r.payload_type = any (:pqs.__payload_types(qname))
     and r.choice_pk = any ((select :pqs.__consuming_choices(qname))::integer[])
     and r.type_pk = any ((select :pqs.__type_pks(qname))::integer[])
     /*alone*/and (qname is null or array_position((select :pqs.__type_pks(qname)), r.own_pk) is not null)/*alone*/
     and r.archived_at_offset >= (select :pqs.__inside(from_offset))
     and r.archived_at_offset <= (select :pqs.__inside(to_offset))
     and (r.kind is null) <> ((select :pqs.__inside(from_offset)) is not null and (select :pqs.__inside(to_offset)) is not null
                              and (select :pqs.__type_pks(qname)) is not null);
end;
comment on function :pqs.archives(text, bigint, bigint) is
  'Contracts of a template, or views of an interface, archived from one offset to another, both inclusive. Offsets outside the range that the session reads are an error, see oldest_offset and latest_offset. Works with any shape.';

-- For lookups of one contract: its row is found once, and its interface views are looked up by the key of this row.
create or replace view :pqs.__lookup_rows as
  select concat_ws(':', coalesce(k.package_name, case x.payload_type when 'interface' then
                                   (select p.package_name from packages p where p.package_id = k.package_id) end,
                                 k.package_id), k.module_name, k.entity_name) as template_fqn,
         x.payload_type,
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
         l.contract_id, x.payload, x.contract_key, decode(base64_text(c.created_event_blob), 'base64') as metadata,
         c.created_at as created_effective_at, case when l.ended_by = 'a' then l.ended_at end as archived_effective_at,
         x.redaction_id,
         coalesce((select p.package_name from packages p where p.package_id = x.implementation_package_id),
                  t.package_name, t.package_id) as package_name,
         coalesce((select p.package_version from packages p where p.package_id = x.implementation_package_id),
                  (select p.package_version from packages p
                    where p.package_id = coalesce(nullif(c.representative_package_id, ''), t.package_id))) as package_version,
         coalesce(x.implementation_package_id, nullif(c.representative_package_id, ''), t.package_id) as package_id,
         w.signatories, w.observers, w.witness_parties as witnesses, l.ended_by is not distinct from 'w' as divulged_only,
         t.package_id as creation_package_id,
         decode(nullif(base64_text(x.contract_key_hash), ''), 'base64') as contract_key_hash, c.reassignment_counter,
         (select s.synchronizer_id from synchronizers s where s.synchronizer_pk = c.synchronizer_pk) as synchronizer_id,
         u.record_time, id_text(u.update_id) as update_id,
         (select b.indexed_at from batches b where b.batch_offset = u.batch_offset) as indexed_at, x.type_pk,
         case c.origin when 'c' then 'create' when 'a' then 'assign' when 's' then 'seed' end as origin, l.ended_by
    from contract_states l
    join contracts c on c."offset" = l.activated_offset and c.node_id = l.node_id
    -- A worker joins by offset the rows that it does not look up.
   /*workers
    join (
           select 'template'::text as payload_type, t."offset", t.node_id, t.template_pk as type_pk, t.payload, t.contract_key,
                  t.contract_key_hash, t.redaction_id, null::text as implementation_package_id
             from contracts t
           union all
           select 'interface', v."offset", v.node_id, v.interface_pk,
                  :pqs.with_nulls(v.view, (select o.fields from omitted_fields o where o.template_pk = v.interface_pk)),
                  null, null, v.redaction_id, v.implementation_package_id
             from interface_views v
            where v.status_code = 0) x on x."offset" = c."offset" and x.node_id = c.node_id
   workers*/
   /*alone*/
   cross join lateral (
           select 'template'::text as payload_type, c.template_pk as type_pk, c.payload, c.contract_key, c.contract_key_hash,
                  c.redaction_id, null::text as implementation_package_id
           union all
           select 'interface', v.interface_pk,
                  :pqs.with_nulls(v.view, (select o.fields from omitted_fields o where o.template_pk = v.interface_pk)),
                  null, null, v.redaction_id, v.implementation_package_id
             from interface_views v
            where v."offset" = c."offset" and v.node_id = c.node_id and v.status_code = 0) x
   /*alone*/
    left join contract_parties w on w.parties_pk = c.parties_pk
    left join templates t on t.template_pk = c.template_pk
    left join templates k on k.template_pk = x.type_pk
    left join updates u on u."offset" = c."offset";
comment on view :pqs.__lookup_rows is 'Contracts, each with its interface views, with the columns of type contract; for lookups by contract id.';

create or replace function :pqs.lookup_contract(contract_id text, qname text default null)
  returns setof :pqs.contract
  language sql stable parallel safe rows 3
begin atomic
  select template_fqn, payload_type, create_event_pk, create_event_id, created_at_ix, created_at_offset,
         archive_event_pk, archive_event_id, archived_at_ix, archived_at_offset, life_ix, r.contract_id,
         /*alone*/case when :explore.with_name(qname) then/*alone*/ payload /*alone*/end/*alone*/,
         /*alone*/case when :explore.with_name(qname) then/*alone*/ contract_key /*alone*/end/*alone*/,
         metadata, created_effective_at, archived_effective_at, redaction_id,
         package_name, package_version, package_id, signatories, observers, witnesses, divulged_only,
         creation_package_id, contract_key_hash, reassignment_counter, synchronizer_id, record_time, update_id, indexed_at
    from :pqs.__lookup_rows r
   where r.contract_id = lookup_contract.contract_id and r.type_pk = any (:pqs.__type_pks(qname))
     /*alone*/and (qname is null or array_position((select :pqs.__type_pks(qname)), r.type_pk) is not null)/*alone*/;
end;
comment on function :pqs.lookup_contract(text, text) is
  'Contract in any state, and its interface views; if a name is given, only the rows of that template or interface.';

create or replace function :pqs.__trace(trace_parent text, trace_state text) returns :pqs.trace_context
  language sql immutable parallel safe
  return cast(row (trace_parent, trace_state) as :pqs.trace_context);
comment on function :pqs.__trace(text, text) is 'W3C trace context of an update, from its traceparent and tracestate.';

create or replace view :pqs.transactions as
  select u."offset" as ix, u."offset", id_text(u.update_id) as transaction_id, u.effective_at, u.workflow_id,
         :pqs.__trace(trace_text(u.trace_parent), u.trace_state) as trace_context,
         decode(id_text(u.external_transaction_hash), 'hex') as external_transaction_hash, u.paid_traffic_cost,
         s.synchronizer_id, u.record_time, b.indexed_at
    from updates u
    left join batches b on b.batch_offset = u.batch_offset
    left join synchronizers s on s.synchronizer_pk = u.synchronizer_pk
   where u.kind in ('t', 'r');
comment on view :pqs.transactions is 'Transactions and reassignments. Columns created_at_ix, archived_at_ix and exercised_at_ix refer to ix.';
comment on column :pqs.transactions.ix is 'Offset of the update.';
comment on column :pqs.transactions."offset" is 'Offset of the update.';
comment on column :pqs.transactions.transaction_id is 'Update id.';
comment on column :pqs.transactions.effective_at is 'Ledger effective time; null for reassignments.';
comment on column :pqs.transactions.workflow_id is 'Workflow id; null without one.';
comment on column :pqs.transactions.trace_context is 'W3C trace context; its fields are read as (trace_context).trace_parent.';
comment on column :pqs.transactions.external_transaction_hash is 'Hash of an externally signed transaction; null for all others.';
comment on column :pqs.transactions.paid_traffic_cost is 'Traffic in bytes that this participant paid; null if it did not submit.';
comment on column :pqs.transactions.synchronizer_id is 'Id of the synchronizer that sequenced the update.';
comment on column :pqs.transactions.record_time is 'Time the synchronizer recorded the update.';
comment on column :pqs.transactions.indexed_at is 'Time the update was stored.';

-- A column of the same name has the same meaning in each of the views that these functions read.
do $body$
declare
  meaning record;
begin
  for meaning in
    select c.relname, a.attname, m.text
      from pg_class c
      join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      join (values
        ('activated_offset', 'Offset of the activation.'),
        ('archive_event_id', 'Offset and node of the archive event; null unless archived.'),
        ('archive_event_pk', 'Key of the archive event; null unless archived.'),
        ('archived', 'Offset of the archive; null unless archived.'),
        ('archived_at', 'Ledger effective time of the archive; null unless archived.'),
        ('archived_at_ix', 'Offset of the archive; null unless archived.'),
        ('archived_at_offset', 'Offset of the archive; null while active, and if the contract left its synchronizer.'),
        ('archived_effective_at', 'Ledger effective time of the archive; null unless archived.'),
        ('begins', 'Offset of the create or assign if the contract ended, otherwise the largest bigint.'),
        ('choice_pk', 'Key of the choice that archived the contract; 0 for an archived event, and for interfaces, which are not filtered by choice.'),
        ('contract_id', 'Contract id.'),
        ('contract_key', 'Contract key; null without a key.'),
        ('contract_key_hash', 'Hash of the contract key; null without a key.'),
        ('create_event_id', 'Offset and node of the create event.'),
        ('create_event_pk', 'Key of the create event.'),
        ('created_at', 'Ledger effective time of the create.'),
        ('created_at_ix', 'Offset of the create or assign.'),
        ('created_at_offset', 'Offset of the create or assign.'),
        ('created_effective_at', 'Ledger effective time of the create.'),
        ('created_event_blob', 'Disclosure blob, as in table contracts; null unless requested.'),
        ('creation_package_id', 'Package with which the contract was created.'),
        ('deactivated_offset', 'Offset of the archive or unassign; null while active.'),
        ('divulged_only', 'Whether the contract was never active for the indexed parties.'),
        ('ended_by', 'Kind of the end, as in table ended; null while active.'),
        ('ended_node_id', 'Node of the archive; null for all other ends.'),
        ('guessed', 'Offset of the create or assign while active, otherwise 0; used for the estimate in function active.'),
        ('implementation_package_id', 'Package whose implementation computed the view; null for templates.'),
        ('indexed_at', 'Time the create was stored.'),
        ('kind', 'template or interface: the view that has the row.'),
        ('life_ix', 'Range of offsets in which the contract is active; the lower bound is inclusive, the upper bound exclusive.'),
        ('lived_pk', 'Key of the template; null for witnessed creates.'),
        ('metadata', 'Disclosure blob; null unless requested.'),
        ('node_id', 'Node of the create within its update.'),
        ('observers', 'Observers.'),
        ('offset', 'Offset of the create or assign.'),
        ('origin', 'create, assign or seed.'),
        ('own_pk', 'Key of the template or interface, read from the row that has the payload.'),
        ('package_id', 'Package with which the payload was rendered.'),
        ('package_name', 'Package name.'),
        ('package_version', 'Package version; null if the package was not read.'),
        ('past', '0 for contracts active now, 1 for contracts that ended.'),
        ('payload', 'Payload, or view of the interface with explicit nulls.'),
        ('payload_type', 'template or interface.'),
        ('reach', 'Maximum number of offsets between the start of a contract of this lifetime class and an offset at which it is active; 0 while active.'),
        ('reassignment_counter', 'Number of reassignments before this activation; null if the ledger did not report it.'),
        ('record_time', 'Record time of the create.'),
        ('redaction_id', 'Redaction that removed the contents of the row; null unless redacted.'),
        ('representative_package_id', 'Package with which the payload was rendered, as in table contracts.'),
        ('signatories', 'Signatories.'),
        ('stays', 'Offset at which the contract ended; the largest bigint while active.'),
        ('synchronizer_id', 'Id of the synchronizer of the activation.'),
        ('synchronizer_pk', 'Key of the synchronizer.'),
        ('template_fqn', 'Template or interface as package:Module:Entity.'),
        ('template_pk', 'Key of the template.'),
        ('type_pk', 'Key of the template or interface.'),
        ('update_id', 'Update id of the create.'),
        ('witness_parties', 'Indexed parties that see the create.'),
        ('witnesses', 'Indexed parties that see the create.')
      ) m (name, text) on m.name = a.attname
     where c.relnamespace = (select n.oid from pg_namespace n where n.nspname = :'pqs')
       and c.relname in ('__template_rows', '__interface_rows', '__contract_rows', '__active_interfaces', '__active_rows',
                         '__archived_interfaces', '__archived_rows', '__lookup_rows')
  loop
    execute format('comment on column %I.%I.%I is %L', :'pqs'::text, meaning.relname, meaning.attname, meaning.text);
  end loop;
end
$body$;
