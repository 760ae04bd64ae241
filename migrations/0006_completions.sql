-- Results of submitted commands. Completions are read in the background, up to the checkpoint of the stream and never
-- past it. Runs with search_path set to the schema of the stream and names no schema itself.

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
comment on table completions is 'Completions that the ledger returned, one row each: the result of a submitted command, accepted or rejected. Complete in the ranges of completion_ranges.';
comment on column completions."offset" is 'Participant''s offset of the completion; equal to the offset of the update if there is one.';
comment on column completions.record_time is 'Time the synchronizer recorded the command; null if the ledger did not report it.';
comment on column completions.submitted_at is 'Time the participant received the command, by its own clock, if the error details report it; null otherwise, and for accepted commands.';
comment on column completions.paid_traffic_cost is 'Traffic in bytes that this participant paid for the submission, accepted or rejected; null if the ledger did not report it.';
comment on column completions.deduplication_offset is 'Exclusive offset from which the participant searched for the same change; null if it reports a duration.';
comment on column completions.deduplication_microseconds is 'Duration over which the participant searched for the same change; null if it reports an offset.';
comment on column completions.status_code is 'gRPC status code: 0 if accepted, otherwise the code of the rejection.';
comment on column completions.error_category is 'Ledger''s category of the error, from its ErrorInfo or from the message; null if accepted or not reported.';
comment on column completions.submitters_key is 'Set of the visible acting parties, see submitters.';
comment on column completions.update_id is 'Update id, see id_text; null if rejected.';
comment on column completions.trace_parent is 'W3C traceparent of the submission, see trace_text; null without one.';
comment on column completions.contract_id is 'First contract that the error names, see id_text; null if it names none.';
comment on column completions.transaction_hash is 'Hash of an externally signed transaction, see id_text; null for participants before 3.6.';
comment on column completions.command_id is 'Command id.';
comment on column completions.submission_id is 'Submission id, which distinguishes the attempts of a command submitted more than once.';
comment on column completions.user_id is 'User who submitted the command.';
comment on column completions.synchronizer_id is 'Id of the synchronizer to which the command was submitted. It is not a number, because the dictionary synchronizers has only synchronizers of updates.';
comment on column completions.trace_state is 'W3C tracestate of the submission; null without one.';
comment on column completions.error_code is 'Ledger''s error code, such as CONTRACT_NOT_FOUND; null if accepted or not reported.';
comment on column completions.choice_path is 'Package id (its beginning), module, template and choice of the failed exercise, as named by the trace in the error details; null without a trace.';
comment on column completions.status_message is 'Error message of the participant, first 4096 characters; may hold contents of contracts. Null if accepted.';
comment on column completions.redaction_id is 'Redaction that removed the message, see redactions; null unless redacted.';
-- A hash index, because a b-tree over the long id would be as large as the row.
create index completions_command on completions using hash (command_id);
comment on index completions_command is 'Lookup of a completion by its command id.';
create index completions_rejected on completions ("offset") where status_code <> 0;
comment on index completions_rejected is 'Completions of rejected commands, which are few.';
create index completions_contract on completions (id_text(contract_id)) where contract_id is not null;
comment on index completions_contract is 'Completions whose error names a contract.';
create index completions_record_time on completions using brin (record_time) with (pages_per_range = 32, autosummarize = on);
comment on index completions_record_time is 'Lookup of offsets by record time, with the same kind of index as updates_record_time.';

create table submitters (
  submitters_key bytea not null,
  party text not null,
  primary key (submitters_key, party)
);
comment on table submitters is 'Acting parties of submitted commands. Each party set is stored once, with one row per party.';
comment on column submitters.submitters_key is 'First 16 bytes of the SHA-256 of the parties as a sorted JSON list, so that writers of completions need no assigned numbers.';
comment on column submitters.party is 'Party of the set.';
create index submitters_party on submitters (party);
comment on index submitters_party is 'Party sets that contain a party.';

-- One row changes with every commit. Free space on the page holds the new row version.
create table completion_ranges (
  from_offset bigint primary key,
  to_offset bigint not null,
  parties text[] not null,
  reason text,
  recorded_at timestamptz not null default now(),
  check (to_offset >= from_offset)
) with (fillfactor = 50);
comment on table completion_ranges is 'Ranges of offsets for which completions are complete. The end of the newest range is the checkpoint of completions, which is never past the checkpoint of the stream.';
comment on column completion_ranges.from_offset is 'Exclusive: completions after this offset are stored.';
comment on column completion_ranges.to_offset is 'Inclusive: completions up to this offset are stored.';
comment on column completion_ranges.parties is 'Parties whose completions are stored; empty for all parties.';
comment on column completion_ranges.reason is 'Reason for a gap before the range; null if the range begins at the end of the previous range or at the start of the stream.';
comment on column completion_ranges.recorded_at is 'Time the indexer began to read the range.';
