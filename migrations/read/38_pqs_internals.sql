-- Views in the form of the internal tables of PQS, which explorers read directly. Their keys are not those of PQS.

create or replace view :pqs.__packages as
  select hashtextextended(p.package_id, 0) as pk, p.package_name as name, p.package_version as version, p.package_id as id
    from packages p;
comment on view :pqs.__packages is 'Packages that were read from the participant.';
comment on column :pqs.__packages.pk is 'Key of the package, computed from its id.';
comment on column :pqs.__packages.name is 'Package name.';
comment on column :pqs.__packages.version is 'Package version.';
comment on column :pqs.__packages.id is 'Package id.';

create or replace view :pqs.__tpe_of as
  select n.template_pk, min(n.template_pk) over (partition by n.package_name, n.module_name, n.entity_name) as tpe_pk
    from :pqs.__names n;
comment on view :pqs.__tpe_of is 'Row of __contract_tpe for each version of a template.';
comment on column :pqs.__tpe_of.template_pk is 'Key of the template version (templates.template_pk).';
comment on column :pqs.__tpe_of.tpe_pk is 'Key of the template in __contract_tpe: the template_pk of its first version.';

create or replace view :pqs.__contract_tpe as
  select min(n.template_pk) as pk,
         case when bool_or(exists (select from (select interface_pk from interface_views /*workers group by 1 offset 0 workers*/) v
                                    where v.interface_pk = n.template_pk)
                           or exists (select from choices h where h.interface_pk = n.template_pk))
              then 'interface' else 'template' end as payload_type,
         array[concat_ws(':', n.package_name, n.module_name, n.entity_name),
               concat_ws(':', n.module_name, n.entity_name), n.entity_name] as aliases,
         n.package_name, n.module_name, n.entity_name,
         concat_ws(':', n.package_name, n.module_name, n.entity_name) as template_fqn
    from :pqs.__names n
   group by n.package_name, n.module_name, n.entity_name;
comment on view :pqs.__contract_tpe is 'Templates and interfaces that stored rows use, one row for all versions.';
comment on column :pqs.__contract_tpe.pk is 'Key of the template or interface: the template_pk of its first version.';
comment on column :pqs.__contract_tpe.payload_type is 'template or interface.';
comment on column :pqs.__contract_tpe.aliases is 'Names that functions of this schema accept for the template or interface.';
comment on column :pqs.__contract_tpe.package_name is 'Package name.';
comment on column :pqs.__contract_tpe.module_name is 'Module, dotted.';
comment on column :pqs.__contract_tpe.entity_name is 'Name of the template or interface within the module.';
comment on column :pqs.__contract_tpe.template_fqn is 'Template or interface as package:Module:Entity.';

create or replace view :pqs.__exercise_tpe as
  select min(n.choice_pk) as pk, n.choice,
         bool_or((select e.consuming
                    from (select choice_pk, consuming from exercises /*workers group by 1, 2 offset 0 workers*/) e
                   where e.choice_pk = n.choice_pk limit 1)) as consuming,
         array[concat_ws(':', n.package_name, n.module_name, n.entity_name, n.choice),
               concat_ws(':', n.module_name, n.entity_name, n.choice), concat_ws(':', n.entity_name, n.choice),
               n.choice] as aliases,
         n.package_name, n.module_name, n.entity_name,
         concat_ws(':', n.package_name, n.module_name, n.entity_name) as template_fqn,
         concat_ws(':', n.package_name, n.module_name, n.entity_name, n.choice) as choice_fqn
    from :pqs.__choice_names n
   group by n.package_name, n.module_name, n.entity_name, n.choice;
comment on view :pqs.__exercise_tpe is 'Choices that were exercised, one row for all versions.';
comment on column :pqs.__exercise_tpe.pk is 'Key of the choice: the choice_pk of its first version.';
comment on column :pqs.__exercise_tpe.choice is 'Choice name.';
comment on column :pqs.__exercise_tpe.consuming is 'Whether the choice archives the contract.';
comment on column :pqs.__exercise_tpe.aliases is 'Names that functions of this schema accept for the choice.';
comment on column :pqs.__exercise_tpe.package_name is 'Package name.';
comment on column :pqs.__exercise_tpe.module_name is 'Module, dotted.';
comment on column :pqs.__exercise_tpe.entity_name is 'Name of the template or interface within the module.';
comment on column :pqs.__exercise_tpe.template_fqn is 'Template or interface that defines the choice, as package:Module:Entity.';
comment on column :pqs.__exercise_tpe.choice_fqn is 'Choice as package:Module:Entity:Choice.';

create or replace view :pqs.__transactions as
  select t.ix, t."offset", t.transaction_id, t.effective_at, t.workflow_id, t.synchronizer_id, t.trace_context,
         t.external_transaction_hash, t.paid_traffic_cost
    from :pqs.transactions t;
comment on view :pqs.__transactions is 'Transactions and reassignments.';
comment on column :pqs.__transactions.ix is 'Offset of the update.';
comment on column :pqs.__transactions."offset" is 'Offset of the update.';
comment on column :pqs.__transactions.transaction_id is 'Update id.';
comment on column :pqs.__transactions.effective_at is 'Ledger effective time; null for reassignments.';
comment on column :pqs.__transactions.workflow_id is 'Workflow id; null without one.';
comment on column :pqs.__transactions.synchronizer_id is 'Id of the synchronizer that sequenced the update.';
comment on column :pqs.__transactions.trace_context is 'W3C trace context of the submission.';
comment on column :pqs.__transactions.external_transaction_hash is 'Hash of an externally signed transaction; null for all others.';
comment on column :pqs.__transactions.paid_traffic_cost is 'Traffic in bytes that this participant paid; null if it did not submit.';

create or replace view :pqs.__contracts as
  select m.tpe_pk, r.create_event_pk, r.archive_event_pk, r.created_at_ix, r.archived_at_ix, r.life_ix, r.contract_id,
         r.payload, r.contract_key, r.contract_key_hash, r.metadata, hashtextextended(r.package_id, 0) as package_pk,
         r.signatories, r.observers, r.witnesses, r.divulged_only, r.redaction_id, r.reassignment_counter, r.synchronizer_id
    from :pqs.__template_rows r
    join :pqs.__tpe_of m on m.template_pk = r.type_pk
   union all
  select m.tpe_pk, r.create_event_pk, r.archive_event_pk, r.created_at_ix, r.archived_at_ix, r.life_ix, r.contract_id,
         r.payload, r.contract_key, r.contract_key_hash, r.metadata, hashtextextended(r.package_id, 0) as package_pk,
         r.signatories, r.observers, r.witnesses, r.divulged_only, r.redaction_id, r.reassignment_counter, r.synchronizer_id
    from :pqs.__interface_rows r
    join :pqs.__tpe_of m on m.template_pk = r.type_pk;
comment on view :pqs.__contracts is 'Contracts and their interface views, active or not.';
comment on column :pqs.__contracts.tpe_pk is 'Template or interface, see __contract_tpe.';
comment on column :pqs.__contracts.create_event_pk is 'Create event, see __events.';
comment on column :pqs.__contracts.archive_event_pk is 'Archive event, see __events; null unless archived.';
comment on column :pqs.__contracts.created_at_ix is 'Offset of the create or assign.';
comment on column :pqs.__contracts.archived_at_ix is 'Offset of the archive; null unless archived.';
comment on column :pqs.__contracts.life_ix is 'Range of offsets in which the contract is active; the lower bound is inclusive, the upper bound exclusive.';
comment on column :pqs.__contracts.contract_id is 'Contract id.';
comment on column :pqs.__contracts.payload is 'Payload, or view of the interface; null if redacted.';
comment on column :pqs.__contracts.contract_key is 'Contract key; null without a key.';
comment on column :pqs.__contracts.contract_key_hash is 'Hash of the contract key; null without a key.';
comment on column :pqs.__contracts.metadata is 'Disclosure blob; null unless requested.';
comment on column :pqs.__contracts.package_pk is 'Package, see __packages.';
comment on column :pqs.__contracts.signatories is 'Signatories.';
comment on column :pqs.__contracts.observers is 'Observers.';
comment on column :pqs.__contracts.witnesses is 'Indexed parties that see the event.';
comment on column :pqs.__contracts.divulged_only is 'Whether the contract was never active for the indexed parties.';
comment on column :pqs.__contracts.redaction_id is 'Redaction that removed the payload; null unless redacted.';
comment on column :pqs.__contracts.reassignment_counter is 'Number of reassignments before this activation; null if the ledger did not report it.';
comment on column :pqs.__contracts.synchronizer_id is 'Id of the synchronizer of the activation.';

create or replace view :pqs.__exercises as
  select x.pk as tpe_pk, m.tpe_pk as contract_tpe_pk, :pqs.__event_pk(e."offset", e.node_id) as exercise_event_pk,
         e."offset" as exercised_at_ix, id_text(e.contract_id) as contract_id,
         e.argument::jsonb as argument, e.result::jsonb as result, e.redaction_id,
         hashtextextended(t.package_id, 0) as package_pk, w.acting_parties as controllers, e.last_descendant_node_id,
         w.witness_parties as witnesses
    from exercises e
    left join event_parties w on w.parties_pk = e.parties_pk
    left join (select n.choice_pk, min(n.choice_pk) over (
                        partition by n.package_name, n.module_name, n.entity_name, n.choice) as pk
                 from :pqs.__choice_names n) x on x.choice_pk = e.choice_pk
    left join :pqs.__tpe_of m on m.template_pk = e.template_pk
    left join templates t on t.template_pk = e.template_pk;
comment on view :pqs.__exercises is 'Exercises, one row each.';
comment on column :pqs.__exercises.tpe_pk is 'Choice, see __exercise_tpe.';
comment on column :pqs.__exercises.contract_tpe_pk is 'Template of the contract, see __contract_tpe.';
comment on column :pqs.__exercises.exercise_event_pk is 'Exercise event, see __events.';
comment on column :pqs.__exercises.exercised_at_ix is 'Offset of the exercise.';
comment on column :pqs.__exercises.contract_id is 'Contract id.';
comment on column :pqs.__exercises.argument is 'Argument of the choice; null if redacted.';
comment on column :pqs.__exercises.result is 'Result of the choice; null if redacted.';
comment on column :pqs.__exercises.redaction_id is 'Redaction that removed argument and result; null unless redacted.';
comment on column :pqs.__exercises.package_pk is 'Package, see __packages.';
comment on column :pqs.__exercises.controllers is 'Parties that exercised the choice.';
comment on column :pqs.__exercises.last_descendant_node_id is 'Inclusive end of the subtree, which begins at the node of the exercise.';
comment on column :pqs.__exercises.witnesses is 'Indexed parties that see the event.';

create or replace view :pqs.__events as
  select :pqs.__event_pk(e."offset", e.node_id) as pk, e."offset" as tx_ix,
         cast(row (e."offset", e.node_id) as :pqs.event_id) as event_id, e.type
    from (select c."offset", c.node_id, case c.origin when 'a' then 'assign' else 'create' end as type from contracts c
          union all
          select x."offset", x.node_id, 'exercise' from exercises x
          union all
          select x."offset", x.node_id, 'archive' from exercises x where x.consuming
          union all
          select a."offset", a.node_id, 'archive' from archives a
          union all
          select r."offset", r.node_id, 'unassign' from reassignments r where r.kind = 'u') e;
comment on view :pqs.__events is 'Events of contracts, one row each.';
comment on column :pqs.__events.pk is 'Key of the event, computed from offset and node.';
comment on column :pqs.__events.tx_ix is 'Offset of the update.';
comment on column :pqs.__events.event_id is 'Offset and node of the event.';
comment on column :pqs.__events.type is 'create, archive, exercise, assign or unassign. A consuming exercise has two rows, exercise and archive.';

create or replace view :pqs.__watermark as
  select s.singleton, s.checkpoint as ix, s.checkpoint as "offset", s.writer as instance_id
    from stream s;
comment on view :pqs.__watermark is 'Checkpoint: the end of the complete history.';
comment on column :pqs.__watermark.singleton is 'Always true.';
comment on column :pqs.__watermark.ix is 'Offset of the checkpoint, inclusive.';
comment on column :pqs.__watermark."offset" is 'Offset of the checkpoint, inclusive.';
comment on column :pqs.__watermark.instance_id is 'Writer: host, process id and start time.';
