-- Tables of one stream: its state, its coverage, and the dictionaries of names that events refer to. Runs with search_path set to
-- the schema of the stream and names no schema itself.

comment on table schema_migrations is 'Migrations applied to this schema.';
comment on column schema_migrations.id is 'File name of the migration, without .sql.';
comment on column schema_migrations.applied_at is 'Time the migration was applied.';

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
comment on table stream is 'State of the stream, one row. All updates up to and including checkpoint are stored.';
comment on column stream.singleton is 'Always true: a schema holds exactly one stream.';
comment on column stream.participant_id is 'Participant that is read. Another participant is rejected until `ledger-indexer switch-participant` has verified it, see participants. Null until the indexer''s user could read the id.';
comment on column stream.filter is 'Filter of the subscription (parties, templates, interfaces, blobs, topology) as canonical JSON.';
comment on column stream.filter_hash is 'SHA-256 of filter and transaction shape. A different filter is rejected, because it would leave a gap.';
comment on column stream.transaction_shape is 'LEDGER_EFFECTS (every exercise) or ACS_DELTA (creates and archives only).';
comment on column stream.seed_offset is 'Ledger end at which the active contracts were read; updates follow after it. Null before the first seed begins.';
comment on column stream.seeded_at is 'Time the seed was published; null until the seed is complete.';
comment on column stream.seed_token is 'Last streamContinuationToken committed with the seed, after which an interrupted seed resumes. Null if the ledger sends none, and after the seed is published.';
comment on column stream.seed_contracts is 'Number of active-contract entries that the seed has committed.';
comment on column stream.checkpoint is 'Inclusive offset up to which every update is stored. Null until the seed is published.';
comment on column stream.checkpoint_update_offset is 'Offset of the newest stored update; null if it is not known. The checkpoint may be later because of OffsetCheckpoints.';
comment on column stream.checkpoint_update_id is 'Update id at checkpoint_update_offset, used on reconnect to check that the ledger still has the same history; null if it is not known.';
comment on column stream.checkpoint_record_time is 'Newest record time of updates and OffsetCheckpoints; null before the first.';
comment on column stream.record_times is 'Newest record time by synchronizer id, from updates and OffsetCheckpoints.';
comment on column stream.epoch is 'Number that every writer increments when it takes over. A commit with an older epoch is rejected.';
comment on column stream.writer is 'Holder of the epoch: host, process id and start time; null before the first writer.';
comment on column stream.ledger_end is 'Ledger end at the last poll; null before the first poll.';
comment on column stream.participant_pruned_offset is 'Inclusive offset up to which the participant had pruned at the last poll; 0 if it had not pruned, null before the first poll.';
comment on column stream.pruned_to_offset is 'Inclusive offset up to which updates were pruned from this schema; contracts that were still active are kept. Null if nothing was pruned.';
comment on column stream.filter_extended_from is 'Hashes of previous filters that were extended to the current one while the indexer ran. An indexer configured with one of them continues with the filter in force.';
comment on column stream.handover is 'State of a handover between databases. Null: an indexer may write. filling: `ledger-indexer rebuild --into` fills this schema from the ledger and has not handed over to it yet. handed over: the stream continues in another database. No indexer writes in the last two states.';
comment on column stream.handover_peer is 'Other database of the handover, host:port/name. filling: the database that hands over. handed over: the database where the stream continues. Null without a handover.';

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
comment on table participants is 'Participants that the stream was read from, one row per range of offsets, in order, including the first participant. Empty until the stream is switched to another participant.';
comment on column participants.participant_number is 'Number of the participant, counted from 1.';
comment on column participants.participant_id is 'Participant id; null if the indexer''s user could not read it.';
comment on column participants.from_offset is 'Exclusive: updates after this offset, up to and including the from_offset of the next row, were read from this participant.';
comment on column participants.offset_shift is 'Difference of offsets: an offset in this schema is the participant''s own offset plus this value. 0 for the first participant.';
comment on column participants.overlap_offsets is 'By synchronizer id, the inclusive offset up to which updates after from_offset had already been stored from the previous participant. Each participant has its own order of updates of different synchronizers.';
comment on column participants.overlap_to_offset is 'Largest of overlap_offsets, or from_offset if there are none. No update is repeated after this offset.';
comment on column participants.common_offset is 'Participant''s own offset of the newest update stored before the switch. Used to check that the history is the same, until another update is stored. Null for the first participant.';
comment on column participants.common_update_id is 'Update id at common_offset; null for the first participant.';
comment on column participants.reason is 'Reason for the switch to this participant; null for the first participant.';
comment on column participants.since is 'Time of the switch to this participant; for the first participant, time of the first switch.';

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
comment on table coverage is 'Ranges of offsets that are complete, with their filter and transaction shape. History before from_offset is not stored.';
comment on column coverage.from_offset is 'Exclusive: updates after this offset are complete.';
comment on column coverage.to_offset is 'Inclusive end of a closed range; null for the range that ends at the checkpoint.';
comment on column coverage.origin is 'Beginning of the range: seed, genesis, oldest or offset (start of the stream), reseed (after a gap), filter (after an accepted change of the filter), filter-extend (after an extension that also read the contracts active then), reset (after a rewind).';
comment on column coverage.filter_hash is 'Hash of the filter in force.';
comment on column coverage.transaction_shape is 'Transaction shape in force.';
comment on column coverage.complete is 'Whether contracts that were active at from_offset are complete. False while contracts visible only to a wider filter are backfilled, and if that backfill was cancelled.';
comment on column coverage.reason is 'Reason the previous range ended; null for the first range.';
comment on column coverage.recorded_at is 'Time the range was recorded.';

create table filter_interfaces (
  interface_id text primary key,
  state text not null check (state in ('waiting', 'backfilling', 'followed')),
  complete_from bigint,
  unknown_at_offset bigint,
  updated_at timestamptz not null default now()
);
comment on table filter_interfaces is 'Interfaces whose views are requested (LEDGER_INTERFACES with presets expanded), and the offset from which their views are complete.';
comment on column filter_interfaces.interface_id is 'Interface as a filter names it: #package-name:Module:Entity.';
comment on column filter_interfaces.state is 'followed: the stream delivers views of the interface. backfilling: the participant knows the interface, and views are backfilled in the background. waiting: the participant does not know the interface, or was not queried yet.';
comment on column filter_interfaces.complete_from is 'Exclusive: every contract active at this offset, or activated after it, has the view that the participant could return. 0: complete wherever the stream is complete. Null before any views were read.';
comment on column filter_interfaces.unknown_at_offset is 'Ledger end when the participant last reported that it does not know the interface. Up to this offset no contract has a view of the interface. Null if the participant never reported so.';
comment on column filter_interfaces.updated_at is 'Time of the last change of state.';

create table filter_additions (
  kind text not null check (kind in ('party', 'template', 'interface', 'blobs', 'topology')),
  name text not null,
  from_offset bigint not null,
  complete_from bigint,
  updated_at timestamptz not null default now(),
  primary key (kind, name)
);
comment on table filter_additions is 'Additions to the filter made while the indexer ran, and the offset from which each is complete. Entries of the initial filter have no row.';
comment on column filter_additions.kind is 'party, template, interface, blobs or topology.';
comment on column filter_additions.name is 'Party, template or interface as the filter names it; * for all of them; empty for blobs and topology.';
comment on column filter_additions.from_offset is 'Exclusive: updates after this offset are stored with everything that the addition makes visible. Initially the offset at which the addition was made; lower once earlier history was read.';
comment on column filter_additions.complete_from is 'Exclusive: contracts active at this offset, and everything since, are stored. Null while those contracts are backfilled, and if the backfill was cancelled.';
comment on column filter_additions.updated_at is 'Time of the addition, or of the last change of this row.';

create table synchronizers (
  synchronizer_pk integer primary key,
  synchronizer_id text not null unique
);
comment on table synchronizers is 'Dictionary of synchronizers, in order of first appearance.';
comment on column synchronizers.synchronizer_pk is 'Number used by the large tables instead of the id.';
comment on column synchronizers.synchronizer_id is 'Synchronizer id of the ledger, alias::fingerprint.';

create table templates (
  template_pk integer primary key,
  package_id text not null,
  module_name text not null,
  entity_name text not null,
  package_name text,
  unique (package_id, module_name, entity_name)
);
comment on table templates is 'Dictionary of templates and interfaces, one row per package id, module and entity.';
comment on column templates.template_pk is 'Number used by the large tables instead of the name.';
comment on column templates.package_id is 'Package id: hash of the package''s content.';
comment on column templates.module_name is 'Module name, dotted.';
comment on column templates.entity_name is 'Template or interface name within the module.';
comment on column templates.package_name is 'Package name as the ledger reported it; null if only a package id was seen (interfaces).';

create table choices (
  choice_pk integer primary key,
  template_pk integer not null,
  interface_pk integer not null,
  choice text not null,
  unique (template_pk, interface_pk, choice)
);
comment on table choices is 'Dictionary of choices, one row per template, interface and choice name.';
comment on column choices.choice_pk is 'Number used by exercises instead of the name.';
comment on column choices.template_pk is 'Template the choice was exercised on.';
comment on column choices.interface_pk is 'Interface that defines the choice, a row of templates; 0 for a choice of the template itself.';
comment on column choices.choice is 'Choice name; Archive is the built-in choice.';

create table template_interfaces (
  template_pk integer not null,
  interface_pk integer not null,
  primary key (interface_pk, template_pk)
);
comment on table template_interfaces is 'Pairs of template and interface for which a view was stored. Pairs are never removed.';
comment on column template_interfaces.template_pk is 'Template, see templates.';
comment on column template_interfaces.interface_pk is 'Interface, a row of templates.';

create table packages (
  package_id text primary key,
  package_name text not null,
  package_version text not null,
  language_version text not null,
  model jsonb not null,
  read_at timestamptz not null default now()
);
comment on table packages is 'Packages whose archives were read from the participant, with the types from which typed views are generated.';
comment on column packages.package_id is 'SHA-256 of the package, as in template identifiers.';
comment on column packages.package_name is 'Package name, the same for all versions that upgrade each other.';
comment on column packages.package_version is 'Package version, as numbered by its author.';
comment on column packages.language_version is 'Daml-LF version of the archive, e.g. 2.1.';
comment on column packages.model is 'Templates, choices, interfaces and data types of the package as JSON.';
comment on column packages.read_at is 'Time the archive was read.';

create table omitted_fields (
  template_pk integer primary key,
  fields jsonb not null
);
comment on table omitted_fields is 'Fields missing from values of templates and interface views, because the ledger omits trailing fields that are None.';
comment on column omitted_fields.template_pk is 'Template or interface, see templates. Templates and interfaces whose values omit no fields have no row.';
comment on column omitted_fields.fields is 'Positions of the missing fields, see function with_nulls of schema pqs.';

create table typed_views (
  view_name text primary key,
  kind text not null check (kind in ('template', 'choice', 'interface')),
  package_name text not null,
  module_name text not null,
  entity_name text not null,
  choice text not null default '',
  unique (kind, package_name, module_name, entity_name, choice)
);
comment on table typed_views is 'Generated views of schema typed, with the template, choice or interface of each. A view name is never reused for another view.';
comment on column typed_views.view_name is 'Name in schema typed. The view with all contracts of a template has the suffix __history.';
comment on column typed_views.kind is 'template, choice or interface.';
comment on column typed_views.package_name is 'Package that defines the template, interface or choice.';
comment on column typed_views.module_name is 'Module that defines the template, interface or choice.';
comment on column typed_views.entity_name is 'Template or interface; for a choice, the template or interface that has the choice.';
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
comment on table typed_columns is 'Columns of the generated views, in order of first appearance. New fields come last, so that views built on them stay valid.';
comment on column typed_columns.view_name is 'View in schema typed.';
comment on column typed_columns.position is 'Position among the columns generated from fields, counted from 1.';
comment on column typed_columns.column_name is 'Name of the column.';
comment on column typed_columns.path is 'Field names from the payload down to the value.';
comment on column typed_columns.type is 'Postgres type of the column.';
comment on column typed_columns.description is 'Daml type and path, used as the comment of the column.';
