-- Purchases of traffic, and traffic that this participant paid, with the updates for which it was paid. Amounts of
-- traffic are in bytes.

-- Traffic can also be bought by a transfer of Amulet to a party that does not exist. The CIP number in its name is not
-- assigned yet, so any number is accepted. The memo is the reason of the transfer. Names and rules are those of
-- daml/splice-amulet of canton-network/splice (Splice/ExternalPartyAmuletRules.daml, parseTrafficPurchaseMemo): each
-- key once, in any order, with values verbatim.
create or replace function :explore.traffic_memo(memo text)
  returns table (member_id text, synchronizer_id text, migration_id bigint, bytes numeric)
  language sql immutable parallel safe rows 1
begin atomic
  select substring(memo from '(?:^|&)memberId=([^&=]+)(?:&|$)'), substring(memo from '(?:^|&)synchronizerId=([^&=]+)(?:&|$)'),
         substring(memo from '(?:^|&)migrationId=([+]?0*\d{1,18})(?:&|$)')::bigint,
         substring(memo from '(?:^|&)trafficAmount=([+]?0*\d{1,18})(?:&|$)')::numeric
   where memo ~ '(?:^|&)memberId=[^&=]+(?:&|$)' and memo ~ '(?:^|&)synchronizerId=[^&=]+(?:&|$)'
     and memo ~ '(?:^|&)migrationId=[+]?0*\d{1,18}(?:&|$)' and memo ~ '(?:^|&)trafficAmount=[+]?0*\d{1,18}(?:&|$)';
end;
comment on function :explore.traffic_memo(text) is
  'Purchase in the memo of a transfer, written as memberId=…&synchronizerId=…&migrationId=…&trafficAmount=…; no row for any other text.';

-- There are many transfers and few purchases. A purchase creates a contract MemberTraffic, so only transfers in updates
-- that created such a contract are read, each by the index: "offset 0" prevents the planner from reading all transfers.
-- A role that is limited to parties does not see that contract, so all of its own transfers are read.
create or replace function :explore.traffic_transfers(after_offset bigint, to_offset bigint)
  returns table ("offset" bigint, dso text, provider text, member_id text, synchronizer_id text, migration_id bigint,
                 bytes numeric, amulet numeric)
  language sql stable parallel safe rows 10
begin atomic
  select x."offset", x.argument #>> '{transfer,instrumentId,admin}',
         coalesce(x.argument #>> '{transfer,sender,owner}', x.argument #>> '{transfer,sender}'), m.member_id, m.synchronizer_id,
         m.migration_id, m.bytes,
         substring(x.result #>> '{meta,values,splice.lfdecentralizedtrust.org/burned}' from '^\d+(?:\.\d+)?$')::numeric
    from (
      select e."offset", e.argument::jsonb as argument, e.result::jsonb as result
        from :explore.network_choices('ExternalPartyAmuletRules', 'ExternalPartyAmuletRules', '{TransferFactory_Transfer}') n (choice_pk)
       cross join (
              select distinct c."offset"
                from :explore.network_templates('DecentralizedSynchronizer', 'MemberTraffic') t (template_pk)
                join (select "offset", template_pk, origin from contracts /*workers
                       where template_pk in (select :explore.network_templates(
                         'DecentralizedSynchronizer', 'MemberTraffic')) offset 0 workers*/) c on c.template_pk = t.template_pk
               where c.origin = 'c'
                 and (after_offset is null or c."offset" > after_offset) and (to_offset is null or c."offset" <= to_offset)) b
       cross join lateral (
              select x."offset", x.argument, x.result
                from (select "offset", choice_pk, argument, result from exercises /*workers
                       where choice_pk in (select :explore.network_choices('ExternalPartyAmuletRules', 'ExternalPartyAmuletRules',
                         '{TransferFactory_Transfer}')) offset 0 workers*/) x
               where x.choice_pk = n.choice_pk and x."offset" = b."offset"
              offset 0) e
       where (select not :explore.is_limited())
      union all
      select e."offset", e.argument, e.result
        from :explore.network_exercises('ExternalPartyAmuletRules', 'ExternalPartyAmuletRules', '{TransferFactory_Transfer}') e
       where (select :explore.is_limited())
         and (after_offset is null or e."offset" > after_offset) and (to_offset is null or e."offset" <= to_offset)) x
   cross join lateral :explore.traffic_memo(x.argument #>> '{transfer,meta,values,splice.lfdecentralizedtrust.org/reason}') m
   where coalesce(x.argument #>> '{transfer,receiver,owner}', x.argument #>> '{transfer,receiver}')
           like 'cip-%\_traffic-purchase::1220%'
     -- Any party can choose such a name. A transfer to an existing party either waits for a response or creates a
     -- holding.
     and x.result #>> '{output,tag}' = 'TransferInstructionResult_Completed'
     and x.result #> '{output,value,receiverHoldingCids}' = '[]';
end;
comment on function :explore.traffic_transfers(bigint, bigint) is
  'Purchases of traffic by transfers of the token standard after one offset and up to and including another, where null is no limit, one row each: the payer, the member, and the Amulet burnt. Needs the shape LEDGER_EFFECTS, and contracts MemberTraffic in the filter.';

-- The purchase in an update is the amount that it added to the contracts MemberTraffic, so that merging them is not a
-- purchase. If no such contract is visible, for example to a role of the buyer, the amount is that of the choice.
-- "offset 0" makes Postgres sum up each side before the join. Contracts that prune kept are not purchases, because they
-- may be merged from contracts that were removed.
create or replace function :explore.traffic_purchases_between(after_offset bigint, to_offset bigint)
  returns table ("offset" bigint, update_id text, effective_at timestamptz, record_time timestamptz, dso text, member_id text,
                 synchronizer_id text, migration_id bigint, purchases bigint, bytes numeric, amulet_burnt numeric,
                 usd_burnt numeric, provider text, round bigint)
  language sql stable parallel safe rows 1000
begin atomic
  select coalesce(c."offset", e."offset") as "offset", id_text(u.update_id) as update_id, u.effective_at, u.record_time,
         coalesce(c.dso, e.dso) as dso, coalesce(c.member_id, e.member_id) as member_id,
         coalesce(c.synchronizer_id, e.synchronizer_id) as synchronizer_id,
         coalesce(c.migration_id, e.migration_id) as migration_id, coalesce(c.purchases, e.purchases) as purchases,
         coalesce(c.bytes, e.bytes) as bytes, coalesce(c.amulet, e.amulet) as amulet_burnt, c.usd as usd_burnt, e.provider,
         e.round
    from (
      select k."offset", k.payload ->> 'dso' as dso, k.payload ->> 'memberId' as member_id,
             k.payload ->> 'synchronizerId' as synchronizer_id, (k.payload ->> 'migrationId')::bigint as migration_id,
             sum(k.sign * (k.payload ->> 'numPurchases')::numeric)::bigint as purchases,
             sum(k.sign * (k.payload ->> 'totalPurchased')::numeric) as bytes,
             sum(k.sign * (k.payload ->> 'amuletSpent')::numeric) as amulet,
             sum(k.sign * (k.payload ->> 'usdSpent')::numeric) as usd
        from (
          select c.payload, c."offset", 1 as sign
            from :explore.network_templates('DecentralizedSynchronizer', 'MemberTraffic') t (template_pk)
            join (select "offset", template_pk, origin, payload from contracts /*workers
                   where template_pk in (select :explore.network_templates(
                     'DecentralizedSynchronizer', 'MemberTraffic')) offset 0 workers*/) c on c.template_pk = t.template_pk
           where c.origin = 'c' and c."offset" > (select coalesce(s.pruned_to_offset, -1) from stream s)
             and (after_offset is null or c."offset" > after_offset) and (to_offset is null or c."offset" <= to_offset)
          union all
          select n.payload, n.ended_offset, -1
            from :explore.network_contracts('DecentralizedSynchronizer', 'MemberTraffic') n
           where (n.ended_by = 'a'
                  or n.ended_by = 'w'
                     and exists (select from (select * from exercises /*workers
                                               where consuming and template_pk in (select :explore.network_templates(
                                                 'DecentralizedSynchronizer', 'MemberTraffic')) offset 0 workers*/) x
                                  where x."offset" = n."offset" and x.consuming and id_text(x.contract_id) = n.contract_id))
             and (after_offset is null or n.ended_offset > after_offset) and (to_offset is null or n.ended_offset <= to_offset)) k
       where k.payload is not null
       group by 1, 2, 3, 4, 5
      having sum(k.sign * (k.payload ->> 'numPurchases')::numeric) > 0
      offset 0) c
    full join (
      select x."offset", max(x.dso) as dso, x.member_id, x.synchronizer_id, x.migration_id, count(*) as purchases,
             sum(x.bytes) as bytes, sum(x.amulet) as amulet,
             case when count(distinct x.provider) = 1 then max(x.provider) end as provider, max(x.round) as round
        from (
          select b."offset", b.argument ->> 'expectedDso' as dso, b.argument ->> 'provider' as provider,
                 b.argument ->> 'memberId' as member_id, b.argument ->> 'synchronizerId' as synchronizer_id,
                 (b.argument ->> 'migrationId')::bigint as migration_id, (b.argument ->> 'trafficAmount')::numeric as bytes,
                 (b.result ->> 'amuletPaid')::numeric as amulet, (b.result #>> '{round,number}')::bigint as round
            from :explore.network_exercises('AmuletRules', 'AmuletRules', '{AmuletRules_BuyMemberTraffic}') b
           where b.argument is not null
             and (after_offset is null or b."offset" > after_offset) and (to_offset is null or b."offset" <= to_offset)
          union all
          select t."offset", t.dso, t.provider, t.member_id, t.synchronizer_id, t.migration_id, t.bytes, t.amulet, null
            from :explore.traffic_transfers(after_offset, to_offset) t) x
       group by 1, 3, 4, 5
      offset 0) e
           on e."offset" = c."offset" and e.member_id = c.member_id and e.synchronizer_id = c.synchronizer_id
          and e.migration_id = c.migration_id
    left join (select * from updates
               where (after_offset is null or "offset" > after_offset) and (to_offset is null or "offset" <= to_offset)) u
           on u."offset" = coalesce(c."offset", e."offset");
end;
comment on function :explore.traffic_purchases_between(bigint, bigint) is
  'Rows of traffic_purchases after one offset and up to and including another, computed from the history. A null offset is no limit.';

create or replace view :explore.traffic_purchases as
  select p.*
    from projected_traffic_purchases p
   where (select range_agg(r.stored) from unnest(:explore.projected_ranges('traffic_purchases')) r (stored)) @> p."offset"
  union all
  select u.* from :pqs.__rows_in_gaps(null::projected_traffic_purchases, 'traffic_purchases', null, null) u
  union all
  select t.*
    from :explore.traffic_purchases_between(null, null) t
   where (select :explore.projected_ranges('traffic_purchases')) is null;
comment on view :explore.traffic_purchases is
  'Purchases of traffic: member, bytes, and the Amulet and USD burnt. One row per update, member and migration, from the contracts MemberTraffic that the update added. provider is read from the choice of the purchase, AmuletRules_BuyMemberTraffic or a transfer of the token standard, if it is visible. round is read only from AmuletRules_BuyMemberTraffic, because a transfer has no round. The participant of the buyer sees its own purchases, the DSO all purchases. Complete where coverage reports complete.';

-- Sums are formed before the traffic that was paid is looked up, so that it is looked up once for each member.
create or replace view :explore.traffic_members as
  select m.dso, m.member_id, m.synchronizer_id, m.migration_id, m.bytes_bought, m.purchases, m.amulet_burnt, m.usd_burnt,
         m.indexed_bytes_bought, m.indexed_purchases, m.indexed_amulet_burnt, o.bytes_paid, o.bytes_rejected,
         case when m.migration_id = min(m.migration_id) over (partition by m.member_id, m.synchronizer_id)
               and m.migration_id = max(m.migration_id) over (partition by m.member_id, m.synchronizer_id)
              then m.bytes_bought - o.bytes_paid - o.bytes_rejected end as bytes_left_at_most
    from (
      select b.dso, b.member_id, b.synchronizer_id, b.migration_id, sum(b.bytes) as bytes_bought,
             sum(b.purchases)::bigint as purchases, sum(b.amulet) as amulet_burnt, sum(b.usd) as usd_burnt,
             sum(b.bytes_here) as indexed_bytes_bought, sum(b.indexed_purchases)::bigint as indexed_purchases,
             sum(b.amulet_here) as indexed_amulet_burnt
        from (
          select n.payload ->> 'dso' as dso, n.payload ->> 'memberId' as member_id,
                 n.payload ->> 'synchronizerId' as synchronizer_id, (n.payload ->> 'migrationId')::bigint as migration_id,
                 (n.payload ->> 'totalPurchased')::numeric as bytes, (n.payload ->> 'numPurchases')::numeric as purchases,
                 (n.payload ->> 'amuletSpent')::numeric as amulet, (n.payload ->> 'usdSpent')::numeric as usd,
                 null::numeric as bytes_here, null::bigint as indexed_purchases, null::numeric as amulet_here
            from :explore.network_contracts('DecentralizedSynchronizer', 'MemberTraffic') n
           where n.ended_offset is null and n.unhosted_since is null and n.payload is not null
          union all
          select p.dso, p.member_id, p.synchronizer_id, p.migration_id, null, null, null, null, p.bytes, p.purchases, p.amulet_burnt
            from :explore.traffic_purchases p) b
       group by 1, 2, 3, 4) m
    left join lateral (
           select coalesce(sum(a.paid_traffic_cost), 0) as bytes_paid,
                  (select coalesce(sum(c.paid_traffic_cost), 0)
                     from (select * from completions /*workers where status_code <> 0 offset 0 workers*/) c
                    where c.status_code <> 0 and c.synchronizer_id = m.synchronizer_id) as bytes_rejected
             from activity_hourly a
             join synchronizers s on s.synchronizer_pk = a.synchronizer_pk
            where a.template_pk = 0 and s.synchronizer_id = m.synchronizer_id
              and m.member_id = 'PAR::' || (select i.participant_id from stream i)
           having count(*) > 0) o on true;
comment on view :explore.traffic_members is
  'Traffic of each member of a synchronizer: the total from the contracts MemberTraffic, which the DSO sees, and the sum of the stored purchases. For the member that is this participant, also the traffic paid by its submissions since the start of history, with rejected submissions in a separate column, and an upper bound of the remaining traffic. The bound does not deduct payments before the start of history, the cost of confirmations, and rejected submissions that completion_coverage does not cover. Traffic of the base rate is free.';

-- An update has one cost. It is assigned to the first event visible to the indexer, which in most cases is the
-- submitted command.
create or replace function :explore.first_event(at_offset bigint)
  returns table (template_pk integer, choice_pk integer, parties_pk integer)
  language sql stable parallel safe rows 1
begin atomic
  select f.template_pk, f.choice_pk, f.parties_pk
    from (
      (select e.node_id, e.template_pk, e.choice_pk, e.parties_pk from exercises e
        where e."offset" = at_offset order by e.node_id limit 1)
      union all
      (select c.node_id, c.template_pk, null, null from contracts c
        where c."offset" = at_offset and c.origin <> 's' order by c.node_id limit 1)
      union all
      (select a.node_id, a.template_pk, null, null from archives a
        where a."offset" = at_offset order by a.node_id limit 1)
      union all
      (select r.node_id, r.template_pk, null, null from reassignments r
        where r."offset" = at_offset order by r.node_id limit 1)) f
   order by f.node_id, f.choice_pk limit 1;
end;
comment on function :explore.first_event(bigint) is 'Keys of the template, choice and acting parties of the first event of an update.';

create or replace function :explore.traffic_costs_between(after_offset bigint, to_offset bigint)
  returns table ("offset" bigint, template_pk integer, choice_pk integer, parties_pk integer)
  language sql stable parallel safe rows 1000
begin atomic
  select u."offset", f.template_pk, f.choice_pk, f.parties_pk
    from updates u
    left join lateral :explore.first_event(u."offset") f on true
   where u.paid_traffic_cost is not null
     and (after_offset is null or u."offset" > after_offset) and (to_offset is null or u."offset" <= to_offset);
end;
comment on function :explore.traffic_costs_between(bigint, bigint) is
  'Keys of the first event of each update of traffic_costs, after one offset and up to and including another. A null offset is no limit.';

-- The first event is looked up for updates without a stored row: because of "offset 0" the condition is tested before
-- the function is executed.
create or replace view :explore.traffic_costs as
  select u."offset", id_text(u.update_id) as update_id, u.effective_at, u.record_time, s.synchronizer_id, u.workflow_id,
         u.command_id, coalesce(t.package_name, t.package_id) as package_name,
         :explore.fqn(coalesce(t.package_name, t.package_id), t.module_name, t.entity_name) as template_fqn, h.choice,
         w.acting_parties, u.paid_traffic_cost as bytes
    from updates u
    left join projected_traffic_costs p
           on p."offset" = u."offset"
          and (select range_agg(r.stored) from unnest(:explore.projected_ranges('traffic_costs')) r (stored)) @> p."offset"
    left join lateral (select e.* from :explore.first_event(u."offset") e where p."offset" is null offset 0) f on true
    left join templates t on t.template_pk = coalesce(p.template_pk, f.template_pk)
    left join choices h on h.choice_pk = coalesce(p.choice_pk, f.choice_pk)
    left join event_parties w on w.parties_pk = coalesce(p.parties_pk, f.parties_pk)
    left join synchronizers s on s.synchronizer_pk = u.synchronizer_pk
   where u.paid_traffic_cost is not null;
comment on view :explore.traffic_costs is
  'Traffic cost in bytes of the updates that this participant submitted, each assigned to its first event: package (the app), template and choice, or a create if choice is null. Restrict queries to a range of record_time or "offset"; otherwise every update is read. Rejected submissions cost traffic too, but are not updates: see wasted_traffic.';
