-- A view over a projection has three parts: the stored rows of the covered offsets, the rows of all other offsets computed
-- from the history, and, if the projection cannot be used, all rows computed from the history. Each query has one snapshot, so
-- the parts fit together. A reader limited to parties sees no projection, so its rows are computed from what it may see.

-- An array, because PostGraphile warns about functions with multiranges.
create or replace function :explore.projected_ranges(projection text) returns int8range[]
  language plpgsql stable parallel safe
  set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select array(select unnest(p.covered - :storage.noted_offsets(p.is_summed, p.looks_up)))
      from :storage.projections p
     where p.name = projection
       and case current_setting('ledger_indexer.projections', true)
                when 'off' then false when 'filling' then p.is_filled or p.view_name is null else p.is_filled end
       and not exists (select from :storage.projections n
                        where n.view_name = p.view_name and n.generation > p.generation and n.is_filled));
end
$$;
comment on function :explore.projected_ranges(text) is
  'Offsets whose rows a view reads from its projection. Null if the view does not use a projection, or if the session has set ledger_indexer.projections to off. With the value filling, it also uses a projection that has never reached the checkpoint.';

-- The planner assumes that few offsets are in a multirange. So a view excludes the offsets outside of the stored ranges.
create or replace function :pqs.__offsets_without(projection text) returns int8multirange
  language plpgsql stable parallel safe
  set search_path = pg_catalog, pg_temp
as $$
begin
  return (select '{(,)}'::int8multirange - range_agg(r.stored) from unnest(:explore.projected_ranges(projection)) r (stored));
end
$$;
comment on function :pqs.__offsets_without(text) is
  'Offsets whose rows a view does not read from its projection. Null if the view does not use a projection.';

create or replace function :explore.projection_gaps(projection text, after_offset bigint, to_offset bigint) returns setof int8range
  language plpgsql stable parallel safe rows 1
  set search_path = pg_catalog, pg_temp
as $$
begin
  return query
    select g.gap
      from (select :explore.projected_ranges(projection)) p (ranges)
     cross join unnest(case when after_offset >= to_offset or after_offset = 9223372036854775807 then '{}'
                            else int8multirange(int8range(after_offset, nullif(to_offset, 9223372036854775807), '(]')) end
                       - coalesce((select range_agg(r.stored) from unnest(p.ranges) r (stored)), '{}')) g (gap)
     where p.ranges is not null
       and coalesce(lower(g.gap) <= (select s.checkpoint from :storage.stream s), true);
end
$$;
comment on function :explore.projection_gaps(text, bigint, bigint) is
  'Ranges of offsets up to the checkpoint whose rows a view computes from the history although it uses a projection, after one offset and up to and including another. A null offset is no limit.';

-- The rows have the type of the table, so that one function serves all projections. It is not in schema explore, because
-- PostGraphile warns about functions with anyelement.
create or replace function :pqs.__rows_in_gaps(row_type anyelement, projection text, after_offset bigint, to_offset bigint)
  returns setof anyelement
  language plpgsql stable parallel safe rows 10
  set search_path = pg_catalog, pg_temp
as $$
declare
  gap int8range;
begin
  for gap in select * from :explore.projection_gaps(projection, after_offset, to_offset) loop
    return query execute format('select * from :explore.%I(%L, %L)', projection || '_between', lower(gap) - 1, upper(gap) - 1);
  end loop;
end
$$;
comment on function :pqs.__rows_in_gaps(anyelement, text, bigint, bigint) is
  'Rows of a view at offsets that its projection does not contain, after one offset and up to and including another. A null offset is no limit. row_type is a null of the type of the rows. No rows if the projection is not used.';

-- Stored sums are those of complete blocks, so a block of which only a part is wanted is computed.
create or replace function :pqs.__summed_rows(row_type anyelement, projection text, after_offset bigint, to_offset bigint)
  returns setof anyelement
  language plpgsql stable parallel safe rows 1000
  set search_path = pg_catalog, pg_temp
as $$
declare
  ranges int8range[] := :explore.projected_ranges(projection);
  wanted int8multirange := case when after_offset >= to_offset or after_offset = 9223372036854775807 then '{}'
                                else int8multirange(int8range(after_offset, nullif(to_offset, 9223372036854775807), '(]')) end;
  used int8multirange := coalesce((select range_agg(r.stored) from unnest(ranges) r (stored)), '{}')
                         * :storage.complete_blocks(wanted, true);
  gap int8range;
begin
  if used <> '{}' then
    return query execute format('select * from :storage.%I p where $1 @> p."offset"', 'projected_' || projection) using used;
  end if;
  for gap in select unnest(wanted - used) loop
    if coalesce(lower(gap) <= (select s.checkpoint from :storage.stream s), true) then
      return query execute format('select * from :explore.%I(%L, %L)', projection || '_between', lower(gap) - 1, upper(gap) - 1);
    end if;
  end loop;
end
$$;
comment on function :pqs.__summed_rows(anyelement, text, bigint, bigint) is
  'Rows of a projection of sums after one offset and up to and including another, stored or computed: one set of rows for each block of offsets. A null offset is no limit. row_type is a null of the type of the rows.';

-- The tables of schema derived have a policy that calls this function.
create or replace function :explore.sees_stored_rows() returns boolean
  language plpgsql stable parallel safe
  set search_path = pg_catalog, pg_temp
as $$
begin
  return exists (select from :storage.projections p where p.view_name is not null);
end
$$;
comment on function :explore.sees_stored_rows() is
  'Whether the querying role may see rows that projections of users store. A role that is limited to parties may not.';

-- The view of a projection that a user added has this function instead of the last two parts. Its SELECT gets the numbers
-- -1 and 9223372036854775807 instead of nulls, because it compares offsets with them. Its rows must not depend on settings
-- of the reader's session.
create or replace function :pqs.__derived_rows(row_type anyelement, generations text[]) returns setof anyelement
  language plpgsql stable parallel restricted rows 1000
  set search_path = pg_catalog, pg_temp
  set timezone = 'UTC'
  set datestyle = 'ISO, MDY'
  set intervalstyle = 'postgres'
  set extra_float_digits = 1
  set bytea_output = 'hex'
as $$
declare
  generation text;
  gap int8range;
begin
  foreach generation in array generations loop
    if :explore.projected_ranges(generation) is not null then
      for gap in select * from :explore.projection_gaps(generation, null, null) loop
        return query execute format('select * from :derived.%I(%s, %s)', generation, coalesce(lower(gap) - 1, -1),
                                    coalesce(upper(gap) - 1, 9223372036854775807));
      end loop;
      return;
    end if;
  end loop;
  return query execute format('select * from :derived.%I(-1, 9223372036854775807)', generations[cardinality(generations)]);
end
$$;
comment on function :pqs.__derived_rows(anyelement, text[]) is
  'Rows of a view of schema derived that are not stored, computed by its SELECT. generations are the versions of the SELECT, in order; if none is stored, the last one computes all rows. row_type is a null of the type of the rows.';
