-- Rewards: coupons of every kind, with their worth and status.

create or replace function :explore.reward_templates()
  returns table (template_pk integer, kind text, party text, field text, is_app boolean)
  language sql stable parallel safe rows 10
begin atomic
  select t.template_pk, k.kind, k.party, k.field, k.is_app
    from (values ('app', 'Amulet', 'AppRewardCoupon', 'provider', 'amount', true),
                 ('traffic', 'Amulet', 'RewardCouponV2', 'provider', 'amount', true),
                 ('validator', 'Amulet', 'ValidatorRewardCoupon', 'user', 'amount', false),
                 ('liveness', 'ValidatorLicense', 'ValidatorLivenessActivityRecord', 'validator', null, false),
                 ('faucet', 'ValidatorLicense', 'ValidatorFaucetCoupon', 'validator', null, false),
                 ('sv', 'Amulet', 'SvRewardCoupon', 'sv', 'weight', false),
                 ('unclaimed', 'Amulet', 'UnclaimedActivityRecord', 'beneficiary', 'amount', false),
                 ('development', 'Amulet', 'DevelopmentFundCoupon', 'beneficiary', 'amount', false))
           k (kind, module, entity, party, field, is_app)
   cross join lateral :explore.network_templates(k.module, k.entity) t (template_pk);
end;
comment on function :explore.reward_templates() is
  'Templates of reward coupons, one row each: the kind of the coupon, the fields of the party that may collect it and of its amount, and whether an app earned it.';

-- A collected coupon is archived by the choice that has it as input. A coupon that expired, or was replaced by a coupon
-- that another party may collect, is archived within a choice whose name identifies this. For a range of offsets, the index
-- on templates is not used, because it would be read completely for each range. Otherwise "offset 0" makes the planner use it.
create or replace function :explore.ended_reward_coupons_between(after_offset bigint, to_offset bigint)
  returns table ("offset" bigint, contract_id text, kind text, dso text, party text, provider text, round bigint,
                 is_featured boolean, amount numeric, status text, collected_by text, expires_at timestamptz,
                 created_at_offset bigint, created_at timestamptz, archived_at_offset bigint, archived_at timestamptz,
                 reward_kind text, mint_after timestamptz)
  language sql stable parallel safe rows 1000
begin atomic
  select n.ended_offset as "offset", id_text(n.contract_id) as contract_id, k.kind, c.payload ->> 'dso' as dso,
         coalesce(c.payload ->> 'beneficiary', c.payload ->> k.party) as party,
         case when k.is_app and coalesce(q.reward_kind, 'app') = 'app' then c.payload ->> 'provider' end as provider,
         (c.payload #>> '{round,number}')::bigint as round, (c.payload ->> 'featured')::boolean as is_featured,
         case when c.payload is null then null when k.field is null then 1 else (c.payload ->> k.field)::numeric end as amount,
         case when n.ended_by = 'w' then 'witnessed'
              when n.ended_by = 'r' then 'unassigned'
              when n.ended_by = 'e' then 'ended'
              when e.choice is null then 'archived'
              when e.choice like '%\_DsoExpire' or a.is_expired then 'expired'
              when e.choice like '%\_AssignBeneficiaries' or a.is_replaced then 'replaced'
              when e.choice like '%\_Withdraw' or e.choice like '%\_Reject' then 'withdrawn'
              else 'collected' end as status,
         case when n.ended_by = 'a' and e.choice is not null and e.choice not like '%\_DsoExpire'
              then coalesce(e.validator, a.sender) end as collected_by,
         (c.payload ->> 'expiresAt')::timestamptz as expires_at, n."offset" as created_at_offset, c.created_at,
         case when n.ended_by <> 'w' then n.ended_offset end as archived_at_offset, n.ended_at as archived_at,
         q.reward_kind, (c.payload ->> 'mintAfter')::timestamptz as mint_after
    from (
      select e."offset", e.node_id, e.contract_id, e.template_pk, e.ended_offset, e.ended_node_id, e.ended_at, e.ended_by
        from :explore.reward_templates() t
       cross join lateral (
               select d.* from (select * from ended /*workers
                                 where template_pk in (select r.template_pk from :explore.reward_templates() r) offset 0 workers*/) d
                where d.template_pk = t.template_pk
               offset 0) e
       where after_offset is null and to_offset is null
      union all
      select e."offset", e.node_id, e.contract_id, e.template_pk, e.ended_offset, e.ended_node_id, e.ended_at, e.ended_by
        from ended e
       where (after_offset is not null or to_offset is not null)
         and (after_offset is null or e.ended_offset > after_offset) and (to_offset is null or e.ended_offset <= to_offset)
         and array_position(array(select r.template_pk from :explore.reward_templates() r), e.template_pk) is not null) n
    -- Pruned history is excluded, even if its rows are not removed yet.
    join :explore.reward_templates() k on k.template_pk = n.template_pk
     and n.ended_offset > (select coalesce(max(s.pruned_to_offset), 0) from stream s)
   cross join lateral (
           select r.payload, r.created_at
             from (select * from contracts /*workers
                    where template_pk in (select r.template_pk from :explore.reward_templates() r) offset 0 workers*/) r
            where r."offset" = n."offset" and r.node_id = n.node_id
           offset 0) c
   cross join lateral (
           select case when k.kind = 'traffic' and c.payload is not null
                       then :explore.reward_kind(c.payload ->> 'kind') end as reward_kind) q
    left join lateral (
           select h.choice, x.argument::jsonb ->> 'validator' as validator
             from (select * from exercises /*workers
                    where consuming and template_pk in (select r.template_pk from :explore.reward_templates() r) offset 0 workers*/) x
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
end;
comment on function :explore.ended_reward_coupons_between(bigint, bigint) is
  'Rows of ended_reward_coupons after one offset and up to and including another, computed from the history. A null offset is no limit.';

create or replace view :explore.ended_reward_coupons as
  select p.*
    from projected_ended_reward_coupons p
   where (select range_agg(r.stored) from unnest(:explore.projected_ranges('ended_reward_coupons')) r (stored)) @> p."offset"
  union all
  select u.* from :pqs.__rows_in_gaps(null::projected_ended_reward_coupons, 'ended_reward_coupons', null, null) u
  union all
  select t.*
    from :explore.ended_reward_coupons_between(null, null) t
   where (select :explore.projected_ranges('ended_reward_coupons')) is null;
comment on view :explore.ended_reward_coupons is
  'Coupons for rewards that are not active any more, one row for each end, without their worth: see reward_coupons. offset is that of the end; it is the offset of the create for a coupon that was never active for the indexed parties.';

-- The estimate of 1,000 rows makes the planner hash the rounds, instead of comparing each coupon with each round.
create or replace function :explore.round_issuances()
  returns table (dso text, round bigint, per_featured_app_coupon numeric, per_unfeatured_app_coupon numeric,
                 per_validator_coupon numeric, per_validator_liveness numeric, per_sv_coupon numeric)
  language plpgsql stable parallel safe rows 1000
  set search_path = pg_catalog, pg_temp
as $$
begin
  return query
    select r.dso, r.round, r.issuance_per_featured_app_coupon, r.issuance_per_unfeatured_app_coupon,
           r.issuance_per_validator_coupon, r.issuance_per_validator_liveness, r.issuance_per_sv_coupon
      from :explore.mining_rounds r;
end
$$;
comment on function :explore.round_issuances() is 'Amulet per coupon in each mining round, as in mining_rounds.';

-- Of a reassigned coupon, only the last activation counts.
create or replace view :explore.reward_coupons as
  select n.contract_id, n.kind, n.dso, n.party, n.provider, n.round, n.is_featured, n.amount, f.issuance,
         :explore.ledger_product(n.amount, f.issuance) as worth, n.status, n.collected_by, n.expires_at, n.created_at_offset,
         n.created_at, n.archived_at_offset, n.archived_at, n.reward_kind, n.mint_after
    from (
      select id_text(l.contract_id) as contract_id, k.kind, c.payload ->> 'dso' as dso,
             coalesce(c.payload ->> 'beneficiary', c.payload ->> k.party) as party,
             case when k.is_app and coalesce(q.reward_kind, 'app') = 'app' then c.payload ->> 'provider' end as provider,
             (c.payload #>> '{round,number}')::bigint as round, (c.payload ->> 'featured')::boolean as is_featured,
             case when c.payload is null then null when k.field is null then 1 else (c.payload ->> k.field)::numeric end as amount,
             case when l.unhosted_since is null then 'active' else 'unhosted' end as status, null as collected_by,
             (c.payload ->> 'expiresAt')::timestamptz as expires_at, l."offset" as created_at_offset, c.created_at,
             null::bigint as archived_at_offset, null::timestamptz as archived_at, q.reward_kind,
             (c.payload ->> 'mintAfter')::timestamptz as mint_after
        from :explore.reward_templates() k
       cross join lateral (
               select v."offset", v.node_id, v.contract_id, v.unhosted_since
                 from (select * from live /*workers
                        where template_pk in (select r.template_pk from :explore.reward_templates() r) offset 0 workers*/) v
                where v.template_pk = k.template_pk and v.unhosted_since is null
               union all
               select v."offset", v.node_id, v.contract_id, v.unhosted_since
                 from (select * from live /*workers
                        where template_pk in (select r.template_pk from :explore.reward_templates() r) offset 0 workers*/) v
                where v.template_pk = k.template_pk and v.unhosted_since is not null) l
       cross join lateral (
               select r.payload, r.created_at
                 from (select * from contracts /*workers
                        where template_pk in (select r.template_pk from :explore.reward_templates() r) offset 0 workers*/) r
                where r."offset" = l."offset" and r.node_id = l.node_id
               offset 0) c
       cross join lateral (
               select case when k.kind = 'traffic' and c.payload is not null
                           then :explore.reward_kind(c.payload ->> 'kind') end as reward_kind) q
      union all
      select e.contract_id, e.kind, e.dso, e.party, e.provider, e.round, e.is_featured, e.amount, e.status, e.collected_by,
             e.expires_at, e.created_at_offset, e.created_at, e.archived_at_offset, e.archived_at, e.reward_kind, e.mint_after
        from :explore.ended_reward_coupons e
       where e.status <> 'unassigned'
          or not exists (select from (select contract_id, activated_offset from contract_states /*workers
                                       where template_pk in (select r.template_pk from :explore.reward_templates() r) offset 0 workers*/) s
                          where s.contract_id = e.contract_id and s.activated_offset > e.created_at_offset)) n
    left join :explore.round_issuances() r on r.dso = n.dso and r.round = n.round
   cross join lateral (
           select case n.kind when 'app' then case n.is_featured
                                                when true then r.per_featured_app_coupon
                                                when false then r.per_unfeatured_app_coupon end
                              when 'validator' then r.per_validator_coupon
                              when 'liveness' then r.per_validator_liveness
                              when 'faucet' then r.per_validator_liveness
                              when 'sv' then r.per_sv_coupon
                              else 1 end as issuance) f;
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
