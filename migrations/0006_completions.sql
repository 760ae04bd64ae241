-- What became of submitted commands: followed beside the updates, up to the checkpoint of the stream and never past it. Runs
-- with search_path set to the schema of the stream; names no schema itself.

create table completions (
  "offset" bigint primary key,
  record_time timestamptz,
  submitted_at timestamptz,
  paid_traffic_cost bigint,
  deduplication_offset bigint,
  deduplication_microseconds bigint,
  status_code integer not null,
  error_category integer,
  submitters_key bytea not null,
  update_id bytea,
  trace_parent bytea,
  contract_id bytea,
  transaction_hash bytea,
  command_id text,
  submission_id text,
  user_id text,
  synchronizer_id text,
  trace_state text,
  error_code text,
  choice_path text,
  status_message text,
  redaction_id text
);
comment on table completions is 'One row per completion the ledger showed us: what became of a submitted command, accepted or rejected. Complete in completion_ranges.';
comment on column completions."offset" is 'The participant''s offset of the completion; that of the update where there is one.';
comment on column completions.record_time is 'When the synchronizer recorded it.';
comment on column completions.submitted_at is 'When the participant took the command, by its own clock, where the details of the error say so; null otherwise, always when accepted.';
comment on column completions.paid_traffic_cost is 'Traffic this participant paid for the submission, for rejected ones as well; null where the ledger does not say.';
comment on column completions.deduplication_offset is 'After this offset the participant looked for the same change; null where it names a duration.';
comment on column completions.deduplication_microseconds is 'For so long back it looked for the same change; null where it names an offset.';
comment on column completions.status_code is 'gRPC code: 0 accepted, anything else rejected.';
comment on column completions.error_category is 'The ledger''s category of the error, from its ErrorInfo or from the message; null when accepted or not told.';
comment on column completions.submitters_key is 'The acting parties as far as they were shown, see submitters.';
comment on column completions.update_id is 'Id of the update, see id_text; null when rejected.';
comment on column completions.trace_parent is 'W3C traceparent of the submission, see trace_text.';
comment on column completions.contract_id is 'The first contract that the error names, see id_text; null where it names none.';
comment on column completions.transaction_hash is 'Hash of an externally signed transaction (participants from 3.6 on), see id_text.';
comment on column completions.command_id is 'Command id.';
comment on column completions.submission_id is 'Submission id: the attempt, where a command is submitted more than once.';
comment on column completions.user_id is 'User who submitted it.';
comment on column completions.synchronizer_id is 'The synchronizer it was submitted to, by its own id: the dictionary of synchronizers has those of updates only.';
comment on column completions.trace_state is 'W3C tracestate of the submission.';
comment on column completions.error_code is 'The ledger''s error code, such as CONTRACT_NOT_FOUND; null when accepted or not told.';
comment on column completions.choice_path is 'Package id (its beginning), module, template and choice of the exercise that failed, as the trace in the details of the error names them; null where there is none.';
comment on column completions.status_message is 'What the participant says of the error, its first 4096 characters; may hold contents of contracts. Null when accepted.';
comment on column completions.redaction_id is 'Set when the message was removed, see redactions.';
-- A whole key of a long id would be as large as the row.
create index completions_command on completions using hash (command_id);
comment on index completions_command is 'A completion by its command id.';
create index completions_rejected on completions ("offset") where status_code <> 0;
comment on index completions_rejected is 'Rejected commands: few among many.';
create index completions_contract on completions (id_text(contract_id)) where contract_id is not null;
comment on index completions_contract is 'Rejected commands that name a contract.';
create index completions_record_time on completions using brin (record_time) with (pages_per_range = 32, autosummarize = on);
comment on index completions_record_time is 'As updates_record_time.';

create table submitters (
  submitters_key bytea not null,
  party text not null,
  primary key (submitters_key, party)
);
comment on table submitters is 'Who acted in submitted commands: each combination of parties once, one row per party.';
comment on column submitters.submitters_key is 'First 16 bytes of the SHA-256 of the parties as a sorted list in JSON: whoever stores completions needs no numbers given before.';
comment on column submitters.party is 'One of the parties.';
create index submitters_party on submitters (party);
comment on index submitters_party is 'The combinations that a party is in.';

-- One row moves with every commit: with room for its new version beside the old one.
create table completion_ranges (
  from_offset bigint primary key,
  to_offset bigint not null,
  parties text[] not null,
  reason text,
  recorded_at timestamptz not null default now(),
  check (to_offset >= from_offset)
) with (fillfactor = 50);
comment on table completion_ranges is 'Which offsets completions are complete for. The end of the newest range is the checkpoint of completions, which is never past that of the stream.';
comment on column completion_ranges.from_offset is 'Exclusive: completions after this offset are here.';
comment on column completion_ranges.to_offset is 'Inclusive: up to this offset.';
comment on column completion_ranges.parties is 'Whose completions they are; empty: those of all parties.';
comment on column completion_ranges.reason is 'Why it does not begin where the range before it ends, or where the stream begins; null where it does.';
comment on column completion_ranges.recorded_at is 'When the range began to be read.';
