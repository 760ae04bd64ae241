-- Projections that users add: one SELECT each. Their tables, functions and views are in schema derived, which
-- `projection add` creates. A changed SELECT is the next generation of a projection, with a table of its own.
create table user_projections (
  name text not null,
  generation integer not null check (generation > 0),
  select_text text not null,
  select_hash text not null,
  read_role text not null,
  looks_up boolean not null,
  sources text[] not null,
  key_columns text[] not null,
  index_columns text[] not null,
  party_column text,
  is_retired boolean not null default false,
  added_at timestamptz not null default now(),
  primary key (name, generation)
);
comment on table user_projections is 'Projections that users added, one row for each version of a SELECT.';
comment on column user_projections.name is 'Name of the view in schema derived.';
comment on column user_projections.generation is 'Number of the version. Its table and its function have the name of the view, a dollar sign and this number.';
comment on column user_projections.select_text is 'The SELECT as it was added.';
comment on column user_projections.select_hash is 'Hash of the SELECT, of its options, and of the number of refills.';
comment on column user_projections.read_role is 'Role with whose rights the rows are computed. It can only read.';
comment on column user_projections.looks_up is 'Whether a row may depend on contracts of earlier offsets, so that a change of history concerns all later rows.';
comment on column user_projections.sources is 'Projections whose rows the SELECT reads.';
comment on column user_projections.key_columns is 'Columns that identify a row; empty if there is no key.';
comment on column user_projections.index_columns is 'Columns that have an index, in addition to the offset.';
comment on column user_projections.party_column is 'Column with the party of a row. Null if readers limited to parties may not read the view.';
comment on column user_projections.is_retired is 'Whether a later version has replaced this one.';
comment on column user_projections.added_at is 'Time at which this version was added.';

alter table projections
  add column view_name text,
  add column generation integer,
  add column looks_up boolean not null default false;
comment on column projections.view_name is 'Name of the view in schema derived; null for a built-in projection.';
comment on column projections.generation is 'Version of the SELECT, see user_projections; null for a built-in projection. Readers use the newest version that is filled.';
comment on column projections.looks_up is 'Whether a changed offset also concerns the rows at all later offsets, see dependent_offsets.';

create function dependent_offsets(changed int8multirange, is_summed boolean, looks_up boolean) returns int8multirange
  language sql immutable parallel safe
  return case when looks_up and changed <> '{}' then int8multirange(int8range(lower(changed), null))
              else in_blocks(changed, is_summed) end;
comment on function dependent_offsets(int8multirange, boolean, boolean) is
  'Offsets of the rows that depend on changed offsets: their blocks for sums, everything after the first one for a projection that looks up earlier contracts.';
