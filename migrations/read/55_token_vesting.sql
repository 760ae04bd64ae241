-- Vesting schedules, and the locks that a featured app needs.

-- Days begin at midnight UTC. Very long periods have fewer rows: months if longer than two years, years if longer than 40.
create or replace view :explore.token_vesting_schedule as
  select t.contract_id as lock_contract_id, t.owner, t.provider, t.account_id, t.instrument_admin, t.instrument_id, t.beneficiary,
         t.beneficiary_kind, t.amount, s.from_day::date as from_day, (s.to_day - interval '1 day')::date as to_day,
         d.freed_total - d.freed_before as freed, d.freed_total, t.amount - d.freed_total as remaining
    from (
      select a.contract_id, a.owner, a.provider, a.account_id, a.instrument_admin, a.instrument_id, a.beneficiary,
             a.beneficiary_kind, a.amount, a.vesting_starts_at, a.vesting_ends_at, a.vesting_amount, true as is_allocation
        from :explore.token_allocation_locks(null) a
       where a.reason = 'vesting_lock'
      union all
      select g.contract_id, g.owner, null, '', g.dso, 'Amulet', g.beneficiary, g.beneficiary_kind, g.amount, g.vesting_starts_at,
             g.vesting_ends_at, g.amount, false
        from :explore.token_governance_locks(null) g
       where g.reason = 'vesting_lock') t
   cross join lateral (
           select t.vesting_starts_at at time zone 'UTC' as starts, t.vesting_ends_at at time zone 'UTC' as ends) u
   cross join lateral (
           select case when u.ends - u.starts <= interval '731 days' then 'day'
                       when u.ends - u.starts <= interval '14610 days' then 'month' else 'year' end as step) k
   cross join lateral (
           select g.from_day, g.from_day + ('1 ' || k.step)::interval as to_day
             from generate_series(date_trunc(k.step, u.starts), u.ends - interval '1 microsecond', ('1 ' || k.step)::interval)
                  g (from_day)) s
   cross join lateral (
           select :explore.token_vested(t.is_allocation, t.vesting_amount, t.amount, t.vesting_starts_at, t.vesting_ends_at,
                                        s.from_day at time zone 'UTC') as freed_before,
                  :explore.token_vested(t.is_allocation, t.vesting_amount, t.amount, t.vesting_starts_at, t.vesting_ends_at,
                                        s.to_day at time zone 'UTC') as freed_total
           offset 0) d
   where d.freed_total > 0;
comment on view :explore.token_vesting_schedule is
  'Schedule of each active vesting lock: one row per day (UTC), per month if the period is longer than two years, per year if longer than 40. The freed amounts of a lock add up to its amount. Days whose amount was withdrawn already are omitted.';

-- The amounts of CIP-0116. The ledger does not record whether an app issues assets.
create or replace function :explore.featured_app_lock_rows(at_offset bigint)
  returns table (dso text, provider text, is_featured boolean, locked numeric, vesting numeric, locks bigint, required numeric,
                 missing numeric, required_for_issuer numeric, missing_for_issuer numeric)
  language sql stable parallel safe rows 100
begin atomic
  select coalesce(f.dso, g.dso), coalesce(f.provider, g.provider), f.provider is not null, coalesce(g.locked, 0),
         coalesce(g.vesting, 0), coalesce(g.locks, 0), r.required, greatest(0, r.required - coalesce(g.locked, 0)),
         r.required_for_issuer, greatest(0, r.required_for_issuer - coalesce(g.locked, 0))
    from (
      select distinct n.payload ->> 'dso' as dso, n.payload ->> 'provider' as provider
        from :explore.network_active('Amulet', 'FeaturedAppRight', at_offset) n
       where n.payload ->> 'dso' = any (n.signatories)) f
    full join (
      select l.dso, l.beneficiary as provider, sum(l.amount) filter (where l.reason = 'governance_lock') as locked,
             sum(l.amount) filter (where l.reason = 'vesting_lock') as vesting,
             count(*) filter (where l.reason = 'governance_lock') as locks
        from :explore.token_governance_locks(at_offset) l
       where l.beneficiary_kind in ('featured_app', 'provisional_featured_app')
       group by l.dso, l.beneficiary) g on g.dso = f.dso and g.provider = f.provider
   cross join (values (5000000.0000000000, 25000000.0000000000)) r (required, required_for_issuer);
end;
comment on function :explore.featured_app_lock_rows(bigint) is
  'Rows of featured_app_locks: now if the offset is null, otherwise at the offset.';

create or replace view :explore.featured_app_locks as
  select r.* from :explore.featured_app_lock_rows(null) r;
comment on view :explore.featured_app_locks is
  'Amulet that is locked for each app by governance locks, and the amount that CIP-0116 requires of a featured app. Only active locks count; vesting locks do not. Apps with a right or with a lock are listed. Visible as far as the contracts GovernanceLock, VestingLock and FeaturedAppRight of splice-amulet are visible.';

create or replace function :explore.featured_app_locks_at(at_offset bigint)
  returns setof :explore.featured_app_locks
  language sql stable parallel safe rows 100
begin atomic
  select r.*
    from (select :explore.known_offset(at_offset) as at_offset offset 0) k
   cross join lateral :explore.featured_app_lock_rows(k.at_offset) r
   where k.at_offset is not null;
end;
comment on function :explore.featured_app_locks_at(bigint) is
  'Amulet that was locked for each app right after the update with this offset, with the columns of featured_app_locks. Needs a known offset, see coverage; other offsets are rejected with SQLSTATE LI003.';

create or replace function :explore.featured_app_locks_at("time" timestamptz)
  returns setof :explore.featured_app_locks
  language sql stable parallel safe rows 100
begin atomic
  select l.*
    from (select :explore.known_offset("time") as at_offset offset 0) k
   cross join lateral :explore.featured_app_locks_at(k.at_offset) l;
end;
comment on function :explore.featured_app_locks_at(timestamptz) is
  'Amulet that was locked for each app at a time, by ledger effective time, with the columns of featured_app_locks. Needs a time with a known state, see coverage; other times are rejected with SQLSTATE LI003.';

create or replace function :explore.featured_app_locks_at("position" text)
  returns setof :explore.featured_app_locks
  language sql stable parallel safe rows 100
begin atomic
  select l.*
    from (select :explore.known_offset("position") as at_offset offset 0) k
   cross join lateral :explore.featured_app_locks_at(k.at_offset) l;
end;
comment on function :explore.featured_app_locks_at(text) is
  'Amulet that was locked for each app at an offset or a time, written as text, see known_offset. Needs a known offset, see coverage; others are rejected with SQLSTATE LI003.';
