-- Rewards: coupons of every kind, with their worth and status.

-- A collected coupon is archived by the choice that has it as input. A coupon that expired, or was replaced by a coupon
-- that another party may collect, is archived within a choice whose name identifies this.
create or replace view :explore.reward_coupons as
  select n.contract_id, k.kind, n.payload ->> 'dso' as dso, coalesce(n.payload ->> 'beneficiary', n.payload ->> k.party) as party,
         case when k.is_app and coalesce(q.reward_kind, 'app') = 'app' then n.payload ->> 'provider' end as provider,
         (n.payload #>> '{round,number}')::bigint as round, (n.payload ->> 'featured')::boolean as is_featured,
         f.amount, f.issuance, :explore.ledger_product(f.amount, f.issuance) as worth,
         case when n.ended_by is null then case when n.unhosted_since is null then 'active' else 'unhosted' end
              when n.ended_by = 'w' then 'witnessed'
              when n.ended_by = 'r' then 'unassigned'
              when n.ended_by = 'e' then 'ended'
              when e.choice is null then 'archived'
              when e.choice like '%\_DsoExpire' or a.is_expired then 'expired'
              when e.choice like '%\_AssignBeneficiaries' or a.is_replaced then 'replaced'
              when e.choice like '%\_Withdraw' or e.choice like '%\_Reject' then 'withdrawn'
              else 'collected' end as status,
         case when n.ended_by = 'a' and e.choice is not null and e.choice not like '%\_DsoExpire'
              then coalesce(e.validator, a.sender) end as collected_by,
         (n.payload ->> 'expiresAt')::timestamptz as expires_at, n."offset" as created_at_offset, n.created_at,
         case when n.ended_by <> 'w' then n.ended_offset end as archived_at_offset, n.ended_at as archived_at,
         q.reward_kind, (n.payload ->> 'mintAfter')::timestamptz as mint_after
    from (values ('app', 'Amulet', 'AppRewardCoupon', 'provider', 'amount', true),
                 ('traffic', 'Amulet', 'RewardCouponV2', 'provider', 'amount', true),
                 ('validator', 'Amulet', 'ValidatorRewardCoupon', 'user', 'amount', false),
                 ('liveness', 'ValidatorLicense', 'ValidatorLivenessActivityRecord', 'validator', null, false),
                 ('faucet', 'ValidatorLicense', 'ValidatorFaucetCoupon', 'validator', null, false),
                 ('sv', 'Amulet', 'SvRewardCoupon', 'sv', 'weight', false),
                 ('unclaimed', 'Amulet', 'UnclaimedActivityRecord', 'beneficiary', 'amount', false),
                 ('development', 'Amulet', 'DevelopmentFundCoupon', 'beneficiary', 'amount', false))
           k (kind, module, entity, party, field, is_app)
   cross join lateral :explore.network_contracts(k.module, k.entity) n
   cross join lateral (
           select case when k.kind = 'traffic' and n.payload is not null
                       then :explore.reward_kind(n.payload ->> 'kind') end as reward_kind) q
    left join :explore.mining_rounds r
           on r.dso = n.payload ->> 'dso' and r.round = (n.payload #>> '{round,number}')::bigint
   cross join lateral (
           select case when n.payload is null then null when k.field is null then 1
                       else (n.payload ->> k.field)::numeric end as amount,
                  case k.kind when 'app' then case (n.payload ->> 'featured')::boolean
                                                when true then r.issuance_per_featured_app_coupon
                                                when false then r.issuance_per_unfeatured_app_coupon end
                              when 'validator' then r.issuance_per_validator_coupon
                              when 'liveness' then r.issuance_per_validator_liveness
                              when 'faucet' then r.issuance_per_validator_liveness
                              when 'sv' then r.issuance_per_sv_coupon
                              else 1 end as issuance) f
    left join lateral (
           select h.choice, x.argument::jsonb ->> 'validator' as validator
             from (select * from exercises /*workers
                    where consuming and template_pk in (
                      select t.template_pk from templates t where t.entity_name in (
                        'AppRewardCoupon', 'RewardCouponV2', 'ValidatorRewardCoupon', 'ValidatorLivenessActivityRecord',
                        'ValidatorFaucetCoupon', 'SvRewardCoupon', 'UnclaimedActivityRecord', 'DevelopmentFundCoupon')) offset 0
                  workers*/) x
             join choices h on h.choice_pk = x.choice_pk
            where n.ended_by = 'a' and x."offset" = n.ended_offset and x.node_id = n.ended_node_id
            limit 1) e on true
    left join lateral (
           select bool_or(h.choice = 'AmuletRules_ClaimExpiredRewardsV2') as is_expired,
                  bool_or(h.choice in ('AmuletRules_UnhideRewardCouponsV2', 'RewardCoupon_AssignBeneficiaries')) as is_replaced,
                  max(x.argument::jsonb #>> '{transfer,sender}') as sender
             from (select * from exercises /*workers
                    where choice_pk in (select c.choice_pk from choices c where c.choice in (
                      'AmuletRules_Transfer', 'AmuletRules_ClaimExpiredRewardsV2', 'AmuletRules_UnhideRewardCouponsV2',
                      'RewardCoupon_AssignBeneficiaries')) offset 0 workers*/) x
             join choices h on h.choice_pk = x.choice_pk
            where n.ended_by = 'a' and x."offset" = n.ended_offset and x.node_id < n.ended_node_id
              and x.last_descendant_node_id >= n.ended_node_id
              and h.choice in ('AmuletRules_Transfer', 'AmuletRules_ClaimExpiredRewardsV2', 'AmuletRules_UnhideRewardCouponsV2',
                               'RewardCoupon_AssignBeneficiaries')) a on true;
comment on view :explore.reward_coupons is
  'Coupons for rewards, present and past, one row each: the party that may collect it, its round and activity, its worth, and its status. issuance and worth need the round, see mining_rounds. Status collected, expired and replaced need the shape LEDGER_EFFECTS; otherwise the status is archived. Complete where coverage reports complete; from earlier times, only coupons that were still active.';

create or replace view :explore.rewards as
  select dso, party, provider, round, kind, count(*) as coupons, sum(amount) as amount,
         case when count(worth) = count(*) then sum(worth) end as worth,
         count(*) filter (where status = 'collected') as collected, count(*) filter (where status = 'expired') as expired,
         count(*) filter (where status = 'active') as active,
         case when count(worth) = count(*) then coalesce(sum(worth) filter (where status = 'collected'), 0) end as worth_collected,
         case when count(worth) = count(*) then coalesce(sum(worth) filter (where status = 'expired'), 0) end as worth_expired,
         reward_kind
    from :explore.reward_coupons
   where status not in ('witnessed', 'replaced')
   group by dso, party, provider, round, kind, reward_kind;
comment on view :explore.rewards is
  'Rewards by collecting party, round, app provider, kind and kind of rewards: the sum of the coupons, and the amount collected. Each coupon counts once: of a replaced coupon, only the new coupon counts. worth is null if a coupon has no worth. Complete to the same extent as reward_coupons.';

create or replace view :explore.app_activity_markers as
  select n.contract_id, n.payload ->> 'dso' as dso, n.payload ->> 'provider' as provider,
         n.payload ->> 'beneficiary' as beneficiary, (n.payload ->> 'weight')::numeric as weight,
         n.ended_offset is null and n.unhosted_since is null as is_active, n."offset" as created_at_offset, n.created_at,
         case when n.ended_by <> 'w' then n.ended_offset end as archived_at_offset, n.ended_at as archived_at
    from :explore.network_contracts('Amulet', 'FeaturedAppActivityMarker') n;
comment on view :explore.app_activity_markers is
  'Activity markers of featured apps, present and past. Archived markers became coupons of kind app, or were dropped, depending on the round. Complete to the same extent as reward_coupons. Works with any shape.';

create or replace view :explore.unclaimed_rewards as
  select n.contract_id, n.payload ->> 'dso' as dso, (n.payload ->> 'amount')::numeric as amount,
         n.ended_offset is null and n.unhosted_since is null as is_active, n."offset" as created_at_offset, n.created_at,
         case when n.ended_by <> 'w' then n.ended_offset end as archived_at_offset, n.ended_at as archived_at
    from :explore.network_contracts('Amulet', 'UnclaimedReward') n;
comment on view :explore.unclaimed_rewards is
  'Unclaimed rewards, present and past. Active rows are the current amount; ended rows were merged into them, or spent. Visible only to an indexer that reads for the DSO. Works with any shape.';
