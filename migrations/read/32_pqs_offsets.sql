-- Which part of the history a session reads, and offsets to ask for.

create or replace function :pqs.oldest_checkpoint() returns setof :pqs.checkpoint
  language sql stable parallel safe rows 1
begin atomic
  select s.seed_offset, s.seed_offset from stream s where s.checkpoint is not null;
end;
comment on function :pqs.oldest_checkpoint() is 'Where the history here begins: the offset of the seed.';

create or replace function :pqs.latest_checkpoint() returns setof :pqs.checkpoint
  language sql stable parallel safe rows 1
begin atomic
  select s.checkpoint, s.checkpoint from stream s where s.checkpoint is not null;
end;
comment on function :pqs.latest_checkpoint() is 'Up to where the history here is complete.';

create or replace function :pqs.latest_offset() returns bigint
  language sql stable parallel safe
  return coalesce(nullif(current_setting('pqs.session_offset_latest', true), '')::bigint,
                  (select checkpoint from stream));
comment on function :pqs.latest_offset() is 'The offset queries of this session read up to: that of set_latest, else the checkpoint.';

create or replace function :pqs.oldest_offset() returns bigint
  language sql stable parallel safe
  return coalesce(nullif(current_setting('pqs.session_offset_oldest', true), '')::bigint,
                  (select seed_offset from stream where checkpoint is not null));
comment on function :pqs.oldest_offset() is 'The offset queries of this session read from: that of set_oldest, else the offset of the seed.';

create or replace function :pqs.pruned_offset() returns bigint
  language sql stable parallel safe
  return null::bigint;
comment on function :pqs.pruned_offset() is 'Null: nothing was pruned here.';

create or replace function :pqs.validate_offset_exists("offset" bigint) returns bigint
  language plpgsql stable parallel safe strict
as $$
declare
  history record;
begin
  select s.seed_offset, s.checkpoint into history from :storage.stream s;
  if "offset" < history.seed_offset then
    raise exception 'Illegal offset % is outside lower bounds of contiguous history', "offset"
      using errcode = 'numeric_value_out_of_range', hint = format('History begins at %s.', history.seed_offset);
  elsif history.checkpoint is null or "offset" > history.checkpoint then
    raise exception 'Illegal offset % is beyond upper bounds of contiguous history', "offset"
      using errcode = 'numeric_value_out_of_range',
            hint = format('History is complete up to %s.', coalesce(history.checkpoint::text, 'nowhere yet'));
  end if;
  return "offset";
end
$$;
comment on function :pqs.validate_offset_exists(bigint) is 'The offset itself; an error when it lies outside the history here.';

create or replace function :pqs.set_latest("offset" bigint) returns bigint
  language plpgsql volatile
as $$
begin
  perform set_config('pqs.session_offset_latest', coalesce(:pqs.validate_offset_exists("offset")::text, ''), false);
  return "offset";
end
$$;
comment on function :pqs.set_latest(bigint) is
  'Queries of this session read up to this offset from now on; null ends that. An error outside the history. Give offsets as arguments instead where a pooler shares sessions.';

create or replace function :pqs.set_oldest("offset" bigint) returns bigint
  language plpgsql volatile
as $$
begin
  perform set_config('pqs.session_offset_oldest', coalesce(:pqs.validate_offset_exists("offset")::text, ''), false);
  return "offset";
end
$$;
comment on function :pqs.set_oldest(bigint) is
  'Queries of this session read from this offset on; null ends that. An error outside the history. Give offsets as arguments instead where a pooler shares sessions.';

create or replace function :pqs.__inside("offset" bigint) returns bigint
  language plpgsql stable parallel safe
as $$
declare
  latest bigint := :pqs.latest_offset();
  oldest bigint := :pqs.oldest_offset();
begin
  if "offset" > latest then
    raise exception 'Offset % is after the latest known offset %', "offset", latest
      using errcode = 'numeric_value_out_of_range';
  elsif "offset" < oldest then
    raise exception 'Offset % is before the oldest known offset %', "offset", oldest
      using errcode = 'numeric_value_out_of_range';
  end if;
  return "offset";
end
$$;
comment on function :pqs.__inside(bigint) is 'The offset itself; an error when the session does not read there.';

create or replace function :pqs.__from("offset" bigint) returns bigint
  language sql stable parallel safe
  return case when :pqs.__inside("offset") > (select seed_offset from stream) then "offset"
              when "offset" is not null then -1 end;
comment on function :pqs.__from(bigint) is
  'Lower bound of a range: seeded contracts keep the offsets they were created at, so that a range from the seed on has no lower bound.';

create or replace function :pqs.nearest_offset(cutoff_ts timestamptz) returns bigint
  language plpgsql stable parallel safe strict
as $$
declare
  span interval := '1 minute';
  nearest bigint;
begin
  -- Windows of growing length before the time: the first that holds a transaction holds the newest. The last has no end.
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
