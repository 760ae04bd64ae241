-- Contracts that were activated or ended between two offsets or times, counted by template or listed one by one.

create or replace function :explore.is_ordered(from_offset bigint, to_offset bigint) returns boolean
  language plpgsql stable parallel safe
  set search_path = pg_catalog, pg_temp
as $$
begin
  if from_offset > to_offset then
    raise exception 'Offset % is after offset %', from_offset, to_offset
      using errcode = 'invalid_parameter_value', hint = 'Give the earlier one first.';
  end if;
  return true;
end
$$;
comment on function :explore.is_ordered(bigint, bigint) is 'Always true; an error if the first offset is after the second.';

-- Callers often compute the bounds. In a subselect, a bound is computed once, not for each row.
create or replace function :explore.diff_contracts(from_offset bigint, to_offset bigint, template text default null, party text default null)
  returns table (template_fqn text, contract_id text, change text, created_at_offset bigint, ended_at_offset bigint)
  language sql stable parallel safe rows 1000
begin atomic
  with found as (
    select s.contract_id, s.template_pk, s.activated_offset, null::bigint as ended, null::bigint as left_at, 1 as is_from, 0 as is_to, 0 as is_unhosted
      from :explore.states_at((select from_offset), template) s
     where (select :explore.is_ordered(from_offset, to_offset))
       and (party is null or s.parties_pk = any ((select :explore.token_parties(party))::integer[]))
    union all
    select s.contract_id, s.template_pk, s.activated_offset, null, null, 0, 1, 0
      from :explore.states_at((select to_offset), template) s
     where party is null or s.parties_pk = any ((select :explore.token_parties(party))::integer[])
    union all
    select id_text(e.contract_id), e.template_pk, e."offset", e.ended_offset,
           case when e.ended_by = 'r' then e.ended_offset end, 0, 0, 0
      from ended e
     where e.ended_offset > (select from_offset) and e.ended_offset <= (select to_offset) and e.ended_by <> 'w'
       and e.template_pk = any ((select :explore.template_pks(template))::integer[])
       and (party is null or e.parties_pk = any ((select :explore.token_parties(party))::integer[]))
    union all
    select id_text(l.contract_id), l.template_pk, l."offset", l.unhosted_since, null, 0, 0, 1
      from live l
     where l.unhosted_since > (select from_offset) and l.unhosted_since <= (select to_offset)
       and l.template_pk = any ((select :explore.template_pks(template))::integer[])
       and (party is null or l.parties_pk = any ((select :explore.token_parties(party))::integer[]))),
  -- Contracts that were unassigned at or before the first offset. A contract of this list that was not active at the
  -- first offset, but occurs after it, was in flight at that offset. Read only if there are reassignments.
  departed as materialized (
    select distinct id_text(e.contract_id) as contract_id
      from ended e
     where (select exists (select 1 from reassignments))
       and e.ended_by = 'r' and e.ended_offset <= (select from_offset)
       and e.template_pk = any ((select :explore.template_pks(template))::integer[]))
  select :explore.fqn(coalesce(t.package_name, t.package_id), t.module_name, t.entity_name), c.contract_id,
         case when c.is_from = 1 and c.is_to = 1 then 'unchanged'
              when c.is_to = 1 then case when c.was_in_flight then 'assigned' else 'created' end
              when c.is_unhosted = 1 then 'unhosted'
              when c.left_at = c.ended then case when c.was_in_flight then 'reassigned' else 'unassigned' end
              when c.is_from = 1 or c.was_in_flight then 'archived'
              else 'transient' end,
         c.activated, case when c.is_to = 0 then c.ended end
    from (
      select g.*, g.is_from = 0 and d.contract_id is not null as was_in_flight
        from (
          select f.contract_id, max(f.template_pk) as template_pk, max(f.is_from) as is_from, max(f.is_to) as is_to,
                 max(f.is_unhosted) as is_unhosted, min(f.activated_offset) as activated, max(f.ended) as ended,
                 max(f.left_at) as left_at
            from found f
           group by f.contract_id) g
        left join departed d on d.contract_id = g.contract_id) c
    left join templates t on t.template_pk = c.template_pk;
end;
comment on function :explore.diff_contracts(bigint, bigint, text, text) is
  'Contracts that were active at one of two offsets or between them, each with its change: unchanged (active at both), created or archived (in between), transient (created and archived in between), unassigned (in flight between two synchronizers at the second offset), assigned (in flight at the first), reassigned (in flight at both, active in between) or unhosted (its parties left the participant). created_at_offset is the offset of the activation, which is before the first offset if the contract was active there. Null as template or party means all. Needs known offsets, see coverage; other offsets are rejected with SQLSTATE LI003.';

create or replace function :explore.diff(from_offset bigint, to_offset bigint, template text default null, party text default null)
  returns table (template_fqn text, before bigint, created bigint, assigned bigint, archived bigint, unassigned bigint,
                 unhosted bigint, unchanged bigint, after bigint, net bigint)
  language sql stable parallel safe rows 100
begin atomic
  select c.*, c.after - c.before
    from (
      select d.template_fqn,
             count(*) filter (where d.change = 'unchanged' or was_here and d.change in ('archived', 'unassigned', 'unhosted')) as before,
             count(*) filter (where d.change in ('created', 'transient') or not was_here and d.change in ('unassigned', 'unhosted')) as created,
             count(*) filter (where d.change in ('assigned', 'reassigned') or not was_here and d.change = 'archived') as assigned,
             count(*) filter (where d.change in ('archived', 'transient')) as archived,
             count(*) filter (where d.change in ('unassigned', 'reassigned')) as unassigned,
             count(*) filter (where d.change = 'unhosted') as unhosted,
             count(*) filter (where d.change = 'unchanged') as unchanged,
             count(*) filter (where d.change in ('unchanged', 'created', 'assigned')) as after
        from :explore.diff_contracts(from_offset, to_offset, template, party) d
       cross join lateral (select d.created_at_offset <= (select from_offset) as was_here) w
       group by d.template_fqn) c
   order by c.template_fqn;
end;
comment on function :explore.diff(bigint, bigint, text, text) is
  'Changes between two offsets, by template: active before; created and archived, both including transient contracts; assigned (in flight between two synchronizers at the first offset) and unassigned (in flight at the second); unhosted (their parties left the participant); unchanged; active after; and net, which is after minus before. before + created + assigned - archived - unassigned - unhosted = after. Needs known offsets, see coverage; other offsets are rejected with SQLSTATE LI003.';

create or replace function :explore.diff("from" timestamptz, "to" timestamptz, template text default null, party text default null)
  returns table (template_fqn text, before bigint, created bigint, assigned bigint, archived bigint, unassigned bigint,
                 unhosted bigint, unchanged bigint, after bigint, net bigint)
  language sql stable parallel safe rows 100
begin atomic
  select d.*
    from (select :explore.known_offset("from") as begins, :explore.known_offset("to") as ends offset 0) k
   cross join lateral :explore.diff(k.begins, k.ends, template, party) d;
end;
comment on function :explore.diff(timestamptz, timestamptz, text, text) is
  'Changes between two times, by ledger effective time, with the columns of diff between two offsets.';
