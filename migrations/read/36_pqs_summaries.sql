-- Counts by template, interface and choice.

create or replace function :pqs.summary_active("offset" bigint default :pqs.latest_offset())
  returns setof :pqs.contract_summary
  language sql stable parallel safe rows 100
begin atomic
  select concat_ws(':', n.package_name, n.module_name, n.entity_name), l.payload_type, sum(l.count)::bigint
    from (select 'template' as payload_type, template_pk as type_pk, count(*) as count
            from live
           where unhosted_since is null and "offset" <= (select :pqs.__inside(summary_active."offset"))
           group by template_pk
          union all
          select 'template', template_pk, count(*)
            from (select * from :explore.states_at((select :pqs.__inside(summary_active."offset"))) /*workers offset 0 workers*/) l
           where (select :pqs.__is_past(summary_active."offset"))
             and coalesce(deactivated_offset, unhosted_since) is not null
           group by template_pk
          union all
          select 'interface', v.interface_pk, count(*)
            from template_interfaces i, live l, interface_views v
           where l.template_pk = i.template_pk
             and l.unhosted_since is null and l."offset" <= (select :pqs.__inside(summary_active."offset"))
             and v."offset" = l."offset" and v.node_id = l.node_id and v.interface_pk = i.interface_pk
             and v.status_code = 0
           group by v.interface_pk
          union all
          select 'interface', v.interface_pk, count(*)
            from (select * from :explore.states_at((select :pqs.__inside(summary_active."offset"))) /*workers offset 0 workers*/) l,
                 interface_views v
           where (select :pqs.__is_past(summary_active."offset"))
             and coalesce(l.deactivated_offset, l.unhosted_since) is not null
             and v."offset" = l.activated_offset and v.node_id = l.node_id and v.status_code = 0
           group by v.interface_pk) l
    join :pqs.__names n on n.template_pk = l.type_pk
   -- The offset is checked before any rows are searched, so that it is rejected under every plan.
   where (select :pqs.__inside(summary_active."offset")) is not null
   group by n.package_name, n.module_name, n.entity_name, l.payload_type;
end;
comment on function :pqs.summary_active(bigint) is 'Number of contracts and interface views active at an offset. An error if the session does not read there, see oldest_offset and latest_offset.';

create or replace function :pqs.summary_creates(
  from_offset bigint default :pqs.oldest_offset(), to_offset bigint default :pqs.latest_offset())
  returns setof :pqs.contract_summary
  language sql stable parallel safe rows 100
begin atomic
  select template_fqn, payload_type, count(*) from :pqs.creates(null, from_offset, to_offset) group by 1, 2;
end;
comment on function :pqs.summary_creates(bigint, bigint) is 'Number of contracts and interface views created from one offset to another, both inclusive. An error if the session does not read there, see oldest_offset and latest_offset.';

create or replace function :pqs.summary_archives(
  from_offset bigint default coalesce(:pqs.pruned_offset(), :pqs.oldest_offset()),
  to_offset bigint default :pqs.latest_offset())
  returns setof :pqs.contract_summary
  language sql stable parallel safe rows 100
begin atomic
  select template_fqn, payload_type, count(*) from :pqs.archives(null, from_offset, to_offset) group by 1, 2;
end;
comment on function :pqs.summary_archives(bigint, bigint) is 'Number of contracts and interface views archived from one offset to another, both inclusive. An error if the session does not read there, see oldest_offset and latest_offset.';

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
  'Number of contracts and interface views both created and archived from one offset to another, both inclusive. An error if the session does not read there, see oldest_offset and latest_offset.';

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
  'Number of creates and archives from one offset to another, both inclusive. An error if the session does not read there, see oldest_offset and latest_offset.';

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
  'Number of exercises by choice from one offset to another, both inclusive. An error if the session does not read there, see oldest_offset and latest_offset. Needs the shape LEDGER_EFFECTS.';

create or replace function :pqs.summary_reassignments(
  from_offset bigint default coalesce(:pqs.pruned_offset(), :pqs.oldest_offset()),
  to_offset bigint default :pqs.latest_offset())
  returns table (template_fqn text, source_synchronizer_id text, target_synchronizer_id text, unassigns bigint, assigns bigint)
  language sql stable parallel safe rows 100
begin atomic
  select concat_ws(':', n.package_name, n.module_name, n.entity_name), a.synchronizer_id, b.synchronizer_id,
         count(*) filter (where r.kind = 'u'), count(*) filter (where r.kind = 'a')
    from reassignments r
    join :pqs.__names n on n.template_pk = r.template_pk
    left join synchronizers a on a.synchronizer_pk = r.source_pk
    left join synchronizers b on b.synchronizer_pk = r.target_pk
   -- The first two check the offsets before any rows are searched, so that they are rejected under every plan.
   where (select :pqs.__inside(from_offset)) is not null and (select :pqs.__inside(to_offset)) is not null
     and r."offset" >= (select :pqs.__inside(from_offset)) and r."offset" <= (select :pqs.__inside(to_offset))
     and not r.incomplete
   group by 1, 2, 3;
end;
comment on function :pqs.summary_reassignments(bigint, bigint) is
  'Number of contracts that left for another synchronizer, and of those that arrived, from one offset to another, both inclusive. Reassignments that the seed found in flight do not count. An error if the session does not read there, see oldest_offset and latest_offset.';
