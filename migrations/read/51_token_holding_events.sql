-- Holdings that appear and disappear, by account, and the balances at an offset that follow from them.

-- A party that is a stakeholder of any contract is known; only other parties are looked up.
create or replace function :explore.token_parties(party text) returns integer[]
  language plpgsql stable parallel safe
  set search_path = pg_catalog, pg_temp
as $$
declare
  found integer[] := array(select p.parties_pk from :storage.contract_parties p
                            where p.signatories @> array[party] or p.observers @> array[party] order by p.parties_pk);
begin
  if cardinality(found) = 0 then
    perform :explore.known_party(party);
  end if;
  return found;
end
$$;
comment on function :explore.token_parties(text) is
  'Keys of the party sets (contract_parties.parties_pk) in which a party is a stakeholder; empty if the party occurs only in other roles. An unknown party is rejected with SQLSTATE 42704.';

-- A contract that one update created and archived was never active, but its holding is in both lists. The first
-- condition on the party selects its party sets, which are few, so that views of other holdings are not read. Pruned
-- history is excluded, even if its rows are not removed yet; holdings that were kept represent it. Holdings that cannot
-- be read have no standard, owner and amount. For a range of offsets, the index on templates is not used, and ends of
-- witnessed contracts are limited to the range, because they would be read completely for each range. A witnessed contract
-- ended at its own offset. The party sets are in a subquery, because the planner would compute them for its estimates.
create or replace function :explore.token_holding_events_by(party text, after_offset bigint, to_offset bigint)
  returns table ("offset" bigint, node_id integer, contract_id text, cause text, sign integer, standard text, owner text,
                 provider text, account_id text, instrument_admin text, instrument_id text, amount numeric, is_locked boolean,
                 parties_pk integer)
  language sql stable parallel safe rows 1000
begin atomic
  select c."offset", c.node_id, id_text(c.contract_id),
         case when c.origin = 's' then 'seeded' when c."offset" <= (select coalesce(max(s.pruned_to_offset), 0) from stream s) then 'retained'
              when c.origin = 'c' then 'created' else 'assigned' end, 1, h.standard, h.owner, h.provider,
         h.account_id, h.instrument_admin, h.instrument_id, h.amount, h.is_locked, c.parties_pk
    from (select * from contracts /*workers
           where template_pk = any ((select :explore.token_templates('Holding', 'Holding'))::integer[])
             and (party is null or parties_pk = any ((select :explore.token_parties(party))::integer[])) offset 0 workers*/) c
    left join lateral :explore.token_holding(c."offset", c.node_id) h on true
   where c.template_pk = any ((select :explore.token_templates('Holding', 'Holding'))::integer[])
     and (party is null or c.parties_pk in (select unnest((select :explore.token_parties(party))::integer[]))
                           and (h.owner = party or h.standard is null))
     and (after_offset is null or c."offset" > after_offset) and (to_offset is null or c."offset" <= to_offset)
     and not exists (
           select from (select * from ended /*workers
                         where template_pk = any ((select :explore.token_templates('Holding', 'Holding'))::integer[]) offset 0 workers*/) w
            where w.ended_by = 'w' and id_text(w.contract_id) = id_text(c.contract_id) and w.ended_offset = c."offset"
              and w.node_id = c.node_id
              and (after_offset is null or w.ended_offset > after_offset) and (to_offset is null or w.ended_offset <= to_offset)
              and (h.standard is null
                   or not exists (select from (select * from exercises /*workers
                                                where consuming and contract_id = any (array(
                                                  select d.contract_id from ended d where d.ended_by = 'w')) offset 0
                                              workers*/) x
                                   where x."offset" = w."offset" and x.consuming and x.contract_id = w.contract_id)))
     and case when c."offset" <= (select coalesce(max(s.pruned_to_offset), 0) from stream s) then
           not exists (
             select from (select * from ended /*workers
                           where template_pk = any ((select :explore.token_templates('Holding', 'Holding'))::integer[]) offset 0 workers*/) w
              where id_text(w.contract_id) = id_text(c.contract_id) and w."offset" = c."offset" and w.node_id = c.node_id
                and w.ended_offset <= (select coalesce(max(s.pruned_to_offset), 0) from stream s))
           else true end
  union all
  select e.ended_offset, coalesce(e.ended_node_id, x.node_id), id_text(e.contract_id),
         case e.ended_by when 'a' then 'archived' when 'r' then 'unassigned' when 'w' then 'archived' else 'ended' end, -1,
         h.standard, h.owner, h.provider, h.account_id, h.instrument_admin, h.instrument_id, h.amount, h.is_locked,
         e.parties_pk
    from (select * from ended /*workers
           where template_pk = any ((select :explore.token_templates('Holding', 'Holding'))::integer[])
             and (party is null or parties_pk = any ((select :explore.token_parties(party))::integer[])) offset 0 workers*/) e
    left join lateral (
           select w.node_id
             from (select * from exercises /*workers
                    where consuming and contract_id = any (array(select d.contract_id from ended d where d.ended_by = 'w'))
                   offset 0 workers*/) w
            where e.ended_by = 'w' and w."offset" = e."offset" and w.consuming and w.contract_id = e.contract_id) x on true
    left join lateral :explore.token_holding(e."offset", e.node_id) h on true
   where (e.ended_by <> 'w' or x.node_id is not null and h.standard is not null)
     and e.ended_offset > (select coalesce(max(s.pruned_to_offset), 0) from stream s)
     and (after_offset is null or e.ended_offset > after_offset) and (to_offset is null or e.ended_offset <= to_offset)
     and case when after_offset is not null or to_offset is not null
              then array_position((select :explore.token_templates('Holding', 'Holding')), e.template_pk) is not null
              else e.template_pk = any ((select :explore.token_templates('Holding', 'Holding'))::integer[]) end
     and (party is null or e.parties_pk in (select unnest((select :explore.token_parties(party))::integer[]))
                           and (h.owner = party or h.standard is null))
  union all
  -- Unhosted holdings whose end was stored later count until their end, as in states_at.
  select l.unhosted_since, null, id_text(l.contract_id), 'unhosted', -1, h.standard, h.owner, h.provider, h.account_id,
         h.instrument_admin, h.instrument_id, h.amount, h.is_locked, l.parties_pk
    from (select * from live /*workers where unhosted_since is not null offset 0 workers*/) l
    left join lateral :explore.token_holding(l."offset", l.node_id) h on true
   where l.unhosted_since is not null
     and (after_offset is null or l.unhosted_since > after_offset) and (to_offset is null or l.unhosted_since <= to_offset)
     and l.template_pk = any ((select :explore.token_templates('Holding', 'Holding'))::integer[])
     and (party is null or l.parties_pk in (select unnest((select :explore.token_parties(party))::integer[]))
                           and (h.owner = party or h.standard is null));
end;
comment on function :explore.token_holding_events_by(text, bigint, bigint) is
  'Holdings that appear (sign 1) and disappear (sign -1), of one owner or, with null, of all owners. cause is created, assigned, seeded or retained (older than pruned history), archived, unassigned, ended (by an update that is not stored) or unhosted (its parties left the participant). Holdings that cannot be read have no standard; for an owner, they are included only if it is a stakeholder. parties_pk is the party set of the contract (contract_parties). An owner has to be a stakeholder of the holding. After one offset and up to and including another, where null is no limit.';

-- The projection has an index on owners. Only a holding that cannot be read, which has no owner, is looked up among the contracts.
create or replace function :explore.token_holding_events_of(party text)
  returns table ("offset" bigint, node_id integer, update_id text, effective_at timestamptz, record_time timestamptz, contract_id text,
                 cause text, sign integer, standard text, owner text, provider text, account_id text, instrument_admin text,
                 instrument_id text, amount numeric, is_locked boolean)
  language sql stable parallel safe rows 1000
begin atomic
  select p."offset", p.node_id, p.update_id, p.effective_at, p.record_time, p.contract_id, p.cause, g.sign, p.standard, p.owner,
         p.provider, p.account_id, p.instrument_admin, p.instrument_id, g.sign * p.amount, p.is_locked
    from (
      select q.*
        from projected_token_holding_events q
       where q.owner = party and q.owner_is_stakeholder
         and not ((select :pqs.__offsets_without('token_holding_events')) @> q."offset")
      union all
      select q.*
        from projected_token_holding_events q
       where q.standard is null and party is not null
         and not ((select :pqs.__offsets_without('token_holding_events')) @> q."offset")
      union all
      select u.*
        from :pqs.__rows_in_gaps(null::projected_token_holding_events, 'token_holding_events', null, null) u
       where party is not null and (u.owner = party and u.owner_is_stakeholder or u.standard is null)) p
   cross join lateral (
           select case when p.cause in ('created', 'assigned', 'seeded', 'retained') then 1 else -1 end as sign) g
   -- Checks the party, also if it has no rows.
   where (party is null or (select :explore.known_party(party)) is not null)
     and (p.standard is not null
          or exists (select from (select * from contract_states /*workers
                                   where template_pk = any ((select :explore.token_templates('Holding', 'Holding'))::integer[]) offset 0 workers*/) s
                       join contract_parties w on w.parties_pk = s.parties_pk
                      where s.contract_id = p.contract_id and party = any (w.signatories || w.observers)))
  union all
  select e."offset", e.node_id, id_text(u.update_id), u.effective_at, u.record_time, e.contract_id, e.cause, e.sign, e.standard,
         e.owner, e.provider, e.account_id, e.instrument_admin, e.instrument_id, e.amount, e.is_locked
    from :explore.token_holding_events_by(party, null, null) e
    left join updates u on u."offset" = e."offset"
   where party is null or (select :explore.projected_ranges('token_holding_events')) is null;
end;
comment on function :explore.token_holding_events_of(text) is
  'Rows of token_holding_events_by of one owner or, with null, of all owners, with their updates.';

create or replace function :explore.token_holding_events_between(after_offset bigint, to_offset bigint)
  returns table ("offset" bigint, node_id integer, update_id text, effective_at timestamptz, record_time timestamptz, contract_id text,
                 cause text, standard text, owner text, provider text, account_id text, instrument_admin text, instrument_id text,
                 amount numeric, is_locked boolean, owner_is_stakeholder boolean)
  language sql stable parallel safe rows 1000
begin atomic
  select e."offset", e.node_id, id_text(u.update_id) as update_id, u.effective_at, u.record_time, e.contract_id, e.cause,
         e.standard, e.owner, e.provider, e.account_id, e.instrument_admin, e.instrument_id, e.sign * e.amount as amount,
         e.is_locked, e.owner = any (w.signatories || w.observers) as owner_is_stakeholder
    from :explore.token_holding_events_by(null, after_offset, to_offset) e
    left join (select * from updates
               where (after_offset is null or "offset" > after_offset) and (to_offset is null or "offset" <= to_offset)) u
           on u."offset" = e."offset"
    left join contract_parties w on w.parties_pk = e.parties_pk;
end;
comment on function :explore.token_holding_events_between(bigint, bigint) is
  'Rows of token_holding_events after one offset and up to and including another, computed from the history, also of holdings that cannot be read, which have no standard. owner_is_stakeholder is whether the owner is a signatory or an observer of the contract. A null offset is no limit.';

create or replace function :explore.token_holding_events_in(after_offset bigint, to_offset bigint)
  returns table ("offset" bigint, node_id integer, update_id text, effective_at timestamptz, record_time timestamptz, contract_id text,
                 cause text, standard text, owner text, provider text, account_id text, instrument_admin text, instrument_id text,
                 amount numeric, is_locked boolean)
  language sql stable parallel safe rows 1000
begin atomic
  select p."offset", p.node_id, p.update_id, p.effective_at, p.record_time, p.contract_id, p.cause, p.standard, p.owner,
         p.provider, p.account_id, p.instrument_admin, p.instrument_id, p.amount, p.is_locked
    from projected_token_holding_events p
   where not ((select :pqs.__offsets_without('token_holding_events')) @> p."offset")
     and (after_offset is null or p."offset" > after_offset) and (to_offset is null or p."offset" <= to_offset)
  union all
  select u."offset", u.node_id, u.update_id, u.effective_at, u.record_time, u.contract_id, u.cause, u.standard, u.owner,
         u.provider, u.account_id, u.instrument_admin, u.instrument_id, u.amount, u.is_locked
    from :pqs.__rows_in_gaps(null::projected_token_holding_events, 'token_holding_events', after_offset, to_offset) u
  union all
  select e."offset", e.node_id, e.update_id, e.effective_at, e.record_time, e.contract_id, e.cause, e.standard, e.owner,
         e.provider, e.account_id, e.instrument_admin, e.instrument_id, e.amount, e.is_locked
    from :explore.token_holding_events_between(after_offset, to_offset) e
   where (select :explore.projected_ranges('token_holding_events')) is null;
end;
comment on function :explore.token_holding_events_in(bigint, bigint) is
  'Rows of token_holding_events after one offset and up to and including another, also of holdings that cannot be read, which have no standard. A null offset is no limit.';

create or replace view :explore.token_holding_events as
  select * from :explore.token_holding_events_in(null, null) e where e.standard is not null;
comment on view :explore.token_holding_events is
  'Log of the holdings of all accounts: one row when a holding appears, and one with a negative amount when it disappears. Complete where coverage reports complete, except for token_holdings_unreadable. Needs an interface Holding in the filter.';

create or replace function :explore.token_balance_changes_between(after_offset bigint, to_offset bigint)
  returns table ("offset" bigint, owner text, provider text, account_id text, instrument_admin text, instrument_id text,
                 total numeric, locked numeric, holdings bigint)
  language sql stable parallel safe rows 1000
begin atomic
  select block_end(e."offset"), e.owner, e.provider, e.account_id, e.instrument_admin, e.instrument_id, sum(e.amount),
         coalesce(sum(e.amount) filter (where e.is_locked), 0),
         sum(case when e.cause in ('created', 'assigned', 'seeded', 'retained') then 1 else -1 end)
    from :explore.token_holding_events_in(after_offset, to_offset) e
   where e.standard is not null
   group by 1, 2, 3, 4, 5, 6;
end;
comment on function :explore.token_balance_changes_between(bigint, bigint) is
  'Rows of token_balance_changes after one offset and up to and including another, from holdings that appear and disappear. A null offset is no limit.';

create or replace view :explore.token_balance_changes as
  select * from :pqs.__summed_rows(null::projected_token_balance_changes, 'token_balance_changes', null, null);
comment on view :explore.token_balance_changes is
  'Changes of each balance in each block of 5,000 offsets: total, locked, and number of holdings. offset is the last offset of the block. Complete to the same extent as token_holding_events.';

-- Each block of sums is read once, however many offsets are wanted. The part of a block up to an offset counts at this offset
-- only, so it is subtracted at the next one. A role that is limited to parties reads no sums. It reads the holdings of that
-- moment, which are fewer than their events.
create or replace function :explore.token_totals_at(offsets bigint[])
  returns table (at_offset bigint, owner text, provider text, account_id text, instrument_admin text, instrument_id text,
                 total numeric, locked numeric, unlocked numeric, holdings bigint)
  language sql stable parallel safe rows 1000
begin atomic
  with wanted as materialized (
    select w.at_offset, w.block_before, lag(w.block_before) over by_offset as last_block, lead(w.at_offset) over by_offset as next_offset
      from (select w.at_offset, block_end(w.at_offset) - block_end(0) - 1 as block_before
              from (select distinct :explore.token_offset(o.at_offset) as at_offset from unnest(offsets) o (at_offset)) w) w
    window by_offset as (order by w.at_offset)),
  changed as materialized (
    select w.at_offset, s.owner, s.provider, s.account_id, s.instrument_admin, s.instrument_id, s.total, s.locked, s.holdings
      from wanted w
     cross join lateral :pqs.__summed_rows(null::projected_token_balance_changes, 'token_balance_changes', w.last_block,
                                           w.block_before) s
     where (select :explore.projected_ranges('token_balance_changes')) is not null
    union all
    select f.at_offset, s.owner, s.provider, s.account_id, s.instrument_admin, s.instrument_id, f.sign * s.total,
           f.sign * s.locked, f.sign * s.holdings
      from wanted w
     cross join lateral :pqs.__summed_rows(null::projected_token_balance_changes, 'token_balance_changes', w.block_before,
                                           w.at_offset) s
     cross join lateral (values (w.at_offset, 1), (w.next_offset, -1)) f (at_offset, sign)
     where (select :explore.projected_ranges('token_balance_changes')) is not null and f.at_offset is not null)
  select a.at_offset, a.owner, a.provider, a.account_id, a.instrument_admin, a.instrument_id, a.total, a.locked,
         a.total - a.locked, a.holdings::bigint
    from (
      select c.at_offset, c.owner, c.provider, c.account_id, c.instrument_admin, c.instrument_id,
             sum(sum(c.total)) over account as total, sum(sum(c.locked)) over account as locked,
             sum(sum(c.holdings)) over account as holdings
        from (
          table changed
          union all
          select w.at_offset, c.owner, c.provider, c.account_id, c.instrument_admin, c.instrument_id, 0, 0, 0
            from wanted w
           cross join (select distinct c.owner, c.provider, c.account_id, c.instrument_admin, c.instrument_id from changed c) c) c
       group by 1, 2, 3, 4, 5, 6
      window account as (partition by c.owner, c.provider, c.account_id, c.instrument_admin, c.instrument_id
                             order by c.at_offset)) a
   where a.holdings > 0
  union all
  select w.at_offset, b.owner, b.provider, b.account_id, b.instrument_admin, b.instrument_id, b.total, b.locked, b.unlocked, b.holdings
    from wanted w
   cross join lateral :explore.token_balances_at(w.at_offset) b
   where (select :explore.projected_ranges('token_balance_changes')) is null;
end;
comment on function :explore.token_totals_at(bigint[]) is
  'Total, locked and unlocked balance of each account and instrument right after each of the updates with these offsets, as token_balances_at, but without the column available, which depends on the time. Faster than token_balances_at, because it reads sums. Needs known offsets, see coverage; other offsets are rejected with SQLSTATE LI003.';

create or replace function :explore.token_holding_log(party text) returns setof :explore.token_holding_events
  language sql stable parallel safe rows 1000
begin atomic
  select e."offset", e.node_id, e.update_id, e.effective_at, e.record_time, e.contract_id, e.cause, e.standard, e.owner,
         e.provider, e.account_id, e.instrument_admin, e.instrument_id, e.sign * e.amount, e.is_locked
    from :explore.token_holding_events_of(party) e
   where e.standard is not null
   order by 1, 2;
end;
comment on function :explore.token_holding_log(text) is
  'Rows of token_holding_events of one owner, or of all owners with null, in the same order. Does not read holdings of other owners. An owner has to be a stakeholder of the holdings.';
