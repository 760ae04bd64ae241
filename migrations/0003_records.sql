-- Records besides events: sums, quarantined updates, retention holds, background jobs, redactions, results of verify.

-- Each batch changes the rows that count its events. If the page has free space for the new row version, no index has
-- to be updated.
create table activity_hourly (
  hour timestamptz not null,
  template_pk integer not null,
  choice_pk integer not null,
  synchronizer_pk integer not null,
  creates bigint not null,
  archives bigint not null,
  exercises bigint not null,
  transactions bigint not null default 0,
  paid_traffic_cost bigint not null default 0,
  delay_seconds double precision not null default 0,
  total_creates bigint not null default 0,
  total_archives bigint not null default 0,
  total_exercises bigint not null default 0,
  primary key (hour, template_pk, choice_pk, synchronizer_pk)
) with (fillfactor = 50);
comment on table activity_hourly is 'Events per hour of record time, updated in the writer''s transaction. Seeded contracts do not count.';
comment on column activity_hourly.hour is 'Start of the hour, by record time.';
comment on column activity_hourly.template_pk is 'Template, see templates; 0 in rows with the totals of an hour.';
comment on column activity_hourly.choice_pk is 'Choice, see choices; 0 for creates and archived events, and in rows with the totals of an hour.';
comment on column activity_hourly.synchronizer_pk is 'Synchronizer, see synchronizers.';
comment on column activity_hourly.creates is 'Number of created events.';
comment on column activity_hourly.archives is 'Number of archived events and consuming exercises.';
comment on column activity_hourly.exercises is 'Number of exercised events.';
comment on column activity_hourly.transactions is 'Number of transactions recorded in the hour. This column and those after it have values only in rows with the totals of an hour, where template_pk and choice_pk are 0; otherwise they are 0.';
comment on column activity_hourly.paid_traffic_cost is 'Traffic cost in bytes of the updates of the hour that this participant submitted.';
comment on column activity_hourly.delay_seconds is 'Sum of record time minus effective time over the transactions of the hour, in seconds.';
comment on column activity_hourly.total_creates is 'Number of creates in the hour over all templates.';
comment on column activity_hourly.total_archives is 'Number of archives in the hour over all templates.';
comment on column activity_hourly.total_exercises is 'Number of exercises in the hour over all templates.';
create index activity_hourly_template on activity_hourly (template_pk, hour);
comment on index activity_hourly_template is 'Hours of one template, or of the totals over all templates.';

create table active_counts (
  template_pk integer primary key,
  activated bigint not null default 0,
  deactivated bigint not null default 0
) with (fillfactor = 50);
comment on table active_counts is 'Number of contracts by template, updated in the writer''s transaction. The number of active contracts is activated minus deactivated.';
comment on column active_counts.template_pk is 'Template, see templates.';
comment on column active_counts.activated is 'Number of contracts of this template that were ever active, including pruned contracts.';
comment on column active_counts.deactivated is 'Number of contracts of this template that have ended, including pruned contracts.';

create table quarantine (
  "offset" bigint primary key,
  code text not null,
  problem text not null,
  frame bytea not null,
  epoch bigint not null,
  quarantined_at timestamptz not null default now(),
  attempts integer not null default 0,
  attempted_at timestamptz
);
comment on table quarantine is 'Updates that could not be stored, each with its complete frame. Empty unless INDEXER_QUARANTINE allows quarantine.';
comment on column quarantine."offset" is 'Offset of the update. No other table has rows of this update.';
comment on column quarantine.code is 'Error code of the failure to store the update.';
comment on column quarantine.problem is 'Description of the failure, without contents.';
comment on column quarantine.frame is 'Frame exactly as the ledger sent it (UTF-8 JSON).';
comment on column quarantine.epoch is 'Epoch of the writer that quarantined the update.';
comment on column quarantine.quarantined_at is 'Time of the quarantine: that of the transaction which advanced the checkpoint past the update.';
comment on column quarantine.attempts is 'Number of retries to store the update.';
comment on column quarantine.attempted_at is 'Time of the last retry; null before the first.';

create table retention_holds (
  name text primary key,
  "offset" bigint not null check ("offset" >= 0),
  reason text,
  since timestamptz not null default now(),
  moved_at timestamptz not null default now()
);
comment on table retention_holds is 'Holds on history. Updates that a hold needs are pruned neither by a command nor by INDEXER_RETENTION.';
comment on column retention_holds.name is 'Name of the hold, for example of the consumer that needs the history.';
comment on column retention_holds."offset" is 'Exclusive: updates after this offset are still needed; updates up to and including it may be pruned.';
comment on column retention_holds.reason is 'Reason, as given with the hold; null without one.';
comment on column retention_holds.since is 'Time the hold was placed.';
comment on column retention_holds.moved_at is 'Time the offset was last set.';

create table jobs (
  name text primary key check (name in ('filter-extend', 'history', 'rebuild')),
  state text not null check (state in ('requested', 'working', 'paused', 'done', 'failed')),
  request jsonb not null,
  step text,
  unit text check (unit in ('contracts', 'offsets')),
  done bigint not null default 0,
  total bigint,
  per_second double precision,
  problem text,
  requested_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
comment on table jobs is 'Requested background jobs and their progress: one row per name, for its last request.';
comment on column jobs.name is 'filter-extend: adds parties, templates or interfaces to the filter; history: reads their earlier updates; rebuild: fills a new schema.';
comment on column jobs.state is 'requested: not started yet; working: started, even if no process runs it at the moment; paused: waits until it is resumed; done; failed: see problem.';
comment on column jobs.request is 'The request; its fields depend on the name.';
comment on column jobs.step is 'Current step; null before the job starts.';
comment on column jobs.unit is 'Unit of done and total; null while nothing is counted.';
comment on column jobs.done is 'Number of units of the current step that are done.';
comment on column jobs.total is 'Number of units in the current step; null if unknown.';
comment on column jobs.per_second is 'Units per second, as reported by the process that runs the job; null while the job does not run.';
comment on column jobs.problem is 'Reason of the failure, or of the last retry; null without one.';
comment on column jobs.requested_at is 'Time of the request.';
comment on column jobs.updated_at is 'Time of the last change of this row.';

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
comment on table redactions is 'Redactions: requests to remove contents, with the requesting role, time and reason. Rows survive a new seed, after which the writer removes the same contents again.';
comment on column redactions.redaction_id is 'Id of the redaction, as in contracts.redaction_id and exercises.redaction_id.';
comment on column redactions.subject is 'Kind of the redacted object: contract, exercise or party.';
comment on column redactions.contract_id is 'Contract id, for subject contract; null otherwise.';
comment on column redactions."offset" is 'Offset of the exercise, for subject exercise; null otherwise.';
comment on column redactions.node_id is 'Node of the exercise within its update, for subject exercise; null otherwise.';
comment on column redactions.party is 'Party, for subject party: contents of archived contracts of which it was a stakeholder. Null otherwise.';
comment on column redactions.reason is 'Reason, as given with the redaction.';
comment on column redactions.requested_by is 'Database role that requested the redaction.';
comment on column redactions.redacted_at is 'Time of the redaction.';
comment on column redactions.contracts is 'Number of rows of contracts whose contents were removed.';
comment on column redactions.exercises is 'Number of rows of exercises whose contents were removed.';

create table redacted_contracts (
  contract_id text primary key,
  redaction_id text not null,
  exercises boolean not null default false
);
comment on table redacted_contracts is 'Contracts whose contents were removed. The writer removes them again whenever the ledger sends them again.';
comment on column redacted_contracts.contract_id is 'Contract id.';
comment on column redacted_contracts.redaction_id is 'First redaction of the contract.';
comment on column redacted_contracts.exercises is 'Whether arguments and results of the exercises on the contract are removed as well.';

create table redacted_exercises (
  "offset" bigint not null,
  node_id integer not null,
  update_id text,
  redaction_id text not null,
  primary key ("offset", node_id)
);
comment on table redacted_exercises is 'Exercises whose argument and result were removed individually; see also redacted_contracts.exercises.';
comment on column redacted_exercises."offset" is 'Offset of the exercise.';
comment on column redacted_exercises.node_id is 'Node of the exercise within its update.';
comment on column redacted_exercises.update_id is 'Id of the redacted update; null if the update was not stored. If another update has this offset after a new seed, its contents are stored.';
comment on column redacted_exercises.redaction_id is 'First redaction of the exercise.';

create table verifications (
  kind text primary key check (kind in ('invariants', 'acs', 'tail', 'range', 'tokens')),
  outcome text not null check (outcome in ('equal', 'different', 'undecided')),
  at_offset bigint not null,
  started_at timestamptz not null,
  seconds double precision not null,
  compared bigint not null,
  different bigint not null,
  quarantined bigint not null,
  note text
);
comment on table verifications is 'Last result of each kind of `ledger-indexer verify`. It does not prove that the ledger itself is correct.';
comment on column verifications.kind is 'invariants (rules within the tables), acs (active contracts), tail (newest updates), range (a range of updates) or tokens (movements logged by admins, compared with holdings).';
comment on column verifications.outcome is 'equal, different, or undecided if no comparison was possible.';
comment on column verifications.at_offset is 'Newest offset that was compared.';
comment on column verifications.started_at is 'Time the comparison began.';
comment on column verifications.seconds is 'Duration of the comparison in seconds.';
comment on column verifications.compared is 'Number of rules, contracts or updates that were compared.';
comment on column verifications.different is 'Number of differences found.';
comment on column verifications.quarantined is 'Number of differences explained by updates in quarantine; not counted in different.';
comment on column verifications.note is 'Reason for an undecided result, or contents that were left out; null without a note.';
