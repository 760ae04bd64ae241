-- Pending requests: transfers that wait for a response, and holdings that are allocated to a settlement.

create or replace view :explore.pending_transfer_instructions as
  select id_text(l.contract_id) as contract_id, v.standard,
         coalesce(v.view #>> '{transfer,sender,owner}', case v.standard when 'V1' then v.view #>> '{transfer,sender}' end) as sender,
         v.view #>> '{transfer,sender,provider}' as sender_provider,
         coalesce(v.view #>> '{transfer,sender,id}', '') as sender_account_id,
         coalesce(v.view #>> '{transfer,receiver,owner}', case v.standard when 'V1' then v.view #>> '{transfer,receiver}' end) as receiver,
         v.view #>> '{transfer,receiver,provider}' as receiver_provider,
         coalesce(v.view #>> '{transfer,receiver,id}', '') as receiver_account_id,
         v.view #>> '{transfer,instrumentId,admin}' as instrument_admin,
         v.view #>> '{transfer,instrumentId,id}' as instrument_id, (v.view #>> '{transfer,amount}')::numeric as amount,
         v.view #>> '{status,tag}' as status, (v.view #>> '{transfer,requestedAt}')::timestamptz as requested_at,
         (v.view #>> '{transfer,executeBefore}')::timestamptz as execute_before,
         :explore.texts(v.view #> '{transfer,inputHoldingCids}') as input_holding_ids,
         v.view ->> 'originalInstructionCid' as original_instruction_id,
         v.view #>> '{transfer,meta,values,splice.lfdecentralizedtrust.org/reason}' as reason,
         v.view #> '{transfer,meta,values}' as meta, l."offset" as created_at_offset, c.created_at, s.synchronizer_id
    from (select * from live /*workers
           where unhosted_since is null
             and template_pk = any ((select :explore.token_templates('TransferInstruction', 'TransferInstruction'))::integer[]) offset 0 workers*/) l
   cross join lateral :explore.token_view(l."offset", l.node_id, 'TransferInstruction', 'TransferInstruction') v
    left join (select * from contracts /*workers
                where template_pk = any ((select :explore.token_templates('TransferInstruction', 'TransferInstruction'))::integer[]) offset 0
              workers*/) c on c."offset" = l."offset" and c.node_id = l.node_id
    left join synchronizers s on s.synchronizer_pk = l.synchronizer_pk
   where l.unhosted_since is null
     and l.template_pk = any ((select :explore.token_templates('TransferInstruction', 'TransferInstruction'))::integer[]);
comment on view :explore.pending_transfer_instructions is
  'Token transfers that wait for a response or for work by a party. Empty without an interface TransferInstruction in the filter.';

-- An allocation of version 1 has one leg. In version 2 it has a list of legs, each with the authorizer on one side. The
-- settlement is a field of the allocation in version 1, and a field next to it in version 2.
create or replace view :explore.allocations as
  select id_text(l.contract_id) as contract_id, v.standard,
         coalesce(:explore.texts(w.settlement -> 'executors'), array[w.settlement ->> 'executor']) as executors,
         coalesce(w.settlement #>> '{settlementRef,id}', w.settlement ->> 'id') as settlement_id,
         coalesce(w.settlement #>> '{settlementRef,cid}', w.settlement ->> 'cid') as settlement_contract_id,
         coalesce(v.view #>> '{allocation,transferLegId}', g.leg ->> 'transferLegId') as transfer_leg_id,
         case when g.leg is null then v.view #>> '{allocation,transferLeg,sender}'
              when g.leg ->> 'side' = 'SenderSide' then v.view #>> '{allocation,authorizer,owner}'
              else g.leg #>> '{otherside,owner}' end as sender,
         case when g.leg is null then v.view #>> '{allocation,transferLeg,receiver}'
              when g.leg ->> 'side' = 'ReceiverSide' then v.view #>> '{allocation,authorizer,owner}'
              else g.leg #>> '{otherside,owner}' end as receiver,
         coalesce(v.view #>> '{allocation,transferLeg,instrumentId,admin}', v.view #>> '{allocation,admin}') as instrument_admin,
         coalesce(v.view #>> '{allocation,transferLeg,instrumentId,id}', g.leg ->> 'instrumentId') as instrument_id,
         coalesce(v.view #>> '{allocation,transferLeg,amount}', g.leg ->> 'amount')::numeric as amount,
         (w.settlement ->> 'requestedAt')::timestamptz as requested_at,
         (w.settlement ->> 'allocateBefore')::timestamptz as allocate_before,
         coalesce(w.settlement ->> 'settleBefore', v.view #>> '{allocation,settlementDeadline}')::timestamptz as settle_before,
         :explore.texts(v.view -> 'holdingCids') as holding_ids, w.settlement #> '{meta,values}' as meta,
         l."offset" as created_at_offset, c.created_at, s.synchronizer_id
    from (select * from live /*workers
           where unhosted_since is null and template_pk = any ((select :explore.token_templates('Allocation', 'Allocation'))::integer[]) offset 0
         workers*/) l
   cross join lateral :explore.token_view(l."offset", l.node_id, 'Allocation', 'Allocation') v
   cross join lateral (select coalesce(v.view -> 'settlement', v.view #> '{allocation,settlement}') as settlement) w
    left join lateral jsonb_array_elements(
           case jsonb_typeof(v.view #> '{allocation,transferLegSides}') when 'array' then v.view #> '{allocation,transferLegSides}' end)
           g (leg) on true
    left join (select * from contracts /*workers
                where template_pk = any ((select :explore.token_templates('Allocation', 'Allocation'))::integer[]) offset 0 workers*/) c
           on c."offset" = l."offset" and c.node_id = l.node_id
    left join synchronizers s on s.synchronizer_pk = l.synchronizer_pk
   where l.unhosted_since is null
     and l.template_pk = any ((select :explore.token_templates('Allocation', 'Allocation'))::integer[]);
comment on view :explore.allocations is
  'Active allocations of holdings to a settlement, one row per leg. Empty without an interface Allocation in the filter.';
