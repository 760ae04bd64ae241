-- Types of schema pqs: columns in the order of the Participant Query Store, followed by additional columns. A type is
-- created once and never replaced, because functions and views of users depend on it. A later version only adds
-- attributes to it.

do $$
begin
  if to_regtype(':pqs.event_id') is null then
    create type :pqs.event_id as ("offset" bigint, node_id integer);
  end if;
  if to_regtype(':pqs.trace_context') is null then
    create type :pqs.trace_context as (trace_parent text, trace_state text);
  end if;
  if to_regtype(':pqs.checkpoint') is null then
    create type :pqs.checkpoint as ("offset" bigint, ix bigint);
  end if;
  if to_regtype(':pqs.contract_summary') is null then
    create type :pqs.contract_summary as (template_fqn text, payload_type text, count bigint);
  end if;
  if to_regtype(':pqs.contract') is null then
    create type :pqs.contract as (
      template_fqn text, payload_type text,
      create_event_pk bigint, create_event_id :pqs.event_id, created_at_ix bigint, created_at_offset bigint,
      archive_event_pk bigint, archive_event_id :pqs.event_id, archived_at_ix bigint, archived_at_offset bigint,
      life_ix int8range, contract_id text, payload jsonb, contract_key jsonb, metadata bytea,
      created_effective_at timestamptz, archived_effective_at timestamptz, redaction_id text,
      package_name text, package_version text, package_id text,
      signatories text[], observers text[], witnesses text[], divulged_only boolean,
      creation_package_id text, contract_key_hash bytea, reassignment_counter bigint, synchronizer_id text,
      record_time timestamptz, update_id text, indexed_at timestamptz);
  end if;
  if to_regtype(':pqs.exercise') is null then
    create type :pqs.exercise as (
      template_fqn text, choice_fqn text, choice text, consuming boolean,
      exercise_event_pk bigint, exercise_event_id :pqs.event_id, exercised_at_ix bigint, exercised_at_offset bigint,
      contract_id text, argument jsonb, result jsonb, exercised_effective_at timestamptz, redaction_id text,
      package_name text, package_version text, package_id text,
      signatories text[], observers text[], controllers text[], last_descendant_node_id integer, witnesses text[],
      synchronizer_id text, record_time timestamptz, update_id text, indexed_at timestamptz);
  end if;
end
$$;

comment on type :pqs.event_id is 'An event: offset of its update and node within it. Compare with a literal: (42::bigint, 0).';
comment on type :pqs.trace_context is 'W3C trace context of a submission.';
comment on type :pqs.checkpoint is 'Position in history; ix is the offset.';
comment on type :pqs.contract_summary is 'Number of contracts of one template or interface.';
comment on type :pqs.contract is
  'Contract as a template or one of its interface views. Columns ending in _ix hold offsets. metadata is the disclosure blob. redaction_id is null unless payload, key and blob were removed, see redactions of the storage. Columns from reassignment_counter differ from PQS or are additions; record_time, update_id and indexed_at are those of the create.';
comment on type :pqs.exercise is
  'Exercise of a choice. template_fqn and choice_fqn name the interface if an interface defines the choice. Columns ending in _ix hold offsets. redaction_id is null unless argument and result were removed. record_time, update_id and indexed_at are additions.';

create or replace function :pqs.__event_pk("offset" bigint, node_id integer) returns bigint
  language sql immutable parallel safe
  return "offset" << 16 | node_id;
comment on function :pqs.__event_pk(bigint, integer) is
  'Number of an event that sorts in the order of the ledger: the offset in the upper 48 bits, the node in the lower 16.';

create or replace function :pqs.stakeholders(contract :pqs.contract) returns text[]
  language sql immutable parallel safe
  return (contract).signatories || (contract).observers;
comment on function :pqs.stakeholders(:pqs.contract) is 'Signatories and observers of a contract. Call it as stakeholders(a.*).';

create or replace function :pqs.stakeholders(exercise :pqs.exercise) returns text[]
  language sql immutable parallel safe
  return (exercise).signatories || (exercise).observers;
comment on function :pqs.stakeholders(:pqs.exercise) is
  'Signatories and observers of the contract on which a choice was exercised; null if its create is not stored. Call it as stakeholders(e.*).';
