-- Contracts by name and offsets. Functions are single queries, so that Postgres makes them part of the query that calls them.

create or replace function :pqs.active(qname text default null, "offset" bigint default :pqs.latest_offset())
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
       where r.lived_pk = any (:pqs.__type_pks(qname))
         and r.deactivated_offset is null and r.activated_offset <= (select :pqs.__inside("offset"))
      union all
      select r.* from :pqs.__lifetime_classes() class
        join :pqs.__template_rows r on lifetime_class(r.activated_offset, r.deactivated_offset) = class
       where r.lived_pk = any (:pqs.__type_pks(qname))
         and (select :pqs.__inside("offset")) < (select checkpoint from stream)
         and r.activated_offset > (select :pqs.__inside("offset")) - :pqs.__reach(class)
         and r.activated_offset <= (select :pqs.__inside("offset"))
         and r.deactivated_offset > (select :pqs.__inside("offset")) and r.deactivated_offset is not null
      union all
      select r.* from :pqs.__interface_rows r
       where r.type_pk = any (:pqs.__type_pks(qname))
         and r.deactivated_offset is null and r.activated_offset <= (select :pqs.__inside("offset"))
      union all
      select r.* from :pqs.__interface_rows r
       where r.type_pk = any (:pqs.__type_pks(qname))
         and (select :pqs.__inside("offset")) < (select checkpoint from stream)
         and r.activated_offset <= (select :pqs.__inside("offset"))
         and r.deactivated_offset > (select :pqs.__inside("offset")) and r.deactivated_offset is not null) r;
end;
comment on function :pqs.active(text, bigint) is
  'Contracts of a template, or views of an interface, that were active at an offset; by default now. Of everything without a name.';

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
         and r.created_at_offset <= (select :pqs.__inside(to_offset))) r;
end;
comment on function :pqs.creates(text, bigint, bigint) is
  'Contracts of a template, or views of an interface, created from one offset to another, both included. Seeded contracts count as created at the seed.';

create or replace view :pqs.__archivals as
  select e."offset", e.contract_id, e.choice_pk
    from exercises e
   where e.consuming
  union all
  select a."offset", a.contract_id, 0 as choice_pk
    from archives a;
comment on view :pqs.__archivals is 'What archived a contract: consuming exercises and archived events.';
comment on column :pqs.__archivals."offset" is 'Offset of the archive.';
comment on column :pqs.__archivals.contract_id is 'Contract that was archived.';
comment on column :pqs.__archivals.choice_pk is 'Number of the choice; 0 for an archived event.';

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
  select template_fqn, payload_type, create_event_pk, create_event_id, created_at_ix, created_at_offset,
         archive_event_pk, archive_event_id, archived_at_ix, archived_at_offset, life_ix, contract_id, payload,
         contract_key, metadata, created_effective_at, archived_effective_at, redaction_id,
         package_name, package_version, package_id, signatories, observers, witnesses, divulged_only,
         creation_package_id, contract_key_hash, reassignment_counter, synchronizer_id, record_time, update_id, indexed_at
    from (
      select r.*
        from :pqs.__archivals a
        join :pqs.__template_rows r on r.contract_id = a.contract_id and r.deactivated_offset = a."offset"
       where r.lived_pk = any (:pqs.__type_pks(qname))
         and a.choice_pk = any (:pqs.__consuming_choices(qname))
         and a."offset" >= (select :pqs.__inside(from_offset)) and a."offset" <= (select :pqs.__inside(to_offset))
      union all
      select r.*
        from :pqs.__archivals a
        join :pqs.__interface_rows r on r.contract_id = a.contract_id and r.deactivated_offset = a."offset"
       where r.type_pk = any (:pqs.__type_pks(qname))
         and a."offset" >= (select :pqs.__inside(from_offset)) and a."offset" <= (select :pqs.__inside(to_offset))) r;
end;
comment on function :pqs.archives(text, bigint, bigint) is
  'Contracts of a template, or views of an interface, archived from one offset to another, both included.';

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
  select u."offset" as ix, u."offset", u.update_id as transaction_id, u.effective_at, u.workflow_id,
         cast(row (u.trace_parent, u.trace_state) as :pqs.trace_context) as trace_context,
         decode(u.external_transaction_hash, 'hex') as external_transaction_hash, u.paid_traffic_cost,
         s.synchronizer_id, u.record_time, u.indexed_at
    from updates u
    left join synchronizers s on s.synchronizer_pk = u.synchronizer_pk
   where u.kind in ('transaction', 'reassignment');
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
