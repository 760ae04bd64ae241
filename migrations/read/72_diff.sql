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

-- A reader may see a contract without its reassignment, if its party is no witness of the reassignment. Because of its
-- setting the function is not inlined, so that the planner hashes these contracts and not the contracts that ended.
create or replace function :explore.moved_contracts() returns table (contract_id bytea)
  language sql stable parallel safe rows 1000
  set search_path = pg_catalog, pg_temp
begin atomic
  select r.contract_id from reassignments r
  union
  select e.contract_id from ended e where e.ended_by = 'r';
end;
comment on function :explore.moved_contracts() is 'Ids of contracts that were reassigned, as stored; see id_text.';

-- Callers often compute the bounds. In a subselect, a bound is computed once, not for each row.
create or replace function :explore.diff_changes(from_offset bigint, to_offset bigint, template text, party text)
  returns table (template_pk integer, contract_id text, change text, created_at_offset bigint, ended_at_offset bigint)
  language sql stable parallel safe rows 1000
begin atomic
  with found as (
    select s.contract_id, s.template_pk, s.activated_offset, null::bigint as ended, null::bigint as left_at, 1 as is_from, 0 as is_to, 0 as is_unhosted
      from :explore.states_at((select from_offset), template) s
     where (select :explore.is_ordered(from_offset, to_offset))
       and s.contract_id in (select id_text(m.contract_id) from :explore.moved_contracts() m)
       and (party is null or s.parties_pk = any ((select :explore.token_parties(party))::integer[]))
    union all
    select s.contract_id, s.template_pk, s.activated_offset, null, null, 0, 1, 0
      from :explore.states_at((select to_offset), template) s
     where s.contract_id in (select id_text(m.contract_id) from :explore.moved_contracts() m)
       and (party is null or s.parties_pk = any ((select :explore.token_parties(party))::integer[]))
    union all
    select id_text(e.contract_id), e.template_pk, e."offset", e.ended_offset,
           case when e.ended_by = 'r' then e.ended_offset end, 0, 0, 0
      from ended e
     where e.ended_offset > (select from_offset) and e.ended_offset <= (select to_offset) and e.ended_by <> 'w'
       and e.contract_id in (select m.contract_id from :explore.moved_contracts() m)
       and (template is null or e.template_pk = any ((select :explore.template_pks(template))::integer[]))
       and (party is null or e.parties_pk = any ((select :explore.token_parties(party))::integer[]))
    union all
    select id_text(l.contract_id), l.template_pk, l."offset", l.unhosted_since, null, 0, 0, 1
      from live l
     where l.unhosted_since > (select from_offset) and l.unhosted_since <= (select to_offset)
       and l.contract_id in (select m.contract_id from :explore.moved_contracts() m)
       and (template is null or l.template_pk = any ((select :explore.template_pks(template))::integer[]))
       and (party is null or l.parties_pk = any ((select :explore.token_parties(party))::integer[]))),
  -- Contracts that were unassigned at or before the first offset. A contract of this list that was not active at the
  -- first offset, but occurs after it, was in flight at that offset.
  departed as materialized (
    select distinct id_text(e.contract_id) as contract_id
      from ended e
     where e.ended_by = 'r' and e.ended_offset <= (select from_offset))
  select c.template_pk, c.contract_id,
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
        left join departed d on d.contract_id = g.contract_id) c;
end;
comment on function :explore.diff_changes(bigint, bigint, text, text) is
  'Rows of diff_contracts with the key of the template, for contracts that were ever reassigned.';

-- A contract that was never reassigned has one row. It is active at the second offset, or ended or became unhosted in
-- between. So these contracts are returned without grouping, which would write many contract ids to temporary files.
create or replace function :explore.diff_contracts(from_offset bigint, to_offset bigint, template text default null, party text default null)
  returns table (template_fqn text, contract_id text, change text, created_at_offset bigint, ended_at_offset bigint)
  language sql stable parallel safe rows 1000
begin atomic
  select :explore.fqn(coalesce(t.package_name, t.package_id), t.module_name, t.entity_name), d.contract_id, d.change,
         d.created_at_offset, d.ended_at_offset
    from (
      select s.template_pk, s.contract_id,
             case when s.activated_offset <= (select from_offset) then 'unchanged' else 'created' end as change,
             s.activated_offset as created_at_offset, null::bigint as ended_at_offset
        from :explore.states_at((select to_offset), template) s
       where (select :explore.is_ordered(from_offset, to_offset)) and (select :explore.known_offset(from_offset)) is not null
         and not exists (select from :explore.moved_contracts() m where id_text(m.contract_id) = s.contract_id)
         and (party is null or s.parties_pk = any ((select :explore.token_parties(party))::integer[]))
      union all
      select e.template_pk, id_text(e.contract_id),
             case when e."offset" <= (select from_offset) then 'archived' else 'transient' end, e."offset", e.ended_offset
        from ended e
       where e.ended_offset > (select from_offset) and e.ended_offset <= (select to_offset) and e.ended_by <> 'w'
         and not exists (select from :explore.moved_contracts() m where m.contract_id = e.contract_id)
         and (template is null or e.template_pk = any ((select :explore.template_pks(template))::integer[]))
         and (party is null or e.parties_pk = any ((select :explore.token_parties(party))::integer[]))
      union all
      select l.template_pk, id_text(l.contract_id), 'unhosted', l."offset", l.unhosted_since
        from live l
       where l.unhosted_since > (select from_offset) and l.unhosted_since <= (select to_offset)
         and not exists (select from :explore.moved_contracts() m where m.contract_id = l.contract_id)
         and (template is null or l.template_pk = any ((select :explore.template_pks(template))::integer[]))
         and (party is null or l.parties_pk = any ((select :explore.token_parties(party))::integer[]))
      union all
      select c.* from :explore.diff_changes(from_offset, to_offset, template, party) c) d
    left join templates t on t.template_pk = d.template_pk;
end;
comment on function :explore.diff_contracts(bigint, bigint, text, text) is
  'Contracts that were active at one of two offsets or between them, each with its change: unchanged (active at both), created or archived (in between), transient (created and archived in between), unassigned (in flight between two synchronizers at the second offset), assigned (in flight at the first), reassigned (in flight at both, active in between) or unhosted (its parties left the participant). created_at_offset is the offset of the activation, which is before the first offset if the contract was active there. Null as template or party means all. Needs known offsets, see coverage; other offsets are rejected with SQLSTATE LI003.';

-- Contracts that were never reassigned are counted without a comparison of contracts, too. created follows from the other
-- counts: after = before + created - archived - unhosted.
create or replace function :explore.diff_counts(from_offset bigint, to_offset bigint, template text, party text)
  returns table (template_pk integer, before bigint, created bigint, archived bigint, unhosted bigint, unchanged bigint,
                 after bigint)
  language sql stable parallel safe rows 100
begin atomic
  select c.template_pk, c.before, c.after - c.before + c.archived + c.unhosted, c.archived, c.unhosted,
         c.before - c.archived_here - c.unhosted_here, c.after
    from (
      select r.template_pk, coalesce(sum(r.contracts) filter (where r.place = 'before'), 0)::bigint as before,
             coalesce(sum(r.contracts) filter (where r.place = 'after'), 0)::bigint as after,
             coalesce(sum(r.contracts) filter (where r.place = 'archived'), 0)::bigint as archived,
             coalesce(sum(r.contracts) filter (where r.place = 'archived' and r.was_here), 0)::bigint as archived_here,
             coalesce(sum(r.contracts) filter (where r.place = 'unhosted'), 0)::bigint as unhosted,
             coalesce(sum(r.contracts) filter (where r.place = 'unhosted' and r.was_here), 0)::bigint as unhosted_here
        from (
          select 'before' as place, s.template_pk, true as was_here, count(*) as contracts
            from :explore.states_at((select from_offset), template) s
           where (select :explore.is_ordered(from_offset, to_offset))
             and not exists (select from :explore.moved_contracts() m where id_text(m.contract_id) = s.contract_id)
             and (party is null or s.parties_pk = any ((select :explore.token_parties(party))::integer[]))
           group by s.template_pk
          union all
          select 'after', s.template_pk, null, count(*)
            from :explore.states_at((select to_offset), template) s
           where not exists (select from :explore.moved_contracts() m where id_text(m.contract_id) = s.contract_id)
             and (party is null or s.parties_pk = any ((select :explore.token_parties(party))::integer[]))
           group by s.template_pk
          union all
          select 'archived', e.template_pk, e."offset" <= (select from_offset), count(*)
            from ended e
           where e.ended_offset > (select from_offset) and e.ended_offset <= (select to_offset) and e.ended_by <> 'w'
             and not exists (select from :explore.moved_contracts() m where m.contract_id = e.contract_id)
             and (template is null or e.template_pk = any ((select :explore.template_pks(template))::integer[]))
             and (party is null or e.parties_pk = any ((select :explore.token_parties(party))::integer[]))
           group by 2, 3
          union all
          select 'unhosted', l.template_pk, l."offset" <= (select from_offset), count(*)
            from live l
           where l.unhosted_since > (select from_offset) and l.unhosted_since <= (select to_offset)
             and not exists (select from :explore.moved_contracts() m where m.contract_id = l.contract_id)
             and (template is null or l.template_pk = any ((select :explore.template_pks(template))::integer[]))
             and (party is null or l.parties_pk = any ((select :explore.token_parties(party))::integer[]))
           group by 2, 3) r
       group by r.template_pk) c;
end;
comment on function :explore.diff_counts(bigint, bigint, text, text) is
  'Counts of diff, by key of the template, for contracts that were never reassigned.';

create or replace function :explore.diff(from_offset bigint, to_offset bigint, template text default null, party text default null)
  returns table (template_fqn text, before bigint, created bigint, assigned bigint, archived bigint, unassigned bigint,
                 unhosted bigint, unchanged bigint, after bigint, net bigint)
  language sql stable parallel safe rows 100
begin atomic
  select :explore.fqn(coalesce(t.package_name, t.package_id), t.module_name, t.entity_name), sum(c.before)::bigint,
         sum(c.created)::bigint, sum(c.assigned)::bigint, sum(c.archived)::bigint, sum(c.unassigned)::bigint,
         sum(c.unhosted)::bigint, sum(c.unchanged)::bigint, sum(c.after)::bigint, (sum(c.after) - sum(c.before))::bigint
    from (
      select n.template_pk, n.before, n.created, 0::bigint as assigned, n.archived, 0::bigint as unassigned, n.unhosted,
             n.unchanged, n.after
        from :explore.diff_counts(from_offset, to_offset, template, party) n
      union all
      select d.template_pk,
             count(*) filter (where d.change = 'unchanged' or was_here and d.change in ('archived', 'unassigned', 'unhosted')),
             count(*) filter (where d.change in ('created', 'transient') or not was_here and d.change in ('unassigned', 'unhosted')),
             count(*) filter (where d.change in ('assigned', 'reassigned') or not was_here and d.change = 'archived'),
             count(*) filter (where d.change in ('archived', 'transient')),
             count(*) filter (where d.change in ('unassigned', 'reassigned')),
             count(*) filter (where d.change = 'unhosted'), count(*) filter (where d.change = 'unchanged'),
             count(*) filter (where d.change in ('unchanged', 'created', 'assigned'))
        from :explore.diff_changes(from_offset, to_offset, template, party) d
       cross join lateral (select d.created_at_offset <= (select from_offset) as was_here) w
       group by d.template_pk) c
    left join templates t on t.template_pk = c.template_pk
   group by 1
   order by 1;
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

create or replace function :explore.diff(from_position text, to_position text, template text default null, party text default null)
  returns table (template_fqn text, before bigint, created bigint, assigned bigint, archived bigint, unassigned bigint,
                 unhosted bigint, unchanged bigint, after bigint, net bigint)
  language sql stable parallel safe rows 100
begin atomic
  select d.*
    from (select :explore.known_offset(from_position) as begins, :explore.known_offset(to_position) as ends offset 0) k
   cross join lateral :explore.diff(k.begins, k.ends, template, party) d;
end;
comment on function :explore.diff(text, text, text, text) is
  'Changes between two offsets or times, written as text, see known_offset, with the columns of diff between two offsets.';
