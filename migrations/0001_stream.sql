-- One stream: what is indexed here, how far, and the names that the events use. Runs with search_path set to the schema of
-- the stream; names no schema itself.

comment on table schema_migrations is 'Migrations applied to this schema.';
comment on column schema_migrations.id is 'File name of the migration, without .sql.';
comment on column schema_migrations.applied_at is 'When it was applied.';

create table stream (
  singleton boolean primary key default true check (singleton),
  participant_id text,
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
  participant_pruned_offset bigint,
  pruned_to_offset bigint,
  filter_extended_from text[] not null default '{}',
  handover text check (handover in ('filling', 'handed over')),
  handover_peer text,
  check ((handover is null) = (handover_peer is null))
);
comment on table stream is 'One row: what is indexed here and how far. All updates up to and including checkpoint are in the tables.';
comment on column stream.singleton is 'Always true: a schema holds exactly one stream.';
comment on column stream.participant_id is 'The participant that is read; another one is refused until `ledger-indexer switch-participant` has proven it, see participants. Null until the user of the indexer could read it.';
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
comment on column stream.participant_pruned_offset is 'Offset up to which the participant had pruned when last polled; 0 when never.';
comment on column stream.pruned_to_offset is 'Updates up to and including this offset were pruned here (their contracts that were still active are kept); null when nothing was.';
comment on column stream.filter_extended_from is 'Hashes of the filters that were extended to this one while the indexer ran: an indexer that is configured with one of them goes on with the filter in force.';
comment on column stream.handover is 'Null where an indexer may write. filling: `ledger-indexer rebuild --into` fills this schema from the ledger and has not handed over to it yet; handed over: the stream goes on in another database. No indexer writes in either case.';
comment on column stream.handover_peer is 'The other database, host:port/name: filling, the one that hands over; handed over, the one where the stream goes on.';

create table participants (
  participant_number integer primary key,
  participant_id text,
  from_offset bigint not null,
  offset_shift bigint not null,
  overlap_offsets jsonb not null default '{}',
  overlap_to_offset bigint not null,
  common_offset bigint,
  common_update_id text,
  reason text,
  since timestamptz not null default now()
);
comment on table participants is 'Which participant was read where: one row for each range of offsets, in order, the first participant included. Empty while the stream never switched to another participant.';
comment on column participants.participant_number is 'Number, counted from 1.';
comment on column participants.participant_id is 'The participant; null where the user of the indexer could not read its id.';
comment on column participants.from_offset is 'Exclusive: what lies after this offset, up to the from_offset of the next row, was read from this participant.';
comment on column participants.offset_shift is 'An offset here is the participant''s own offset plus this; 0 for the first participant.';
comment on column participants.overlap_offsets is 'By synchronizer id the offset up to which updates that came after from_offset were stored already, read from the participant before. Each participant has its own order of two synchronizers.';
comment on column participants.overlap_to_offset is 'The largest of overlap_offsets, or from_offset: nothing comes twice after it.';
comment on column participants.common_offset is 'The participant''s own offset of the newest update that was here before the switch: proof, until another one is stored, that it is the same history. Null for the first participant.';
comment on column participants.common_update_id is 'Id of that update.';
comment on column participants.reason is 'Why the stream was switched to this participant; null for the first participant.';
comment on column participants.since is 'When it was switched to this participant; for the first participant, when the first switch was made.';

create table coverage (
  from_offset bigint not null,
  to_offset bigint,
  origin text not null check (origin in ('seed', 'genesis', 'oldest', 'offset', 'reseed', 'filter', 'reset', 'filter-extend')),
  filter_hash text not null,
  transaction_shape text not null,
  complete boolean not null default true,
  reason text,
  recorded_at timestamptz not null default now(),
  primary key (from_offset, filter_hash)
);
comment on table coverage is 'Which offsets are complete under which filter and shape. History before from_offset is not here.';
comment on column coverage.from_offset is 'Exclusive: updates after this offset are complete.';
comment on column coverage.to_offset is 'Inclusive end of a closed range; null for the range that ends at the checkpoint.';
comment on column coverage.origin is 'How the range began: seed, genesis, oldest, offset; reseed after a gap, filter after an accepted change of the filter, filter-extend after one that took what was active with it, reset after going back.';
comment on column coverage.filter_hash is 'Filter in force.';
comment on column coverage.transaction_shape is 'Shape in force.';
comment on column coverage.complete is 'False while what was active at from_offset and only a wider filter shows is gathered, and where that was given up.';
comment on column coverage.reason is 'Why the range before this one ended; null for the first.';
comment on column coverage.recorded_at is 'When the range was recorded.';

create table filter_interfaces (
  interface_id text primary key,
  state text not null check (state in ('waiting', 'backfilling', 'followed')),
  complete_from bigint,
  unknown_at_offset bigint,
  updated_at timestamptz not null default now()
);
comment on table filter_interfaces is 'Interfaces whose views are wanted, and from where on they are here: those of LEDGER_INTERFACES, presets spelt out.';
comment on column filter_interfaces.interface_id is 'Interface as a filter names it: #package-name:Module:Entity.';
comment on column filter_interfaces.state is 'followed: the stream is asked for its views; backfilling: the participant knows it, and views are gathered beside the stream; waiting: the participant does not know it, or was not asked yet.';
comment on column filter_interfaces.complete_from is 'Exclusive: every contract that was active at this offset, or began after it, has the view that the participant could show; 0 when that is so wherever the stream is complete. Null while none were taken.';
comment on column filter_interfaces.unknown_at_offset is 'Ledger end when the participant last said that it does not know the interface: no contract showed such a view up to here. Null when it never did.';
comment on column filter_interfaces.updated_at is 'When it came into this state.';

create table filter_additions (
  kind text not null check (kind in ('party', 'template', 'interface', 'blobs', 'topology')),
  name text not null,
  from_offset bigint not null,
  complete_from bigint,
  updated_at timestamptz not null default now(),
  primary key (kind, name)
);
comment on table filter_additions is 'What was added to the filter while the indexer ran, and from where on it is here. What the filter had from the beginning has no row.';
comment on column filter_additions.kind is 'party, template, interface, blobs or topology.';
comment on column filter_additions.name is 'The party, template or interface as the filter names it; * for all of them; empty for blobs and topology.';
comment on column filter_additions.from_offset is 'Exclusive: all updates after this offset are here as it shows them. Where it was added, until its history is fetched.';
comment on column filter_additions.complete_from is 'Exclusive: what was active at this offset is here, and everything since. Null while that is gathered, and where it was given up.';
comment on column filter_additions.updated_at is 'When it was added, or this row was written last.';

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

create table template_interfaces (
  template_pk integer not null,
  interface_pk integer not null,
  primary key (interface_pk, template_pk)
);
comment on table template_interfaces is 'Pairs of template and interface of which a view was stored. A pair once there stays.';
comment on column template_interfaces.template_pk is 'The template, see templates.';
comment on column template_interfaces.interface_pk is 'The interface, a row of templates too.';

create table packages (
  package_id text primary key,
  package_name text not null,
  package_version text not null,
  language_version text not null,
  model jsonb not null,
  read_at timestamptz not null default now()
);
comment on table packages is 'Packages whose archives were read from the participant, with the types that typed views are made from.';
comment on column packages.package_id is 'SHA-256 of the package, as in template identifiers.';
comment on column packages.package_name is 'Name of the package: the same for all versions that upgrade each other.';
comment on column packages.package_version is 'Version of the package, as its author numbered it.';
comment on column packages.language_version is 'Version of Daml-LF the archive is written in, e.g. 2.1.';
comment on column packages.model is 'Templates, choices, interfaces and data types of the package as JSON.';
comment on column packages.read_at is 'When the archive was read.';

create table omitted_fields (
  template_pk integer primary key,
  fields jsonb not null
);
comment on table omitted_fields is 'What values of templates and interface views lack because the ledger does not write trailing fields that are None.';
comment on column omitted_fields.template_pk is 'Template or interface, see templates. Those whose values lack nothing have no row.';
comment on column omitted_fields.fields is 'Where the missing fields belong, see function with_nulls of schema pqs.';

create table typed_views (
  view_name text primary key,
  kind text not null check (kind in ('template', 'choice', 'interface')),
  package_name text not null,
  module_name text not null,
  entity_name text not null,
  choice text not null default '',
  unique (kind, package_name, module_name, entity_name, choice)
);
comment on table typed_views is 'The generated views of schema typed, and what each one shows. A name once given is never given to something else.';
comment on column typed_views.view_name is 'Name in schema typed; the view with all contracts of a template has __history at its end.';
comment on column typed_views.kind is 'template, choice or interface.';
comment on column typed_views.package_name is 'Package that defines it.';
comment on column typed_views.module_name is 'Module that defines it.';
comment on column typed_views.entity_name is 'Template or interface; of a choice, the one that has the choice.';
comment on column typed_views.choice is 'Name of the choice; empty for templates and interfaces.';

create table typed_columns (
  view_name text not null,
  position integer not null,
  column_name text not null,
  path text[] not null,
  type text not null,
  description text not null,
  primary key (view_name, column_name),
  unique (view_name, position)
);
comment on table typed_columns is 'Columns of the generated views in the order they were first seen: new fields come last, so that views built on them stay valid.';
comment on column typed_columns.view_name is 'The view in schema typed.';
comment on column typed_columns.position is 'Place among the columns made from fields, from 1.';
comment on column typed_columns.column_name is 'Name of the column.';
comment on column typed_columns.path is 'Field names from the payload down to the value.';
comment on column typed_columns.type is 'Postgres type of the column.';
comment on column typed_columns.description is 'The Daml type and path, shown as comment of the column.';
