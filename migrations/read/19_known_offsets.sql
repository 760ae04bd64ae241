-- Offsets for which past states are available. The active contracts at an offset are known from the beginning of a
-- range of coverage to its end, both inclusive, unless they were pruned from this schema. For other offsets the tables
-- hold only some of them.

create or replace view :explore.coverage as
  with ranges as (
    select c.from_offset, coalesce(c.to_offset, s.checkpoint) as to_offset, c.origin, c.reason, c.transaction_shape,
           c.filter_hash, c.recorded_at, s.pruned_to_offset, c.complete,
           max(coalesce(c.to_offset, s.checkpoint)) over (order by c.from_offset, c.recorded_at
             rows between unbounded preceding and 1 preceding) as ended
      from coverage c cross join stream s
     where s.checkpoint is not null)
  select r.from_offset, r.to_offset, r.status, r.reason, r.transaction_shape, r.filter_hash, r.recorded_at
    from (
      select 0 as from_offset, min(from_offset) as to_offset, 'before_start' as status,
             'history begins later; of earlier contracts only those that were still active are stored'::text as reason,
             null::text as transaction_shape, null::text as filter_hash, null::timestamptz as recorded_at
        from ranges having min(from_offset) > 0
      union all
      select from_offset, least(to_offset, pruned_to_offset), 'pruned',
             format('pruned: of these updates only contracts that were still active at %s are stored', pruned_to_offset),
             transaction_shape, filter_hash, recorded_at
        from ranges where from_offset < pruned_to_offset
      union all
      select greatest(from_offset, pruned_to_offset), to_offset,
             case when from_offset > 0 and origin in ('oldest', 'offset', 'filter', 'reset') then 'partial'
                  when not complete then 'partial' else 'complete' end,
             case origin
               when 'seed' then 'seeded with the contracts active at from_offset, followed since'
               when 'reseed' then 'seeded again with the contracts active at from_offset, followed since'
               when 'filter' then 'another filter applies from here; contracts visible only to it are missing if they were created before'
               when 'reset' then 'another filter applies from here; contracts visible only to it are missing if they were created before'
               when 'filter-extend' then case when complete
                 then 'a wider filter applies from here, with the contracts active at from_offset'
                 else 'a wider filter applies from here; earlier contracts visible only to it are being backfilled, or the backfill was cancelled' end
               else case from_offset when 0 then 'followed from the first update'
                                     else 'followed from here; contracts created before are missing' end
             end || coalesce('; the previous range ended because ' || reason, ''),
             transaction_shape, filter_hash, recorded_at
        from ranges where to_offset >= greatest(from_offset, pruned_to_offset)
      union all
      select ended, from_offset, 'gap', 'these updates are not known' || coalesce(': ' || reason, ''), null, null, recorded_at
        from ranges where ended < from_offset
      union all
      select q."offset" - 1, q."offset", 'quarantined',
             format('this update could not be stored (%s): its changes are missing since', q.code), null, null, q.quarantined_at
        from quarantine q) r
   order by r.from_offset, r.to_offset;
comment on view :explore.coverage is
  'Availability of updates by range, in order: updates after from_offset, up to and including to_offset, are complete, partial, before_start, pruned, gap or quarantined, with the reason. active_at accepts offsets from from_offset to to_offset of a complete or partial range, both inclusive, and rejects all others. Empty until the seed is complete.';

-- Entries of the initial filter are not listed. Interfaces that were added later are in interface_coverage as well.
create or replace view :explore.filter_coverage as
  select p.kind, p.name, p.from_offset, p.complete_from,
         case when p.complete_from is null
              then format('followed from offset %s; earlier active contracts are being backfilled, or the backfill was cancelled', p.from_offset)
              when p.complete_from > p.from_offset
              then format('updates are complete from offset %s; contracts that began by then and ended by %s are not stored yet',
                          p.from_offset, p.complete_from)
              when p.complete_from = 0 then 'complete from the first update'
              else format('complete from offset %s: contracts that had ended by then are not stored', p.complete_from) end as reason
    from filter_additions p;
comment on view :explore.filter_coverage is
  'Additions to the filter made while the stream existed, and the offset from which each is complete. The rest of the filter is complete where coverage reports complete. For interfaces, see interface_coverage too, because their views may be complete only from a later offset.';

-- Adjacent ranges are merged. The state at the beginning of a range applies to all times before the first update of a
-- ledger, or to all times between the recording of the range and its first update. After pruning, the state at the
-- beginning applies to no time.
create or replace function :explore.known_ranges()
  returns table (from_offset bigint, to_offset bigint, since timestamptz)
  language sql stable parallel safe rows 2
begin atomic
  select min(n.from_offset), max(n.to_offset), (array_agg(n.since order by n.from_offset, n.to_offset))[1]
    from (
      select r.from_offset, r.to_offset, r.since,
             count(*) filter (where r.is_first) over (order by r.from_offset, r.to_offset) as part
        from (
          select k.from_offset, k.to_offset, k.since,
                 k.from_offset > coalesce(max(k.to_offset) over (order by k.from_offset, k.to_offset
                   rows between unbounded preceding and 1 preceding), -1) as is_first
            from (
              select greatest(c.from_offset, s.pruned_to_offset) as from_offset, coalesce(c.to_offset, s.checkpoint) as to_offset,
                     case when c.from_offset < s.pruned_to_offset then null
                          when c.from_offset = 0 then '-infinity' else c.recorded_at end as since
                from coverage c cross join stream s
               where s.checkpoint is not null) k
           where k.to_offset >= k.from_offset) r) n
   group by n.part
   order by 1;
end;
comment on function :explore.known_ranges() is
  'Ranges of offsets, both ends inclusive, for which the active contracts are known. since is the time from which the state at the first offset applies; null if the range begins where history was pruned. Adjacent ranges are merged.';

create or replace function :explore.known_ranges_text() returns text
  language sql stable parallel safe
  return coalesce(
    (select 'history is known ' || string_agg(format('from %s to %s', r.from_offset, r.to_offset), ' and ' order by r.from_offset)
       from (select k.from_offset, k.to_offset from :explore.known_ranges() k order by k.from_offset desc limit 5) r),
    'no history is known until the seed is complete');
comment on function :explore.known_ranges_text() is 'The five newest known ranges as text, for error messages.';

-- In PL/pgSQL, which Postgres does not inline: the function is evaluated once for each query.
create or replace function :explore.known_offset(at_offset bigint) returns bigint
  language plpgsql stable parallel safe
  set search_path = pg_catalog, pg_temp
as $$
declare
  history record;
begin
  select s.checkpoint, greatest(s.seed_offset, s.pruned_to_offset) as begins into history from :storage.stream s;
  if at_offset between history.begins and history.checkpoint
     or exists (select from :explore.known_ranges() r where at_offset between r.from_offset and r.to_offset) then
    return at_offset;
  elsif at_offset is null then
    raise exception 'No offset was given: active contracts at null are not known; %', :explore.known_ranges_text()
      using errcode = 'LI003',
            hint = 'nearest_offset is null for a time before every transaction. Give an offset that is known, or a time.';
  elsif at_offset > history.checkpoint then
    raise exception 'Active contracts at offset % are not known yet: %', at_offset, :explore.known_ranges_text()
      using errcode = 'LI003',
            hint = format('Wait for the offset in an earlier statement: select wait_for_offset(%s).', at_offset);
  end if;
  raise exception 'Active contracts at offset % are not known: %', at_offset, :explore.known_ranges_text()
    using errcode = 'LI003',
          hint = 'Use a known offset; nearest_offset finds one by time, and view coverage has the reasons for the others.';
end
$$;
comment on function :explore.known_offset(bigint) is
  'The offset itself if the active contracts at it are known, see coverage; otherwise SQLSTATE LI003 with the known ranges.';

create or replace function :explore.known_offset("time" timestamptz) returns bigint
  language plpgsql stable parallel safe
  set search_path = pg_catalog, pg_temp
as $$
declare
  newest bigint;
  later bigint;
  known record;
begin
  newest := :explore.nearest_offset("time");
  select u."offset" into later from :storage.updates u
   where u."offset" > coalesce(newest, -1) and coalesce(u.effective_at, u.record_time) > "time"
   order by u."offset" limit 1;
  if later is null then
    select r.*, s.checkpoint, least(r.since, s.checkpoint_record_time) as complete_at into known
      from :storage.stream s join :explore.known_ranges() r on s.checkpoint between r.from_offset and r.to_offset;
    if newest >= known.from_offset or "time" >= known.complete_at then
      return known.checkpoint;
    end if;
  else
    select r.* into known from :explore.known_ranges() r where later > r.from_offset and later <= r.to_offset;
    if newest >= known.from_offset then
      return (select max(u."offset") from :storage.updates u where u."offset" < later);
    elsif "time" >= known.since then
      return known.from_offset;
    end if;
  end if;
  raise exception 'Active contracts at % are not known: %', coalesce("time"::text, 'null'), :explore.known_ranges_text()
    using errcode = 'LI003',
          hint = 'Use a known time or offset; view updates has the times of offsets, and view coverage has the reasons for the others.';
end
$$;
comment on function :explore.known_offset(timestamptz) is
  'Last offset at or before a time, by ledger effective time; the checkpoint if no later update is stored. SQLSTATE LI003 if the active contracts at that time are not known: before the known ranges, and in a gap.';

-- A quoted literal has no type. Without this function, Postgres could not choose between an offset and a time.
create or replace function :explore.known_offset("position" text) returns bigint
  language plpgsql stable parallel safe
  set search_path = pg_catalog, pg_temp
as $$
begin
  if "position" ~ '^\s*\d+\s*$' then
    return :explore.known_offset("position"::bigint);
  end if;
  return :explore.known_offset("position"::timestamptz);
end
$$;
comment on function :explore.known_offset(text) is
  'The same for a text: digits are an offset, other text is a time, such as 2026-01-31T12:00Z or yesterday 12:00, in the time zone of the session if it names none.';
