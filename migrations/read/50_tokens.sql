-- Tokens of the CIP-56 standard, as views over its interfaces. The views are always here. They are empty as long as no
-- contract was seen through these interfaces: name them in the filter of the indexer.
-- Amounts are numeric, exact to the last digit. A field that is None may be null or missing in the JSON: both read as null.
-- What is live is found by the live contracts of the templates that implement an interface, however long the history is.
-- Where the name of an interface's package is not known yet, its module and name are enough.

create or replace function :explore.texts(list jsonb) returns text[]
  language sql immutable parallel safe
  return case jsonb_typeof(list) when 'array' then array(select jsonb_array_elements_text(list)) end;
comment on function :explore.texts(jsonb) is 'A JSON list of texts as an array; null where there is no list.';

create or replace function :explore.optional(value jsonb) returns jsonb
  language sql immutable parallel safe
  return nullif(value, 'null'::jsonb);
comment on function :explore.optional(jsonb) is 'An Optional field: null both for JSON null and for a field that is missing.';

create or replace view :explore.token_holdings as
  select id_text(l.contract_id) as contract_id, v.view ->> 'owner' as owner,
         v.view #>> '{instrumentId,admin}' as instrument_admin, v.view #>> '{instrumentId,id}' as instrument_id,
         (v.view ->> 'amount')::numeric as amount, :explore.optional(v.view -> 'lock') is not null as is_locked,
         :explore.texts(v.view #> '{lock,holders}') as lock_holders,
         (v.view #>> '{lock,expiresAt}')::timestamptz as lock_expires_at,
         (v.view #>> '{lock,expiresAfter,microseconds}')::bigint * interval '1 microsecond' as lock_expires_after,
         v.view #>> '{lock,context}' as lock_context, v.view #> '{meta,values}' as meta,
         l."offset" as created_at_offset, c.created_at,
         :explore.fqn(coalesce(t.package_name, t.package_id), t.module_name, t.entity_name) as template_fqn,
         s.synchronizer_id
    from templates i
    left join packages p on p.package_id = i.package_id
    join template_interfaces m on m.interface_pk = i.template_pk
    join live l on l.template_pk = m.template_pk
    join interface_views v on v."offset" = l."offset" and v.node_id = l.node_id and v.interface_pk = i.template_pk
    left join templates t on t.template_pk = l.template_pk
    left join contracts c on c."offset" = l."offset" and c.node_id = l.node_id
    left join synchronizers s on s.synchronizer_pk = l.synchronizer_pk
   where i.module_name = 'Splice.Api.Token.HoldingV1' and i.entity_name = 'Holding'
     and coalesce(i.package_name, p.package_name, 'splice-api-token-holding-v1') = 'splice-api-token-holding-v1'
     and v.status_code = 0 and l.unknown_since is null;
comment on view :explore.token_holdings is
  'Token holdings (CIP-56) that are active now, one row per holding contract. Empty without the interface Holding in the filter.';

create or replace view :explore.token_balances as
  select owner, instrument_admin, instrument_id, sum(amount) as total,
         coalesce(sum(amount) filter (where is_locked), 0) as locked,
         coalesce(sum(amount) filter (where not is_locked), 0) as unlocked, count(*) as holdings
    from :explore.token_holdings
   group by owner, instrument_admin, instrument_id;
comment on view :explore.token_balances is
  'What each party owns of each instrument now (CIP-56). Empty without the interface Holding in the filter.';

-- The transfer is the argument where a factory starts it, and in the view of the instruction where one goes on or ends.
-- "offset 0" has the contract found before its view: without statistics the planner would begin at the views.
create or replace view :explore.token_transfers as
  select e."offset", e.node_id, id_text(u.update_id) as update_id, u.effective_at, u.record_time, h.choice,
         lower(split_part(e.result::jsonb #>> '{output,tag}', '_', 2)) as outcome,
         m.transfer ->> 'sender' as sender, m.transfer ->> 'receiver' as receiver,
         m.transfer #>> '{instrumentId,admin}' as instrument_admin, m.transfer #>> '{instrumentId,id}' as instrument_id,
         (m.transfer ->> 'amount')::numeric as amount,
         case when h.choice = 'TransferFactory_Transfer' then e.result::jsonb #>> '{output,value,transferInstructionCid}'
              else id_text(e.contract_id) end as transfer_instruction_id,
         :explore.texts(e.result::jsonb #> '{output,value,receiverHoldingCids}') as receiver_holding_ids,
         :explore.texts(e.result::jsonb -> 'senderChangeCids') as sender_change_ids,
         (m.transfer ->> 'requestedAt')::timestamptz as requested_at,
         (m.transfer ->> 'executeBefore')::timestamptz as execute_before,
         m.transfer #> '{meta,values}' as meta, w.acting_parties
    from templates f
    left join packages p on p.package_id = f.package_id
    join choices h on h.interface_pk = f.template_pk
    join exercises e on e.choice_pk = h.choice_pk
    left join event_parties w on w.parties_pk = e.parties_pk
    left join updates u on u."offset" = e."offset"
    left join lateral (
           select v.view -> 'transfer' as transfer
             from contract_states l
            cross join lateral (
                    select x.view from interface_views x
                     where x."offset" = l.activated_offset and x.node_id = l.node_id and x.interface_pk = h.interface_pk
                       and x.status_code = 0
                    offset 0) v
            where l.contract_id = id_text(e.contract_id)
            order by l.activated_offset desc limit 1) i on h.choice <> 'TransferFactory_Transfer'
   cross join lateral (
           select case when h.choice = 'TransferFactory_Transfer' then e.argument::jsonb -> 'transfer' else i.transfer end as transfer) m
   where h.choice in ('TransferFactory_Transfer', 'TransferInstruction_Accept', 'TransferInstruction_Reject',
                      'TransferInstruction_Withdraw', 'TransferInstruction_Update')
     and f.module_name = 'Splice.Api.Token.TransferInstructionV1'
     and f.entity_name in ('TransferFactory', 'TransferInstruction')
     and coalesce(f.package_name, p.package_name, 'splice-api-token-transfer-instruction-v1')
         = 'splice-api-token-transfer-instruction-v1';
comment on view :explore.token_transfers is
  'Steps of token transfers (CIP-56): started by a factory, accepted, rejected, withdrawn or updated. Sum amounts where outcome is completed to see what moved: a transfer of two steps is completed in the second. Needs the shape LEDGER_EFFECTS; the second step shows parties and amount only with the interface TransferInstruction in the filter.';

create or replace view :explore.pending_transfer_instructions as
  select id_text(l.contract_id) as contract_id, v.view #>> '{transfer,sender}' as sender, v.view #>> '{transfer,receiver}' as receiver,
         v.view #>> '{transfer,instrumentId,admin}' as instrument_admin,
         v.view #>> '{transfer,instrumentId,id}' as instrument_id, (v.view #>> '{transfer,amount}')::numeric as amount,
         v.view #>> '{status,tag}' as status, (v.view #>> '{transfer,requestedAt}')::timestamptz as requested_at,
         (v.view #>> '{transfer,executeBefore}')::timestamptz as execute_before,
         :explore.texts(v.view #> '{transfer,inputHoldingCids}') as input_holding_ids,
         v.view ->> 'originalInstructionCid' as original_instruction_id, v.view #> '{transfer,meta,values}' as meta,
         l."offset" as created_at_offset, c.created_at, s.synchronizer_id
    from templates i
    left join packages p on p.package_id = i.package_id
    join template_interfaces m on m.interface_pk = i.template_pk
    join live l on l.template_pk = m.template_pk
    join interface_views v on v."offset" = l."offset" and v.node_id = l.node_id and v.interface_pk = i.template_pk
    left join contracts c on c."offset" = l."offset" and c.node_id = l.node_id
    left join synchronizers s on s.synchronizer_pk = l.synchronizer_pk
   where i.module_name = 'Splice.Api.Token.TransferInstructionV1' and i.entity_name = 'TransferInstruction'
     and coalesce(i.package_name, p.package_name, 'splice-api-token-transfer-instruction-v1') = 'splice-api-token-transfer-instruction-v1'
     and v.status_code = 0 and l.unknown_since is null;
comment on view :explore.pending_transfer_instructions is
  'Token transfers (CIP-56) that wait for an answer or for somebody''s work. Empty without the interface TransferInstruction in the filter.';

create or replace view :explore.allocations as
  select id_text(l.contract_id) as contract_id, v.view #>> '{allocation,settlement,executor}' as executor,
         v.view #>> '{allocation,settlement,settlementRef,id}' as settlement_id,
         v.view #>> '{allocation,settlement,settlementRef,cid}' as settlement_contract_id,
         v.view #>> '{allocation,transferLegId}' as transfer_leg_id,
         v.view #>> '{allocation,transferLeg,sender}' as sender, v.view #>> '{allocation,transferLeg,receiver}' as receiver,
         v.view #>> '{allocation,transferLeg,instrumentId,admin}' as instrument_admin,
         v.view #>> '{allocation,transferLeg,instrumentId,id}' as instrument_id,
         (v.view #>> '{allocation,transferLeg,amount}')::numeric as amount,
         (v.view #>> '{allocation,settlement,requestedAt}')::timestamptz as requested_at,
         (v.view #>> '{allocation,settlement,allocateBefore}')::timestamptz as allocate_before,
         (v.view #>> '{allocation,settlement,settleBefore}')::timestamptz as settle_before,
         :explore.texts(v.view -> 'holdingCids') as holding_ids, v.view #> '{allocation,settlement,meta,values}' as meta,
         l."offset" as created_at_offset, c.created_at, s.synchronizer_id
    from templates i
    left join packages p on p.package_id = i.package_id
    join template_interfaces m on m.interface_pk = i.template_pk
    join live l on l.template_pk = m.template_pk
    join interface_views v on v."offset" = l."offset" and v.node_id = l.node_id and v.interface_pk = i.template_pk
    left join contracts c on c."offset" = l."offset" and c.node_id = l.node_id
    left join synchronizers s on s.synchronizer_pk = l.synchronizer_pk
   where i.module_name = 'Splice.Api.Token.AllocationV1' and i.entity_name = 'Allocation'
     and coalesce(i.package_name, p.package_name, 'splice-api-token-allocation-v1') = 'splice-api-token-allocation-v1'
     and v.status_code = 0 and l.unknown_since is null;
comment on view :explore.allocations is
  'Holdings set aside for a settlement (CIP-56), active now. Empty without the interface Allocation in the filter.';
