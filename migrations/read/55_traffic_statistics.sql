-- Usual costs of commands, and commands that cost more than usual. An update has one cost, see traffic_costs. Rejected
-- commands are not counted, because they cost less than the same command if it is accepted.

-- A range of record times is converted to offsets first, so that the stored first events are read by their index, without
-- a test of each row. The newest updates have no stored first event yet, so theirs are looked up.
create or replace function :explore.traffic_cost_offsets(from_time timestamptz, to_time timestamptz)
  returns table (from_offset bigint, stored_offset bigint, to_offset bigint)
  language plpgsql stable parallel safe rows 1
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_custom_plan
as $$
begin
  select min(u."offset"), max(u."offset") into from_offset, to_offset
    from :storage.updates u
   where u.paid_traffic_cost is not null
     and (from_time is null or u.record_time >= from_time) and (to_time is null or u.record_time < to_time);
  stored_offset := coalesce(
    (select least(upper(r.stored) - 1, traffic_cost_offsets.to_offset)
       from unnest(:explore.projected_ranges('traffic_costs')) r (stored)
      where r.stored @> traffic_cost_offsets.from_offset), from_offset - 1);
  return next;
end
$$;
comment on function :explore.traffic_cost_offsets(timestamptz, timestamptz) is
  'First and last offset, both inclusive, of the updates of traffic_costs from a record time until before another, and the last offset up to which their first events are stored. A null time is no limit; null if there are no such updates.';

-- Versions of a package have different numbers of the same template, so a group of them has the smallest number.
create or replace function :explore.traffic_cost_groups(from_offset bigint, stored_offset bigint, to_offset bigint,
                                                        from_time timestamptz, to_time timestamptz)
  returns table ("offset" bigint, record_time timestamptz, workflow_id text, bytes bigint, app_pk integer, template_pk integer,
                 choice_pk integer)
  language sql stable parallel safe rows 1000
begin atomic
  select u."offset", u.record_time, u.workflow_id, u.bytes, t.app_pk, t.template_pk, h.choice_pk
    from (
      select u."offset", u.record_time, u.workflow_id, u.paid_traffic_cost as bytes, p.template_pk, p.choice_pk
        from updates u
        left join (select p.* from projected_traffic_costs p where p."offset" between from_offset and stored_offset) p
               on p."offset" = u."offset"
       where u.paid_traffic_cost is not null and u."offset" between from_offset and stored_offset
         and (from_time is null or u.record_time >= from_time) and (to_time is null or u.record_time < to_time)
      union all
      select u."offset", u.record_time, u.workflow_id, u.paid_traffic_cost, f.template_pk, f.choice_pk
        from updates u
        left join lateral :explore.first_event(u."offset") f on true
       where u.paid_traffic_cost is not null and u."offset" > stored_offset and u."offset" <= to_offset
         and (from_time is null or u.record_time >= from_time) and (to_time is null or u.record_time < to_time)) u
    left join (select n.template_pk as first_pk, min(n.template_pk) over (partition by coalesce(n.package_name, n.package_id)) as app_pk,
                      min(n.template_pk) over (partition by coalesce(n.package_name, n.package_id), n.module_name, n.entity_name)
                        as template_pk
                 from templates n offset 0) t on t.first_pk = u.template_pk
    left join (select n.choice_pk as first_pk, min(n.choice_pk) over (partition by n.choice) as choice_pk
                 from choices n offset 0) h on h.first_pk = u.choice_pk;
end;
comment on function :explore.traffic_cost_groups(bigint, bigint, bigint, timestamptz, timestamptz) is
  'Costs of the updates in a range of offsets, both inclusive, and of record times, with the smallest numbers of the same app, template and choice. First events are stored up to stored_offset.';

-- Only the columns of the dimension are grouped, because percentiles of groups cannot be combined.
create or replace function :explore.traffic_cost_percentiles(from_time timestamptz, to_time timestamptz, dimension text default 'choice')
  returns table (day timestamptz, package_name text, template_fqn text, choice text, workflow_id text, user_id text,
                 updates bigint, bytes numeric, p50 bigint, p75 bigint, p95 bigint, max bigint)
  language plpgsql stable parallel safe rows 1000
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_custom_plan
  set jit = off
as $$
declare
  span record;
begin
  if dimension is null or dimension not in ('template', 'choice', 'workflow', 'user', 'app') then
    raise exception 'Costs cannot be grouped by %', coalesce(quote_literal(dimension), 'null')
      using errcode = 'invalid_parameter_value', hint = 'Group by template, choice, workflow, user or app.';
  end if;
  select r.* into span from :explore.traffic_cost_offsets(from_time, to_time) r;
  return query
    select s.day, coalesce(t.package_name, t.package_id),
           case when dimension <> 'app' then :explore.fqn(coalesce(t.package_name, t.package_id), t.module_name, t.entity_name) end,
           h.choice, s.workflow_id, s.user_id, s.updates, s.bytes, s.costs[1], s.costs[2], s.costs[3], s.max
      from (
        select date_bin('1 day', g.record_time, '2000-01-01 00:00Z') as day,
               case when dimension = 'app' then g.app_pk when dimension in ('template', 'choice') then g.template_pk end as template_pk,
               case when dimension = 'choice' then g.choice_pk end as choice_pk,
               case when dimension = 'workflow' then g.workflow_id end as workflow_id,
               case when dimension = 'user' then c.user_id end as user_id,
               count(*) as updates, sum(g.bytes) as bytes,
               percentile_disc(array[0.5, 0.75, 0.95]) within group (order by g.bytes) as costs, max(g.bytes) as max
          from :explore.traffic_cost_groups(span.from_offset, span.stored_offset, span.to_offset, from_time, to_time) g
          left join (select c."offset", c.user_id from :storage.completions c
                      where dimension = 'user' and c.status_code = 0
                        and c."offset" between span.from_offset and span.to_offset) c on c."offset" = g."offset"
         group by 1, 2, 3, 4, 5) s
      left join :storage.templates t on t.template_pk = s.template_pk
      left join :storage.choices h on h.choice_pk = s.choice_pk;
end
$$;
comment on function :explore.traffic_cost_percentiles(timestamptz, timestamptz, text) is
  'Distribution of the costs in bytes of traffic_costs, by day (UTC) and template, choice, workflow, user or app (package), from a record time until before another. A null time is no limit. The percentiles are costs that occurred. Columns of other dimensions are null. A null workflow has no workflow id; a null user has no completion. Rows are not in order.';

create or replace view :explore.traffic_cost_percentiles as
  select * from :explore.traffic_cost_percentiles(now() - interval '1 day', now());
comment on view :explore.traffic_cost_percentiles is
  'Distribution of the costs in bytes of the last 24 hours by day and choice, see the function traffic_cost_percentiles.';

create or replace function :explore.traffic_cost_outliers(from_time timestamptz, to_time timestamptz)
  returns table ("offset" bigint, update_id text, record_time timestamptz, command_id text, user_id text, workflow_id text,
                 package_name text, template_fqn text, choice text, bytes bigint, usual_updates bigint, usual_p50 bigint,
                 usual_p95 bigint, bytes_beyond bigint, times_usual numeric)
  language plpgsql stable parallel safe rows 100
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_custom_plan
  set jit = off
as $$
declare
  usual_from constant timestamptz := from_time - interval '7 days';
  usual record;
  recent record;
begin
  select r.* into usual from :explore.traffic_cost_offsets(usual_from, from_time) r;
  select r.* into recent from :explore.traffic_cost_offsets(from_time, to_time) r;
  return query
    with usual_costs as materialized (
      select g.template_pk, g.choice_pk, count(*) as updates, percentile_disc(array[0.5, 0.95]) within group (order by g.bytes) as costs
        from :explore.traffic_cost_groups(usual.from_offset, usual.stored_offset, usual.to_offset, usual_from, from_time) g
       where g.template_pk is not null
       group by 1, 2
      having count(*) >= 20)
    select g."offset", :storage.id_text(u.update_id), g.record_time, coalesce(u.command_id, c.command_id), c.user_id, g.workflow_id,
           coalesce(t.package_name, t.package_id),
           :explore.fqn(coalesce(t.package_name, t.package_id), t.module_name, t.entity_name), h.choice, g.bytes, n.updates,
           n.costs[1], n.costs[2], g.bytes - n.costs[2], round(g.bytes / nullif(n.costs[1], 0)::numeric, 2)
      from :explore.traffic_cost_groups(recent.from_offset, recent.stored_offset, recent.to_offset, from_time, to_time) g
      join usual_costs n on n.template_pk = g.template_pk and n.choice_pk is not distinct from g.choice_pk and g.bytes > n.costs[2]
      join :storage.templates t on t.template_pk = g.template_pk
      left join :storage.choices h on h.choice_pk = g.choice_pk
      left join :storage.updates u on u."offset" = g."offset"
      left join (select c."offset", c.command_id, c.user_id from :storage.completions c
                  where c.status_code = 0 and c."offset" between recent.from_offset and recent.to_offset) c
             on c."offset" = g."offset";
end
$$;
comment on function :explore.traffic_cost_outliers(timestamptz, timestamptz) is
  'Updates from a record time until before another that cost more bytes than 95 % of the updates with the same template and choice in the seven days before. Templates and choices with fewer than 20 such updates have no usual cost, so their updates are not returned. Rows are not in order.';

create or replace view :explore.traffic_cost_outliers as
  select * from :explore.traffic_cost_outliers(now() - interval '1 day', now()) o
   order by o.bytes_beyond desc, o."offset" limit 10;
comment on view :explore.traffic_cost_outliers is
  'The ten updates of the last 24 hours that cost most bytes beyond their usual cost, see the function traffic_cost_outliers.';
