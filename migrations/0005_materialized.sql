-- Active contracts of chosen templates as tables of their own, see INDEXER_MATERIALIZE. The tables stand in the schema of
-- the typed views; each has a function and triggers that the indexer makes with it. Without any, nothing here is run.

create table materialized (
  view_name text primary key,
  table_name text not null unique,
  state text not null check (state in ('building', 'ready')),
  mark text not null,
  indexed text[] not null,
  kept_to bigint,
  filled_to bigint not null default -1,
  fill_until bigint,
  unfit bigint not null default 0,
  table_view text not null,
  plain_view text not null
);
comment on table materialized is 'Typed views whose active contracts stand in tables of their own, and how far these are filled.';
comment on column materialized.view_name is 'The view, see typed_views.';
comment on column materialized.table_name is 'The table, in the schema of the view.';
comment on column materialized.state is 'building: the view reads contracts, the table is being filled. ready: the view reads the table.';
comment on column materialized.mark is 'Hash of the definition of the table; another one means that it is to be built anew.';
comment on column materialized.indexed is 'Columns with an index, as asked for.';
comment on column materialized.kept_to is 'Contracts activated up to this offset were entered by the batches that stored them, from the first one after the table was made; null until then.';
comment on column materialized.filled_to is 'Contracts activated up to this offset were entered in the background.';
comment on column materialized.fill_until is 'Where the background ends and the batches begin; null until the first slice.';
comment on column materialized.unfit is 'Rows entered without a value that the type of its column cannot hold; contracts.payload has it.';
comment on column materialized.table_view is 'Statements that make the view read the table.';
comment on column materialized.plain_view is 'Statements that make the view read contracts.';

create function fitting(value text, example anyelement) returns anyelement
  language plpgsql stable as $$
declare
  fit alias for $0;
begin
  fit := value;
  return fit;
exception when data_exception then
  return null;
end $$;
comment on function fitting(text, anyelement) is 'The value in the type of the example; null when that type cannot hold it.';

create function materialize_again(view text, since bigint) returns void
  language sql as $$
  update materialized
     set kept_to = case state when 'ready' then least(kept_to, since - 1) else kept_to end,
         filled_to = case state when 'ready' then filled_to else least(filled_to, since - 1) end,
         fill_until = case state when 'ready' then fill_until end
   where view_name = view;
  update stream set checkpoint = checkpoint;
$$;
comment on function materialize_again(text, bigint) is
  'Has the table of a materialized view completed from an offset on: with the commit, or in the background while it is being built.';
