-- Names of parties and instruments for people, loaded from files of the operator. They are display text only: nothing
-- may select rows by a label, because labels are not unique.
create table party_labels (
  party text not null,
  source text not null,
  label text not null check (char_length(label) between 1 and 100 and label !~ '[[:cntrl:]]'),
  note text check (char_length(note) between 1 and 500 and note !~ '[[:cntrl:]]'),
  is_dso boolean not null default false,
  loaded_at timestamptz not null default now(),
  primary key (party, source)
);
comment on table party_labels is 'Labels of parties, loaded from files by `ledger-indexer labels load`. A reader limited to parties sees only labels of its parties, and of parties in party sets that it can see.';
comment on column party_labels.party is 'Complete party id.';
comment on column party_labels.source is 'Name of the file, or the name given at the load. A load replaces all rows of its source.';
comment on column party_labels.label is 'Label, 1 to 100 characters. Not unique.';
comment on column party_labels.note is 'Note about the label; null without one.';
comment on column party_labels.is_dso is 'Whether the operator states that this party is the DSO, whose AnsEntry contracts give labels.';
comment on column party_labels.loaded_at is 'Time of the load that added or changed the row.';

create table instrument_labels (
  admin text not null,
  instrument_id text not null,
  source text not null,
  name text not null check (char_length(name) between 1 and 100 and name !~ '[[:cntrl:]]'),
  symbol text check (char_length(symbol) between 1 and 20 and symbol !~ '[[:cntrl:]]'),
  decimals integer check (decimals between 0 and 38),
  note text check (char_length(note) between 1 and 500 and note !~ '[[:cntrl:]]'),
  loaded_at timestamptz not null default now(),
  primary key (admin, instrument_id, source)
);
comment on table instrument_labels is 'Names, symbols and decimals of instruments, loaded from files by `ledger-indexer labels load`. A reader limited to parties sees only rows whose admin is one of its parties or in a party set that it can see.';
comment on column instrument_labels.admin is 'Party id of the admin of the instrument.';
comment on column instrument_labels.instrument_id is 'Id of the instrument, unique for its admin.';
comment on column instrument_labels.source is 'Name of the file, or the name given at the load. A load replaces all rows of its source.';
comment on column instrument_labels.name is 'Name, 1 to 100 characters. Not unique.';
comment on column instrument_labels.symbol is 'Symbol, such as CC; null without one.';
comment on column instrument_labels.decimals is 'Number of decimal places to display; null if the file does not name it. Amounts are stored exactly.';
comment on column instrument_labels.note is 'Note about the instrument; null without one.';
comment on column instrument_labels.loaded_at is 'Time of the load that added or changed the row.';

alter table redactions add column labels bigint not null default 0;
comment on column redactions.labels is 'Number of labels of the party that were removed, see party_labels.';
