-- Amulet transfers by the network's own choices: sender, receivers, cost, and burns.

create or replace function :explore.transfer_fees(summary jsonb) returns numeric
  language sql immutable parallel safe
  return (summary ->> 'holdingFees')::numeric + (summary ->> 'senderChangeFee')::numeric
    + coalesce((select sum(f.fee::numeric) from jsonb_array_elements_text(
        case jsonb_typeof(summary -> 'outputFees') when 'array' then summary -> 'outputFees' end) f (fee)), 0);
comment on function :explore.transfer_fees(jsonb) is
  'Sum of all fees in the summary of a transfer of Amulet; null if there is no summary.';

create or replace function :explore.amulet_transfers_between(after_offset bigint, to_offset bigint)
  returns table ("offset" bigint, node_id integer, update_id text, effective_at timestamptz, record_time timestamptz,
                 choice text, dso text, sender text, provider text, receivers text[], amounts numeric[],
                 amount numeric, input_amount numeric, change_amount numeric, holding_fees numeric,
                 output_fees numeric, change_fee numeric, fees numeric, app_rewards numeric,
                 validator_rewards numeric, faucet_rewards numeric, sv_rewards numeric, unclaimed_rewards numeric,
                 development_rewards numeric, amulet_price numeric, round bigint)
  language sql stable parallel safe rows 1000
begin atomic
  select e."offset", e.node_id, id_text(u.update_id) as update_id, u.effective_at, u.record_time, e.choice,
         e.argument ->> 'expectedDso' as dso, m.sender, m.provider, o.receivers, o.amounts, o.amount,
         (m.summary ->> 'inputAmuletAmount')::numeric as input_amount,
         (m.summary ->> 'senderChangeAmount')::numeric as change_amount, (m.summary ->> 'holdingFees')::numeric as holding_fees,
         o.output_fees, (m.summary ->> 'senderChangeFee')::numeric as change_fee,
         :explore.transfer_fees(m.summary) as fees, (m.summary ->> 'inputAppRewardAmount')::numeric as app_rewards,
         (m.summary ->> 'inputValidatorRewardAmount')::numeric as validator_rewards,
         (m.summary ->> 'inputValidatorFaucetAmount')::numeric as faucet_rewards,
         (m.summary ->> 'inputSvRewardAmount')::numeric as sv_rewards,
         (m.summary ->> 'inputUnclaimedActivityRecordAmount')::numeric as unclaimed_rewards,
         (m.summary ->> 'inputDevelopmentFundAmount')::numeric as development_rewards,
         (m.summary ->> 'amuletPrice')::numeric as amulet_price,
         -- A transfer with ExternalPartyConfigState instead of a round reports the round by which fees are computed,
         -- which is not its own round.
         case when e.argument #> '{context,externalPartyConfigState}' is null then (m.result #>> '{round,number}')::bigint end
           as round
    from (
      select * from :explore.network_exercises('AmuletRules', 'AmuletRules', '{AmuletRules_Transfer}')
      union all
      select * from :explore.network_exercises('AmuletRules', 'TransferPreapproval', '{TransferPreapproval_SendV2}')) e
    left join (select * from updates
               where (after_offset is null or "offset" > after_offset) and (to_offset is null or "offset" <= to_offset)) u
           on u."offset" = e."offset"
   cross join lateral (
           select case e.choice when 'AmuletRules_Transfer' then e.argument #>> '{transfer,sender}'
                                else e.argument ->> 'sender' end as sender,
                  e.argument #>> '{transfer,provider}' as provider,
                  case e.choice when 'AmuletRules_Transfer' then e.result else e.result -> 'result' end as result,
                  case e.choice when 'AmuletRules_Transfer' then e.result -> 'summary'
                                else e.result #> '{result,summary}' end as summary
           -- Extracted once, instead of once for each column.
           offset 0) m
   cross join lateral (
           select case e.choice
                    when 'AmuletRules_Transfer' then array(select x.o ->> 'receiver' from jsonb_array_elements(p.outputs) x (o))
                    -- The receiver is in the approval, which the sender does not see, but it is in the changed
                    -- balances.
                    else array(select x.b ->> 0 from jsonb_array_elements(p.balances) x (b) where x.b ->> 0 <> m.sender) end
                    as receivers,
                  case e.choice
                    when 'AmuletRules_Transfer' then array(select (x.o ->> 'amount')::numeric from jsonb_array_elements(p.outputs) x (o))
                    else array[(e.argument ->> 'amount')::numeric] end as amounts,
                  case e.choice
                    when 'AmuletRules_Transfer' then (select sum((x.o ->> 'amount')::numeric) from jsonb_array_elements(p.outputs) x (o))
                    else (e.argument ->> 'amount')::numeric end as amount,
                  (select sum(x.fee::numeric) from jsonb_array_elements_text(p.fees) x (fee)) as output_fees
             from (
               select case jsonb_typeof(e.argument #> '{transfer,outputs}') when 'array' then e.argument #> '{transfer,outputs}' end as outputs,
                      case jsonb_typeof(m.summary -> 'balanceChanges') when 'array' then m.summary -> 'balanceChanges' end as balances,
                      case jsonb_typeof(m.summary -> 'outputFees') when 'array' then m.summary -> 'outputFees' end as fees) p) o
   where e.argument is not null
     and (after_offset is null or e."offset" > after_offset) and (to_offset is null or e."offset" <= to_offset);
end;
comment on function :explore.amulet_transfers_between(bigint, bigint) is
  'Rows of amulet_transfers after one offset and up to and including another, computed from the history. A null offset is no limit.';

create or replace view :explore.amulet_transfers as
  select p.*
    from projected_amulet_transfers p
   where (select range_agg(r.stored) from unnest(:explore.projected_ranges('amulet_transfers')) r (stored)) @> p."offset"
  union all
  select u.* from :pqs.__rows_in_gaps(null::projected_amulet_transfers, 'amulet_transfers', null, null) u
  union all
  select t.* from :explore.amulet_transfers_between(null, null) t where (select :explore.projected_ranges('amulet_transfers')) is null;
comment on view :explore.amulet_transfers is
  'Transfers of Amulet by the network''s own choices, one row each, with receivers and amounts of the outputs, fees, and the rewards that the transfer collects. Outputs to the sender are splits. Transfers of newer versions without these choices are in token_transfers, which has every movement. Needs the shape LEDGER_EFFECTS. Complete where coverage reports complete.';

create or replace view :explore.amulet_burns as
  select b."offset", id_text(u.update_id) as update_id, u.effective_at, u.record_time, b.party, b.reason, b.amount
    from (
      select p."offset", p.provider as party, 'traffic' as reason, p.amulet_burnt as amount from :explore.traffic_purchases p
      union all
      select t."offset", t.sender, 'fees', t.fees from :explore.amulet_transfers t where t.fees > 0
      union all
      select e."offset", coalesce(e.argument ->> 'provider', e.argument ->> 'validator', e.acting_parties[1]),
             r.reason, r.amount
        from (
          select * from :explore.network_exercises('AmuletRules', 'AmuletRules',
            '{AmuletRules_BuyMemberTraffic,AmuletRules_CreateTransferPreapproval,AmuletRules_CreateExternalPartySetupProposal}')
          union all
          select * from :explore.network_exercises('AmuletRules', 'TransferPreapproval', '{TransferPreapproval_Renew}')) e
       cross join lateral (
               select 'preapproval' as reason, (e.result ->> 'amuletPaid')::numeric as amount
                where e.choice <> 'AmuletRules_BuyMemberTraffic'
               union all
               select 'fees', :explore.transfer_fees(coalesce(e.result -> 'summary', e.result #> '{transferResult,summary}'))) r
       where r.amount > 0
      union all
      select e."offset", n.payload ->> 'owner', 'expired', (n.payload #>> '{amount,initialAmount}')::numeric
        from (
          select * from :explore.network_exercises('Amulet', 'Amulet', '{Amulet_Expire,Amulet_ExpireV2}')
          union all
          select * from :explore.network_exercises('Amulet', 'LockedAmulet', '{LockedAmulet_ExpireAmulet,LockedAmulet_ExpireAmuletV2}')) e
       cross join lateral (
               select coalesce(c.payload -> 'amulet', c.payload) as payload
                 from (select * from contract_states /*workers
                        where template_pk in (select :explore.network_templates('Amulet', 'Amulet')
                                              union select :explore.network_templates('Amulet', 'LockedAmulet')) offset 0
                      workers*/) l
                 join (select * from contracts /*workers
                        where template_pk in (select :explore.network_templates('Amulet', 'Amulet')
                                              union select :explore.network_templates('Amulet', 'LockedAmulet')) offset 0
                      workers*/) c on c."offset" = l.activated_offset and c.node_id = l.node_id
                where l.contract_id = e.contract_id and l.deactivated_offset = e."offset"
                limit 1) n) b
    left join lateral (
           select v.update_id, v.effective_at, v.record_time
             from (select * from updates /*workers where kind = 't' offset 0 workers*/) v
            where v."offset" = b."offset" limit 1) u on true;
comment on view :explore.amulet_burns is
  'Amulet that was burnt, with the reason: traffic, fees of transfers, preapprovals, and expired Amulet. party is the payer; null if the choice that names it is not visible. Amulet that is burnt in other ways is in token_transfers with kind burn. Needs the shape LEDGER_EFFECTS, except for traffic. Complete where coverage reports complete.';
