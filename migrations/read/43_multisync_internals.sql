-- Views in the form of the internal tables of PQS, which explorers read directly.

create or replace view :multisync.__contracts as
  select m.tpe_pk, case when r.origin <> 'assign' then r.create_event_pk end as create_event_pk,
         case when r.origin <> 'assign' then r.created_at_ix end as created_at_ix, r.archive_event_pk, r.archived_at_ix, r.life_ix,
         r.contract_id, r.payload, r.contract_key, r.contract_key_hash, r.metadata, hashtextextended(r.package_id, 0) as package_pk,
         r.signatories, r.observers, r.witnesses, r.divulged_only, r.redaction_id,
         case when r.origin = 'assign' then r.create_event_pk end as assign_event_pk,
         case when r.origin = 'assign' then r.created_at_ix end as assigned_at_ix,
         case when r.ended_by = 'r' then :pqs.__event_pk(upper(r.life_ix), :multisync.__unassign_node(r.contract_id, upper(r.life_ix))) end
           as unassign_event_pk,
         case when r.ended_by = 'r' then upper(r.life_ix) end as unassigned_at_ix,
         coalesce(r.reassignment_counter, case r.origin when 'create' then 0 end) as reassignment_counter, r.synchronizer_id
    from :pqs.__contract_rows r
    join :pqs.__tpe_of m on m.template_pk = r.type_pk;
comment on view :multisync.__contracts is 'Contracts and their interface views on each synchronizer, active or not.';

create or replace view :multisync.__reassignments as
  select m.tpe_pk, :pqs.__event_pk(r."offset", r.node_id) as reassign_event_pk, r."offset" as reassigned_at_ix,
         case r.kind when 'u' then 'unassign' else 'assign' end as type, id_text(r.contract_id) as contract_id, r.reassignment_id,
         a.synchronizer_id as source_synchronizer_id, b.synchronizer_id as target_synchronizer_id, r.submitter,
         r.reassignment_counter, w.witness_parties as witnesses, r.assignment_exclusivity
    from reassignments r
    left join :pqs.__tpe_of m on m.template_pk = r.template_pk
    left join synchronizers a on a.synchronizer_pk = r.source_pk
    left join synchronizers b on b.synchronizer_pk = r.target_pk
    left join event_parties w on w.parties_pk = r.parties_pk
   where not r.incomplete;
comment on view :multisync.__reassignments is 'Halves of reassignments. Halves that the seed found in flight are only in table reassignments.';

do $body$
declare
  meaning record;
begin
  for meaning in
    select c.relname, a.attname, m.text
      from pg_class c
      join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      join (values
        ('archive_event_pk', 'Archive event, see __events; null unless archived.'),
        ('archived_at_ix', 'Offset of the archive; null unless archived.'),
        ('assign_event_pk', 'Assign event, see __events; null if the row begins with a create.'),
        ('assigned_at_ix', 'Offset of the assign; null if the row begins with a create.'),
        ('assignment_exclusivity', 'Time until which only the submitter may assign; null for an assign.'),
        ('contract_id', 'Contract id.'),
        ('contract_key', 'Contract key; null without a key.'),
        ('contract_key_hash', 'Hash of the contract key; null without a key.'),
        ('create_event_pk', 'Create event, see __events; null if the row begins with an assign.'),
        ('created_at_ix', 'Offset of the create; null if the row begins with an assign.'),
        ('divulged_only', 'Whether the contract was never active for the indexed parties.'),
        ('life_ix', 'Range of offsets in which the contract is active on the synchronizer; the lower bound is inclusive, the upper bound exclusive.'),
        ('metadata', 'Disclosure blob; null unless requested.'),
        ('observers', 'Observers.'),
        ('package_pk', 'Package, see __packages.'),
        ('payload', 'Payload, or view of the interface; null if redacted.'),
        ('reassign_event_pk', 'Unassign or assign event, see __events.'),
        ('reassigned_at_ix', 'Offset of the unassign or assign.'),
        ('reassignment_counter', 'Number of reassignments of the contract so far; null if the ledger did not report it.'),
        ('reassignment_id', 'Reassignment id, common to both halves.'),
        ('redaction_id', 'Redaction that removed the payload; null unless redacted.'),
        ('signatories', 'Signatories.'),
        ('source_synchronizer_id', 'Synchronizer that the contract leaves.'),
        ('submitter', 'Submitting party; null if not known.'),
        ('synchronizer_id', 'Id of the synchronizer of the activation.'),
        ('target_synchronizer_id', 'Synchronizer to which the contract moves.'),
        ('tpe_pk', 'Template or interface, see __contract_tpe.'),
        ('type', 'unassign (leaves source) or assign (arrives at target).'),
        ('unassign_event_pk', 'Unassign event, see __events; null unless the row ended with an unassign.'),
        ('unassigned_at_ix', 'Offset of the unassign; null unless the row ended with an unassign.'),
        ('witnesses', 'Indexed parties that see the event.')
      ) m (name, text) on m.name = a.attname
     where c.relnamespace = (select n.oid from pg_namespace n where n.nspname = :'multisync') and c.relkind = 'v'
  loop
    execute format('comment on column %I.%I.%I is %L', :'multisync'::text, meaning.relname, meaning.attname, meaning.text);
  end loop;
end
$body$;
