-- Token movements. They are derived from holdings that appear and disappear, so they are complete for movements by any
-- choice. Events and choices of the token standard explain the movements: the other side, and the reason.

-- For ranges, steps of transfers are read from their projection. A lookup of single offsets would compute its gaps every time.
create or replace function :explore.token_legs_between(after_offset bigint, to_offset bigint, is_range boolean default true)
  returns table ("offset" bigint, node_id integer, basis text, kind text, sender text, sender_provider text, sender_account_id text,
                 receiver text, receiver_provider text, receiver_account_id text, instrument_admin text, instrument_id text,
                 amount numeric, transfer_leg_id text, reason text)
  language sql stable parallel safe rows 1000
begin atomic
  -- Both sides of a leg are one movement; only one side may be visible to the indexer.
  select s."offset", min(s.node_id) as node_id, 'event' as basis,
         case when s.sender is null and s.receiver is not null then 'mint'
              when s.receiver is null and s.sender is not null then 'burn' else 'transfer' end as kind,
         s.sender, s.sender_provider, s.sender_account_id, s.receiver, s.receiver_provider, s.receiver_account_id,
         s.instrument_admin, s.instrument_id, s.amount, s.transfer_leg_id, max(s.reason collate "C") as reason
    from (
      select e."offset", e.node_id, e.instrument_admin, e.instrument_id, e.amount, e.transfer_leg_id, e.reason,
             case e.side when 'sender' then e.owner else e.other_owner end as sender,
             case e.side when 'sender' then e.provider else e.other_provider end as sender_provider,
             case e.side when 'sender' then e.account_id else e.other_account_id end as sender_account_id,
             case e.side when 'receiver' then e.owner else e.other_owner end as receiver,
             case e.side when 'receiver' then e.provider else e.other_provider end as receiver_provider,
             case e.side when 'receiver' then e.account_id else e.other_account_id end as receiver_account_id,
             row_number() over (
               partition by e."offset", e.instrument_admin, e.instrument_id, e.amount, e.transfer_leg_id, e.side, e.owner,
                            e.provider, e.account_id, e.other_owner, e.other_provider, e.other_account_id
               order by e.node_id, e.leg) as place
        from :explore.token_events e
       where e.is_by_admin and e.side is not null
         and (after_offset is null or e."offset" > after_offset) and (to_offset is null or e."offset" <= to_offset)) s
   group by s."offset", s.instrument_admin, s.instrument_id, s.amount, s.transfer_leg_id, s.sender, s.sender_provider,
            s.sender_account_id, s.receiver, s.receiver_provider, s.receiver_account_id, s.place
  union all
  -- A step that completed without a holding for the receiver burnt its input. Traffic is bought in this way.
  select t."offset", t.node_id, 'choice', case when b.is_burn then 'burn' else 'transfer' end, t.sender, t.sender_provider,
         t.sender_account_id, case when not b.is_burn then t.receiver end, case when not b.is_burn then t.receiver_provider end,
         case when b.is_burn then '' else t.receiver_account_id end, t.instrument_admin, t.instrument_id,
         case when b.is_burn then t.amount_burnt else t.amount end, null, t.reason
    from (
      select * from :explore.token_transfer_steps_in(after_offset, to_offset) where is_range
      union all
      select * from :explore.token_transfer_steps_between(after_offset, to_offset) where not is_range) t
   cross join lateral (
           select coalesce(t.receiver_holding_ids = '{}' and t.amount_burnt is not null, false) as is_burn) b
   where t.outcome = 'completed' and t.sender is not null and t.receiver is not null and t.amount is not null
     and not exists (select from (select * from :explore.token_events /*workers offset 0 workers*/) e
                      where e."offset" = t."offset" and e.is_by_admin and e.instrument_admin = t.instrument_admin)
  union all
  select x."offset", x.node_id, 'choice', 'transfer', v.view #>> '{allocation,transferLeg,sender}', null, '',
         v.view #>> '{allocation,transferLeg,receiver}', null, '', v.view #>> '{allocation,transferLeg,instrumentId,admin}',
         v.view #>> '{allocation,transferLeg,instrumentId,id}', (v.view #>> '{allocation,transferLeg,amount}')::numeric,
         v.view #>> '{allocation,transferLegId}',
         v.view #>> '{allocation,transferLeg,meta,values,splice.lfdecentralizedtrust.org/reason}'
    from (select * from exercises /*workers
           where choice_pk = any ((select :explore.token_choices('AllocationV1', 'Allocation', '{Allocation_ExecuteTransfer}'))::integer[]) offset 0
         workers*/) x
   cross join lateral (
           select a.view
             from (select contract_id, activated_offset, node_id from contract_states /*workers
                    where template_pk = any ((select :explore.token_templates('Allocation', 'Allocation'))::integer[]) offset 0 workers*/) l
            cross join lateral (
                    select y.view from :explore.token_view(l.activated_offset, l.node_id, 'Allocation', 'Allocation') y
                     where y.view #> '{allocation,transferLeg}' is not null
                    offset 0) a
            where l.contract_id = id_text(x.contract_id) and l.activated_offset <= x."offset"
            order by l.activated_offset desc limit 1) v
   where x.choice_pk = any ((select :explore.token_choices('AllocationV1', 'Allocation', '{Allocation_ExecuteTransfer}'))::integer[])
     and (after_offset is null or x."offset" > after_offset) and (to_offset is null or x."offset" <= to_offset)
     and not exists (select from (select * from :explore.token_events /*workers offset 0 workers*/) e
                      where e."offset" = x."offset" and e.is_by_admin
                        and e.instrument_admin = v.view #>> '{allocation,transferLeg,instrumentId,admin}');
end;
comment on function :explore.token_legs_between(bigint, bigint, boolean) is
  'Rows of token_legs after one offset and up to and including another. A null offset is no limit. is_range is false for a query that selects single offsets.';

create or replace view :explore.token_legs as
  select l."offset", l.node_id, l.basis, l.kind, l.sender, l.sender_provider, l.sender_account_id, l.receiver,
         l.receiver_provider, l.receiver_account_id, l.instrument_admin, l.instrument_id, l.amount, l.transfer_leg_id,
         l.reason collate "C" as reason
    from :explore.token_legs_between(null, null, false) l;
comment on view :explore.token_legs is
  'Movements according to the token standard: from the events of the instrument''s own admin (version 2), otherwise from completed transfers and executed allocations (version 1). Movements without an event or choice are only in token_transfers.';

create or replace function :explore.token_leg_kind(kind text, is_received boolean, is_sent boolean) returns text
  language sql immutable parallel safe
  return case when kind <> 'transfer' then kind when is_received and is_sent then null
              when is_received then 'received' else 'sent' end;
comment on function :explore.token_leg_kind(text, boolean, boolean) is
  'Kind of a leg for one of its accounts: received or sent for a transfer; null for a transfer from an account to itself.';

-- A change without a leg has its kind from the choices of its update, and from the holdings of other accounts in it. Without a
-- proof, tokens that left an account count as sent, because their receiver may not be visible. Proofs that tokens were burnt or
-- minted are: the kind of the transaction that the choice of the registry returns; or that the first event of the update contains
-- all holdings of the account, so that all its consequences are visible. Neither counts if another account of the same
-- instrument received or lost tokens. The holdings of other accounts are found by the primary key of exercises. In PL/pgSQL, so
-- that nothing is read for a change with a leg.
create or replace function :explore.token_change_cause(at_offset bigint, account_owner text, account_provider text, account_key text,
                                                       admin text, instrument text, moved_amount numeric, leg_kind text)
  returns table (kind text, other_owners text[])
  language plpgsql stable parallel safe rows 1
  set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  holding_templates integer[];
  seen record;
  is_lossy boolean := moved_amount < 0;
begin
  if leg_kind = 'own' and is_lossy then
    kind := 'fee';
    return next;
    return;
  end if;
  if moved_amount = 0 or coalesce(leg_kind, 'burn') not in ('burn', 'mint')
     or not exists (select from :storage.exercises x where x."offset" = at_offset) then
    return;
  end if;
  select n.kind into kind
    from (
      select case when h.choice in ('AmuletRules_BuyMemberTraffic', 'TransferFactory_Transfer') then 'traffic'
                  when h.choice = 'AmuletRules_Transfer' then 'reward' else 'fee' end as kind, x.node_id,
             x.argument::jsonb as argument, h.choice, w.acting_parties
        from :storage.exercises x
        join :storage.choices h on h.choice_pk = x.choice_pk
        join :storage.templates t on t.template_pk = h.template_pk
        left join :storage.packages p on p.package_id = t.package_id
        left join :storage.event_parties w on w.parties_pk = x.parties_pk
       where x."offset" = at_offset and instrument = 'Amulet'
         and h.choice in ('AmuletRules_BuyMemberTraffic', 'TransferFactory_Transfer', 'AmuletRules_Transfer',
                          'AmuletRules_CreateTransferPreapproval', 'AmuletRules_CreateExternalPartySetupProposal',
                          'TransferPreapproval_Renew')
         and coalesce(t.package_name, p.package_name) = 'splice-amulet') n
   where coalesce(n.argument ->> 'expectedDso', n.argument ->> 'expectedAdmin', admin) = admin
     and case n.choice
           when 'AmuletRules_BuyMemberTraffic' then is_lossy and n.argument ->> 'provider' = account_owner
           when 'TransferFactory_Transfer' then
             is_lossy and coalesce(n.argument #>> '{transfer,sender,owner}', n.argument #>> '{transfer,sender}') = account_owner
             and coalesce(n.argument #>> '{transfer,receiver,owner}', n.argument #>> '{transfer,receiver}')
                   like 'cip-%\_traffic-purchase::1220%'
           when 'AmuletRules_Transfer' then
             not is_lossy and n.argument #>> '{transfer,sender}' = account_owner
             and exists (select from jsonb_array_elements(:explore.json_list(n.argument #> '{transfer,inputs}')) i (input)
                          where i.input ->> 'tag' not in ('InputAmulet', 'ExtTransferInput'))
             and not exists (select from jsonb_array_elements(:explore.json_list(n.argument #> '{transfer,outputs}')) o (output)
                              where o.output ->> 'receiver' <> account_owner)
           else is_lossy and account_owner = any (n.acting_parties || array[n.argument ->> 'provider', n.argument ->> 'validator'])
         end
   order by n.node_id limit 1;
  if kind is not null or leg_kind is not null then
    return next;
    return;
  end if;
  holding_templates := :explore.token_templates('Holding', 'Holding');
  select min(a.first_node) filter (where a.is_own) as first_node, max(a.last_node) filter (where a.is_own) as last_node,
         bool_or(a.is_unread) as is_unread,
         array_agg(distinct a.owner collate "C") filter (where not a.is_own and a.moved * sign(moved_amount) < 0) as other_side,
         count(*) filter (where not a.is_own and a.moved * sign(moved_amount) > 0) as others_on_own_side
    into seen
    from (
      select e.owner, e.amount is null as is_unread,
             (e.owner, e.account_id) is not distinct from (account_owner, account_key)
               and e.provider is not distinct from account_provider as is_own,
             sum(e.amount) as moved, min(e.node_id) as first_node, max(e.node_id) as last_node
        from (
          select c.node_id, h.owner, h.provider, h.account_id, h.instrument_admin, h.instrument_id, h.amount
            from :storage.contracts c
            left join lateral :explore.token_holding(c."offset", c.node_id) h on true
           where c."offset" = at_offset and c.origin = 'c' and c.template_pk = any (holding_templates)
          union all
          select x.node_id, h.owner, h.provider, h.account_id, h.instrument_admin, h.instrument_id, - h.amount
            from :storage.exercises x
            left join lateral (
                   select s.activated_offset, s.node_id from :storage.contract_states s
                    where s.contract_id = :storage.id_text(x.contract_id) and s.activated_offset <= at_offset
                    order by s.activated_offset desc limit 1) l on true
            left join lateral :explore.token_holding(l.activated_offset, l.node_id) h on true
           where x."offset" = at_offset and x.consuming and x.template_pk = any (holding_templates)) e
       where e.amount is null or e.instrument_admin = admin and e.instrument_id = instrument
       group by e.owner, e.provider, e.account_id, e.amount is null) a;
  if seen.other_side is not null then
    if not seen.is_unread and seen.others_on_own_side = 0 then
      other_owners := seen.other_side;
    end if;
  elsif not seen.is_unread
        and exists (
          select from :storage.exercises x
           where x."offset" = at_offset and x.node_id <= seen.first_node and x.last_descendant_node_id >= seen.last_node
             and (x.result::jsonb #>> '{meta,values,splice.lfdecentralizedtrust.org/tx-kind}'
                    = any (case when is_lossy then '{burn,expire-dust}' else '{mint}' end::text[])
                  or x.node_id = 0
                  or x.node_id = 1 and exists (select from :storage.contracts c where c."offset" = at_offset and c.node_id = 0))) then
    kind := case when is_lossy then 'burn' else 'mint' end;
  end if;
  return next;
end
$$;
comment on function :explore.token_change_cause(bigint, text, text, text, text, text, numeric, text) is
  'Kind of a change of an account, if choices of the network or the holdings of the update determine it: traffic, reward, fee, burn or mint; otherwise null. leg_kind is null for a change without a leg, and own for a transfer from the account to itself. other_owners are the owners of the other side of a change without a leg, if there is only one side that lost or only one that received. No row if legs determine the kind, or if the update has no visible choice.';

create or replace function :explore.token_change_kind(events bigint, cause text, found_kind text, leg_kind text, moved numeric,
                                                      locked_in numeric, locked_out numeric, holdings_in bigint, holdings_out bigint)
  returns text
  language sql immutable parallel safe
  return case when events = 0 then cause
              when found_kind is not null then found_kind
              when leg_kind is not null then leg_kind
              when moved > 0 then 'received'
              when moved < 0 then 'sent'
              when locked_in > locked_out then 'lock'
              when locked_in < locked_out then 'unlock'
              when holdings_in < holdings_out then 'merge'
              when holdings_in > holdings_out then 'split'
              else 'change' end;
comment on function :explore.token_change_kind(bigint, text, text, text, numeric, numeric, numeric, bigint, bigint) is
  'Kind of a change of an account: from token_change_cause, otherwise from the legs of transfers, otherwise from the sums of the holdings.';

-- Legs and events are looked up for each change, so that few changes do not read the legs of all history.
create or replace function :explore.token_changes_by(party text)
  returns table ("offset" bigint, update_id text, effective_at timestamptz, record_time timestamptz, owner text, provider text,
                 account_id text, instrument_admin text, instrument_id text, kind text, amount_in numeric, amount_out numeric,
                 net numeric, locked_in numeric, locked_out numeric, holdings_in bigint, holdings_out bigint,
                 other_owners text[], reason text, basis text, moved numeric, explained numeric, unreadable_holdings bigint)
  language sql stable parallel safe rows 1000
begin atomic
  select g."offset", id_text(u.update_id), u.effective_at, u.record_time, g.owner, g.provider, g.account_id, g.instrument_admin,
         g.instrument_id,
         :explore.token_change_kind(g.events, g.cause, f.kind, w.kind, g.moved, g.locked_in, g.locked_out, g.holdings_in, g.holdings_out),
         g.amount_in, g.amount_out, g.amount_in - g.amount_out, g.locked_in, g.locked_out, g.holdings_in, g.holdings_out,
         coalesce(w.other_owners, f.other_owners), coalesce(w.reason, n.reason), coalesce(w.basis, case when n.events > 0 then 'event' else 'holdings' end),
         g.moved, coalesce(w.explained, 0), g.unreadable_holdings
    from (
      select q.*, sum(q.unreadable) over (partition by q."offset")::bigint as unreadable_holdings
        from (
          select e."offset", e.standard is not null as is_read, e.owner, e.provider, e.account_id, e.instrument_admin,
                 e.instrument_id, count(*) filter (where e.standard is null) as unreadable,
                 coalesce(sum(e.amount) filter (where e.sign > 0), 0) as amount_in,
                 coalesce(sum(e.amount) filter (where e.sign < 0), 0) as amount_out,
                 coalesce(sum(e.amount) filter (where e.sign > 0 and e.is_locked), 0) as locked_in,
                 coalesce(sum(e.amount) filter (where e.sign < 0 and e.is_locked), 0) as locked_out,
                 count(*) filter (where e.sign > 0) as holdings_in, count(*) filter (where e.sign < 0) as holdings_out,
                 coalesce(sum(e.sign * e.amount) filter (where e.cause in ('created', 'archived')), 0) as moved,
                 count(*) filter (where e.cause in ('created', 'archived')) as events,
                 max(e.cause) filter (where e.cause not in ('created', 'archived')) as cause
            from :explore.token_holding_events_of(party) e
           group by e."offset", e.standard is not null, e.owner, e.provider, e.account_id, e.instrument_admin,
                    e.instrument_id) q) g
    left join (select * from updates /*workers
                where "offset" = any (array(select d."offset" from :explore.token_holding_events_of(party) d)) offset 0 workers*/) u
           on u."offset" = g."offset"
    left join lateral (
           select count(*) as legs,
                  sum(case when l.is_received then l.amount else 0 end - case when l.is_sent then l.amount else 0 end) as explained,
                  case when count(distinct l.own_kind) > 1 then 'several' else max(l.own_kind) end as kind,
                  array_agg(distinct l.other_owner collate "C") filter (where l.other_owner is not null) as other_owners,
                  string_agg(distinct l.reason collate "C", '; ') as reason, max(l.basis) as basis
             from (
               select l.*, :explore.token_leg_kind(l.kind, l.is_received, l.is_sent) as own_kind from (
               select s.amount, s.kind, s.reason, s.basis,
                      (s.receiver, s.receiver_account_id) is not distinct from (g.owner, g.account_id)
                        and s.receiver_provider is not distinct from g.provider as is_received,
                      (s.sender, s.sender_account_id) is not distinct from (g.owner, g.account_id)
                        and s.sender_provider is not distinct from g.provider as is_sent,
                      case when s.sender is not distinct from g.owner then s.receiver else s.sender end as other_owner
                 from (select * from :explore.token_legs /*workers offset 0 workers*/) s
                where s."offset" = g."offset" and s.instrument_admin = g.instrument_admin
                  and s.instrument_id = g.instrument_id) l) l
            where l.is_received or l.is_sent) w on g.events > 0
    left join lateral (
           select count(*) as events, string_agg(distinct e.reason collate "C", '; ') as reason
             from (select * from :explore.token_events /*workers offset 0 workers*/) e
            where e."offset" = g."offset" and e.is_by_admin and e.instrument_admin = g.instrument_admin
              and e.owner is not distinct from g.owner and e.account_id = g.account_id
              and e.provider is not distinct from g.provider) n on g.events > 0
    left join lateral :explore.token_change_cause(g."offset", g.owner, g.provider, g.account_id, g.instrument_admin, g.instrument_id,
                                                  case when g.events > 0 then g.moved else 0 end,
                                                  case when w.legs > 0 then coalesce(w.kind, 'own') end) f on true
   where g.is_read;
end;
comment on function :explore.token_changes_by(text) is
  'Rows of token_changes of one owner, or of all owners with null, computed from token_holding_events_of and the history. An owner has to be a stakeholder of the holdings.';

-- A stored change has all holdings of the owner, and counts all holdings that cannot be read.
create or replace function :explore.token_changes_are_stored(party text) returns boolean
  language plpgsql stable parallel safe
  set search_path = pg_catalog, pg_temp
as $$
begin
  if :explore.projected_ranges('token_changes') is null or :explore.projected_ranges('token_holding_events') is null then
    return false;
  end if;
  return party is not null
    and not exists (select from :storage.projected_token_holding_events e where e.owner = party and not e.owner_is_stakeholder)
    and not exists (select from :storage.projected_token_changes c where c.owner = party and c.unreadable_holdings > 0)
    and not exists (select from :pqs.__rows_in_gaps(cast(null as :storage.projected_token_holding_events), 'token_holding_events', null, null) u
                     where u.standard is null or u.owner = party and not u.owner_is_stakeholder);
end
$$;
comment on function :explore.token_changes_are_stored(text) is
  'Whether the rows of token_changes of an owner are those of view token_changes: the projection is used, the owner is a stakeholder of all its holdings, and all holdings of its updates can be read.';

create or replace function :explore.token_changes_of(party text)
  returns table ("offset" bigint, update_id text, effective_at timestamptz, record_time timestamptz, owner text, provider text,
                 account_id text, instrument_admin text, instrument_id text, kind text, amount_in numeric, amount_out numeric,
                 net numeric, locked_in numeric, locked_out numeric, holdings_in bigint, holdings_out bigint,
                 other_owners text[], reason text, basis text, moved numeric, explained numeric, unreadable_holdings bigint)
  language sql stable parallel safe rows 1000
begin atomic
  select p.*
    from projected_token_changes p
   where p.owner = party and (select :explore.token_changes_are_stored(party))
     and not ((select :pqs.__offsets_without('token_changes')) @> p."offset")
     -- Checks the party, also if it has no rows.
     and (select :explore.known_party(party)) is not null
  union all
  select u.*
    from :pqs.__rows_in_gaps(null::projected_token_changes, 'token_changes', null, null) u
   where u.owner = party and (select :explore.token_changes_are_stored(party))
  union all
  select c.* from :explore.token_changes_by(party) c where not (select :explore.token_changes_are_stored(party));
end;
comment on function :explore.token_changes_of(text) is
  'Rows of token_changes of one owner, or of all owners with null. An owner has to be a stakeholder of the holdings.';

-- For ranges: sums, legs and events are read once and grouped by account, which is faster than to look up legs and events for
-- each change. A join could become a comparison of every change with every leg, because the planner has no estimates of them.
create or replace function :explore.token_changes_between(after_offset bigint, to_offset bigint)
  returns table ("offset" bigint, update_id text, effective_at timestamptz, record_time timestamptz, owner text, provider text,
                 account_id text, instrument_admin text, instrument_id text, kind text, amount_in numeric, amount_out numeric,
                 net numeric, locked_in numeric, locked_out numeric, holdings_in bigint, holdings_out bigint,
                 other_owners text[], reason text, basis text, moved numeric, explained numeric, unreadable_holdings bigint)
  language sql stable parallel safe rows 1000
begin atomic
  select g."offset", id_text(u.update_id), u.effective_at, u.record_time, g.owner, g.provider, g.account_id, g.instrument_admin,
         g.instrument_id,
         :explore.token_change_kind(g.events, g.cause, f.kind, l.kind, g.moved, g.locked_in, g.locked_out, g.holdings_in, g.holdings_out),
         g.amount_in, g.amount_out, g.amount_in - g.amount_out, g.locked_in, g.locked_out, g.holdings_in, g.holdings_out,
         coalesce(l.other_owners, f.other_owners), case when g.events > 0 then coalesce(l.reason, g.logged_reason) end,
         coalesce(l.basis, case when g.events > 0 and g.logged > 0 then 'event' else 'holdings' end),
         g.moved, coalesce(l.explained, 0), g.unreadable_holdings
    from (
      select a.*,
             -- An event names the account, but not always the instrument.
             max(a.own_logged) over account as logged, max(a.own_logged_reason) over account as logged_reason,
             sum(a.unreadable) over (partition by a."offset")::bigint as unreadable_holdings
        from (
          select x."offset", x.instrument_admin, x.instrument_id, x.owner, x.provider, x.account_id,
                 count(*) filter (where x.source = 'unreadable') as unreadable,
                 bool_or(x.source in ('in', 'out')) as is_changed,
                 coalesce(sum(x.amount) filter (where x.source = 'in'), 0) as amount_in,
                 - coalesce(sum(x.amount) filter (where x.source = 'out'), 0) as amount_out,
                 coalesce(sum(x.amount) filter (where x.source = 'in' and x.is_locked), 0) as locked_in,
                 - coalesce(sum(x.amount) filter (where x.source = 'out' and x.is_locked), 0) as locked_out,
                 count(*) filter (where x.source = 'in') as holdings_in, count(*) filter (where x.source = 'out') as holdings_out,
                 coalesce(sum(x.amount) filter (where x.cause in ('created', 'archived')), 0) as moved,
                 count(*) filter (where x.cause in ('created', 'archived')) as events,
                 max(x.cause) filter (where x.cause not in ('created', 'archived')) as cause,
                 count(*) filter (where x.source = 'leg') as legs, sum(x.amount) filter (where x.source = 'leg') as explained,
                 case when count(distinct x.kind) > 1 then 'several' else max(x.kind) end as kind,
                 array_agg(distinct x.other_owner collate "C") filter (where x.other_owner is not null) as other_owners,
                 string_agg(distinct x.reason collate "C", '; ') filter (where x.source = 'leg') as reason, max(x.basis) as basis,
                 count(*) filter (where x.source = 'event') as own_logged,
                 string_agg(distinct x.reason collate "C", '; ') filter (where x.source = 'event') as own_logged_reason
            from (
              select case when h.standard is null then 'unreadable'
                          when h.cause in ('created', 'assigned', 'seeded', 'retained') then 'in' else 'out' end as source,
                     h."offset", h.instrument_admin, h.instrument_id, h.owner, h.provider, h.account_id, h.amount,
                     h.is_locked, case when h.standard is not null then h.cause end as cause, null as kind, null as other_owner,
                     null as reason, null as basis
                from :explore.token_holding_events_in(after_offset, to_offset) h
              union all
              select 'leg', l."offset", l.instrument_admin, l.instrument_id, y.owner, y.provider, y.account_id,
                     case when y.is_received then l.amount else 0 end - case when y.is_sent then l.amount else 0 end,
                     null, null, :explore.token_leg_kind(l.kind, y.is_received, y.is_sent), y.other_owner, l.reason, l.basis
                from :explore.token_legs_between(after_offset, to_offset) l
               -- A leg from an account to itself is one leg of this account.
               cross join lateral (
                       select l.receiver as owner, l.receiver_provider as provider, l.receiver_account_id as account_id,
                              true as is_received, z.is_same as is_sent,
                              case when l.sender is not distinct from l.receiver then l.receiver else l.sender end as other_owner
                         from (select (l.sender, l.sender_provider, l.sender_account_id)
                                        is not distinct from (l.receiver, l.receiver_provider, l.receiver_account_id) as is_same) z
                       union all
                       select l.sender, l.sender_provider, l.sender_account_id, false, true, l.receiver
                        where (l.sender, l.sender_provider, l.sender_account_id)
                                is distinct from (l.receiver, l.receiver_provider, l.receiver_account_id)) y
               where l.instrument_admin is not null and l.instrument_id is not null
              union all
              select 'event', e."offset", e.instrument_admin, null, e.owner, e.provider, e.account_id, null, null, null, null,
                     null, e.reason, null
                from :explore.token_events e
               where e.is_by_admin
                 and (after_offset is null or e."offset" > after_offset) and (to_offset is null or e."offset" <= to_offset)) x
           group by x."offset", x.instrument_admin, x.instrument_id, x.owner, x.provider, x.account_id) a
      window account as (partition by a."offset", a.instrument_admin, a.owner, a.provider, a.account_id)) g
   cross join lateral (
           select case when g.events > 0 then g.legs end as legs, case when g.events > 0 then g.kind end as kind,
                  case when g.events > 0 and g.legs > 0 then g.explained end as explained,
                  case when g.events > 0 then g.other_owners end as other_owners,
                  case when g.events > 0 then g.reason end as reason, case when g.events > 0 then g.basis end as basis) l
    left join (select * from updates
               where (after_offset is null or "offset" > after_offset) and (to_offset is null or "offset" <= to_offset)) u
           on u."offset" = g."offset"
    left join lateral :explore.token_change_cause(g."offset", g.owner, g.provider, g.account_id, g.instrument_admin, g.instrument_id,
                                                  case when g.events > 0 then g.moved else 0 end,
                                                  case when l.legs > 0 then coalesce(l.kind, 'own') end) f on true
   where g.is_changed;
end;
comment on function :explore.token_changes_between(bigint, bigint) is
  'Rows of token_changes after one offset and up to and including another, computed from token_holding_events, token_transfer_steps and the history. A null offset is no limit.';

create or replace view :explore.token_changes as
  select p.*
    from projected_token_changes p
   where not ((select :pqs.__offsets_without('token_changes')) @> p."offset")
  union all
  select u.* from :pqs.__rows_in_gaps(null::projected_token_changes, 'token_changes', null, null) u
  union all
  select c.* from :explore.token_changes_by(null) c where (select :explore.projected_ranges('token_changes')) is null;
comment on view :explore.token_changes is
  'Changes of each account and instrument by update, from the holdings that appeared and disappeared. Complete for movements by any choice, so the sum of net up to an offset is the balance at that offset. explained is the amount that the token standard reports for the change. It differs from moved if the standard reports no or another amount, or if unreadable_holdings is not 0. Holdings of the seed have kind seeded, holdings older than pruned history kind retained. Needs an interface Holding in the filter.';

-- A range of the view. The view itself computes all gaps, even if a query selects one offset.
create or replace function :explore.token_changes_in(after_offset bigint, to_offset bigint)
  returns table ("offset" bigint, update_id text, effective_at timestamptz, record_time timestamptz, owner text, provider text,
                 account_id text, instrument_admin text, instrument_id text, kind text, amount_in numeric, amount_out numeric,
                 net numeric, locked_in numeric, locked_out numeric, holdings_in bigint, holdings_out bigint,
                 other_owners text[], reason text, basis text, moved numeric, explained numeric, unreadable_holdings bigint)
  language sql stable parallel safe rows 1000
begin atomic
  select p.*
    from projected_token_changes p
   where not ((select :pqs.__offsets_without('token_changes')) @> p."offset")
     and (after_offset is null or p."offset" > after_offset) and (to_offset is null or p."offset" <= to_offset)
  union all
  select u.* from :pqs.__rows_in_gaps(null::projected_token_changes, 'token_changes', after_offset, to_offset) u
  union all
  select c.*
    from :explore.token_changes_by(null) c
   where (select :explore.projected_ranges('token_changes')) is null
     and (after_offset is null or c."offset" > after_offset) and (to_offset is null or c."offset" <= to_offset);
end;
comment on function :explore.token_changes_in(bigint, bigint) is
  'Rows of token_changes after one offset and up to and including another. A null offset is no limit.';


-- Schemas of earlier versions have a function of this name with other parameters.
drop function if exists :explore.token_change_kind(bigint, text, bigint, text, numeric, numeric, numeric, bigint, bigint);
