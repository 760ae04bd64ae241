-- What came and what went between two offsets or times, by template or contract by contract.

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
comment on function :explore.is_ordered(bigint, bigint) is 'True; an error where the first offset is after the second.';

create or replace function :explore.diff_contracts(from_offset bigint, to_offset bigint, template text default null, party text default null)
  returns table (template_fqn text, contract_id text, change text, created_at_offset bigint, ended_at_offset bigint)
  language sql stable parallel safe rows 1000
begin atomic
  with found as (
    select s.contract_id, s.template_pk, s.activated_offset, null::bigint as ended, 1 as is_from, 0 as is_to, 0 as is_between, 0 as is_unknown
      from :explore.states_at(from_offset, template) s
     where (select :explore.is_ordered(from_offset, to_offset))
       and (party is null or s.parties_pk = any ((select :explore.token_parties(party))::integer[]))
    union all
    select s.contract_id, s.template_pk, s.activated_offset, null, 0, 1, 0, 0
      from :explore.states_at(to_offset, template) s
     where party is null or s.parties_pk = any ((select :explore.token_parties(party))::integer[])
    union all
    select id_text(e.contract_id), e.template_pk, e."offset", e.ended_offset, 0, 0, 1, 0
      from ended e
     where e.ended_offset > from_offset and e.ended_offset <= to_offset and e.ended_by <> 'w'
       and e.template_pk = any ((select :explore.template_pks(template))::integer[])
       and (party is null or e.parties_pk = any ((select :explore.token_parties(party))::integer[]))
    union all
    select id_text(l.contract_id), l.template_pk, l."offset", l.unknown_since, 0, 0, 0, 1
      from live l
     where l.unknown_since > from_offset and l.unknown_since <= to_offset
       and l.template_pk = any ((select :explore.template_pks(template))::integer[])
       and (party is null or l.parties_pk = any ((select :explore.token_parties(party))::integer[])))
  select :explore.fqn(coalesce(t.package_name, t.package_id), t.module_name, t.entity_name), c.contract_id,
         case when c.is_from = 1 and c.is_to = 1 then 'stayed'
              when c.is_to = 1 then 'created'
              when c.is_unknown = 1 then 'unknown'
              when c.is_from = 1 then 'archived'
              else 'passed' end,
         c.activated, case when c.is_to = 0 then c.ended end
    from (
      select f.contract_id, max(f.template_pk) as template_pk, max(f.is_from) as is_from, max(f.is_to) as is_to,
             max(f.is_unknown) as is_unknown, min(f.activated_offset) as activated, max(f.ended) as ended
        from found f
       group by f.contract_id) c
    left join templates t on t.template_pk = c.template_pk;
end;
comment on function :explore.diff_contracts(bigint, bigint, text, text) is
  'Each contract that was active at one of two offsets or in between: stayed (active at both), created (active at the second only), archived (active at the first only), passed (came and went in between) or unknown (its parties left the participant). Of one template or all, of one stakeholder or all. Reassigned contracts stay. Needs offsets that are known, see coverage: others are refused with SQLSTATE LI003.';

create or replace function :explore.diff(from_offset bigint, to_offset bigint, template text default null, party text default null)
  returns table (template_fqn text, before bigint, created bigint, archived bigint, unknown bigint, stayed bigint, after bigint,
                 net bigint)
  language sql stable parallel safe rows 100
begin atomic
  select d.template_fqn, count(*) filter (where d.change in ('stayed', 'archived') or d.change = 'unknown' and d.created_at_offset <= from_offset),
         count(*) filter (where d.change in ('created', 'passed') or d.change = 'unknown' and d.created_at_offset > from_offset),
         count(*) filter (where d.change in ('archived', 'passed')), count(*) filter (where d.change = 'unknown'),
         count(*) filter (where d.change = 'stayed'), count(*) filter (where d.change in ('stayed', 'created')),
         count(*) filter (where d.change = 'created') - count(*) filter (where d.change = 'archived')
           - count(*) filter (where d.change = 'unknown' and d.created_at_offset <= from_offset)
    from :explore.diff_contracts(from_offset, to_offset, template, party) d
   group by d.template_fqn
   order by d.template_fqn;
end;
comment on function :explore.diff(bigint, bigint, text, text) is
  'What came and went between two offsets, by template: active before, created, archived (both with those that came and went in between), unknown (their parties left the participant), still there, active after, and net: after less before. Needs offsets that are known, see coverage: others are refused with SQLSTATE LI003.';

create or replace function :explore.diff("from" timestamptz, "to" timestamptz, template text default null, party text default null)
  returns table (template_fqn text, before bigint, created bigint, archived bigint, unknown bigint, stayed bigint, after bigint,
                 net bigint)
  language sql stable parallel safe rows 100
begin atomic
  select d.*
    from (select :explore.known_offset("from") as begins, :explore.known_offset("to") as ends offset 0) k
   cross join lateral :explore.diff(k.begins, k.ends, template, party) d;
end;
comment on function :explore.diff(timestamptz, timestamptz, text, text) is
  'The same between two times, by ledger effective time.';
