-- What `verify` found last, one row per kind of comparison: for readers, and for the metrics of a running indexer.

create table verifications (
  kind text primary key check (kind in ('sql', 'acs', 'tail', 'replay')),
  outcome text not null check (outcome in ('equal', 'different', 'undecided')),
  at_offset bigint not null,
  started_at timestamptz not null,
  seconds double precision not null,
  compared bigint not null,
  different bigint not null,
  quarantined bigint not null,
  note text
);
comment on table verifications is 'The last result of each kind of `ledger-indexer verify`. Says nothing about the ledger itself.';
comment on column verifications.kind is 'sql (rules within the tables), acs (active contracts), tail (newest updates) or replay (a range of updates).';
comment on column verifications.outcome is 'equal, different, or undecided when it could not be compared.';
comment on column verifications.at_offset is 'Newest offset that was compared.';
comment on column verifications.started_at is 'When the comparison began.';
comment on column verifications.seconds is 'How long it took.';
comment on column verifications.compared is 'Rules, contracts or updates that were compared.';
comment on column verifications.different is 'Differences found.';
comment on column verifications.quarantined is 'Differences explained by updates in quarantine; they do not count as different.';
comment on column verifications.note is 'Why nothing was decided, or what was left out; null when there is nothing to say.';
