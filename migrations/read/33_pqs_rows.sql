-- Contracts under the names of PQS. Everything that is joined for names, times and events is joined on a unique key from the
-- left, so that a query pays for the columns it asks for; functions are single queries, so that conditions reach indexes.

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
              then int8range(c."offset", coalesce(l.deactivated_offset, l.unknown_since)) end as life_ix,
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
         case c.origin when 'c' then 'create' when 'a' then 'assign' when 's' then 'seed' end as origin, c.node_id
    from contracts c
    join contract_states l on l.activated_offset = c."offset" and l.node_id = c.node_id
                          and l.contract_id = id_text(c.contract_id) and l.template_pk = c.template_pk
    left join contract_parties w on w.parties_pk = c.parties_pk
    left join templates t on t.template_pk = c.template_pk
    left join updates uc on uc."offset" = c."offset";
comment on view :pqs.__template_rows is 'One row per activation of a contract and per witnessed create, with the columns of type contract and what functions select by.';
comment on column :pqs.__template_rows.template_fqn is 'package:Module:Entity.';
comment on column :pqs.__template_rows.payload_type is 'template or interface.';
comment on column :pqs.__template_rows.create_event_pk is 'Number of the create event.';
comment on column :pqs.__template_rows.create_event_id is 'Offset and node of the create event.';
comment on column :pqs.__template_rows.created_at_ix is 'Offset of the create or assign.';
comment on column :pqs.__template_rows.created_at_offset is 'Offset of the create or assign.';
comment on column :pqs.__template_rows.archive_event_pk is 'Number of the archive event.';
comment on column :pqs.__template_rows.archive_event_id is 'Offset and node of the archive event.';
comment on column :pqs.__template_rows.archived_at_ix is 'Offset of the archive.';
comment on column :pqs.__template_rows.archived_at_offset is 'Offset of the archive; null while active, and where it left its synchronizer.';
comment on column :pqs.__template_rows.life_ix is 'Offsets from which to before which it is active.';
comment on column :pqs.__template_rows.contract_id is 'Contract id.';
comment on column :pqs.__template_rows.payload is 'Payload, or view of the interface with explicit nulls.';
comment on column :pqs.__template_rows.contract_key is 'Contract key.';
comment on column :pqs.__template_rows.metadata is 'Disclosure blob.';
comment on column :pqs.__template_rows.created_effective_at is 'Ledger effective time of the create.';
comment on column :pqs.__template_rows.archived_effective_at is 'Ledger effective time of the archive.';
comment on column :pqs.__template_rows.redaction_id is 'Redaction that removed payload, key and blob; null unless redacted.';
comment on column :pqs.__template_rows.package_name is 'Package name.';
comment on column :pqs.__template_rows.package_version is 'Package version; null where the package was not read.';
comment on column :pqs.__template_rows.package_id is 'Package the payload was rendered with.';
comment on column :pqs.__template_rows.signatories is 'Signatories.';
comment on column :pqs.__template_rows.observers is 'Observers.';
comment on column :pqs.__template_rows.witnesses is 'Parties of the reader that see the create.';
comment on column :pqs.__template_rows.divulged_only is 'True when it never was active for the parties of the reader.';
comment on column :pqs.__template_rows.creation_package_id is 'Package it was created with.';
comment on column :pqs.__template_rows.contract_key_hash is 'Hash of the contract key.';
comment on column :pqs.__template_rows.reassignment_counter is 'Reassignments before this activation.';
comment on column :pqs.__template_rows.synchronizer_id is 'Synchronizer.';
comment on column :pqs.__template_rows.record_time is 'Record time of the create.';
comment on column :pqs.__template_rows.update_id is 'Update id of the create.';
comment on column :pqs.__template_rows.indexed_at is 'When the create was written here.';
comment on column :pqs.__template_rows.type_pk is 'Number of the template or interface.';
comment on column :pqs.__template_rows.lived_pk is 'Number of the template, of activations only.';
comment on column :pqs.__template_rows.activated_offset is 'Offset of the activation.';
comment on column :pqs.__template_rows.deactivated_offset is 'Offset of the archive or unassign.';
comment on column :pqs.__template_rows.origin is 'create, assign or seed.';
comment on column :pqs.__template_rows.node_id is 'Node of the create within its update.';

create or replace view :pqs.__interface_rows as
  select concat_ws(':', coalesce(t.package_name, (select p.package_name from packages p where p.package_id = t.package_id),
                                 t.package_id), t.module_name, t.entity_name) as template_fqn,
         'interface'::text as payload_type,
         r.create_event_pk, r.create_event_id, r.created_at_ix, v."offset" as created_at_offset,
         r.archive_event_pk, r.archive_event_id, r.archived_at_ix, r.archived_at_offset, r.life_ix, r.contract_id,
         :pqs.padded(v.view, (select pd.padding from paddings pd where pd.template_pk = v.interface_pk)) as payload,
         null::jsonb as contract_key, r.metadata, r.created_effective_at, r.archived_effective_at, v.redaction_id,
         coalesce((select p.package_name from packages p where p.package_id = v.implementation_package_id),
                  r.package_name) as package_name,
         coalesce((select p.package_version from packages p where p.package_id = v.implementation_package_id),
                  r.package_version) as package_version,
         coalesce(v.implementation_package_id, r.package_id) as package_id,
         r.signatories, r.observers, r.witnesses, r.divulged_only, r.creation_package_id,
         null::bytea as contract_key_hash,
         r.reassignment_counter, r.synchronizer_id, r.record_time, r.update_id, r.indexed_at,
         v.interface_pk as type_pk, r.lived_pk, r.activated_offset, r.deactivated_offset, r.origin, r.node_id
    from interface_views v
    join :pqs.__template_rows r on r.created_at_offset = v."offset" and r.node_id = v.node_id
    left join templates t on t.template_pk = v.interface_pk
   where v.status_code = 0;
comment on view :pqs.__interface_rows is 'One row per interface view of a contract, with the columns of type contract and what functions select by. Views that failed are left out.';
comment on column :pqs.__interface_rows.template_fqn is 'package:Module:Entity.';
comment on column :pqs.__interface_rows.payload_type is 'template or interface.';
comment on column :pqs.__interface_rows.create_event_pk is 'Number of the create event.';
comment on column :pqs.__interface_rows.create_event_id is 'Offset and node of the create event.';
comment on column :pqs.__interface_rows.created_at_ix is 'Offset of the create or assign.';
comment on column :pqs.__interface_rows.created_at_offset is 'Offset of the create or assign.';
comment on column :pqs.__interface_rows.archive_event_pk is 'Number of the archive event.';
comment on column :pqs.__interface_rows.archive_event_id is 'Offset and node of the archive event.';
comment on column :pqs.__interface_rows.archived_at_ix is 'Offset of the archive.';
comment on column :pqs.__interface_rows.archived_at_offset is 'Offset of the archive; null while active, and where it left its synchronizer.';
comment on column :pqs.__interface_rows.life_ix is 'Offsets from which to before which it is active.';
comment on column :pqs.__interface_rows.contract_id is 'Contract id.';
comment on column :pqs.__interface_rows.payload is 'Payload, or view of the interface with explicit nulls.';
comment on column :pqs.__interface_rows.contract_key is 'Contract key.';
comment on column :pqs.__interface_rows.metadata is 'Disclosure blob.';
comment on column :pqs.__interface_rows.created_effective_at is 'Ledger effective time of the create.';
comment on column :pqs.__interface_rows.archived_effective_at is 'Ledger effective time of the archive.';
comment on column :pqs.__interface_rows.redaction_id is 'Redaction that removed the view; null unless redacted.';
comment on column :pqs.__interface_rows.package_name is 'Package name.';
comment on column :pqs.__interface_rows.package_version is 'Package version; null where the package was not read.';
comment on column :pqs.__interface_rows.package_id is 'Package the payload was rendered with.';
comment on column :pqs.__interface_rows.signatories is 'Signatories.';
comment on column :pqs.__interface_rows.observers is 'Observers.';
comment on column :pqs.__interface_rows.witnesses is 'Parties of the reader that see the create.';
comment on column :pqs.__interface_rows.divulged_only is 'True when it never was active for the parties of the reader.';
comment on column :pqs.__interface_rows.creation_package_id is 'Package it was created with.';
comment on column :pqs.__interface_rows.contract_key_hash is 'Hash of the contract key.';
comment on column :pqs.__interface_rows.reassignment_counter is 'Reassignments before this activation.';
comment on column :pqs.__interface_rows.synchronizer_id is 'Synchronizer.';
comment on column :pqs.__interface_rows.record_time is 'Record time of the create.';
comment on column :pqs.__interface_rows.update_id is 'Update id of the create.';
comment on column :pqs.__interface_rows.indexed_at is 'When the create was written here.';
comment on column :pqs.__interface_rows.type_pk is 'Number of the template or interface.';
comment on column :pqs.__interface_rows.lived_pk is 'Number of the template, of activations only.';
comment on column :pqs.__interface_rows.activated_offset is 'Offset of the activation.';
comment on column :pqs.__interface_rows.deactivated_offset is 'Offset of the archive or unassign.';
comment on column :pqs.__interface_rows.origin is 'create, assign or seed.';
comment on column :pqs.__interface_rows.node_id is 'Node of the create within its update.';

create or replace function :pqs.padded_payload(contract :pqs.contract) returns jsonb
  language sql stable parallel safe
begin atomic
  select case (contract).payload_type when 'interface' then (contract).payload
              else :pqs.padded((contract).payload, (
                     select pd.padding from paddings pd join templates t on t.template_pk = pd.template_pk
                      where t.package_id = (contract).creation_package_id
                        and (contract).template_fqn = concat_ws(':', t.package_name, t.module_name, t.entity_name))) end;
end;
comment on function :pqs.padded_payload(:pqs.contract) is
  'The payload with explicit nulls for trailing fields that are None: padded_payload(a.*). Column payload of a template is as the ledger wrote it, so that indexes on it are of use.';
