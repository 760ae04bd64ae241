-- Storage of one stream: everything one participant shows one reader.
-- Runs with search_path set to the schema of the stream; names no schema itself.
-- No foreign keys, sequences or triggers on the write path; every big table carries contract_id or "offset" in every unique key.

create table stream (
  singleton boolean primary key default true check (singleton),
  participant_id text not null,
  filter jsonb not null,
  filter_hash text not null,
  transaction_shape text not null check (transaction_shape in ('LEDGER_EFFECTS', 'ACS_DELTA')),
  seed_offset bigint,
  seeded_at timestamptz,
  seed_token text,
  seed_contracts bigint not null default 0,
  checkpoint bigint,
  checkpoint_update_offset bigint,
  checkpoint_update_id text,
  checkpoint_record_time timestamptz,
  record_times jsonb not null default '{}',
  epoch bigint not null default 0,
  writer text,
  ledger_end bigint,
  pruned_offset bigint
);
comment on table stream is 'One row: what is indexed here and how far. All updates up to and including checkpoint are in the tables.';
comment on column stream.singleton is 'Always true: a schema holds exactly one stream.';
comment on column stream.participant_id is 'The participant whose offsets these are; another participant is refused.';
comment on column stream.filter is 'The filter of the subscription (parties, templates, interfaces, blobs, topology) as canonical JSON.';
comment on column stream.filter_hash is 'SHA-256 of filter and shape; a different filter is refused, because it would leave a gap.';
comment on column stream.transaction_shape is 'LEDGER_EFFECTS (every exercise) or ACS_DELTA (creates and archives only).';
comment on column stream.seed_offset is 'The ledger end the active contracts were read at; updates follow from here. Null before the first seed has begun.';
comment on column stream.seeded_at is 'When the seed was published. Null while the seed is incomplete: the contents do not count yet.';
comment on column stream.seed_token is 'The last streamContinuationToken committed with the seed; a cut seed resumes after it.';
comment on column stream.seed_contracts is 'Active-contract entries the seed has committed.';
comment on column stream.checkpoint is 'Every update up to and including this offset is in the tables. Null until seeded.';
comment on column stream.checkpoint_update_offset is 'Offset of the newest stored update (checkpoint may be later, thanks to OffsetCheckpoints).';
comment on column stream.checkpoint_update_id is 'Update id at checkpoint_update_offset: proof, on reconnect, that the ledger still has the same history.';
comment on column stream.checkpoint_record_time is 'Newest record time seen, of updates and OffsetCheckpoints.';
comment on column stream.record_times is 'Latest record time per synchronizer id, from updates and OffsetCheckpoints.';
comment on column stream.epoch is 'Raised by every writer that takes over; a commit with an older epoch is refused.';
comment on column stream.writer is 'Who holds the epoch: host, process id and start time.';
comment on column stream.ledger_end is 'Ledger end when last polled.';
comment on column stream.pruned_offset is 'Offset up to which the participant had pruned when last polled; 0 when never.';

create table synchronizers (
  synchronizer_pk integer primary key,
  synchronizer_id text not null unique
);
comment on table synchronizers is 'Dictionary of synchronizers, in order of first appearance.';
comment on column synchronizers.synchronizer_pk is 'Small number used by the big tables.';
comment on column synchronizers.synchronizer_id is 'The ledger''s own id, alias::fingerprint.';

create table templates (
  template_pk integer primary key,
  package_id text not null,
  module_name text not null,
  entity_name text not null,
  package_name text,
  unique (package_id, module_name, entity_name)
);
comment on table templates is 'Dictionary of templates and interfaces, one row per package id, module and entity.';
comment on column templates.template_pk is 'Small number used by the big tables.';
comment on column templates.package_id is 'Package id: hash of the package''s content.';
comment on column templates.module_name is 'Module, dotted.';
comment on column templates.entity_name is 'Template or interface name within the module.';
comment on column templates.package_name is 'Package name as the ledger reported it; null where only an id was seen (interfaces).';

create table choices (
  choice_pk integer primary key,
  template_pk integer not null,
  interface_pk integer not null,
  choice text not null,
  unique (template_pk, interface_pk, choice)
);
comment on table choices is 'Dictionary of choices, one row per template, interface and choice name.';
comment on column choices.choice_pk is 'Small number used by exercises.';
comment on column choices.template_pk is 'The template the choice was exercised on.';
comment on column choices.interface_pk is 'The interface that defines the choice (a row of templates); 0 for a choice of the template itself.';
comment on column choices.choice is 'Choice name; Archive is the built-in one.';

create table updates (
  "offset" bigint primary key,
  kind text not null,
  update_id text,
  synchronizer_pk integer,
  command_id text,
  workflow_id text,
  effective_at timestamptz,
  record_time timestamptz,
  trace_parent text,
  trace_state text,
  external_transaction_hash text,
  transaction_hash text,
  paid_traffic_cost bigint,
  event_count integer not null,
  raw json,
  epoch bigint not null,
  indexed_at timestamptz not null default now()
);
comment on table updates is 'One row per update of any kind the ledger showed us. Offsets have lawful gaps.';
comment on column updates."offset" is 'The participant''s offset of the update.';
comment on column updates.kind is 'transaction, reassignment, topology, or unknown (kept raw).';
comment on column updates.update_id is 'The ledger''s id of the update, the same on every participant.';
comment on column updates.synchronizer_pk is 'The synchronizer that sequenced it (source for unassign, target for assign).';
comment on column updates.command_id is 'Command id; null unless the reader submitted the command.';
comment on column updates.workflow_id is 'Workflow id; null if none.';
comment on column updates.effective_at is 'Ledger effective time (transactions only).';
comment on column updates.record_time is 'When the synchronizer recorded it; monotone per synchronizer only.';
comment on column updates.trace_parent is 'W3C traceparent of the submission.';
comment on column updates.trace_state is 'W3C tracestate of the submission.';
comment on column updates.external_transaction_hash is 'Hex hash of an externally signed transaction.';
comment on column updates.transaction_hash is 'Hex hash of the transaction (participants from 3.6 on).';
comment on column updates.paid_traffic_cost is 'Traffic this participant paid for the submission; null if it did not submit.';
comment on column updates.event_count is 'Events of this update that were delivered and stored: rows in must equal rows out.';
comment on column updates.raw is 'The whole update as the ledger wrote it, for kinds this version does not know (see contracts.payload for what jsonb cannot hold); null otherwise.';
comment on column updates.epoch is 'Epoch of the writer that stored it.';
comment on column updates.indexed_at is 'When it was written here.';

create table contracts (
  contract_id text not null,
  "offset" bigint not null,
  node_id integer not null,
  origin text not null check (origin in ('create', 'assign', 'seed')),
  synchronizer_pk integer not null,
  template_pk integer not null,
  representative_package_id text,
  payload jsonb,
  contract_key jsonb,
  contract_key_hash text,
  signatories text[] not null,
  observers text[] not null,
  witness_parties text[] not null,
  created_event_blob text,
  created_at timestamptz,
  acs_delta boolean,
  reassignment_counter bigint,
  workflow_id text,
  primary key (contract_id, "offset")
);
comment on table contracts is 'Append-only: one row per activation (create, assign, or found by the seed) and per witnessed create. What is active is in lifetimes.';
comment on column contracts.contract_id is 'Contract id.';
comment on column contracts."offset" is 'Offset of the create or assign; for seeded contracts that of the last activation, which may be pruned.';
comment on column contracts.node_id is 'Node of the event within its update.';
comment on column contracts.origin is 'create, assign, or seed.';
comment on column contracts.synchronizer_pk is 'Where this activation happened.';
comment on column contracts.template_pk is 'Template as created.';
comment on column contracts.representative_package_id is 'Package the payload was rendered with; may differ from the template''s after an import.';
comment on column contracts.payload is 'createArgument, the ledger''s own JSON. {"$escaped": "..."} holds as text what jsonb cannot hold (NUL, lone surrogates, extreme nesting).';
comment on column contracts.contract_key is 'Contract key, the ledger''s own JSON; null without key.';
comment on column contracts.contract_key_hash is 'Base64 hash of the key; null without key.';
comment on column contracts.signatories is 'Signatories.';
comment on column contracts.observers is 'Observers.';
comment on column contracts.witness_parties is 'Parties of the reader that see the event.';
comment on column contracts.created_event_blob is 'Base64 disclosure blob; null unless asked for.';
comment on column contracts.created_at is 'Ledger effective time of the original create, kept across reassignments.';
comment on column contracts.acs_delta is 'Whether the event changed the reader''s active contracts; null where the ledger did not say.';
comment on column contracts.reassignment_counter is 'Reassignments before this activation; null where the ledger did not say.';
comment on column contracts.workflow_id is 'Workflow id of the seed entry; elsewhere see updates.';
create index contracts_template_offset on contracts (template_pk, "offset");

create table lifetimes (
  contract_id text not null,
  synchronizer_pk integer not null,
  activated_offset bigint not null,
  template_pk integer not null,
  deactivated_offset bigint,
  primary key (contract_id, synchronizer_pk, activated_offset)
) with (fillfactor = 80);
comment on table lifetimes is 'From which offset to which a contract is active on a synchronizer. Narrow, so that an archive never rewrites a payload.';
comment on column lifetimes.contract_id is 'Contract id.';
comment on column lifetimes.synchronizer_pk is 'Synchronizer it is active on.';
comment on column lifetimes.activated_offset is 'Offset of the activation; joins contracts (contract_id, offset).';
comment on column lifetimes.template_pk is 'Template, for counting without the wide table.';
comment on column lifetimes.deactivated_offset is 'Offset of the archive or unassign; null while active.';

create table exercises (
  "offset" bigint not null,
  node_id integer not null,
  contract_id text not null,
  template_pk integer not null,
  choice_pk integer not null,
  argument jsonb,
  result jsonb,
  acting_parties text[] not null,
  witness_parties text[] not null,
  consuming boolean not null,
  last_descendant_node_id integer,
  implemented_interfaces text[] not null,
  acs_delta boolean,
  primary key ("offset", node_id)
);
comment on table exercises is 'Append-only: one row per exercised event (shape LEDGER_EFFECTS).';
comment on column exercises."offset" is 'Offset of the transaction.';
comment on column exercises.node_id is 'Node within the transaction; pre-order.';
comment on column exercises.contract_id is 'Contract exercised on.';
comment on column exercises.template_pk is 'Template of the contract as the event names it.';
comment on column exercises.choice_pk is 'Choice, with its interface if it has one.';
comment on column exercises.argument is 'choiceArgument, the ledger''s own JSON (see contracts.payload for what jsonb cannot hold).';
comment on column exercises.result is 'exerciseResult, the ledger''s own JSON.';
comment on column exercises.acting_parties is 'Controllers that exercised the choice.';
comment on column exercises.witness_parties is 'Parties of the reader that see the event.';
comment on column exercises.consuming is 'Whether the exercise archived the contract.';
comment on column exercises.last_descendant_node_id is 'The subtree is node_id to this, inclusive.';
comment on column exercises.implemented_interfaces is 'Interfaces matched by the filter.';
comment on column exercises.acs_delta is 'Whether the event changed the reader''s active contracts; null where the ledger did not say.';
create index exercises_contract on exercises using hash (contract_id);
create index exercises_choice_offset on exercises (choice_pk, "offset");

create table archives (
  "offset" bigint not null,
  node_id integer not null,
  contract_id text not null,
  template_pk integer not null,
  witness_parties text[] not null,
  implemented_interfaces text[] not null,
  primary key ("offset", node_id)
);
comment on table archives is 'Append-only: one row per archived event (shape ACS_DELTA only; under LEDGER_EFFECTS see consuming exercises).';
comment on column archives."offset" is 'Offset of the transaction.';
comment on column archives.node_id is 'Node within the transaction.';
comment on column archives.contract_id is 'Contract archived.';
comment on column archives.template_pk is 'Template as the event names it; the package may be newer than the create''s.';
comment on column archives.witness_parties is 'Parties of the reader that see the event.';
comment on column archives.implemented_interfaces is 'Interfaces matched by the filter.';

create table interface_views (
  contract_id text not null,
  "offset" bigint not null,
  interface_pk integer not null,
  view jsonb,
  status_code integer not null,
  status_message text,
  status_details jsonb,
  implementation_package_id text,
  primary key (contract_id, "offset", interface_pk)
);
comment on table interface_views is 'Views of contracts through the interfaces of the filter; one row per activation and interface.';
comment on column interface_views.contract_id is 'Contract id.';
comment on column interface_views."offset" is 'Offset of the activation; joins contracts.';
comment on column interface_views.interface_pk is 'Interface, a row of templates.';
comment on column interface_views.view is 'viewValue, the ledger''s own JSON; null when the view failed.';
comment on column interface_views.status_code is '0 when the view was computed, else the gRPC status code.';
comment on column interface_views.status_message is 'Why the view failed.';
comment on column interface_views.status_details is 'Details of the failure as the ledger sent them.';
comment on column interface_views.implementation_package_id is 'Package whose implementation computed the view.';
create index interface_views_interface on interface_views (interface_pk, "offset");

create table reassignments (
  "offset" bigint not null,
  node_id integer not null,
  kind text not null check (kind in ('unassign', 'assign')),
  contract_id text not null,
  template_pk integer not null,
  reassignment_id text not null,
  source_pk integer not null,
  target_pk integer not null,
  submitter text,
  reassignment_counter bigint,
  assignment_exclusivity timestamptz,
  witness_parties text[] not null,
  incomplete boolean not null,
  created_event jsonb,
  workflow_id text,
  primary key ("offset", contract_id, kind)
);
comment on table reassignments is 'Halves of reassignments: a contract leaving its source or arriving at its target synchronizer.';
comment on column reassignments."offset" is 'Offset of the half.';
comment on column reassignments.node_id is 'Node within the update.';
comment on column reassignments.kind is 'unassign (leaves source) or assign (arrives at target).';
comment on column reassignments.contract_id is 'Contract id.';
comment on column reassignments.template_pk is 'Template.';
comment on column reassignments.reassignment_id is 'Common to both halves.';
comment on column reassignments.source_pk is 'Synchronizer it leaves.';
comment on column reassignments.target_pk is 'Synchronizer it goes to.';
comment on column reassignments.submitter is 'Submitting party; null if unknown.';
comment on column reassignments.reassignment_counter is 'Counts the reassignments of the contract; common to both halves.';
comment on column reassignments.assignment_exclusivity is 'Until when only the submitter may assign.';
comment on column reassignments.witness_parties is 'Parties of the reader that see the event.';
comment on column reassignments.incomplete is 'True when the seed found the reassignment in flight.';
comment on column reassignments.workflow_id is 'Workflow id of an incomplete assign; elsewhere see updates and contracts.';
comment on column reassignments.created_event is 'The created event of an incomplete assign, which is no statement that the contract is active; null otherwise.';

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
comment on column topology_events.event_index is 'Position within the topology transaction.';
comment on column topology_events.kind is 'The ledger''s name of the event, e.g. ParticipantAuthorizationAdded.';
comment on column topology_events.party_id is 'Party.';
comment on column topology_events.participant_id is 'Participant.';
comment on column topology_events.participant_permission is 'Permission granted; null for revocations.';
comment on column topology_events.raw is 'The whole event as the ledger wrote it, for events this version does not know; null otherwise.';

create table coverage (
  from_offset bigint not null,
  to_offset bigint,
  origin text not null check (origin in ('seed', 'genesis', 'oldest', 'offset')),
  filter_hash text not null,
  transaction_shape text not null,
  primary key (from_offset, filter_hash)
);
comment on table coverage is 'Which offsets are complete under which filter and shape. History before from_offset is not here.';
comment on column coverage.from_offset is 'Exclusive: updates after this offset are complete.';
comment on column coverage.to_offset is 'Inclusive end of a closed range; null for the range that ends at the checkpoint.';
comment on column coverage.origin is 'How the range began.';
comment on column coverage.filter_hash is 'Filter in force.';
comment on column coverage.transaction_shape is 'Shape in force.';

create table activity_hourly (
  hour timestamptz not null,
  template_pk integer not null,
  choice_pk integer not null,
  synchronizer_pk integer not null,
  creates bigint not null,
  archives bigint not null,
  exercises bigint not null,
  primary key (hour, template_pk, choice_pk, synchronizer_pk)
);
comment on table activity_hourly is 'Events per hour of record time, kept in the writer''s transaction. Seeded contracts do not count.';
comment on column activity_hourly.hour is 'Start of the hour, by record time.';
comment on column activity_hourly.template_pk is 'Template.';
comment on column activity_hourly.choice_pk is 'Choice; 0 for creates and archived events.';
comment on column activity_hourly.synchronizer_pk is 'Synchronizer.';
comment on column activity_hourly.creates is 'Created events.';
comment on column activity_hourly.archives is 'Archived events and consuming exercises.';
comment on column activity_hourly.exercises is 'Exercised events.';

create view active_contracts as
  select c.contract_id, t.package_name, t.module_name, t.entity_name, t.package_id, c.payload, c.contract_key,
         c.signatories, c.observers, c.created_at, c."offset", s.synchronizer_id, c.reassignment_counter
    from lifetimes l
    join contracts c on c.contract_id = l.contract_id and c."offset" = l.activated_offset
    join templates t on t.template_pk = c.template_pk
    join synchronizers s on s.synchronizer_pk = l.synchronizer_pk
   where l.deactivated_offset is null;
comment on view active_contracts is 'Contracts active at the checkpoint, one row per synchronizer.';
comment on column active_contracts.contract_id is 'Contract id.';
comment on column active_contracts.package_name is 'Package name.';
comment on column active_contracts.module_name is 'Module, dotted.';
comment on column active_contracts.entity_name is 'Template name within the module.';
comment on column active_contracts.package_id is 'Package id of the template as created.';
comment on column active_contracts.payload is 'createArgument, the ledger''s own JSON.';
comment on column active_contracts.contract_key is 'Contract key; null without key.';
comment on column active_contracts.signatories is 'Signatories.';
comment on column active_contracts.observers is 'Observers.';
comment on column active_contracts.created_at is 'Ledger effective time of the original create.';
comment on column active_contracts."offset" is 'Offset of the activation.';
comment on column active_contracts.synchronizer_id is 'Synchronizer it is active on.';
comment on column active_contracts.reassignment_counter is 'Reassignments before this activation; null where the ledger did not say.';

comment on table schema_migrations is 'Migrations applied to this schema.';
comment on column schema_migrations.id is 'File name of the migration, without .sql.';
comment on column schema_migrations.applied_at is 'When it was applied.';
