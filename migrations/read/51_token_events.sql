-- Movements as the token standard reports them: the events of version 2, and the steps of transfers of both versions.

-- Any party can create a contract with an event log. An event counts only if the admin of the instrument logged it.
create or replace view :explore.token_events as
  select e."offset", e.node_id, id_text(u.update_id) as update_id, u.effective_at, u.record_time,
         e.argument::jsonb #>> '{account,owner}' as owner, e.argument::jsonb #>> '{account,provider}' as provider,
         coalesce(e.argument::jsonb #>> '{account,id}', '') as account_id, e.argument::jsonb ->> 'admin' as instrument_admin,
         l.leg ->> 'instrumentId' as instrument_id, (l.leg ->> 'amount')::numeric as amount,
         case l.leg ->> 'side' when 'SenderSide' then 'sender' when 'ReceiverSide' then 'receiver' end as side,
         l.leg #>> '{otherside,owner}' as other_owner, l.leg #>> '{otherside,provider}' as other_provider,
         l.leg #>> '{otherside,id}' as other_account_id, l.leg ->> 'transferLegId' as transfer_leg_id,
         coalesce(l.leg #>> '{meta,values,splice.lfdecentralizedtrust.org/reason}',
                  e.argument::jsonb #>> '{extraArgs,meta,values,splice.lfdecentralizedtrust.org/reason}') as reason,
         :explore.texts(e.argument::jsonb -> 'inputHoldingCids') as input_holding_ids,
         :explore.texts(e.argument::jsonb -> 'outputHoldingCids') as output_holding_ids,
         coalesce(l.leg #> '{meta,values}', e.argument::jsonb #> '{extraArgs,meta,values}') as meta,
         coalesce(e.argument::jsonb ->> 'admin' = any (w.acting_parties), false) as is_by_admin, l.ordinality as leg
    from exercises e
    left join event_parties w on w.parties_pk = e.parties_pk
    left join updates u on u."offset" = e."offset"
    left join lateral jsonb_array_elements(
           case jsonb_typeof(e.argument::jsonb -> 'transferLegSides') when 'array' then e.argument::jsonb -> 'transferLegSides' end)
           with ordinality l (leg, ordinality) on true
   where e.choice_pk = any ((select :explore.token_choices('TransferEventsV2', 'EventLog', '{EventLog_HoldingsChange}'))::integer[])
     /*alone*/and array_position((select :explore.token_choices('TransferEventsV2', 'EventLog', '{EventLog_HoldingsChange}')),
                        e.choice_pk) is not null/*alone*/;
comment on view :explore.token_events is
  'Changes of holdings as version 2 of the token standard logs them: one row per leg of a transfer in which an account took part, or one row without a leg (a lock, a merge). Trust only rows with is_by_admin. Needs the shape LEDGER_EFFECTS.';

-- The transfer is in the argument if a factory starts it, and in the view of the instruction if it continues or ends.
-- Registries that support both versions exercise the choice of one version inside the choice of the other; only the
-- outer choice is returned. "offset 0" makes Postgres find the contract before its view: without statistics, the
-- planner would begin with the views.
create or replace function :explore.token_transfer_steps_between(after_offset bigint, to_offset bigint)
  returns table ("offset" bigint, node_id integer, update_id text, effective_at timestamptz, record_time timestamptz, choice text,
                 standard text, outcome text, sender text, sender_provider text, sender_account_id text, receiver text,
                 receiver_provider text, receiver_account_id text, instrument_admin text, instrument_id text, amount numeric,
                 transfer_instruction_id text, receiver_holding_ids text[], sender_change_ids text[], requested_at timestamptz,
                 execute_before timestamptz, reason text, meta jsonb, acting_parties text[], amount_burnt numeric)
  language sql stable parallel safe rows 1000
begin atomic
  select e."offset", e.node_id, id_text(u.update_id) as update_id, u.effective_at, u.record_time, h.choice,
         case when e.choice_pk = any ((select :explore.token_step_choices('V2'))::integer[]) then 'V2' else 'V1' end as standard,
         lower(split_part(e.result::jsonb #>> '{output,tag}', '_', 2)) as outcome,
         coalesce(m.transfer #>> '{sender,owner}', case jsonb_typeof(m.transfer -> 'sender') when 'string' then m.transfer ->> 'sender' end,
                  e.result::jsonb #>> '{meta,values,splice.lfdecentralizedtrust.org/sender}') as sender,
         m.transfer #>> '{sender,provider}' as sender_provider, coalesce(m.transfer #>> '{sender,id}', '') as sender_account_id,
         coalesce(m.transfer #>> '{receiver,owner}', case jsonb_typeof(m.transfer -> 'receiver') when 'string' then m.transfer ->> 'receiver' end,
                  e.result::jsonb #>> '{meta,values,splice.lfdecentralizedtrust.org/receiver}') as receiver,
         m.transfer #>> '{receiver,provider}' as receiver_provider,
         coalesce(m.transfer #>> '{receiver,id}', '') as receiver_account_id,
         m.transfer #>> '{instrumentId,admin}' as instrument_admin, m.transfer #>> '{instrumentId,id}' as instrument_id,
         (m.transfer ->> 'amount')::numeric as amount,
         case when h.choice = 'TransferFactory_Transfer' then e.result::jsonb #>> '{output,value,transferInstructionCid}'
              else id_text(e.contract_id) end as transfer_instruction_id,
         :explore.texts(e.result::jsonb #> '{output,value,receiverHoldingCids}') as receiver_holding_ids,
         :explore.texts(e.result::jsonb -> 'senderChangeCids') as sender_change_ids,
         (m.transfer ->> 'requestedAt')::timestamptz as requested_at,
         (m.transfer ->> 'executeBefore')::timestamptz as execute_before,
         coalesce(m.transfer #>> '{meta,values,splice.lfdecentralizedtrust.org/reason}',
                  e.result::jsonb #>> '{meta,values,splice.lfdecentralizedtrust.org/reason}') as reason,
         m.transfer #> '{meta,values}' as meta, w.acting_parties,
         substring(e.result::jsonb #>> '{meta,values,splice.lfdecentralizedtrust.org/burned}' from '^\d+(?:\.\d+)?$')::numeric
           as amount_burnt
    from choices h
    join (select * from exercises /*workers
           where choice_pk = any ((select :explore.token_step_choices('V1') || :explore.token_step_choices('V2'))::integer[]) offset 0 workers*/) e
      on e.choice_pk = h.choice_pk
     /*alone*/and array_position((select :explore.token_step_choices('V1') || :explore.token_step_choices('V2')), e.choice_pk) is not null/*alone*/
    left join event_parties w on w.parties_pk = e.parties_pk
    left join (select * from updates
                where (after_offset is null or "offset" > after_offset) and (to_offset is null or "offset" <= to_offset) /*workers
                  and "offset" = any (array(select x."offset" from exercises x
                  where x.choice_pk = any ((select :explore.token_step_choices('V1') || :explore.token_step_choices('V2'))::integer[]))) offset 0
              workers*/) u on u."offset" = e."offset"
    left join lateral (
           select v.view -> 'transfer' as transfer
             from (select contract_id, activated_offset, node_id from contract_states /*workers
                    where template_pk = any ((select :explore.token_templates('TransferInstruction', 'TransferInstruction'))::integer[]) offset 0
                  workers*/) l
            cross join lateral (
                    select x.view from :explore.token_view(l.activated_offset, l.node_id, 'TransferInstruction', 'TransferInstruction') x
                    offset 0) v
            where l.contract_id = id_text(e.contract_id)
            order by l.activated_offset desc limit 1) i on h.choice <> 'TransferFactory_Transfer'
   -- "offset 0" makes Postgres extract the transfer once, instead of once for each column.
   cross join lateral (
           select case when h.choice = 'TransferFactory_Transfer' then e.argument::jsonb -> 'transfer' else i.transfer end as transfer
           offset 0) m
   where h.choice_pk = any ((select :explore.token_step_choices('V1') || :explore.token_step_choices('V2'))::integer[])
     and not exists (
           select from (select * from exercises /*workers
                         where choice_pk = any ((select :explore.token_step_choices('V1') || :explore.token_step_choices('V2'))::integer[]) offset 0
                       workers*/) o
            where o."offset" = e."offset" and o.node_id < e.node_id and o.last_descendant_node_id >= e.node_id
              and (o.choice_pk = any ((select :explore.token_step_choices('V2'))::integer[])
                   or o.choice_pk = any ((select :explore.token_step_choices('V1'))::integer[])
                      and e.choice_pk = any ((select :explore.token_step_choices('V2'))::integer[])))
     and (after_offset is null or e."offset" > after_offset) and (to_offset is null or e."offset" <= to_offset);
end;
comment on function :explore.token_transfer_steps_between(bigint, bigint) is
  'Rows of token_transfer_steps after one offset and up to and including another, computed from the history. A null offset is no limit.';

create or replace function :explore.token_transfer_steps_in(after_offset bigint, to_offset bigint)
  returns table ("offset" bigint, node_id integer, update_id text, effective_at timestamptz, record_time timestamptz, choice text,
                 standard text, outcome text, sender text, sender_provider text, sender_account_id text, receiver text,
                 receiver_provider text, receiver_account_id text, instrument_admin text, instrument_id text, amount numeric,
                 transfer_instruction_id text, receiver_holding_ids text[], sender_change_ids text[], requested_at timestamptz,
                 execute_before timestamptz, reason text, meta jsonb, acting_parties text[], amount_burnt numeric)
  language sql stable parallel safe rows 1000
begin atomic
  select p.*
    from projected_token_transfer_steps p
   where not ((select :pqs.__offsets_without('token_transfer_steps')) @> p."offset")
     and (after_offset is null or p."offset" > after_offset) and (to_offset is null or p."offset" <= to_offset)
  union all
  select u.* from :pqs.__rows_in_gaps(null::projected_token_transfer_steps, 'token_transfer_steps', after_offset, to_offset) u
  union all
  select t.*
    from :explore.token_transfer_steps_between(after_offset, to_offset) t
   where (select :explore.projected_ranges('token_transfer_steps')) is null;
end;
comment on function :explore.token_transfer_steps_in(bigint, bigint) is
  'Rows of token_transfer_steps after one offset and up to and including another. A null offset is no limit.';

create or replace view :explore.token_transfer_steps as
  select * from :explore.token_transfer_steps_in(null, null);
comment on view :explore.token_transfer_steps is
  'Steps of token transfers: started by a factory, accepted, rejected, withdrawn or updated, with the outcome of each step. Movements are in token_transfers. Needs the shape LEDGER_EFFECTS. A step after the first has parties and amount only with an interface TransferInstruction in the filter.';
