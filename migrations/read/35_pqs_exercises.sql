-- Exercises with the names of PQS.

create or replace view :pqs.__exercise_rows as
  select concat_ws(':', coalesce(d.package_name, (select p.package_name from packages p where p.package_id = d.package_id),
                                 d.package_id), d.module_name, d.entity_name) as template_fqn,
         concat_ws(':', coalesce(d.package_name, (select p.package_name from packages p where p.package_id = d.package_id),
                                 d.package_id), d.module_name, d.entity_name, h.choice) as choice_fqn,
         h.choice, e.consuming, :pqs.__event_pk(e."offset", e.node_id) as exercise_event_pk,
         cast(row (e."offset", e.node_id) as :pqs.event_id) as exercise_event_id,
         e."offset" as exercised_at_ix, e."offset" as exercised_at_offset, id_text(e.contract_id) as contract_id,
         e.argument::jsonb as argument, e.result::jsonb as result,
         u.effective_at as exercised_effective_at, e.redaction_id,
         coalesce(t.package_name, t.package_id) as package_name,
         (select p.package_version from packages p where p.package_id = t.package_id) as package_version, t.package_id,
         (select p.signatories
            from (select contract_id, parties_pk from contract_states /*workers offset 0 workers*/) l
            join contract_parties p on p.parties_pk = l.parties_pk
           where l.contract_id = id_text(e.contract_id) limit 1) as signatories,
         (select p.observers
            from (select contract_id, parties_pk from contract_states /*workers offset 0 workers*/) l
            join contract_parties p on p.parties_pk = l.parties_pk
           where l.contract_id = id_text(e.contract_id) limit 1) as observers,
         w.acting_parties as controllers, e.last_descendant_node_id, w.witness_parties as witnesses,
         (select s.synchronizer_id from synchronizers s where s.synchronizer_pk = u.synchronizer_pk) as synchronizer_id,
         u.record_time, id_text(u.update_id) as update_id,
         (select b.indexed_at from batches b where b.batch_offset = u.batch_offset) as indexed_at, e.choice_pk
    from exercises e
    left join event_parties w on w.parties_pk = e.parties_pk
    left join choices h on h.choice_pk = e.choice_pk
    left join templates d on d.template_pk = coalesce(nullif(h.interface_pk, 0), h.template_pk)
    left join templates t on t.template_pk = e.template_pk
    left join updates u on u."offset" = e."offset";
comment on view :pqs.__exercise_rows is 'Exercises, one row each, with the columns of type exercise and the columns by which functions filter.';
comment on column :pqs.__exercise_rows.template_fqn is 'Interface that defines the choice, otherwise the template, as package:Module:Entity.';
comment on column :pqs.__exercise_rows.choice_fqn is 'Interface or template, and choice, as package:Module:Entity:Choice.';
comment on column :pqs.__exercise_rows.choice is 'Choice name.';
comment on column :pqs.__exercise_rows.consuming is 'Whether the exercise archived the contract.';
comment on column :pqs.__exercise_rows.exercise_event_pk is 'Key of the event, see __events.';
comment on column :pqs.__exercise_rows.exercise_event_id is 'Offset and node of the event.';
comment on column :pqs.__exercise_rows.exercised_at_ix is 'Offset of the exercise.';
comment on column :pqs.__exercise_rows.exercised_at_offset is 'Offset of the exercise.';
comment on column :pqs.__exercise_rows.contract_id is 'Contract on which the choice was exercised.';
comment on column :pqs.__exercise_rows.argument is 'Argument of the choice; null if redacted.';
comment on column :pqs.__exercise_rows.result is 'Result of the choice; null if redacted.';
comment on column :pqs.__exercise_rows.exercised_effective_at is 'Ledger effective time of the exercise.';
comment on column :pqs.__exercise_rows.redaction_id is 'Redaction that removed argument and result; null unless redacted.';
comment on column :pqs.__exercise_rows.package_name is 'Package of the template.';
comment on column :pqs.__exercise_rows.package_version is 'Package version of the template; null if the package was not read.';
comment on column :pqs.__exercise_rows.package_id is 'Package id of the template.';
comment on column :pqs.__exercise_rows.signatories is 'Signatories of the contract; null if its create is not stored.';
comment on column :pqs.__exercise_rows.observers is 'Observers of the contract; null if its create is not stored.';
comment on column :pqs.__exercise_rows.controllers is 'Parties that exercised the choice.';
comment on column :pqs.__exercise_rows.last_descendant_node_id is 'Inclusive end of the subtree, which begins at the node of the exercise.';
comment on column :pqs.__exercise_rows.witnesses is 'Indexed parties that see the event.';
comment on column :pqs.__exercise_rows.synchronizer_id is 'Id of the synchronizer that sequenced the update.';
comment on column :pqs.__exercise_rows.record_time is 'Time the synchronizer recorded the update.';
comment on column :pqs.__exercise_rows.update_id is 'Update id.';
comment on column :pqs.__exercise_rows.indexed_at is 'Time the update was stored.';
comment on column :pqs.__exercise_rows.choice_pk is 'Key of the choice (choices.choice_pk).';

create or replace function :pqs.exercises(
  qname text default null, from_offset bigint default coalesce(:pqs.pruned_offset(), :pqs.oldest_offset()),
  to_offset bigint default :pqs.latest_offset())
  returns setof :pqs.exercise
  language sql stable parallel safe rows 1000
begin atomic
  select template_fqn, choice_fqn, choice, consuming, exercise_event_pk, exercise_event_id, exercised_at_ix,
         exercised_at_offset, contract_id,
         /*alone*/case when :explore.with_name(qname) then/*alone*/ argument /*alone*/end/*alone*/,
         /*alone*/case when :explore.with_name(qname) then/*alone*/ result /*alone*/end/*alone*/,
         exercised_effective_at, redaction_id, package_name,
         package_version, package_id, signatories, observers, controllers, last_descendant_node_id, witnesses,
         synchronizer_id, record_time, update_id, indexed_at
    -- The empty WITH keeps the joins separate from the last condition, see active.
    from (with apart as (select) select r.* from :pqs.__exercise_rows r) r
   where r.choice_pk = any (:pqs.__choice_pks(qname))
     /*alone*/and (qname is null or array_position((select :pqs.__choice_pks(qname)), r.choice_pk) is not null)/*alone*/
     and r.exercised_at_offset >= (select :pqs.__inside(from_offset))
     and r.exercised_at_offset <= (select :pqs.__inside(to_offset))
     and (select :pqs.__inside(from_offset)) is not null and (select :pqs.__inside(to_offset)) is not null;
end;
comment on function :pqs.exercises(text, bigint, bigint) is
  'Exercises of a choice (of all choices without a name) from one offset to another, both inclusive. Offsets outside the range that the session reads are an error, see oldest_offset and latest_offset. Needs the shape LEDGER_EFFECTS.';

create or replace function :pqs.lookup_exercises(contract_id text, qname text default null)
  returns setof :pqs.exercise
  language sql stable parallel safe rows 3
begin atomic
  select template_fqn, choice_fqn, choice, consuming, exercise_event_pk, exercise_event_id, exercised_at_ix,
         exercised_at_offset, r.contract_id,
         /*alone*/case when :explore.with_name(qname) then/*alone*/ argument /*alone*/end/*alone*/,
         /*alone*/case when :explore.with_name(qname) then/*alone*/ result /*alone*/end/*alone*/,
         exercised_effective_at, redaction_id, package_name,
         package_version, package_id, signatories, observers, controllers, last_descendant_node_id, witnesses,
         synchronizer_id, record_time, update_id, indexed_at
    from :pqs.__exercise_rows r
   where r.contract_id = lookup_exercises.contract_id
     and r.choice_pk = any (:pqs.__choice_pks(qname))
     /*alone*/and (qname is null or array_position((select :pqs.__choice_pks(qname)), r.choice_pk) is not null)/*alone*/;
end;
comment on function :pqs.lookup_exercises(text, text) is
  'Exercises on a contract; if a name is given, only exercises of that choice.';
