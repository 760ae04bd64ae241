-- Counts by template, interface and choice.

create or replace function :pqs.summary_active("offset" bigint default :pqs.latest_offset())
  returns setof :pqs.contract_summary
  language sql stable parallel safe rows 100
begin atomic
  select concat_ws(':', n.package_name, n.module_name, n.entity_name), 'template', sum(l.count)::bigint
    from (select template_pk, count(*) as count from lifetimes
           where deactivated_offset is null and activated_offset <= (select :pqs.__inside("offset")) group by 1
          union all
          select template_pk, count(*) from lifetimes
           where (select :pqs.__inside("offset")) < (select checkpoint from stream) and deactivated_offset is not null
             and activated_offset <= (select :pqs.__inside("offset"))
             and deactivated_offset > (select :pqs.__inside("offset")) group by 1) l
    join :pqs.__names n on n.template_pk = l.template_pk
   group by n.package_name, n.module_name, n.entity_name
  union all
  select a.template_fqn, a.payload_type, count(*)
    from :pqs.active(null, "offset") a
   where a.payload_type = 'interface'
   group by 1, 2;
end;
comment on function :pqs.summary_active(bigint) is 'Contracts and interface views active at an offset, counted.';

create or replace function :pqs.summary_creates(
  from_offset bigint default :pqs.oldest_offset(), to_offset bigint default :pqs.latest_offset())
  returns setof :pqs.contract_summary
  language sql stable parallel safe rows 100
begin atomic
  select template_fqn, payload_type, count(*) from :pqs.creates(null, from_offset, to_offset) group by 1, 2;
end;
comment on function :pqs.summary_creates(bigint, bigint) is 'What was created from one offset to another, counted.';

create or replace function :pqs.summary_archives(
  from_offset bigint default coalesce(:pqs.pruned_offset(), :pqs.oldest_offset()),
  to_offset bigint default :pqs.latest_offset())
  returns setof :pqs.contract_summary
  language sql stable parallel safe rows 100
begin atomic
  select template_fqn, payload_type, count(*) from :pqs.archives(null, from_offset, to_offset) group by 1, 2;
end;
comment on function :pqs.summary_archives(bigint, bigint) is 'What was archived from one offset to another, counted.';

create or replace function :pqs.summary_transients(
  from_offset bigint default coalesce(:pqs.pruned_offset(), :pqs.oldest_offset()),
  to_offset bigint default :pqs.latest_offset())
  returns setof :pqs.contract_summary
  language sql stable parallel safe rows 100
begin atomic
  select template_fqn, payload_type, count(*)
    from :pqs.creates(null, from_offset, to_offset)
   where archived_at_offset between (select :pqs.__inside(from_offset)) and (select :pqs.__inside(to_offset))
   group by 1, 2;
end;
comment on function :pqs.summary_transients(bigint, bigint) is
  'What was both created and archived from one offset to another, counted.';

create or replace function :pqs.summary_updates(
  from_offset bigint default :pqs.oldest_offset(), to_offset bigint default :pqs.latest_offset())
  returns table (template_fqn text, payload_type text, creates bigint, archives bigint)
  language sql stable parallel safe rows 100
begin atomic
  select n.template_fqn, n.payload_type, sum(n.creates)::bigint, sum(n.archives)::bigint
    from (select c.template_fqn, c.payload_type, count(*) as creates, 0::bigint as archives
            from :pqs.creates(null, from_offset, to_offset) c group by 1, 2
           union all
          select a.template_fqn, a.payload_type, 0::bigint, count(*)
            from :pqs.archives(null, from_offset, to_offset) a group by 1, 2) n
   group by 1, 2;
end;
comment on function :pqs.summary_updates(bigint, bigint) is
  'Creates and archives from one offset to another, counted.';

create or replace function :pqs.summary_exercises(
  from_offset bigint default coalesce(:pqs.pruned_offset(), :pqs.oldest_offset()),
  to_offset bigint default :pqs.latest_offset())
  returns table (template_fqn text, choice_fqn text, choice text, consuming boolean, count bigint)
  language sql stable parallel safe rows 100
begin atomic
  select e.template_fqn, e.choice_fqn, e.choice, e.consuming, count(*)
    from :pqs.exercises(null, from_offset, to_offset) e
   group by 1, 2, 3, 4;
end;
comment on function :pqs.summary_exercises(bigint, bigint) is
  'Exercises by choice from one offset to another, counted.';
