-- Rights to call functions. Postgres allows every role to call a new function. Here only the owner may call it until
-- the function is listed. Listed functions run with the rights of their caller and give no access to data, so they are
-- granted to every role: USAGE of the schema limits the roles that can call them, and rights on tables limit the rows
-- that they return. `grant-roles` grants functions that remove rows to the redactor.

do $$
declare
  called text;
begin
  -- Excludes objects that an extension created in these schemas, or that belong to another role.
  for called in
    select p.oid::regprocedure::text from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
     where n.nspname in (:'storage', :'explore', :'typed', :'pqs', :'multisync') and pg_catalog.pg_has_role(p.proowner, 'usage')
       and not exists (select from pg_catalog.pg_depend d
                        where d.classid = 'pg_catalog.pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')
  loop
    execute 'revoke execute on routine ' || called || ' from public';
  end loop;
end
$$;

grant execute on function
  :storage.base64_text(bytea),
  :storage.id_text(bytea),
  :storage.lifetime_class(bigint, bigint),
  :storage.trace_text(bytea)
  to public;
grant execute on function
  :explore.active(text),
  :explore.active_at(bigint, text),
  :explore.active_at(interval, text),
  :explore.active_at(timestamp with time zone, text),
  :explore.active_by_key(text, text),
  :explore.changed_fields(jsonb, jsonb),
  :explore.contracts(text),
  :explore.diff(bigint, bigint, text, text),
  :explore.diff(timestamp with time zone, timestamp with time zone, text, text),
  :explore.diff_contracts(bigint, bigint, text, text),
  :explore.explain_command(text),
  :explore.explain_contract(text, bigint),
  :explore.explain_summary(bigint),
  :explore.explain_update(bigint),
  :explore.explain_update(text),
  :explore.fqn(text, text, text),
  :explore.participant_number_at(bigint),
  :explore.participant_offset(bigint),
  :explore.is_known_party(text),
  :explore.is_limited(),
  :explore.is_ordered(bigint, bigint),
  :explore.is_unseen(text),
  :explore.known_offset(bigint),
  :explore.known_offset(timestamp with time zone),
  :explore.known_party(text),
  :explore.known_ranges(),
  :explore.known_ranges_text(),
  :explore.latest_offset(),
  :explore.ledger_product(numeric, numeric),
  :explore.lifetimes_at(bigint, text),
  :explore.nearest_offset(interval),
  :explore.nearest_offset(timestamp with time zone),
  :explore.network_choices(text, text, text[]),
  :explore.network_contracts(text, text),
  :explore.network_exercises(text, text, text[]),
  :explore.network_templates(text, text),
  :explore.from_participant_offset(bigint, integer),
  :explore.optional(jsonb),
  :explore.party_names(),
  :explore.reason_of(jsonb, jsonb),
  :explore.reward_kind(text),
  :explore.similar_names(text),
  :explore.similar_parties(text),
  :explore.states_at(bigint, text),
  :explore.template_pks(text),
  :explore.texts(jsonb),
  :explore.token_balances_at(bigint),
  :explore.token_balances_at(timestamp with time zone),
  :explore.token_changes_of(text),
  :explore.token_choices(text, text, text[]),
  :explore.token_holding(bigint, integer),
  :explore.token_holding_events_of(text),
  :explore.token_holding_log(text),
  :explore.token_holdings_at(bigint),
  :explore.token_journal(text, bigint, bigint),
  :explore.token_journal_bounds(bigint, bigint),
  :explore.token_journal_notes(text, bigint, bigint),
  :explore.token_locked_until(timestamp with time zone, timestamp with time zone, interval),
  :explore.token_offset(bigint),
  :explore.token_known_at(text, text, bigint),
  :explore.token_parties(text),
  :explore.token_pks(text, text),
  :explore.token_span(bigint),
  :explore.token_step_choices(text),
  :explore.token_templates(text, text),
  :explore.token_time(bigint),
  :explore.token_view(bigint, integer, text, text),
  :explore.traffic_memo(text),
  :explore.traffic_transfers(),
  :explore.transfer_fees(jsonb),
  :explore.update_offset(text),
  :explore.update_tree(bigint),
  :explore.wait_for_offset(bigint, interval),
  :explore.with_name(text)
  to public;
grant execute on function
  :pqs.__archive_node(text, bigint),
  :pqs.__choice_pks(text),
  :pqs.__consuming_choices(text),
  :pqs.__event_pk(bigint, integer),
  :pqs.__from(bigint),
  :pqs.__implementing_pks(text),
  :pqs.__inside(bigint),
  :pqs.__is_choice_defined(text),
  :pqs.__is_defined(text),
  :pqs.__is_interface(text),
  :pqs.__is_past(bigint),
  :pqs.__is_template(text),
  :pqs.__interface_contracts(),
  :pqs.__interfaces_active(),
  :pqs.__interfaces_archived(),
  :pqs.__lifetime_reaches(),
  :pqs.__no_archives(),
  :pqs.__no_contracts(),
  :pqs.__past(bigint),
  :pqs.__payload_types(text),
  :pqs.__trace(text, text),
  :pqs.__type_pks(text),
  :pqs.active(text, bigint),
  :pqs.archives(text, bigint, bigint),
  :pqs.creates(text, bigint, bigint),
  :pqs.exercises(text, bigint, bigint),
  :pqs.latest_checkpoint(),
  :pqs.latest_offset(),
  :pqs.lookup_contract(text, text),
  :pqs.lookup_exercises(text, text),
  :pqs.nearest_offset(interval),
  :pqs.nearest_offset(timestamp with time zone),
  :pqs.oldest_checkpoint(),
  :pqs.oldest_offset(),
  :pqs.with_nulls(jsonb, jsonb),
  :pqs.payload_with_nulls(:pqs.contract),
  :pqs.print_create_index_for_contract(text, text, text, text, text, boolean),
  :pqs.print_create_statistics_for_contract(text, text),
  :pqs.pruned_offset(),
  :pqs.set_latest(bigint),
  :pqs.set_oldest(bigint),
  :pqs.stakeholders(:pqs.contract),
  :pqs.stakeholders(:pqs.exercise),
  :pqs.summary_active(bigint),
  :pqs.summary_archives(bigint, bigint),
  :pqs.summary_creates(bigint, bigint),
  :pqs.summary_exercises(bigint, bigint),
  :pqs.summary_reassignments(bigint, bigint),
  :pqs.summary_transients(bigint, bigint),
  :pqs.summary_updates(bigint, bigint),
  :pqs.validate_offset_exists(bigint)
  to public;
grant execute on function
  :multisync.__unassign_node(text, bigint),
  :multisync.active(text, bigint),
  :multisync.archives(text, bigint, bigint),
  :multisync.creates(text, bigint, bigint),
  :multisync.lookup_contract(text, text),
  :multisync.payload_with_nulls(:multisync.contract),
  :multisync.stakeholders(:multisync.contract),
  :multisync.summary_active(bigint),
  :multisync.summary_transients(bigint, bigint)
  to public;
