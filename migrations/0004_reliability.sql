-- What promises need beside the data: updates set aside, redactions that outlive a seed, and ranges of history with gaps.

create table quarantine (
  "offset" bigint primary key,
  code text not null,
  found text not null,
  frame bytea not null,
  epoch bigint not null,
  quarantined_at timestamptz not null default now(),
  attempts integer not null default 0,
  attempted_at timestamptz
);
comment on table quarantine is 'Updates that could not be stored, whole, as the ledger sent them. Empty unless INDEXER_QUARANTINE allows it.';
comment on column quarantine."offset" is 'Offset of the update; no other table has a row of it.';
comment on column quarantine.code is 'Error code that says why it could not be stored.';
comment on column quarantine.found is 'What was found, without contents.';
comment on column quarantine.frame is 'The frame as the ledger sent it, byte by byte (UTF-8 JSON).';
comment on column quarantine.epoch is 'Epoch of the writer that set it aside.';
comment on column quarantine.quarantined_at is 'When it was set aside, in the transaction that moved the checkpoint past it.';
comment on column quarantine.attempts is 'How often storing it was tried again.';
comment on column quarantine.attempted_at is 'When it was tried last; null if never.';

create table redactions (
  redaction_id text primary key,
  subject text not null check (subject in ('contract', 'exercise', 'party')),
  contract_id text,
  "offset" bigint,
  node_id integer,
  party text,
  reason text not null,
  requested_by text not null,
  redacted_at timestamptz not null default now(),
  contracts bigint not null default 0,
  exercises bigint not null default 0
);
comment on table redactions is 'Who had which contents removed, when and why. Survives a new seed: the writer removes the same contents again.';
comment on column redactions.redaction_id is 'Id of the redaction, as in contracts.redaction_id and exercises.redaction_id.';
comment on column redactions.subject is 'contract, exercise or party.';
comment on column redactions.contract_id is 'The contract, for subject contract.';
comment on column redactions."offset" is 'Offset of the exercise, for subject exercise.';
comment on column redactions.node_id is 'Node of the exercise within its update, for subject exercise.';
comment on column redactions.party is 'The party, for subject party: contents of archived contracts it was a stakeholder of.';
comment on column redactions.reason is 'Why, as given by whoever asked for it.';
comment on column redactions.requested_by is 'Database role that asked for it.';
comment on column redactions.redacted_at is 'When.';
comment on column redactions.contracts is 'Rows of contracts whose contents were removed.';
comment on column redactions.exercises is 'Rows of exercises whose contents were removed.';

create table redacted_contracts (
  contract_id text primary key,
  redaction_id text not null,
  exercises boolean not null default false
);
comment on table redacted_contracts is 'Contracts whose contents were removed. The writer removes them again whenever the ledger sends them again.';
comment on column redacted_contracts.contract_id is 'Contract id.';
comment on column redacted_contracts.redaction_id is 'Redaction that asked for it first.';
comment on column redacted_contracts.exercises is 'Whether arguments and results of its exercises go as well.';

create table redacted_exercises (
  "offset" bigint not null,
  node_id integer not null,
  update_id text,
  redaction_id text not null,
  primary key ("offset", node_id)
);
comment on table redacted_exercises is 'Exercises whose argument and result were removed, one by one; see also redacted_contracts.exercises.';
comment on column redacted_exercises."offset" is 'Offset of the exercise.';
comment on column redacted_exercises.node_id is 'Node of the exercise within its update.';
comment on column redacted_exercises.update_id is 'Id of its update: at this offset, another ledger has another update, whose contents are stored.';
comment on column redacted_exercises.redaction_id is 'Redaction that asked for it first.';

alter table contracts add column redaction_id text;
comment on column contracts.redaction_id is 'Redaction that removed payload, key and blob; null unless redacted.';
alter table exercises add column redaction_id text;
comment on column exercises.redaction_id is 'Redaction that removed argument and result; null unless redacted.';
alter table interface_views add column redaction_id text;
comment on column interface_views.redaction_id is 'Redaction that removed the view; null unless redacted.';

alter table coverage
  drop constraint coverage_origin_check,
  add constraint coverage_origin_check check (origin in ('seed', 'genesis', 'oldest', 'offset', 'reseed', 'filter', 'reset')),
  add column reason text,
  add column recorded_at timestamptz not null default now();
comment on column coverage.origin is 'How the range began: seed, genesis, oldest, offset; reseed after a gap, filter after an accepted change of the filter, reset after going back.';
comment on column coverage.reason is 'Why the range before this one ended; null for the first.';
comment on column coverage.recorded_at is 'When the range was recorded.';

alter table stream add column kept_offset bigint;
comment on column stream.kept_offset is 'Updates up to and including this offset were pruned here (their contracts that were still active are kept); null when nothing was.';

comment on column active_counts.activated is 'Rows of lifetimes with this template, pruned ones included.';
comment on column active_counts.deactivated is 'Those of them that have ended, pruned ones included.';
