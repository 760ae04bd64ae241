-- Schema pqs_multisync: results of the Participant Query Store after 3.6 (its main branch), where one contract can be
-- on several synchronizers. The schema contains only the differences; with a search path that begins with it,
-- everything that is the same is found in schema pqs. Names, columns and rules are those of modules/postgres/document
-- of digital-asset/participant-query-store (R__functions.sql, V045__Add_multisync_contract_columns.sql), where the
-- create and each assign of a contract is a row of its own.

comment on schema :multisync is
  'Functions and views that differ from schema pqs if a contract is on several synchronizers, as in the Participant Query Store after 3.6. Put this schema before pqs in the search path.';

do $$
begin
  if to_regtype(':multisync.contract') is null then
    create type :multisync.contract as (
      template_fqn text, payload_type text,
      create_event_pk bigint, create_event_id :pqs.event_id, created_at_ix bigint, created_at_offset bigint,
      archive_event_pk bigint, archive_event_id :pqs.event_id, archived_at_ix bigint, archived_at_offset bigint,
      life_ix int8range, contract_id text, payload jsonb, contract_key jsonb, metadata bytea,
      created_effective_at timestamptz, archived_effective_at timestamptz, redaction_id text,
      package_name text, package_version text, package_id text,
      signatories text[], observers text[], witnesses text[], divulged_only boolean,
      creation_package_id text, contract_key_hash bytea,
      assign_event_pk bigint, assign_event_id :pqs.event_id, assigned_at_ix bigint, assigned_at_offset bigint,
      unassign_event_pk bigint, unassign_event_id :pqs.event_id, unassigned_at_ix bigint, unassigned_at_offset bigint,
      reassignment_counter bigint, synchronizer_id text, tpe_pk bigint,
      record_time timestamptz, update_id text, indexed_at timestamptz);
  end if;
end
$$;
comment on type :multisync.contract is
  'Contract on one synchronizer, as a template or one of its interface views. A row begins with a create or an assign and ends with an archive or an unassign; the columns of the other kind are null. Columns ending in _ix hold offsets. record_time, update_id and indexed_at of the create or assign are additions.';

create or replace function :multisync.stakeholders(contract :multisync.contract) returns text[]
  language sql immutable parallel safe strict
  return (select array_agg(distinct s.party) from unnest((contract).signatories || (contract).observers) s (party));
comment on function :multisync.stakeholders(:multisync.contract) is
  'Signatories and observers of a contract, each party once. Call it as stakeholders(a.*).';

create or replace function :multisync.payload_with_nulls(contract :multisync.contract) returns jsonb
  language sql stable parallel safe
begin atomic
  select case (contract).payload_type when 'interface' then (contract).payload
              else :pqs.with_nulls((contract).payload, (
                     select o.fields from omitted_fields o join templates t on t.template_pk = o.template_pk
                      where t.package_id = (contract).creation_package_id
                        and (contract).template_fqn = concat_ws(':', t.package_name, t.module_name, t.entity_name))) end;
end;
comment on function :multisync.payload_with_nulls(:multisync.contract) is 'Payload with explicit nulls, like payload_with_nulls of schema pqs.';

create or replace function :multisync.__unassign_node(contract_id text, "offset" bigint) returns integer
  language sql stable parallel safe
begin atomic
  select x.node_id from reassignments x
   where x."offset" = __unassign_node."offset" and x.kind = 'u' and id_text(x.contract_id) = __unassign_node.contract_id
   limit 1;
end;
comment on function :multisync.__unassign_node(text, bigint) is 'Node of the unassign of a contract at an offset; null if there is none.';
