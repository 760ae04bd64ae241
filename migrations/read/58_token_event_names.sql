-- Events with names: what a change means for a transfer, an allocation or a holding. Clients of /changes and webhooks
-- receive them. They are computed from the history of a range of offsets and never read from a projection, so that they do
-- not depend on the progress of projections. A reader receives what follows from the rows that it may see.
-- A name belongs to the change of the contract that it concerns: the create of an instruction begins a transfer, and an
-- exercise on the instruction, or its archive, ends it. So names have the order of the events of their contract.

-- In PL/pgSQL, so that the offsets are constants for the planner.
create or replace function :explore.token_transfer_names(after_offset bigint, to_offset bigint)
  returns table ("offset" bigint, node_id integer, event text, standard text, owner text, sender text, sender_provider text,
                 sender_account_id text, receiver text, receiver_provider text, receiver_account_id text, instrument_admin text,
                 instrument_id text, amount numeric, transfer_leg_id text, deadline timestamptz, reason text)
  language plpgsql stable parallel restricted rows 100
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_custom_plan
  set jit = off
as $$
#variable_conflict use_column
declare
  instructions integer[] := :explore.token_templates('TransferInstruction', 'TransferInstruction');
  steps integer[] := :explore.token_step_choices('V1') || :explore.token_step_choices('V2');
begin
  return query
    select r."offset", r.node_id,
           'transfer.' || case when not r.is_end then 'pending' when r.ended_at >= p.deadline then 'expired' else 'ended' end,
           v.standard, null::text, p.sender, v.view #>> '{transfer,sender,provider}', v.view #>> '{transfer,sender,id}', p.receiver,
           v.view #>> '{transfer,receiver,provider}', v.view #>> '{transfer,receiver,id}',
           v.view #>> '{transfer,instrumentId,admin}', v.view #>> '{transfer,instrumentId,id}',
           (v.view #>> '{transfer,amount}')::numeric, null::text, p.deadline,
           v.view #>> '{transfer,meta,values,splice.lfdecentralizedtrust.org/reason}'
      from (
        select c."offset", c.node_id, false as is_end, null::timestamptz as ended_at, c."offset" as created_at_offset,
               c.node_id as created_node_id
          from :storage.contracts c
         where c."offset" > after_offset and c."offset" <= to_offset and c.origin = 'c'
           and array_position(instructions, c.template_pk) is not null
        union all
        select e.ended_offset, e.ended_node_id, true, e.ended_at, e."offset", e.node_id
          from :storage.ended e
         where e.ended_offset > after_offset and e.ended_offset <= to_offset and e.ended_by = 'a'
           and array_position(instructions, e.template_pk) is not null
           and not exists (select from :storage.exercises x
                            where x."offset" = e.ended_offset and x.contract_id = e.contract_id and x.choice_pk = any (steps)
                              and x.node_id <= e.ended_node_id and x.last_descendant_node_id >= e.ended_node_id)) r
     cross join lateral :explore.token_view(r.created_at_offset, r.created_node_id, 'TransferInstruction', 'TransferInstruction') v
     cross join lateral (
             select coalesce(v.view #>> '{transfer,sender,owner}', case v.standard when 'V1' then v.view #>> '{transfer,sender}' end) as sender,
                    coalesce(v.view #>> '{transfer,receiver,owner}', case v.standard when 'V1' then v.view #>> '{transfer,receiver}' end) as receiver,
                    least((v.view #>> '{transfer,executeBefore}')::timestamptz, (v.view ->> 'expiresAt')::timestamptz) as deadline) p;
  if cardinality(steps) > 0 then
    return query
      select t."offset", t.node_id, 'transfer.' || n.name, t.standard, null::text, t.sender, t.sender_provider,
             t.sender_account_id, t.receiver, t.receiver_provider, t.receiver_account_id, t.instrument_admin, t.instrument_id,
             t.amount, null::text, t.execute_before, t.reason
        from :explore.token_transfer_steps_between(after_offset, to_offset) t
       cross join lateral (
               select case when t.outcome = 'pending' then null
                           when t.choice = 'TransferInstruction_Reject' then 'rejected'
                           when t.choice = 'TransferInstruction_Withdraw' then 'withdrawn'
                           when t.choice = 'TransferInstruction_Accept' and coalesce(t.outcome, 'completed') = 'completed' then 'accepted'
                           when t.choice <> 'TransferFactory_Transfer' and t.outcome = 'failed' then 'ended'
                           -- A burn has a name of its own. An owner that merges or splits its holdings makes no payment.
                           when t.outcome = 'completed' and not coalesce(t.receiver_holding_ids = '{}' and t.amount_burnt is not null, false)
                                and (t.sender, t.sender_account_id, coalesce(t.sender_provider, ''))
                                      is distinct from (t.receiver, t.receiver_account_id, coalesce(t.receiver_provider, ''))
                             then 'completed' end as name) n
       where n.name is not null;
  end if;
end
$$;
comment on function :explore.token_transfer_names(bigint, bigint) is
  'Rows of token_event_names whose event begins with transfer.';

create or replace function :explore.token_allocation_names(after_offset bigint, to_offset bigint)
  returns table ("offset" bigint, node_id integer, event text, standard text, owner text, sender text, sender_provider text,
                 sender_account_id text, receiver text, receiver_provider text, receiver_account_id text, instrument_admin text,
                 instrument_id text, amount numeric, transfer_leg_id text, deadline timestamptz, reason text)
  language plpgsql stable parallel restricted rows 100
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_custom_plan
  set jit = off
as $$
#variable_conflict use_column
declare
  allocated integer[] := :explore.token_templates('Allocation', 'Allocation');
  endings integer[] :=
    :explore.token_choices('AllocationV1', 'Allocation', '{Allocation_ExecuteTransfer,Allocation_Cancel,Allocation_Withdraw}')
    || :explore.token_choices('AllocationV2', 'Allocation', '{Allocation_Settle,Allocation_Cancel,Allocation_Withdraw}');
begin
  return query
    select r."offset", r.node_id,
           'allocation.' || coalesce(r.name, case when r.ended_at >= d.deadline then 'expired' else 'ended' end),
           v.standard, null::text, y.sender ->> 'owner', y.sender ->> 'provider', y.sender ->> 'id', y.receiver ->> 'owner',
           y.receiver ->> 'provider', y.receiver ->> 'id',
           coalesce(v.view #>> '{allocation,transferLeg,instrumentId,admin}', v.view #>> '{allocation,admin}'),
           coalesce(v.view #>> '{allocation,transferLeg,instrumentId,id}', g.leg ->> 'instrumentId'),
           coalesce(v.view #>> '{allocation,transferLeg,amount}', g.leg ->> 'amount')::numeric,
           coalesce(v.view #>> '{allocation,transferLegId}', g.leg ->> 'transferLegId'), d.deadline,
           coalesce(v.view #>> '{allocation,transferLeg,meta,values,splice.lfdecentralizedtrust.org/reason}',
                    g.leg #>> '{meta,values,splice.lfdecentralizedtrust.org/reason}')
      from (
        select c."offset", c.node_id, 'pending' as name, null::timestamptz as ended_at, c."offset" as created_at_offset,
               c.node_id as created_node_id
          from :storage.contracts c
         where c."offset" > after_offset and c."offset" <= to_offset and c.origin = 'c'
           and array_position(allocated, c.template_pk) is not null
        union all
        select x."offset", x.node_id,
               case h.choice when 'Allocation_Cancel' then 'cancelled' when 'Allocation_Withdraw' then 'withdrawn' else 'settled' end,
               null, l.activated_offset, l.node_id
          from :storage.exercises x
          join :storage.choices h on h.choice_pk = x.choice_pk
          left join lateral (
                 select s.activated_offset, s.node_id from :storage.contract_states s
                  where s.contract_id = :storage.id_text(x.contract_id) and s.activated_offset <= x."offset"
                  order by s.activated_offset desc limit 1) l on true
         where x."offset" > after_offset and x."offset" <= to_offset and array_position(endings, x.choice_pk) is not null
           -- Registries that support both versions exercise the choice of one version inside the choice of the other.
           and not exists (select from :storage.exercises o
                            where o."offset" = x."offset" and o.contract_id = x.contract_id and o.choice_pk = any (endings)
                              and o.node_id < x.node_id and o.last_descendant_node_id >= x.node_id)
        union all
        select e.ended_offset, e.ended_node_id, null, e.ended_at, e."offset", e.node_id
          from :storage.ended e
         where e.ended_offset > after_offset and e.ended_offset <= to_offset and e.ended_by = 'a'
           and array_position(allocated, e.template_pk) is not null
           and not exists (select from :storage.exercises x
                            where x."offset" = e.ended_offset and x.contract_id = e.contract_id and x.choice_pk = any (endings)
                              and x.node_id <= e.ended_node_id and x.last_descendant_node_id >= e.ended_node_id)) r
      left join lateral :explore.token_view(r.created_at_offset, r.created_node_id, 'Allocation', 'Allocation') v on true
     cross join lateral (
             select least((v.view #>> '{allocation,settlement,settleBefore}')::timestamptz,
                          (v.view #>> '{allocation,settlementDeadline}')::timestamptz, (v.view ->> 'expiresAt')::timestamptz) as deadline) d
      left join lateral jsonb_array_elements(
             case jsonb_typeof(v.view #> '{allocation,transferLegSides}') when 'array' then v.view #> '{allocation,transferLegSides}' end)
             g (leg) on true
     cross join lateral (
             select case when g.leg is null then jsonb_build_object('owner', v.view #> '{allocation,transferLeg,sender}')
                         when g.leg ->> 'side' = 'SenderSide' then v.view #> '{allocation,authorizer}' else g.leg -> 'otherside' end as sender,
                    case when g.leg is null then jsonb_build_object('owner', v.view #> '{allocation,transferLeg,receiver}')
                         when g.leg ->> 'side' = 'ReceiverSide' then v.view #> '{allocation,authorizer}' else g.leg -> 'otherside' end as receiver) y
     where v.view is not null or r.name <> 'pending';
end
$$;
comment on function :explore.token_allocation_names(bigint, bigint) is
  'Rows of token_event_names whose event begins with allocation. An allocation with several legs has one row per leg.';

create or replace function :explore.token_lock_names(after_offset bigint, to_offset bigint)
  returns table ("offset" bigint, node_id integer, event text, standard text, owner text, sender text, sender_provider text,
                 sender_account_id text, receiver text, receiver_provider text, receiver_account_id text, instrument_admin text,
                 instrument_id text, amount numeric, transfer_leg_id text, deadline timestamptz, reason text)
  language plpgsql stable parallel restricted rows 100
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_custom_plan
  set jit = off
as $$
#variable_conflict use_column
declare
  holdings integer[] := :explore.token_templates('Holding', 'Holding');
begin
  -- Planning takes longer than to find out that no holding of the range appeared or disappeared.
  if exists (select from :storage.contracts c
              where c."offset" > after_offset and c."offset" <= to_offset and array_position(holdings, c.template_pk) is not null)
     or exists (select from :storage.ended e
                 where e.ended_offset > after_offset and e.ended_offset <= to_offset
                   and array_position(holdings, e.template_pk) is not null) then
    return query
      select h."offset", h.node_id, case h.cause when 'created' then 'holding.locked' else 'holding.unlocked' end, h.standard,
             h.owner, null::text, null::text, null::text, null::text, null::text, null::text, h.instrument_admin, h.instrument_id,
             abs(h.amount), null::text, null::timestamptz, null::text
        from :explore.token_holding_events_between(after_offset, to_offset) h
       where h.is_locked and h.cause in ('created', 'archived') and h.node_id is not null;
  end if;
end
$$;
comment on function :explore.token_lock_names(bigint, bigint) is
  'Rows of token_event_names whose event begins with holding.';

create or replace function :explore.token_supply_names(after_offset bigint, to_offset bigint)
  returns table ("offset" bigint, node_id integer, event text, standard text, owner text, sender text, sender_provider text,
                 sender_account_id text, receiver text, receiver_provider text, receiver_account_id text, instrument_admin text,
                 instrument_id text, amount numeric, transfer_leg_id text, deadline timestamptz, reason text)
  language plpgsql stable parallel restricted rows 100
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_custom_plan
  set jit = off
as $$
#variable_conflict use_column
declare
  holdings integer[] := :explore.token_templates('Holding', 'Holding');
  movements integer[] :=
    :explore.token_step_choices('V1') || :explore.token_step_choices('V2')
    || :explore.token_choices('TransferEventsV2', 'EventLog', '{EventLog_HoldingsChange}');
  projections_before text := coalesce(current_setting('ledger_indexer.projections', true), '');
begin
  if exists (select from :storage.contracts c
              where c."offset" > after_offset and c."offset" <= to_offset and array_position(holdings, c.template_pk) is not null)
     or exists (select from :storage.ended e
                 where e.ended_offset > after_offset and e.ended_offset <= to_offset
                   and array_position(holdings, e.template_pk) is not null)
     or exists (select from :storage.exercises x
                 where x."offset" > after_offset and x."offset" <= to_offset
                   and array_position(movements, x.choice_pk) is not null) then
    -- Only superusers may attach this setting to a function.
    perform set_config('ledger_indexer.projections', 'off', true);
    return query
      with h as materialized (
        select * from :explore.token_holding_events_between(after_offset, to_offset) e
         where e.standard is not null and e.cause in ('created', 'archived'))
      select t."offset", coalesce(t.node_id, n.node_id), t.kind, null::text, null::text, t.sender, t.sender_provider,
             t.sender_account_id, t.receiver, t.receiver_provider, t.receiver_account_id, t.instrument_admin, t.instrument_id,
             t.amount, t.transfer_leg_id, null::timestamptz, t.reason
        from :explore.token_transfers_between(after_offset, to_offset) t
        -- A movement that only the holdings show is an event of the first of these holdings.
        left join lateral (
               select min(h.node_id) as node_id from h
                where h."offset" = t."offset" and h.instrument_admin = t.instrument_admin and h.instrument_id = t.instrument_id
                  and h.cause = case t.kind when 'mint' then 'created' else 'archived' end
                  and h.owner is not distinct from case t.kind when 'mint' then t.receiver else t.sender end
                  and h.provider is not distinct from case t.kind when 'mint' then t.receiver_provider else t.sender_provider end
                  and h.account_id = case t.kind when 'mint' then t.receiver_account_id else t.sender_account_id end) n
               on t.node_id is null
       where t.kind in ('mint', 'burn') and coalesce(t.node_id, n.node_id) is not null;
    perform set_config('ledger_indexer.projections', projections_before, true);
  end if;
end
$$;
comment on function :explore.token_supply_names(bigint, bigint) is
  'Rows of token_event_names whose event is mint or burn: the rows of token_transfers of these kinds.';

create or replace function :explore.token_event_names(after_offset bigint, to_offset bigint)
  returns table ("offset" bigint, node_id integer, event text, standard text, owner text, sender text, sender_provider text,
                 sender_account_id text, receiver text, receiver_provider text, receiver_account_id text, instrument_admin text,
                 instrument_id text, amount numeric, transfer_leg_id text, deadline timestamptz, reason text)
  language sql stable parallel restricted rows 100
begin atomic
  select * from :explore.token_transfer_names(after_offset, to_offset)
  union all
  select * from :explore.token_allocation_names(after_offset, to_offset)
  union all
  select * from :explore.token_supply_names(after_offset, to_offset)
  union all
  select * from :explore.token_lock_names(after_offset, to_offset);
end;
comment on function :explore.token_event_names(bigint, bigint) is
  'Names of token events after one offset and up to and including another, as clients of /changes receive them: transfer.pending, accepted, completed, rejected, withdrawn, expired or ended; allocation.pending, settled, cancelled, withdrawn, expired or ended; mint, burn, holding.locked and holding.unlocked. Each row belongs to the row of events with its offset and node_id; an event can have several rows. expired is archived after the deadline. Never reads projections. Needs the interfaces of the token standard in the filter and the shape LEDGER_EFFECTS.';
