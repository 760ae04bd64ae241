-- Contracts of the network itself: contracts of splice-amulet, with which the Global Synchronizer accounts for traffic,
-- rewards and validators. A template is found by package name, module and name, so that versions that upgrade each
-- other count as one template. Templates of the same name in a package of another name do not count.
-- Any party can create such contracts with a party of its own as dso. Trust only contracts of the dso that you know;
-- every view has column dso. A template without stored contracts has no rows. Fields that a version does not have, or
-- names differently, are null.

-- With "rows 1", the planner looks up rows of the large tables for each number, by the index, instead of reading
-- complete tables.
create or replace function :explore.network_templates(module text, entity text) returns setof integer
  language plpgsql stable parallel safe rows 1
  set search_path = pg_catalog, pg_temp
as $$
begin
  return query
    select t.template_pk
      from :storage.templates t
      left join :storage.packages p on p.package_id = t.package_id
     where t.module_name = 'Splice.' || module and t.entity_name = entity
       and coalesce(t.package_name, p.package_name) = 'splice-amulet';
end
$$;
comment on function :explore.network_templates(text, text) is
  'Numbers of a template of splice-amulet, one for each version in stored rows. Arguments are module and entity, e.g. Amulet and AppRewardCoupon.';

create or replace function :explore.network_choices(module text, entity text, names text[]) returns setof integer
  language plpgsql stable parallel safe rows 1
  set search_path = pg_catalog, pg_temp
as $$
begin
  return query
    select h.choice_pk
      from :explore.network_templates(module, entity) t (template_pk)
      join :storage.choices h on h.template_pk = t.template_pk
     where h.choice = any (names);
end
$$;
comment on function :explore.network_choices(text, text, text[]) is
  'Numbers of choices exercised on a template of splice-amulet, including choices of its interfaces.';

create or replace function :explore.network_exercises(module text, entity text, names text[])
  returns table ("offset" bigint, node_id integer, contract_id text, choice text, argument jsonb, result jsonb, consuming boolean,
                 acting_parties text[])
  language sql stable parallel safe rows 1000
begin atomic
  select e."offset", e.node_id, id_text(e.contract_id), h.choice, e.argument::jsonb, e.result::jsonb, e.consuming, w.acting_parties
    from :explore.network_choices(module, entity, names) n (choice_pk)
    join choices h on h.choice_pk = n.choice_pk
    join exercises e on e.choice_pk = n.choice_pk
      /*alone*/and array_position(array(select :explore.network_choices(module, entity, names)), e.choice_pk) is not null/*alone*/
    left join event_parties w on w.parties_pk = e.parties_pk;
end;
comment on function :explore.network_exercises(text, text, text[]) is
  'Exercises of choices of a template of splice-amulet. Needs the shape LEDGER_EFFECTS.';

-- With "offset 0" in the lookup of a row of contracts, only rows of these templates are read, independent of the
-- planner's estimates. For a reassigned contract, the last activation counts.
create or replace function :explore.network_contracts(module text, entity text)
  returns table (contract_id text, template_pk integer, "offset" bigint, node_id integer, payload jsonb,
                 created_at timestamptz, origin "char", ended_offset bigint, ended_node_id integer, ended_at timestamptz,
                 ended_by "char", unhosted_since bigint)
  language sql stable parallel safe rows 1000
begin atomic
  select id_text(l.contract_id), t.template_pk, l."offset", l.node_id, c.payload, c.created_at, c.origin, l.ended_offset,
         l.ended_node_id, l.ended_at, l.ended_by, l.unhosted_since
    from :explore.network_templates(module, entity) t (template_pk)
   cross join lateral (
           select v."offset", v.node_id, v.contract_id, null::bigint as ended_offset, null::integer as ended_node_id,
                  null::timestamptz as ended_at, null::"char" as ended_by, v.unhosted_since
             from (select * from live /*workers
                    where template_pk in (select :explore.network_templates(module, entity)) offset 0 workers*/) v
            where v.template_pk = t.template_pk and v.unhosted_since is null
           union all
           select v."offset", v.node_id, v.contract_id, null, null, null, null, v.unhosted_since
             from (select * from live /*workers
                    where template_pk in (select :explore.network_templates(module, entity)) offset 0 workers*/) v
            where v.template_pk = t.template_pk and v.unhosted_since is not null
           union all
           select e."offset", e.node_id, e.contract_id, e.ended_offset, e.ended_node_id, e.ended_at, e.ended_by, null
             from (select * from ended /*workers
                    where template_pk in (select :explore.network_templates(module, entity)) offset 0 workers*/) e
            where e.template_pk = t.template_pk) l
   cross join lateral (
           select r.payload, r.created_at, r.origin
             from (select * from contracts /*workers
                    where template_pk in (select :explore.network_templates(module, entity)) offset 0 workers*/) r
            where r."offset" = l."offset" and r.node_id = l.node_id
           offset 0) c
   where l.ended_by is distinct from 'r'
      or not exists (select from (select contract_id, activated_offset from contract_states /*workers
                                   where template_pk in (select :explore.network_templates(module, entity)) offset 0 workers*/) n
                      where n.contract_id = id_text(l.contract_id) and n.activated_offset > l."offset");
end;
comment on function :explore.network_contracts(text, text) is
  'Contracts of a template of splice-amulet, present and past, one row each, with the kind of their end as in table ended. Works with any shape.';

-- Checks the policies of a role, not its memberships, because the owner is a member of every role, but reads
-- everything.
create or replace function :explore.is_limited() returns boolean
  language plpgsql stable parallel safe
  set search_path = pg_catalog, pg_temp
as $$
begin
  return exists (
    select from pg_policy p
     where p.polrelid = ':storage.exercises'::regclass and not p.polpermissive
       and (select r.oid from pg_roles r where r.rolname = current_user) = any (p.polroles));
end
$$;
comment on function :explore.is_limited() is 'Whether the querying role is limited to parties.';

create or replace function :explore.ledger_product(one numeric, other numeric) returns numeric
  language sql immutable parallel safe
  return case when abs(one * other * 10000000000) % 1 = 0.5
              then round(2 * round(one * other * 5000000000) * 0.0000000001, 10)
              else round(one * other, 10) end;
comment on function :explore.ledger_product(numeric, numeric) is
  'Product of two Numerics, rounded like the ledger: to ten decimal places, halves to the even neighbor.';

-- Rewards that are computed outside the ledger. When a round closes, a contract requests them. After the super
-- validators agree on a result, its batches are processed, which creates smaller batches or coupons. Names are those of
-- daml/splice-amulet of canton-network/splice (Splice/Amulet/RewardAccountingV2.daml). Rewards without a kind are
-- rewards of apps.
create or replace function :explore.reward_kind(kind text) returns text
  language sql immutable parallel safe
  return lower(replace(coalesce(kind, 'RewardKind_App'), 'RewardKind_', ''));
comment on function :explore.reward_kind(text) is 'Kind of rewards without its prefix: app or validator; app for null.';

create or replace view :explore.reward_rounds as
  select x.payload ->> 'dso' as dso, (x.payload #>> '{round,number}')::bigint as round,
         :explore.reward_kind(x.payload ->> 'kind') as reward_kind, coalesce((x.payload ->> 'dryRun')::boolean, false) as is_dry_run,
         case when bool_or(x.phase = 1 and x.is_live) then 'calculating'
              when bool_or(x.phase = 2 and x.is_live) then 'processing'
              when bool_or(x.unhosted_since is not null) then 'unhosted'
              when bool_or(x.phase = 2) then 'processed'
              else 'archived' end as status,
         max((x.payload ->> 'roundClosedAt')::timestamptz) as round_closed_at,
         case when not bool_or(x.phase = 1 and x.is_live) then max(x.ended_at) filter (where x.phase = 1) end as calculated_at,
         case when not bool_or(x.phase = 2 and x.ended_offset is null) then max(x.ended_at) filter (where x.phase = 2) end
           as processed_at,
         count(*) filter (where x.phase = 2) as batches, count(*) filter (where x.phase = 2 and x.is_live) as batches_left,
         max((x.payload #>> '{rewardCouponTimeToLive,microseconds}')::bigint) * interval '1 microsecond' as coupon_lifetime,
         max(greatest(x."offset", x.ended_offset)) as last_offset
    from (
      select n.*, n.ended_offset is null and n.unhosted_since is null as is_live, p.phase
        from (values (1, 'CalculateRewardsV2'), (2, 'ProcessRewardsV2')) p (phase, entity)
       cross join lateral :explore.network_contracts('Amulet.RewardAccountingV2', p.entity) n
       where n.payload is not null and n.ended_by is distinct from 'w') x
   group by 1, 2, 3, 4;
comment on view :explore.reward_rounds is
  'Rewards of rounds that are computed outside the ledger (CalculateRewardsV2, ProcessRewardsV2), one row per round, kind and dry run, with the status of the calculation and of the coupons, and their times. Visible only to an indexer that reads for the DSO. Works with any shape. Complete where coverage reports complete.';

create or replace view :explore.mining_rounds as
  select g.dso, g.round, g.status, g.amulet_price, g.traffic_price, g.opens_at, g.closes_at, g.tick,
         g.issuance_per_featured_app_coupon, g.issuance_per_unfeatured_app_coupon, g.issuance_per_validator_coupon,
         g.issuance_per_validator_liveness, g.issuance_per_sv_coupon, g.opened_at, g.issued_at, g.closed_at, g.last_offset,
         w.app_rewards_status, w.validator_rewards_status
    from (
      select x.payload ->> 'dso' as dso, (x.payload #>> '{round,number}')::bigint as round,
             case when bool_or(x.phase = 1 and x.is_live) then 'open'
                  when bool_or(x.phase = 2 and x.is_live) then 'summarizing'
                  when bool_or(x.phase = 3 and x.is_live) then 'issuing'
                  when bool_or(x.phase = 4 and x.is_live) then 'closed'
                  else 'archived' end as status,
             max((x.payload ->> 'amuletPrice')::numeric) as amulet_price,
             max((x.payload ->> 'trafficPrice')::numeric) as traffic_price,
             max((x.payload ->> 'opensAt')::timestamptz) filter (where x.phase = 1) as opens_at,
             max((x.payload ->> 'targetClosesAt')::timestamptz) filter (where x.phase = 1) as closes_at,
             max((x.payload #>> '{tickDuration,microseconds}')::bigint) * interval '1 microsecond' as tick,
             max((x.payload ->> 'issuancePerFeaturedAppRewardCoupon')::numeric) as issuance_per_featured_app_coupon,
             max((x.payload ->> 'issuancePerUnfeaturedAppRewardCoupon')::numeric) as issuance_per_unfeatured_app_coupon,
             max((x.payload ->> 'issuancePerValidatorRewardCoupon')::numeric) as issuance_per_validator_coupon,
             max((x.payload ->> 'optIssuancePerValidatorFaucetCoupon')::numeric) as issuance_per_validator_liveness,
             max((x.payload ->> 'issuancePerSvRewardCoupon')::numeric) as issuance_per_sv_coupon,
             min(x.created_at) filter (where x.phase = 1) as opened_at, min(x.created_at) filter (where x.phase = 3) as issued_at,
             min(x.created_at) filter (where x.phase = 4) as closed_at, max(x."offset") as last_offset
        from (
          select n.*, n.ended_offset is null and n.unhosted_since is null as is_live, p.phase
            from (values (1, 'OpenMiningRound'), (2, 'SummarizingMiningRound'), (3, 'IssuingMiningRound'),
                         (4, 'ClosedMiningRound')) p (phase, entity)
           cross join lateral :explore.network_contracts('Round', p.entity) n
           where n.payload is not null) x
       group by 1, 2) g
    -- Grouped by the columns of the join, so that a query that selects none of its columns does not read it.
    left join (
      select r.dso, r.round, max(r.status) filter (where r.reward_kind = 'app') as app_rewards_status,
             max(r.status) filter (where r.reward_kind = 'validator') as validator_rewards_status
        from :explore.reward_rounds r
       where not r.is_dry_run
       group by r.dso, r.round) w on w.dso = g.dso and w.round = g.round;
comment on view :explore.mining_rounds is
  'Mining rounds, one row each, from the contracts of all their phases: prices, the worth of a coupon once the round issues, and the progress of its rewards by traffic, see reward_rounds. Visible only to an indexer that reads for the DSO, or to which the contracts were disclosed. Works with any shape.';

create or replace view :explore.featured_apps as
  select n.payload ->> 'dso' as dso, n.payload ->> 'provider' as provider,
         (n.payload ->> 'activityWeight')::numeric as activity_weight, n.contract_id,
         n.ended_offset is null and n.unhosted_since is null as is_active, n."offset" as created_at_offset, n.created_at,
         n.ended_offset as archived_at_offset, n.ended_at as archived_at
    from :explore.network_contracts('Amulet', 'FeaturedAppRight') n
   where n.ended_by is distinct from 'w';
comment on view :explore.featured_apps is
  'Rights of app providers to rewards for featured apps, present and past, one row per contract. Works with any shape.';
