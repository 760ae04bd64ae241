-- Parties of reads for users of the participant. Runs with search_path set to the schema of the stream and names no
-- schema itself.

-- Rows are valid for one transaction, and a transaction id is never used again. A row that a dump has copied to another
-- server could meet the same id there, but it is older than that transaction. Unlogged, because the rows do not outlive
-- a transaction, and a crash of the server ends all of them.
create unlogged table node_sessions (
  transaction_id xid8 primary key,
  parties text[] not null,
  reads_all boolean not null,
  written_at timestamptz not null default clock_timestamp()
);
comment on table node_sessions is 'Parties whose data a read for a user of the participant may see, one row for each running transaction. Row security has no policy: the owner and the writer see all rows, readers see none.';
comment on column node_sessions.transaction_id is 'Id of the transaction that reads. No other transaction has its rights.';
comment on column node_sessions.parties is 'Parties that the user may read or act as, according to the participant.';
comment on column node_sessions.reads_all is 'Whether the user may read as any party, and so sees everything.';
comment on column node_sessions.written_at is 'Time at which the row was written. The functions ignore a row that is older than the transaction.';
-- Other roles see no rows of this table, even if they have or get rights on all tables.
alter table node_sessions enable row level security;

-- Both functions run with the rights of their owner, because readers may not read the table: a reader that could see it
-- would see the parties of others. They take no argument, and neither the transaction id nor the start of the
-- transaction can be changed by a statement.
create function session_parties() returns text[]
  language sql stable parallel restricted security definer
  return coalesce((select s.parties from node_sessions s
                    where s.transaction_id = pg_current_xact_id_if_assigned() and s.written_at >= now()), '{}');
comment on function session_parties() is
  'Parties whose data the current transaction may see, for policies of a role of `grant-reader --node-tokens`. Empty without a row in node_sessions.';

create function session_reads_all() returns boolean
  language sql stable parallel restricted security definer
  return coalesce((select s.reads_all from node_sessions s
                    where s.transaction_id = pg_current_xact_id_if_assigned() and s.written_at >= now()), false);
comment on function session_reads_all() is
  'Whether the current transaction may see the data of all parties, for policies of a role of `grant-reader --node-tokens`. False without a row in node_sessions.';
revoke execute on function session_parties(), session_reads_all() from public;
