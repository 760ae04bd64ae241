-- Range of history that a session reads, and functions that find offsets.

create or replace function :pqs.oldest_checkpoint() returns setof :pqs.checkpoint
  language sql stable parallel safe rows 1
begin atomic
  select greatest(s.seed_offset, s.pruned_to_offset), greatest(s.seed_offset, s.pruned_to_offset)
    from stream s where s.checkpoint is not null;
end;
comment on function :pqs.oldest_checkpoint() is 'Beginning of the stored history: the offset of the seed, or the offset up to which history was pruned.';

create or replace function :pqs.latest_checkpoint() returns setof :pqs.checkpoint
  language sql stable parallel safe rows 1
begin atomic
  select s.checkpoint, s.checkpoint from stream s where s.checkpoint is not null;
end;
comment on function :pqs.latest_checkpoint() is 'Offset up to which the stored history is complete.';

-- In PL/pgSQL, like the functions below, because such a function is planned once per session. As the default of
-- arguments it occurs several times in a query.
create or replace function :pqs.latest_offset() returns bigint
  language plpgsql stable parallel safe
  set search_path = pg_catalog, pg_temp
as $$
begin
  return coalesce(nullif(current_setting('pqs.session_offset_latest', true), '')::bigint,
                  (select s.checkpoint from :storage.stream s));
end
$$;
comment on function :pqs.latest_offset() is 'Offset up to which queries of this session read, inclusive: the offset given to set_latest, otherwise the checkpoint.';

create or replace function :pqs.oldest_offset() returns bigint
  language plpgsql stable parallel safe
  set search_path = pg_catalog, pg_temp
as $$
begin
  return coalesce(nullif(current_setting('pqs.session_offset_oldest', true), '')::bigint,
                  (select greatest(s.seed_offset, s.pruned_to_offset) from :storage.stream s where s.checkpoint is not null));
end
$$;
comment on function :pqs.oldest_offset() is 'Offset from which queries of this session read: the offset given to set_oldest, otherwise the offset of the seed, or the offset up to which history was pruned.';

create or replace function :pqs.pruned_offset() returns bigint
  language plpgsql stable parallel safe
  set search_path = pg_catalog, pg_temp
as $$
begin
  return (select s.pruned_to_offset from :storage.stream s);
end
$$;
comment on function :pqs.pruned_offset() is 'Inclusive offset up to which history was pruned from this schema; null if nothing was pruned.';

create or replace function :pqs.validate_offset_exists("offset" bigint) returns bigint
  language plpgsql stable parallel safe strict
  set search_path = pg_catalog, pg_temp
as $$
declare
  history record;
begin
  select greatest(s.seed_offset, s.pruned_to_offset) as begins, s.checkpoint into history from :storage.stream s;
  if "offset" < history.begins then
    raise exception 'Illegal offset % is outside lower bounds of contiguous history', "offset"
      using errcode = 'numeric_value_out_of_range', hint = format('History begins at %s.', history.begins);
  elsif history.checkpoint is null or "offset" > history.checkpoint then
    raise exception 'Illegal offset % is beyond upper bounds of contiguous history', "offset"
      using errcode = 'numeric_value_out_of_range',
            hint = format('History is complete up to %s.', coalesce(history.checkpoint::text, 'no offset yet'));
  end if;
  return "offset";
end
$$;
comment on function :pqs.validate_offset_exists(bigint) is 'The offset itself; an error if it is outside the stored history.';

create or replace function :pqs.set_latest("offset" bigint) returns bigint
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
as $$
begin
  perform set_config('pqs.session_offset_latest', coalesce(:pqs.validate_offset_exists("offset")::text, ''), false);
  return "offset";
end
$$;
comment on function :pqs.set_latest(bigint) is
  'Sets the offset up to which later queries of this session read; null removes it. Offsets outside the history are an error. If a pooler shares sessions, pass offsets as arguments instead.';

create or replace function :pqs.set_oldest("offset" bigint) returns bigint
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
as $$
begin
  perform set_config('pqs.session_offset_oldest', coalesce(:pqs.validate_offset_exists("offset")::text, ''), false);
  return "offset";
end
$$;
comment on function :pqs.set_oldest(bigint) is
  'Sets the offset from which later queries of this session read; null removes it. Offsets outside the history are an error. If a pooler shares sessions, pass offsets as arguments instead.';

create or replace function :pqs.__inside("offset" bigint) returns bigint
  language plpgsql stable parallel safe
  set search_path = pg_catalog, pg_temp
as $$
declare
  latest bigint := :pqs.latest_offset();
  oldest bigint := :pqs.oldest_offset();
begin
  if "offset" > latest then
    raise exception 'Offset % is after the latest known offset %', "offset", latest
      using errcode = 'numeric_value_out_of_range',
            hint = format('This session reads from %s to %s.', oldest, latest);
  elsif "offset" < oldest then
    raise exception 'Offset % is before the oldest known offset %', "offset", oldest
      using errcode = 'numeric_value_out_of_range',
            hint = format('This session reads from %s to %s.', oldest, latest);
  end if;
  return "offset";
end
$$;
comment on function :pqs.__inside(bigint) is 'The offset itself; an error if it is outside the range that the session reads.';

-- Not parallel safe, because the planner does not know that past contracts are seldom read, and would start workers for
-- them.
create or replace function :pqs.__is_past("offset" bigint) returns boolean
  language plpgsql stable parallel restricted
  set search_path = pg_catalog, pg_temp
as $$
begin
  return :pqs.__inside("offset") < (select s.checkpoint from :storage.stream s);
end
$$;
comment on function :pqs.__is_past(bigint) is
  'Whether an offset is before the checkpoint, so that ended contracts may have been active; an error if it is outside the range that the session reads.';

create or replace function :pqs.__past("offset" bigint) returns integer
  language plpgsql stable parallel restricted
  set search_path = pg_catalog, pg_temp
as $$
begin
  return :pqs.__is_past("offset")::integer;
end
$$;
comment on function :pqs.__past(bigint) is '1 for a past offset, 0 for the checkpoint; an error if it is outside the range that the session reads.';

-- A lifetime of class k can reach an offset only if it began less than 2^(k+1) offsets before, so each class is one
-- range of the index ended_template. The added thousandth and the added one compensate for rounding. Unhosted contracts
-- count as a separate class, without such a limit.
-- Declared with one row for the estimate, because most classes match few contracts. Not parallel safe, like __is_past.
create or replace function :pqs.__lifetime_reaches() returns table (class integer, reach bigint)
  language plpgsql stable parallel restricted rows 1
  set search_path = pg_catalog, pg_temp
as $$
begin
  return query
    select -2, 9223372036854775807
    union all
    select c, (power(2::double precision, c + 1) * 1.001)::bigint + 1
      from generate_series(0, :storage.lifetime_class(0, coalesce((select s.checkpoint from :storage.stream s), 0)) + 1) c;
end
$$;
comment on function :pqs.__lifetime_reaches() is
  'Lifetime classes of this history, see function lifetime_class of the storage, each with the maximum number of offsets before an offset at which a lifetime of this class began that reaches it. Class -2 is contracts whose parties left the participant.';

create or replace function :pqs.__from("offset" bigint) returns bigint
  language plpgsql stable parallel safe
  set search_path = pg_catalog, pg_temp
as $$
begin
  return case when :pqs.__inside("offset") > (select greatest(s.seed_offset, s.pruned_to_offset) from :storage.stream s)
              then "offset" when "offset" is not null then -1 end;
end
$$;
comment on function :pqs.__from(bigint) is
  'Lower bound of a range. Seeded contracts, and contracts that pruning kept, have the offsets of their creates, so a range from the beginning of history has no lower bound.';

create or replace function :pqs.nearest_offset(cutoff_ts timestamptz) returns bigint
  language plpgsql stable parallel safe strict
  set search_path = pg_catalog, pg_temp
as $$
declare
  span interval := '1 minute';
  nearest bigint;
begin
  -- Windows of growing length before the time: the first window that holds a transaction holds the newest transaction.
  -- The last window is not limited.
  loop
    select max(u."offset") into nearest
      from :storage.updates u
     where u.effective_at <= cutoff_ts
       and u.effective_at > case when span < '40 years' then cutoff_ts - span else '-infinity' end;
    exit when nearest is not null or span > '40 years';
    span := span * 12;
  end loop;
  return nearest;
end
$$;
comment on function :pqs.nearest_offset(timestamptz) is
  'Offset of the newest transaction at or before a time, by ledger effective time; null if there is none.';

create or replace function :pqs.nearest_offset(cutoff interval) returns bigint
  language sql stable parallel safe strict
  return :pqs.nearest_offset(now() - cutoff);
comment on function :pqs.nearest_offset(interval) is
  'Offset of the newest transaction that is at least this old, by ledger effective time; null if there is none.';
