-- Where an answer about the past can be given. What was active at an offset is known from the beginning of a range of
-- coverage to its end, both included, as far as it was not pruned here; elsewhere the tables hold remnants.

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
             'history here begins later; of what was before there are only contracts that were still active'::text as reason,
             null::text as transaction_shape, null::text as filter_hash, null::timestamptz as recorded_at
        from ranges having min(from_offset) > 0
      union all
      select from_offset, least(to_offset, pruned_to_offset), 'pruned',
             format('pruned here: of these updates there are only contracts that were still active at %s', pruned_to_offset),
             transaction_shape, filter_hash, recorded_at
        from ranges where from_offset < pruned_to_offset
      union all
      select greatest(from_offset, pruned_to_offset), to_offset,
             case when from_offset > 0 and origin in ('oldest', 'offset', 'filter', 'reset') then 'partial'
                  when not complete then 'partial' else 'complete' end,
             case origin
               when 'seed' then 'seeded with what was active at from_offset, followed since'
               when 'reseed' then 'seeded anew with what was active at from_offset, followed since'
               when 'filter' then 'another filter counts from here on; contracts that only it shows are missing if they were created before'
               when 'reset' then 'another filter counts from here on; contracts that only it shows are missing if they were created before'
               when 'filter-extend' then case when complete
                 then 'a wider filter counts from here on, with what was active at from_offset'
                 else 'a wider filter counts from here on; what only it shows and was active before is gathered, or was given up' end
               else case from_offset when 0 then 'followed from the first update on'
                                     else 'followed from here on; contracts that were created before are missing' end
             end || coalesce('; the range before ended because ' || reason, ''),
             transaction_shape, filter_hash, recorded_at
        from ranges where to_offset >= greatest(from_offset, pruned_to_offset)
      union all
      select ended, from_offset, 'gap', 'these updates are not known' || coalesce(': ' || reason, ''), null, null, recorded_at
        from ranges where ended < from_offset
      union all
      select q."offset" - 1, q."offset", 'quarantined',
             format('this update could not be stored (%s): what it changed is missing since', q.code), null, null, q.quarantined_at
        from quarantine q) r
   order by r.from_offset, r.to_offset;
comment on view :explore.coverage is
  'Which updates are here, in order: those after from_offset, up to and including to_offset, are complete, partial, before_start, pruned, gap or quarantined, and why. active_at answers from the from_offset to the to_offset of a range that is complete or partial, both included, and refuses other offsets. Empty until the seed is complete.';

-- What the filter had from the beginning is not listed; interfaces that came later stand in interface_coverage as well.
create or replace view :explore.filter_coverage as
  select p.kind, p.name, p.from_offset, p.complete_from,
         case when p.complete_from is null
              then format('followed from offset %s on; what was active before is gathered, or was given up', p.from_offset)
              when p.complete_from > p.from_offset
              then format('updates are complete from offset %s on; contracts that began by then and ended by %s are not here yet',
                          p.from_offset, p.complete_from)
              when p.complete_from = 0 then 'complete from the first update on'
              else format('complete from offset %s on: what had ended by then is not here', p.complete_from) end as reason
    from filter_additions p;
comment on view :explore.filter_coverage is
  'What was added to the filter while the stream was there, and from which offset on it is complete. All else is complete where coverage says complete. Of interfaces see interface_coverage too: views have a past of their own.';

-- Ranges that touch are one. What the state at the beginning is the state of, as times go: of everything before the first
-- update of a ledger, and of any time from when a range was recorded until its first update. Where pruning cut, of none.
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
  'From which to which offset it is known what was active, both included, and since when what was active at the first: null where pruning cut the range. Ranges that touch are one.';

create or replace function :explore.known_ranges_text() returns text
  language sql stable parallel safe
  return coalesce(
    (select 'history here is known ' || string_agg(format('from %s to %s', r.from_offset, r.to_offset), ' and ' order by r.from_offset)
       from (select k.from_offset, k.to_offset from :explore.known_ranges() k order by k.from_offset desc limit 5) r),
    'nothing is known here until the seed is complete');
comment on function :explore.known_ranges_text() is 'The newest five known ranges in words: for error messages.';

-- In PL/pgSQL, which is not made part of the query: it is asked once for each.
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
    raise exception 'No offset was given: what was active at null is not known; %', :explore.known_ranges_text()
      using errcode = 'LI003',
            hint = 'nearest_offset is null for a time before every transaction. Give an offset that is known, or a time.';
  elsif at_offset > history.checkpoint then
    raise exception 'What was active at offset % is not known yet: %', at_offset, :explore.known_ranges_text()
      using errcode = 'LI003',
            hint = format('Wait for it in a statement before: select wait_for_offset(%s).', at_offset);
  end if;
  raise exception 'What was active at offset % is not known: %', at_offset, :explore.known_ranges_text()
    using errcode = 'LI003',
          hint = 'Ask for an offset that is known; nearest_offset finds one by time, view coverage says why others are not.';
end
$$;
comment on function :explore.known_offset(bigint) is
  'The offset itself where it is known what was active at it, see coverage; else SQLSTATE LI003 with what is known.';

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
  raise exception 'What was active at % is not known: %', coalesce("time"::text, 'null'), :explore.known_ranges_text()
    using errcode = 'LI003',
          hint = 'Ask for a time or an offset that is known; view updates has the times of offsets, view coverage says why others are not.';
end
$$;
comment on function :explore.known_offset(timestamptz) is
  'The last offset at or before a time, by ledger effective time; the checkpoint where nothing later is stored. SQLSTATE LI003 where it is not known what was active then: before what is known, and between a gap''s neighbors.';
