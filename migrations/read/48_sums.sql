-- Sums over history, formed for each block of offsets: activity of parties, and lifetimes of contracts. A block has 5,000
-- offsets, see block_end. The sums of complete blocks are stored, so these views read few rows.

-- Each party set is counted once, before its parties are expanded.
create or replace function :explore.party_activity_between(after_offset bigint, to_offset bigint)
  returns table ("offset" bigint, party text, signatory_of bigint, observer_of bigint, witness_of bigint, exercised bigint,
                 first_offset bigint, last_offset bigint, first_at timestamptz, last_at timestamptz)
  language sql stable parallel safe rows 1000
begin atomic
  with roles as (
    select c.block, p.party, p.role, c.times, c.first_offset, c.last_offset, c.first_at, c.last_at
      from (select block_end(k."offset") as block, k.parties_pk, count(*) as times, min(k."offset") as first_offset,
                   max(k."offset") as last_offset, min(k.created_at) as first_at, max(k.created_at) as last_at
              from contracts k
             where (after_offset is null or k."offset" > after_offset) and (to_offset is null or k."offset" <= to_offset)
             group by 1, 2) c
      join contract_parties w on w.parties_pk = c.parties_pk
     cross join lateral (
             select party, 'signatory' as role from unnest(w.signatories) party
             union all select party, 'observer' from unnest(w.observers) party
             union all select party, 'witness' from unnest(w.witness_parties) party) p
    union all
    select e.block, party, 'actor', e.times, e.first_offset, e.last_offset, e.first_at, e.last_at
      from (select block_end(x."offset") as block, x.parties_pk, count(*) as times, min(x."offset") as first_offset,
                   max(x."offset") as last_offset, min(u.effective_at) as first_at, max(u.effective_at) as last_at
              from exercises x left join (select * from updates
                         where (after_offset is null or "offset" > after_offset) and (to_offset is null or "offset" <= to_offset)) u
                     on u."offset" = x."offset"
             where (after_offset is null or x."offset" > after_offset) and (to_offset is null or x."offset" <= to_offset)
             group by 1, 2) e
      join event_parties w on w.parties_pk = e.parties_pk
     cross join unnest(w.acting_parties) party)
  select block, party, coalesce(sum(times) filter (where role = 'signatory'), 0)::bigint as signatory_of,
         coalesce(sum(times) filter (where role = 'observer'), 0)::bigint as observer_of,
         coalesce(sum(times) filter (where role = 'witness'), 0)::bigint as witness_of,
         coalesce(sum(times) filter (where role = 'actor'), 0)::bigint as exercised,
         min(first_offset) as first_offset, max(last_offset) as last_offset, min(first_at) as first_at, max(last_at) as last_at
    from roles
   group by block, party;
end;
comment on function :explore.party_activity_between(bigint, bigint) is
  'Rows of party_activity after one offset and up to and including another, computed from the history. A null offset is no limit.';

create or replace view :explore.party_activity as
  select * from :pqs.__summed_rows(null::projected_party_activity, 'party_activity', null, null);
comment on view :explore.party_activity is
  'Activity of each party in each block of 5,000 offsets. offset is the last offset of the block. Complete where coverage reports complete; exercised needs the shape LEDGER_EFFECTS.';

create or replace view :explore.parties as
  select party, sum(signatory_of)::bigint as signatory_of, sum(observer_of)::bigint as observer_of,
         sum(witness_of)::bigint as witness_of, sum(exercised)::bigint as exercised,
         min(first_offset) as first_offset, max(last_offset) as last_offset, min(first_at) as first_at, max(last_at) as last_at
    from :explore.party_activity
   group by party;
comment on view :explore.parties is
  'Activity of each party over all history. Without projections, and for a reader that is limited to parties, it reads every contract and exercise. Complete where coverage reports complete; exercised needs the shape LEDGER_EFFECTS.';

create or replace function :explore.lifetime_bounds() returns interval[]
  language sql immutable parallel safe
  return '{0.1s,0.2s,0.5s,1s,1.5s,2s,3s,4s,5s,7s,10s,15s,20s,30s,40s,1min,1.5min,2min,3min,4min,5min,7min,10min,15min,20min,30min,40min,1h,1.5h,2h,3h,4h,6h,8h,12h,16h,1d,1.5d,2d,3d,4d,5d,7d,10d,14d,21d,30d,45d,60d,90d,180d,365d}'::interval[];
comment on function :explore.lifetime_bounds() is 'Upper bounds of the classes of lifetimes in contract_lifetimes.';

create or replace function :explore.contract_lifetimes_between(after_offset bigint, to_offset bigint)
  returns table ("offset" bigint, day timestamptz, template_pk integer, lived_below interval, contracts bigint)
  language sql stable parallel safe rows 1000
begin atomic
  select block_end(e.ended_offset), date_trunc('day', e.ended_at, 'UTC'), e.template_pk,
         case when e.ended_by = 'w' then interval '0'
              else (:explore.lifetime_bounds())[width_bucket(e.ended_at - c.created_at, :explore.lifetime_bounds()) + 1] end,
         count(*)
    from ended e
   cross join lateral (
           select k.created_at from contracts k where k."offset" = e."offset" and k.node_id = e.node_id offset 0) c
   where e.ended_by in ('a', 'w') and (e.ended_by = 'w' or e.ended_at - c.created_at is not null)
     and e.ended_offset > (select coalesce(max(s.pruned_to_offset), 0) from stream s) and (after_offset is null or e.ended_offset > after_offset)
     and (to_offset is null or e.ended_offset <= to_offset)
   group by 1, 2, 3, 4;
end;
comment on function :explore.contract_lifetimes_between(bigint, bigint) is
  'Rows of contract_lifetimes after one offset and up to and including another, computed from the history, with the key of the template. A null offset is no limit.';

create or replace function :explore.contract_lifetimes_in(after_offset bigint, to_offset bigint)
  returns table ("offset" bigint, day timestamptz, template_fqn text, lived_below interval, contracts bigint)
  language sql stable parallel safe rows 1000
begin atomic
  select r."offset", r.day, :explore.fqn(coalesce(t.package_name, t.package_id), t.module_name, t.entity_name), r.lived_below,
         r.contracts
    from :pqs.__summed_rows(null::projected_contract_lifetimes, 'contract_lifetimes', after_offset, to_offset) r
    join templates t on t.template_pk = r.template_pk;
end;
comment on function :explore.contract_lifetimes_in(bigint, bigint) is
  'Rows of view contract_lifetimes with contracts that were archived after one offset, and up to and including another. A null offset is no limit.';

create or replace view :explore.contract_lifetimes as
  select * from :explore.contract_lifetimes_in(null, null);
comment on view :explore.contract_lifetimes is
  'Archived contracts, counted by template, day (UTC), class of lifetime and block of 5,000 offsets. offset is the last offset of the block. lived_below is the upper bound of the class: 0 if it was never active for the indexed parties, such as contracts that one transaction created and archived; null if it lived for more than a year. Complete where coverage reports complete.';
