-- Decoded views of the event tables: ids and parties as texts instead of bytes and numbers. Columns that a query does not select
-- cost nothing.

create view contract_states as
  select id_text(l.contract_id) as contract_id, l.synchronizer_pk, l."offset" as activated_offset, l.node_id, l.template_pk,
         l.parties_pk, null::bigint as deactivated_offset, l.unhosted_since, null::"char" as ended_by,
         null::timestamptz as ended_at, null::integer as ended_node_id
    from live l
  union all
  select id_text(e.contract_id), e.synchronizer_pk, e."offset", e.node_id, e.template_pk, e.parties_pk, e.ended_offset,
         e.unhosted_since, e.ended_by, e.ended_at, e.ended_node_id
    from ended e;
comment on view contract_states is 'State of each row of contracts: active, or the time and kind of its end, with ended_by as in table ended.';

create view lifetimes as
  select contract_id, synchronizer_pk, activated_offset, template_pk, deactivated_offset, unhosted_since, node_id, parties_pk,
         ended_by, ended_at, ended_node_id
    from contract_states where ended_by is distinct from 'w';
comment on view lifetimes is 'Lifetimes of contracts: the offsets between which a contract is active on a synchronizer. Contains the rows of live, and of ended except witnessed creates.';

create view decoded_updates as
  select u."offset",
         case u.kind when 't' then 'transaction' when 'r' then 'reassignment' when 'p' then 'topology' else 'unknown' end as kind,
         id_text(u.update_id) as update_id, u.synchronizer_pk, u.command_id, u.workflow_id, u.effective_at, u.record_time,
         trace_text(u.trace_parent) as trace_parent, u.trace_state,
         id_text(u.external_transaction_hash) as external_transaction_hash, id_text(u.transaction_hash) as transaction_hash,
         u.paid_traffic_cost, u.event_count, u.raw, b.epoch, b.indexed_at
    from updates u
    left join batches b on b.batch_offset = u.batch_offset;
comment on view decoded_updates is 'Table updates, decoded.';

create view decoded_contracts as
  select id_text(c.contract_id) as contract_id, c."offset", c.node_id,
         case c.origin when 'c' then 'create' when 'a' then 'assign' else 'seed' end as origin,
         c.synchronizer_pk, c.template_pk,
         case when c.representative_package_id is null
              then (select t.package_id from templates t where t.template_pk = c.template_pk)
              else nullif(c.representative_package_id, '') end as representative_package_id,
         c.payload, c.contract_key, base64_text(c.contract_key_hash) as contract_key_hash, p.signatories, p.observers,
         p.witness_parties, base64_text(c.created_event_blob) as created_event_blob, c.created_at, c.acs_delta,
         c.reassignment_counter, c.workflow_id, c.redaction_id
    from contracts c
    left join contract_parties p on p.parties_pk = c.parties_pk;
comment on view decoded_contracts is 'Table contracts, decoded. To find a contract by its id, get its offset and node from view lifetimes first.';

create view decoded_exercises as
  select e."offset", e.node_id, id_text(e.contract_id) as contract_id, e.template_pk, e.choice_pk,
         e.argument::jsonb as argument, e.result::jsonb as result,
         p.acting_parties, p.witness_parties, e.consuming, e.last_descendant_node_id, p.implemented_interfaces, e.acs_delta,
         e.redaction_id
    from exercises e
    left join event_parties p on p.parties_pk = e.parties_pk;
comment on view decoded_exercises is 'Table exercises, decoded.';

create view decoded_archives as
  select a."offset", a.node_id, id_text(a.contract_id) as contract_id, a.template_pk, p.witness_parties,
         p.implemented_interfaces
    from archives a
    left join event_parties p on p.parties_pk = a.parties_pk;
comment on view decoded_archives is 'Table archives, decoded.';

create view decoded_interface_views as
  select id_text(c.contract_id) as contract_id, v."offset", v.node_id, v.interface_pk, v.view, v.status_code,
         v.status_message, v.status_details, v.implementation_package_id, v.redaction_id
    from interface_views v
    left join contracts c on c."offset" = v."offset" and c.node_id = v.node_id;
comment on view decoded_interface_views is 'Table interface_views, decoded.';

create view decoded_reassignments as
  select r."offset", r.node_id, case r.kind when 'u' then 'unassign' else 'assign' end as kind,
         id_text(r.contract_id) as contract_id, r.template_pk, r.reassignment_id, r.source_pk, r.target_pk, r.submitter,
         r.reassignment_counter, r.assignment_exclusivity, p.witness_parties, r.incomplete, r.created_event, r.workflow_id
    from reassignments r
    left join event_parties p on p.parties_pk = r.parties_pk;
comment on view decoded_reassignments is 'Table reassignments, decoded.';

create view active_contracts as
  select id_text(l.contract_id) as contract_id, t.package_name, t.module_name, t.entity_name, t.package_id, c.payload,
         c.contract_key, p.signatories, p.observers, c.created_at, c."offset", s.synchronizer_id, c.reassignment_counter
    from live l
    join contracts c on c."offset" = l."offset" and c.node_id = l.node_id
    join templates t on t.template_pk = c.template_pk
    join synchronizers s on s.synchronizer_pk = l.synchronizer_pk
    left join contract_parties p on p.parties_pk = l.parties_pk
   where l.unhosted_since is null;
comment on view active_contracts is 'Contracts active at the checkpoint, one row per synchronizer.';
comment on column active_contracts.contract_id is 'Contract id.';
comment on column active_contracts.package_name is 'Package name.';
comment on column active_contracts.module_name is 'Module, dotted.';
comment on column active_contracts.entity_name is 'Template name.';
comment on column active_contracts.package_id is 'Package id of the template in the create.';
comment on column active_contracts.payload is 'createArgument, the ledger''s own JSON.';
comment on column active_contracts.contract_key is 'Contract key; null without a key.';
comment on column active_contracts.signatories is 'Signatories.';
comment on column active_contracts.observers is 'Observers.';
comment on column active_contracts.created_at is 'Ledger effective time of the original create.';
comment on column active_contracts."offset" is 'Offset of the activation.';
comment on column active_contracts.synchronizer_id is 'Synchronizer on which the contract is active.';
comment on column active_contracts.reassignment_counter is 'Number of reassignments before this activation; null if the ledger did not report it.';

-- A column of the same name has the same meaning in every view, so each meaning is defined once.
do $$
declare
  meaning record;
begin
  for meaning in
    select c.relname, a.attname, m.text
      from pg_class c
      join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
      join (values
        ('contract_id', 'Contract id.'),
        ('offset', 'Offset of the update.'),
        ('node_id', 'Node of the event within its update.'),
        ('activated_offset', 'Offset of the activation or witnessed create; with node_id the key of the row in contracts.'),
        ('deactivated_offset', 'Offset of the archive or unassign; null while active.'),
        ('unhosted_since', 'Offset at which the last hosted party of the contract left the participant; null for all other contracts. While deactivated_offset is null, the state since then is not known.'),
        ('ended_by', 'Kind of the end, as in table ended; null while active.'),
        ('ended_at', 'Ledger effective time of the archive, or record time of an unassign; null if not known.'),
        ('ended_node_id', 'Node of the archive; null for all other ends.'),
        ('parties_pk', 'Party set, see contract_parties.'),
        ('template_pk', 'Template, see templates.'),
        ('choice_pk', 'Choice, see choices.'),
        ('interface_pk', 'Interface, a row of templates.'),
        ('synchronizer_pk', 'Synchronizer, see synchronizers.'),
        ('source_pk', 'Synchronizer that the contract leaves.'),
        ('target_pk', 'Synchronizer to which the contract moves.'),
        ('origin', 'create, assign, or seed.'),
        ('representative_package_id', 'Package with which the payload was rendered; after an import, possibly not that of the template. Null if the ledger did not report it.'),
        ('payload', 'createArgument, the ledger''s own JSON.'),
        ('contract_key', 'Contract key, the ledger''s own JSON; null without a key.'),
        ('contract_key_hash', 'Base64 hash of the key; null without a key.'),
        ('signatories', 'Signatories.'),
        ('observers', 'Observers.'),
        ('witness_parties', 'Indexed parties that see the event.'),
        ('created_event_blob', 'Base64 disclosure blob; null unless requested.'),
        ('created_at', 'Ledger effective time of the original create, kept across reassignments.'),
        ('acs_delta', 'Whether the event changed the active contracts of the indexed parties; null if the ledger did not report it.'),
        ('reassignment_counter', 'Number of reassignments so far; null if the ledger did not report it.'),
        ('workflow_id', 'Workflow id; null without one.'),
        ('redaction_id', 'Redaction that removed the contents of the row; null unless redacted.'),
        ('argument', 'choiceArgument, the ledger''s own JSON.'),
        ('result', 'exerciseResult, the ledger''s own JSON.'),
        ('acting_parties', 'Controllers that exercised the choice.'),
        ('consuming', 'Whether the exercise archived the contract.'),
        ('last_descendant_node_id', 'Inclusive end of the subtree, which begins at node_id.'),
        ('implemented_interfaces', 'Interfaces of the contract that match the filter; empty if none match.'),
        ('view', 'viewValue, the ledger''s own JSON; null if the view failed.'),
        ('status_code', '0 if the view was computed, otherwise the gRPC status code.'),
        ('status_message', 'Reason the view failed; null otherwise.'),
        ('status_details', 'Details of the failure as the ledger sent them; null without any.'),
        ('implementation_package_id', 'Package whose implementation computed the view; null if the ledger did not report it.'),
        ('reassignment_id', 'Reassignment id, common to both halves.'),
        ('submitter', 'Submitting party; null if not known.'),
        ('assignment_exclusivity', 'Time until which only the submitter may assign; null without a limit.'),
        ('incomplete', 'Whether the seed found the reassignment in flight.'),
        ('created_event', 'Created event of an incomplete assign; null otherwise.'),
        ('kind', 'Of updates: transaction, reassignment, topology, or unknown; of reassignments: unassign or assign.'),
        ('update_id', 'Ledger''s id of the update, the same on every participant.'),
        ('command_id', 'Command id; null unless the indexer''s user submitted the command.'),
        ('effective_at', 'Ledger effective time; null for all but transactions.'),
        ('record_time', 'Time the synchronizer recorded the update; monotone only per synchronizer. Null if the ledger did not report it.'),
        ('trace_parent', 'W3C traceparent of the submission; null without one.'),
        ('trace_state', 'W3C tracestate of the submission; null without one.'),
        ('external_transaction_hash', 'Hex hash of an externally signed transaction; null for all others.'),
        ('transaction_hash', 'Hex hash of the transaction; null for participants before 3.6.'),
        ('paid_traffic_cost', 'Traffic that this participant paid for the submission; null if it did not submit.'),
        ('event_count', 'Number of events of this update that were delivered and stored.'),
        ('raw', 'Complete update as the ledger sent it, for kinds this version does not know; null otherwise.'),
        ('epoch', 'Epoch of the writer that stored the update.'),
        ('indexed_at', 'Time the update was stored.')) m (name, text) on m.name = a.attname
     where c.relnamespace = (select oid from pg_namespace where nspname = current_schema()) and c.relkind = 'v'
       and (c.relname in ('contract_states', 'lifetimes') or c.relname like 'decoded\_%')
  loop
    execute format('comment on column %I.%I is %L', meaning.relname, meaning.attname, meaning.text);
  end loop;
end $$;
