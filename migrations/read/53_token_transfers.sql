-- Movements of tokens, from the events and choices of the token standard and from changes of holdings.

-- Changes without an event or choice are paired if exactly one account lost and one received. Otherwise each change is
-- a row of its own.
create or replace function :explore.token_transfers_between(after_offset bigint, to_offset bigint)
  returns table ("offset" bigint, node_id integer, update_id text, effective_at timestamptz, record_time timestamptz, kind text,
                 basis text, sender text, sender_provider text, sender_account_id text, receiver text, receiver_provider text,
                 receiver_account_id text, instrument_admin text, instrument_id text, amount numeric, transfer_leg_id text,
                 reason text)
  language sql stable parallel safe rows 1000
begin atomic
  select m."offset", m.node_id, id_text(u.update_id) as update_id, u.effective_at, u.record_time, m.kind, m.basis, m.sender,
         m.sender_provider, m.sender_account_id, m.receiver, m.receiver_provider, m.receiver_account_id, m.instrument_admin,
         m.instrument_id, m.amount, m.transfer_leg_id, m.reason
    from (
      select l."offset", l.node_id, l.kind, l.basis, l.sender, l.sender_provider, l.sender_account_id, l.receiver,
             l.receiver_provider, l.receiver_account_id, l.instrument_admin, l.instrument_id, l.amount, l.transfer_leg_id,
             l.reason
        from (select * from :explore.token_legs_between(after_offset, to_offset) /*workers offset 0 workers*/) l
      union all
      select g."offset", null, r.kind, 'holdings', r.sender, r.sender_provider, r.sender_account_id, r.receiver,
             r.receiver_provider, r.receiver_account_id, g.instrument_admin, g.instrument_id, r.amount, null, null
        from (
          select c."offset", c.instrument_admin, c.instrument_id,
                 bool_or(c.basis <> 'holdings') as is_told, max(c.unreadable_holdings) = 0 as is_read, sum(c.moved - c.explained) as rest,
                 array_agg(c.moved - c.explained order by c.owner, c.provider, c.account_id) as amounts,
                 array_agg(c.owner order by c.owner, c.provider, c.account_id) as owners,
                 array_agg(c.provider order by c.owner, c.provider, c.account_id) as providers,
                 array_agg(c.account_id order by c.owner, c.provider, c.account_id) as accounts,
                 count(*) filter (where c.moved > c.explained) as receivers,
                 count(*) filter (where c.moved < c.explained) as senders
            from :explore.token_changes_in(after_offset, to_offset) c
           where c.moved <> c.explained
           group by c."offset", c.instrument_admin, c.instrument_id) g
       cross join lateral (
               select 'transfer' as kind, f.owner as sender, f.provider as sender_provider, f.account_id as sender_account_id,
                      t.owner as receiver, t.provider as receiver_provider, t.account_id as receiver_account_id,
                      least(-f.amount, t.amount) as amount
                 from (select * from unnest(g.amounts, g.owners, g.providers, g.accounts) f (amount, owner, provider, account_id)
                        where f.amount < 0) f
                cross join (select * from unnest(g.amounts, g.owners, g.providers, g.accounts) t (amount, owner, provider, account_id)
                             where t.amount > 0) t
                where g.is_read and g.senders = 1 and g.receivers = 1
               union all
               select case when g.is_told then 'fee' else 'burn' end, f.owner, f.provider, f.account_id, null, null, null,
                      case g.receivers when 0 then -f.amount else -g.rest end
                 from unnest(g.amounts, g.owners, g.providers, g.accounts) f (amount, owner, provider, account_id)
                where g.is_read and f.amount < 0 and (g.receivers = 0 or g.senders = 1 and g.receivers = 1 and g.rest < 0)
               union all
               select 'mint', null, null, null, t.owner, t.provider, t.account_id,
                      case g.senders when 0 then t.amount else g.rest end
                 from unnest(g.amounts, g.owners, g.providers, g.accounts) t (amount, owner, provider, account_id)
                where g.is_read and t.amount > 0 and (g.senders = 0 or g.senders = 1 and g.receivers = 1 and g.rest > 0)
               union all
               select 'unmatched', case when f.amount < 0 then f.owner end, case when f.amount < 0 then f.provider end,
                      case when f.amount < 0 then f.account_id end, case when f.amount > 0 then f.owner end,
                      case when f.amount > 0 then f.provider end, case when f.amount > 0 then f.account_id end, abs(f.amount)
                 from unnest(g.amounts, g.owners, g.providers, g.accounts) f (amount, owner, provider, account_id)
                where not g.is_read or g.senders > 0 and g.receivers > 0 and g.senders + g.receivers > 2) r) m
    left join updates u on u."offset" = m."offset";
end;
comment on function :explore.token_transfers_between(bigint, bigint) is
  'Rows of token_transfers after one offset and up to and including another, computed from token_changes, token_transfer_steps and the history. A null offset is no limit.';

create or replace function :explore.token_transfers_in(after_offset bigint, to_offset bigint)
  returns table ("offset" bigint, node_id integer, update_id text, effective_at timestamptz, record_time timestamptz, kind text,
                 basis text, sender text, sender_provider text, sender_account_id text, receiver text, receiver_provider text,
                 receiver_account_id text, instrument_admin text, instrument_id text, amount numeric, transfer_leg_id text,
                 reason text)
  language sql stable parallel safe rows 1000
begin atomic
  select p.*
    from projected_token_transfers p
   where not ((select :pqs.__offsets_without('token_transfers')) @> p."offset")
     and (after_offset is null or p."offset" > after_offset) and (to_offset is null or p."offset" <= to_offset)
  union all
  select u.* from :pqs.__rows_in_gaps(null::projected_token_transfers, 'token_transfers', after_offset, to_offset) u
  union all
  select t.*
    from :explore.token_transfers_between(after_offset, to_offset) t
   where (select :explore.projected_ranges('token_transfers')) is null;
end;
comment on function :explore.token_transfers_in(bigint, bigint) is
  'Rows of token_transfers after one offset and up to and including another. A null offset is no limit.';

create or replace view :explore.token_transfers as
  select * from :explore.token_transfers_in(null, null);
comment on view :explore.token_transfers is
  'Movements of every token, one row each: transfers, mints, burns and fees. basis is the source: an event of the instrument''s admin, a choice of the token standard, or only the holdings. Movements known only from holdings are paired to a transfer if there is one account on each side; the remainder is a mint, burn or fee, or unmatched. If an update has holdings that cannot be read, movements known only from holdings are unmatched. If only one side is visible to the indexed parties, a transfer without event or choice is returned as a mint or a burn.';

create or replace function :explore.token_movements_between(after_offset bigint, to_offset bigint)
  returns table ("offset" bigint, hour timestamptz, kind text, basis text, instrument_admin text, instrument_id text,
                 movements bigint, amount numeric)
  language sql stable parallel safe rows 1000
begin atomic
  select block_end(t."offset"), date_trunc('hour', t.record_time, 'UTC'), t.kind, t.basis, t.instrument_admin, t.instrument_id,
         count(*), sum(t.amount)
    from :explore.token_transfers_in(after_offset, to_offset) t
   group by 1, 2, 3, 4, 5, 6;
end;
comment on function :explore.token_movements_between(bigint, bigint) is
  'Rows of token_movements after one offset and up to and including another, from token_transfers. A null offset is no limit.';

create or replace function :explore.token_movements_in(after_offset bigint, to_offset bigint)
  returns table ("offset" bigint, hour timestamptz, kind text, basis text, instrument_admin text, instrument_id text,
                 movements bigint, amount numeric)
  language sql stable parallel safe rows 1000
begin atomic
  select s.* from :pqs.__summed_rows(null::projected_token_movements, 'token_movements', after_offset, to_offset) s;
end;
comment on function :explore.token_movements_in(bigint, bigint) is
  'Rows of view token_movements with movements after one offset, and up to and including another. A null offset is no limit.';

create or replace view :explore.token_movements as
  select * from :explore.token_movements_in(null, null);
comment on view :explore.token_movements is
  'Rows of token_transfers, counted by hour of record time (UTC), kind, basis, instrument and block of 5,000 offsets. offset is the last offset of the block.';

-- An indexed account that an event names, but whose holdings did not change, has no row in token_changes. So it is
-- searched for among the events. Events and holdings are grouped by account, because a join of them could compare every
-- event with every holding of a range. An account whose events name unreadable holdings is omitted, because these may
-- have moved. A holding that was never active for the indexed parties is in contracts only.
create or replace function :explore.token_discrepancies_between(after_offset bigint, to_offset bigint)
  returns table ("offset" bigint, update_id text, effective_at timestamptz, record_time timestamptz, owner text, provider text,
                 account_id text, instrument_admin text, instrument_id text, logged numeric, moved numeric)
  language sql stable parallel safe rows 1000
begin atomic
  select c."offset", c.update_id, c.effective_at, c.record_time, c.owner, c.provider, c.account_id, c.instrument_admin,
         c.instrument_id, c.explained as logged, c.moved
    from :explore.token_changes_in(after_offset, to_offset) c
   where c.basis = 'event' and c.moved <> c.explained and c.unreadable_holdings = 0
  union all
  select g."offset", g.update_id, g.effective_at, g.record_time, g.owner, g.provider, g.account_id, g.instrument_admin,
         g.instrument_id, g.logged, 0::numeric
    from (
      select x."offset", max(x.update_id) as update_id, max(x.effective_at) as effective_at, max(x.record_time) as record_time,
             x.owner, x.provider, x.account_id, x.instrument_admin, x.instrument_id, sum(x.logged) as logged
        from (
          select t."offset", t.update_id, t.effective_at, t.record_time, t.owner, t.provider, t.account_id, t.instrument_admin,
                 t.instrument_id, case t.side when 'sender' then - t.amount else t.amount end as logged, false as is_holding
            from (select t.*
                    from :explore.token_events t
                    join exercises x on x."offset" = t."offset" and x.node_id = t.node_id
                    join event_parties w on w.parties_pk = x.parties_pk and t.owner = any (w.witness_parties) /*workers offset 0 workers*/) t
           where t.is_by_admin and t.side is not null
             and t."offset" > (select coalesce(max(s.pruned_to_offset), 0) from stream s)
             and (after_offset is null or t."offset" > after_offset) and (to_offset is null or t."offset" <= to_offset)
          union all
          select h."offset", null, null, null, h.owner, h.provider, h.account_id, h.instrument_admin, h.instrument_id, 0, true
            from :explore.token_holding_events_in(after_offset, to_offset) h
           where h.standard is not null) x
       group by x."offset", x.owner, x.provider, x.account_id, x.instrument_admin, x.instrument_id
      having not bool_or(x.is_holding) and sum(x.logged) <> 0) g
   where not exists (
           select from (select * from contracts /*workers where template_pk = any ((select :explore.token_templates('Holding', 'Holding'))::integer[]) offset 0 workers*/) c
            cross join lateral :explore.token_holding(c."offset", c.node_id) h
            where c."offset" = g."offset" and c.template_pk = any ((select :explore.token_templates('Holding', 'Holding'))::integer[])
              and h.instrument_admin = g.instrument_admin and h.instrument_id = g.instrument_id
              and h.owner = g.owner and h.account_id = g.account_id and h.provider is not distinct from g.provider)
     and not exists (
           select from :explore.token_events t
             join (select * from contract_states /*workers where template_pk = any ((select :explore.token_templates('Holding', 'Holding'))::integer[]) offset 0 workers*/) l
               on l.contract_id = any (t.input_holding_ids || t.output_holding_ids)
            where t."offset" = g."offset" and t.is_by_admin and t.side is not null and t.owner = g.owner
              and t.account_id = g.account_id and t.provider is not distinct from g.provider
              and t.instrument_admin = g.instrument_admin and t.instrument_id = g.instrument_id
              and l.template_pk = any ((select :explore.token_templates('Holding', 'Holding'))::integer[])
              and (l.activated_offset = g."offset" or l.deactivated_offset = g."offset")
              and not exists (select from :explore.token_holding(l.activated_offset, l.node_id)));
end;
comment on function :explore.token_discrepancies_between(bigint, bigint) is
  'Rows of token_discrepancies after one offset and up to and including another, computed from the events and token_changes. A null offset is no limit. Without an interface Holding, every event is returned.';

-- Without an interface Holding, no event can be compared. This is decided when the view is read, because the first holding may
-- come after events that are already stored.
create or replace view :explore.token_discrepancies as
  select d.*
    from (
      select p.*
        from projected_token_discrepancies p
       where not ((select :pqs.__offsets_without('token_discrepancies')) @> p."offset")
      union all
      select u.* from :pqs.__rows_in_gaps(null::projected_token_discrepancies, 'token_discrepancies', null, null) u
      union all
      select t.*
        from :explore.token_discrepancies_between(null, null) t
       where (select :explore.projected_ranges('token_discrepancies')) is null) d
   where (select cardinality(:explore.token_templates('Holding', 'Holding'))) > 0;
comment on view :explore.token_discrepancies is
  'Differences between the movements that the admin of an instrument logged and the movements of holdings: by update and account, the sum of the events and the sum of the holdings, which is 0 if no holding appeared or disappeared. No rows if all sums are equal. Updates with holdings that cannot be read are omitted.';
