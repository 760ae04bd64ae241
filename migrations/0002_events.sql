-- Updates, their events, and the lifetimes of contracts. Runs with search_path set to the schema of the stream and names no
-- schema itself.
-- The layout is optimized for writing: keys are (offset, node), ids are bytes, and a party set is a number. Views at the end
-- decode the tables. The write path has no foreign keys, sequences or triggers. Every large table has "offset" in every unique
-- key.

-- An id is stored as the bytes that its hexadecimal digits denote; any other text is stored as its own characters after
-- a byte ff. Index expressions use this function, so it and all functions that it calls must be immutable. Otherwise
-- Postgres would not inline it into a query.
create function id_text(id bytea) returns text
  language sql immutable parallel safe
  return case when get_byte(id, 0) = 255 then encode(substring(id from 2), 'escape') else encode(id, 'hex') end;
comment on function id_text(bytea) is 'Id as the ledger prints it, from its stored bytes.';

-- The same encoding as that of ids, for values that the ledger prints in base64.
create function base64_text(bytes bytea) returns text
  language sql stable parallel safe
  return case when length(bytes) = 0 then ''
              when get_byte(bytes, 0) = 255 then convert_from(substring(bytes from 2), 'UTF8')
              else translate(encode(bytes, 'base64'), E'\n', '') end;
comment on function base64_text(bytea) is 'Base64 as the ledger prints it, from the stored bytes. Text that is not base64 is stored after a byte ff.';

-- The same encoding as that of ids: version, trace, parent and flags without the hyphens between them.
create function trace_text(trace bytea) returns text
  language sql stable parallel safe
  return case when get_byte(trace, 0) = 255 then convert_from(substring(trace from 2), 'UTF8')
              else overlay(overlay(overlay(encode(trace, 'hex') placing '-' from 51 for 0)
                                   placing '-' from 35 for 0) placing '-' from 3 for 0) end;
comment on function trace_text(bytea) is 'W3C traceparent as it was sent, from its stored bytes.';

create function lifetime_class(activated_offset bigint, ended_offset bigint) returns integer
  language sql immutable parallel safe
  return width_bucket(ended_offset - activated_offset + 1, array[
           1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144,
           524288, 1048576, 2097152, 4194304, 8388608, 16777216, 33554432, 67108864, 134217728, 268435456, 536870912,
           1073741824, 2147483648, 4294967296, 8589934592, 17179869184, 34359738368, 68719476736, 137438953472,
           274877906944, 549755813888, 1099511627776, 2199023255552, 4398046511104, 8796093022208, 17592186044416,
           35184372088832, 70368744177664, 140737488355328, 281474976710656, 562949953421312, 1125899906842624,
           2251799813685248, 4503599627370496, 9007199254740992, 18014398509481984, 36028797018963968,
           72057594037927936, 144115188075855872, 288230376151711744, 576460752303423488, 1152921504606846976,
           2305843009213693952, 4611686018427387904]::bigint[]) - 1;
comment on function lifetime_class(bigint, bigint) is
  'Length of a contract''s lifetime in offsets, as the exponent of a power of two. Contracts active at an offset are searched only in the classes that can reach that offset.';

create table batches (
  batch_offset bigint primary key,
  epoch bigint not null,
  indexed_at timestamptz not null default now()
);
comment on table batches is 'Transactions of the writer that stored updates, one row each.';
comment on column batches.batch_offset is 'Checkpoint before the transaction. For an update that was stored late, or read with the history of an extended filter, the negated offset of the update.';
comment on column batches.epoch is 'Epoch of the writer.';
comment on column batches.indexed_at is 'Time the transaction was written.';

create table updates (
  "offset" bigint primary key,
  batch_offset bigint not null,
  effective_at timestamptz,
  record_time timestamptz,
  paid_traffic_cost bigint,
  event_count integer not null,
  synchronizer_pk integer,
  kind "char" not null,
  update_id bytea,
  trace_parent bytea,
  command_id text,
  workflow_id text,
  trace_state text,
  external_transaction_hash bytea,
  transaction_hash bytea,
  raw json
);
comment on table updates is 'Updates of every kind that the ledger returned, one row each. Gaps between offsets are expected. Decoded: decoded_updates.';
comment on column updates."offset" is 'Participant''s offset of the update.';
comment on column updates.batch_offset is 'Batch with which the update was stored, see batches.';
comment on column updates.effective_at is 'Ledger effective time; null for all but transactions.';
comment on column updates.record_time is 'Time the synchronizer recorded the update; monotone only per synchronizer. Null if the ledger did not report it.';
comment on column updates.paid_traffic_cost is 'Traffic that this participant paid for the submission; null if it did not submit.';
comment on column updates.event_count is 'Number of events of this update that were delivered and stored. The delivered and stored numbers must be equal.';
comment on column updates.synchronizer_pk is 'Synchronizer that sequenced the update (source for unassign, target for assign).';
comment on column updates.kind is 'Kind of the update: t(ransaction), r(eassignment), p(arties and participants: topology), or u(nknown, stored raw).';
comment on column updates.update_id is 'Ledger''s id of the update, the same on every participant; see id_text.';
comment on column updates.trace_parent is 'W3C traceparent of the submission, see trace_text; null without one.';
comment on column updates.command_id is 'Command id; null unless the indexer''s user submitted the command.';
comment on column updates.workflow_id is 'Workflow id; null without one.';
comment on column updates.trace_state is 'W3C tracestate of the submission; null without one.';
comment on column updates.external_transaction_hash is 'Hash of an externally signed transaction, see id_text; null for all others.';
comment on column updates.transaction_hash is 'Hash of the transaction, see id_text; null for participants before 3.6.';
comment on column updates.raw is 'Complete update as the ledger sent it, for kinds this version does not know (see contracts.payload for values that jsonb cannot hold); null otherwise.';
create index updates_record_time on updates using brin (record_time) with (pages_per_range = 32, autosummarize = on);
comment on index updates_record_time is 'Lookup of offsets by record time, at very low cost because times rise with offsets.';
create index updates_effective_at on updates using brin (effective_at) with (pages_per_range = 32, autosummarize = on);
comment on index updates_effective_at is 'Lookup of offsets by ledger effective time, with the same kind of index as updates_record_time.';
-- Ids are hashes: a btree over them would dirty a random page for each update. BRIN bloom summaries are built once a page range
-- is full.
create index updates_update_id on updates
  using brin (update_id bytea_bloom_ops (n_distinct_per_range = 2000, false_positive_rate = 0.001))
  with (pages_per_range = 32, autosummarize = on);
comment on index updates_update_id is 'Lookup of an update by its id, which reads only the few page ranges that may hold it.';
create index updates_command_id on updates
  using brin (command_id text_bloom_ops (n_distinct_per_range = 2000, false_positive_rate = 0.001))
  with (pages_per_range = 32, autosummarize = on);
comment on index updates_command_id is 'Lookup of an update by its command id, with the same kind of index as updates_update_id.';

create table contract_parties (
  parties_pk integer primary key,
  signatories text[] not null,
  observers text[] not null,
  witness_parties text[] not null
);
comment on table contract_parties is 'Party sets of contracts. Each set has one row; a set that recurs after many others may have several.';
comment on column contract_parties.parties_pk is 'Number used by the large tables, in order of first appearance; negative for party sets that were added with an extended filter.';
comment on column contract_parties.signatories is 'Signatories.';
comment on column contract_parties.observers is 'Observers.';
comment on column contract_parties.witness_parties is 'Indexed parties that see the create or assign.';

create table event_parties (
  parties_pk integer primary key,
  acting_parties text[] not null,
  witness_parties text[] not null,
  implemented_interfaces text[] not null
);
comment on table event_parties is 'Party sets of events that create no contract. Each set has one row; a set that recurs after many others may have several.';
comment on column event_parties.parties_pk is 'Number used by the large tables, in order of first appearance; negative for party sets that were added with an extended filter.';
comment on column event_parties.acting_parties is 'Controllers of an exercise; empty for other events.';
comment on column event_parties.witness_parties is 'Indexed parties that see the event.';
comment on column event_parties.implemented_interfaces is 'Interfaces of the contract that match the filter; empty if none match.';

create table contracts (
  "offset" bigint not null,
  created_at timestamptz,
  reassignment_counter bigint,
  node_id integer not null,
  template_pk integer not null,
  synchronizer_pk integer not null,
  parties_pk integer not null,
  origin "char" not null check (origin in ('c', 'a', 's')),
  acs_delta boolean,
  contract_id bytea not null,
  payload jsonb,
  contract_key jsonb,
  contract_key_hash bytea,
  created_event_blob bytea,
  representative_package_id text,
  workflow_id text,
  redaction_id text,
  primary key ("offset", node_id)
);
comment on table contracts is 'Activations (create, assign, or found by the seed) and witnessed creates, one row each; append-only. The state of each is in live or ended, in the row with the same offset and node. Decoded: decoded_contracts.';
comment on column contracts."offset" is 'Offset of the create or assign; for seeded contracts the offset of the last activation, which may be pruned.';
comment on column contracts.created_at is 'Ledger effective time of the original create, kept across reassignments.';
comment on column contracts.reassignment_counter is 'Number of reassignments before this activation; null if the ledger did not report it.';
comment on column contracts.node_id is 'Node of the event within its update.';
comment on column contracts.template_pk is 'Template of the create, see templates.';
comment on column contracts.synchronizer_pk is 'Synchronizer of this activation.';
comment on column contracts.parties_pk is 'Party set, see contract_parties.';
comment on column contracts.origin is 'Origin of the activation: c(reate), a(ssign), or s(eed).';
comment on column contracts.acs_delta is 'Whether the event changed the active contracts of the indexed parties; null if the ledger did not report it.';
comment on column contracts.contract_id is 'Contract id, see id_text. Search for contract ids in live and ended, which have an index.';
comment on column contracts.payload is 'createArgument, the ledger''s own JSON. {"$escaped": "..."} holds as text a value that jsonb cannot hold (NUL, lone surrogates, extreme nesting).';
comment on column contracts.contract_key is 'Contract key, the ledger''s own JSON; null without a key.';
comment on column contracts.contract_key_hash is 'Hash of the key, see base64_text; null without a key.';
comment on column contracts.created_event_blob is 'Disclosure blob, see base64_text; null unless requested.';
comment on column contracts.representative_package_id is 'Package with which the payload was rendered: null for the package of the template, empty if the ledger did not report it, another package after an import.';
comment on column contracts.workflow_id is 'Workflow id of a seeded contract; null for all other contracts, whose workflow id is in updates.';
comment on column contracts.redaction_id is 'Redaction that removed payload, key and blob; null unless redacted.';
create index contracts_template_offset on contracts (template_pk, "offset");
comment on index contracts_template_offset is 'Contracts of a template in the order of offsets.';
create index contracts_key on contracts (contract_key_hash) where contract_key_hash is not null;
comment on index contracts_key is 'Contracts that have a key, by its hash.';

create table live (
  "offset" bigint not null,
  unhosted_since bigint,
  node_id integer not null,
  template_pk integer not null,
  synchronizer_pk integer not null,
  parties_pk integer not null,
  contract_id bytea not null
);
comment on table live is 'Contracts that have not ended. The table is narrow, so that an archive never rewrites a payload. The row of a contract that ends moves to ended.';
comment on column live."offset" is 'Offset of the activation; with node_id the key of the row in contracts.';
comment on column live.unhosted_since is 'Offset at which the last hosted party of the contract left the participant, after which the state of the contract is not reported. Null for active contracts.';
comment on column live.node_id is 'Node of the activation.';
comment on column live.template_pk is 'Template, as in contracts, so that counting does not read that wide table.';
comment on column live.synchronizer_pk is 'Synchronizer on which the contract is active.';
comment on column live.parties_pk is 'Party set, see contract_parties.';
comment on column live.contract_id is 'Contract id, see id_text.';
create index live_contract on live using hash (id_text(contract_id));
comment on index live_contract is 'Lookup of a contract by its id.';
create index live_template on live (template_pk, "offset", node_id) where unhosted_since is null;
comment on index live_template is 'Active contracts of a template.';
create index live_unhosted on live (template_pk, "offset") where unhosted_since is not null;
comment on index live_unhosted is 'Contracts of a template whose parties left the participant.';
-- Without a replica identity, a publication could not send changed rows, and would reject the writer's changes.
alter table live replica identity full;

create table ended (
  "offset" bigint not null,
  ended_offset bigint not null,
  node_id integer not null,
  template_pk integer not null,
  synchronizer_pk integer not null,
  parties_pk integer not null,
  class smallint not null,
  ended_by "char" not null check (ended_by in ('a', 'r', 'e', 'w')),
  contract_id bytea not null,
  ended_at timestamptz,
  ended_node_id integer,
  unhosted_since bigint
);
comment on table ended is 'Contracts that are no longer active, with the time and kind of their end; also witnessed creates, which were never active.';
comment on column ended."offset" is 'Offset of the activation or of the witnessed create; with node_id the key of the row in contracts.';
comment on column ended.ended_offset is 'Offset of the archive or unassign; for a witnessed create its own offset.';
comment on column ended.node_id is 'Node of the activation or create.';
comment on column ended.template_pk is 'Template, as in contracts, so that counting does not read that wide table.';
comment on column ended.synchronizer_pk is 'Synchronizer on which the contract was active.';
comment on column ended.parties_pk is 'Party set, see contract_parties.';
comment on column ended.class is 'Class of the lifetime, see lifetime_class; -1 for witnessed creates.';
comment on column ended.ended_by is 'Kind of the end: a(rchive), r(eassignment), e(nded by an update that is not stored), or w(itnessed only).';
comment on column ended.contract_id is 'Contract id, see id_text.';
comment on column ended.ended_at is 'Ledger effective time of the archive, or record time of an unassign; null if not known.';
comment on column ended.ended_node_id is 'Node of the archive; null for all other ends.';
comment on column ended.unhosted_since is 'Offset at which the last hosted party of the contract left the participant, if this was before the end; null otherwise.';
create index ended_contract on ended using hash (id_text(contract_id));
comment on index ended_contract is 'Lookup of a contract by its id.';
create index ended_template on ended (template_pk, class, "offset");
comment on index ended_template is 'Contracts of a template that were active at a past offset; see lifetime_class.';
-- Rows are stored in the order of their ends, so a BRIN index with summaries of a few pages finds the rows of a range
-- of offsets.
create index ended_offset on ended using brin (ended_offset) with (pages_per_range = 32, autosummarize = on);
comment on index ended_offset is 'Contracts that ended within a range of offsets.';
alter table ended replica identity full;

create table exercises (
  "offset" bigint not null,
  node_id integer not null,
  last_descendant_node_id integer,
  template_pk integer not null,
  choice_pk integer not null,
  parties_pk integer not null,
  consuming boolean not null,
  acs_delta boolean,
  contract_id bytea not null,
  argument jsonb,
  result jsonb,
  redaction_id text,
  primary key ("offset", node_id)
);
comment on table exercises is 'Exercised events, one row each; append-only (shape LEDGER_EFFECTS). Decoded: decoded_exercises.';
comment on column exercises."offset" is 'Offset of the transaction.';
comment on column exercises.node_id is 'Node within the transaction, in pre-order.';
comment on column exercises.last_descendant_node_id is 'Inclusive end of the subtree, which begins at node_id; null if the ledger did not report it.';
comment on column exercises.template_pk is 'Template of the contract as the event names it.';
comment on column exercises.choice_pk is 'Choice, with its interface if it has one.';
comment on column exercises.parties_pk is 'Party set, see event_parties.';
comment on column exercises.consuming is 'Whether the exercise archived the contract.';
comment on column exercises.acs_delta is 'Whether the event changed the active contracts of the indexed parties; null if the ledger did not report it.';
comment on column exercises.contract_id is 'Contract on which the choice was exercised, see id_text.';
comment on column exercises.argument is 'choiceArgument, the ledger''s own JSON (see contracts.payload for values that jsonb cannot hold): jsonb, or json in a schema created with INDEXER_EXERCISE_JSON=json.';
comment on column exercises.result is 'exerciseResult, the ledger''s own JSON, of the same type as argument.';
-- The session that applies this migration sets the option. Only the column type records it.
do $$
begin
  if current_setting('ledger_indexer.exercise_json', true) = 'json' then
    alter table exercises alter argument type json, alter result type json;
  end if;
end $$;
comment on column exercises.redaction_id is 'Redaction that removed argument and result; null unless redacted.';
create index exercises_contract on exercises using hash (id_text(contract_id));
comment on index exercises_contract is 'Lookup of the exercises on a contract.';
create index exercises_choice_offset on exercises (choice_pk, "offset");
comment on index exercises_choice_offset is 'Exercises of a choice in the order of offsets.';

create table archives (
  "offset" bigint not null,
  node_id integer not null,
  template_pk integer not null,
  parties_pk integer not null,
  contract_id bytea not null,
  primary key ("offset", node_id)
);
comment on table archives is 'Archived events, one row each; append-only (shape ACS_DELTA only; for LEDGER_EFFECTS see consuming exercises). Decoded: decoded_archives.';
comment on column archives."offset" is 'Offset of the transaction.';
comment on column archives.node_id is 'Node within the transaction.';
comment on column archives.template_pk is 'Template as the event names it; its package may be newer than the package of the create.';
comment on column archives.parties_pk is 'Party set, see event_parties.';
comment on column archives.contract_id is 'Archived contract, see id_text.';
create index archives_contract on archives using hash (id_text(contract_id));
comment on index archives_contract is 'Lookup of the archive of a contract.';

create table interface_views (
  "offset" bigint not null,
  node_id integer not null,
  interface_pk integer not null,
  status_code integer not null,
  view jsonb,
  status_message text,
  status_details jsonb,
  implementation_package_id text,
  redaction_id text,
  primary key ("offset", node_id, interface_pk)
);
comment on table interface_views is 'Views of contracts through the interfaces of the filter, one row per activation and interface.';
comment on column interface_views."offset" is 'Offset of the activation; with node_id the key of the row in contracts.';
comment on column interface_views.node_id is 'Node of the activation.';
comment on column interface_views.interface_pk is 'Interface, a row of templates.';
comment on column interface_views.status_code is '0 if the view was computed, otherwise the gRPC status code.';
comment on column interface_views.view is 'viewValue, the ledger''s own JSON; null if the view failed.';
comment on column interface_views.status_message is 'Reason the view failed; null otherwise.';
comment on column interface_views.status_details is 'Details of the failure as the ledger sent them; null without any.';
comment on column interface_views.implementation_package_id is 'Package whose implementation computed the view; null if the ledger did not report it.';
comment on column interface_views.redaction_id is 'Redaction that removed the view; null unless redacted.';
create index interface_views_interface on interface_views (interface_pk, "offset");
comment on index interface_views_interface is 'Views of an interface in the order of offsets.';

create table reassignments (
  "offset" bigint not null,
  reassignment_counter bigint,
  assignment_exclusivity timestamptz,
  node_id integer not null,
  template_pk integer not null,
  source_pk integer not null,
  target_pk integer not null,
  parties_pk integer not null,
  kind "char" not null check (kind in ('u', 'a')),
  incomplete boolean not null,
  contract_id bytea not null,
  reassignment_id text not null,
  submitter text,
  created_event jsonb,
  workflow_id text,
  primary key ("offset", contract_id, kind)
);
comment on table reassignments is 'Halves of reassignments: a contract that leaves its source or arrives at its target synchronizer. Decoded: decoded_reassignments.';
comment on column reassignments."offset" is 'Offset of the unassign or assign.';
comment on column reassignments.reassignment_counter is 'Number of reassignments of the contract, common to both halves; null if the ledger did not report it.';
comment on column reassignments.assignment_exclusivity is 'Time until which only the submitter may assign; null without a limit.';
comment on column reassignments.node_id is 'Node within the update.';
comment on column reassignments.template_pk is 'Template, see templates.';
comment on column reassignments.source_pk is 'Synchronizer that the contract leaves.';
comment on column reassignments.target_pk is 'Synchronizer to which the contract moves.';
comment on column reassignments.parties_pk is 'Party set, see event_parties.';
comment on column reassignments.kind is 'u(nassign: leaves source) or a(ssign: arrives at target).';
comment on column reassignments.incomplete is 'Whether the seed found the reassignment in flight.';
comment on column reassignments.contract_id is 'Contract id, see id_text.';
comment on column reassignments.reassignment_id is 'Reassignment id, common to both halves.';
comment on column reassignments.submitter is 'Submitting party; null if not known.';
comment on column reassignments.created_event is 'Created event of an incomplete assign, which does not mean that the contract is active; null otherwise.';
comment on column reassignments.workflow_id is 'Workflow id of an incomplete assign; null for all others, whose workflow id is in updates or contracts.';
create index reassignments_contract on reassignments using hash (id_text(contract_id));
comment on index reassignments_contract is 'Lookup of the reassignments of a contract.';

create table topology_events (
  "offset" bigint not null,
  event_index integer not null,
  kind text not null,
  party_id text,
  participant_id text,
  participant_permission text,
  raw json,
  primary key ("offset", event_index)
);
comment on table topology_events is 'Changes of party hosting on participants.';
comment on column topology_events."offset" is 'Offset of the topology transaction.';
comment on column topology_events.event_index is 'Position of the event within the topology transaction.';
comment on column topology_events.kind is 'Ledger''s name of the event, e.g. ParticipantAuthorizationAdded.';
comment on column topology_events.party_id is 'Party whose hosting changed; null if the event names none.';
comment on column topology_events.participant_id is 'Participant of the change; null if the event names none.';
comment on column topology_events.participant_permission is 'Permission that the participant has for the party; null for revocations.';
comment on column topology_events.raw is 'Complete event as the ledger sent it, for events this version does not know; null otherwise.';
create index topology_events_party on topology_events (party_id, "offset");
comment on index topology_events_party is 'Hosting changes of a party in the order of offsets.';
