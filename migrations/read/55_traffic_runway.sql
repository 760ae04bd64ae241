-- How long traffic and Amulet will last for this participant. Every figure that an input is missing for is null, and its
-- column of reasons names the input. Rates come from hourly sums, so a week of history is 168 rows for each synchronizer.

-- A participant reports its position about once a minute, so times up to ten minutes after the newest record time are
-- known. The first update of the history in force is the earliest evidence that costs are complete.
create or replace function :explore.traffic_history("time" timestamptz)
  returns table (to_offset bigint, from_offset bigint, begins_at timestamptz, reason text, rejected_from_offset bigint,
                 rejected_begins_at timestamptz, rejected_reason text)
  language plpgsql stable parallel safe rows 1
  set search_path = pg_catalog, pg_temp
as $$
declare
  tolerance constant interval := '10 minutes';
  state record;
  known record;
  answered record;
begin
  if :explore.is_limited() then
    return;
  end if;
  select s.checkpoint, s.checkpoint_record_time, s.filter, s.filter_hash into state from :storage.stream s;
  to_offset := case when "time" >= state.checkpoint_record_time then state.checkpoint else :explore.nearest_offset("time") end;
  select r.* into known
    from (select c.from_offset, coalesce(c.to_offset, state.checkpoint) as to_offset,
                 max(coalesce(c.to_offset, state.checkpoint)) over (order by c.from_offset
                   rows between unbounded preceding and 1 preceding) as ended
            from :storage.coverage c where c.filter_hash = state.filter_hash) r
   where coalesce(r.ended < r.from_offset, true) and r.from_offset <= traffic_history.to_offset
   order by r.from_offset desc limit 1;
  from_offset := greatest(known.from_offset,
                          (select max(p.from_offset) from :storage.participants p where p.from_offset <= traffic_history.to_offset));
  begins_at := (select u.record_time from :storage.updates u
                 where u."offset" > from_offset and u.record_time is not null order by u."offset" limit 1);
  reason := case
    when from_offset is null then 'no history is stored at this time'
    when state.filter -> 'parties' <> '[]' or state.filter -> 'templates' <> '[]'
      then 'the filter excludes parties or templates, so some updates that cost traffic are not stored'
    when "time" > state.checkpoint_record_time + tolerance or state.checkpoint_record_time is null
      then 'updates up to this time are not stored yet'
    when exists (select from :storage.quarantine q where q."offset" > from_offset and q."offset" <= to_offset)
      then 'an update is in quarantine, so its cost is not known'
    when "time" < begins_at then 'the history begins later' end;
  select r.* into answered
    from (select c.from_offset, c.to_offset, c.parties,
                 max(c.to_offset) over (order by c.from_offset rows between unbounded preceding and 1 preceding) as ended,
                 max(c.to_offset) over () as checkpoint
            from :storage.completion_ranges c) r
   where coalesce(r.ended < r.from_offset, true) and r.from_offset <= traffic_history.to_offset
   order by r.from_offset desc limit 1;
  rejected_from_offset := answered.from_offset;
  rejected_begins_at := (select u.record_time from :storage.updates u
                          where u."offset" > greatest(answered.from_offset, from_offset) and u.record_time is not null
                          order by u."offset" limit 1);
  rejected_reason := case
    when answered.from_offset is null then 'completions are not stored, so the cost of rejected commands is not known'
    when exists (select from :storage.completion_ranges c where c.to_offset > answered.from_offset and c.parties <> '{}')
      then 'completions of some parties are not stored, so the cost of their rejected commands is not known'
    when (select u.record_time from :storage.updates u
           where u."offset" > answered.checkpoint and u."offset" <= to_offset and u.record_time is not null
           order by u."offset" limit 1) < "time" - tolerance
      then 'completions up to this time are not stored yet' end;
  return next;
end
$$;
comment on function :explore.traffic_history(timestamptz) is
  'History from which costs of this participant can be summed up to a time: the range of offsets without gaps, the time of its first update, and why the costs of updates, or of rejected commands, are not complete; null if they are. Completions may begin later than updates. No row for a role that is limited to parties.';

-- Purchases in the history in force are counted separately, as costs are. The contracts contain all purchases, so equal
-- numbers of purchases show that nothing was bought before.
create or replace function :explore.traffic_bought(member text, from_offset bigint, to_offset bigint)
  returns table (dso text, synchronizer_id text, migrations bigint, bytes numeric, purchases bigint, stored_bytes numeric,
                 stored_purchases bigint, choice_bytes numeric, transfer_bytes numeric, last_bought_at timestamptz, payer text,
                 last_is_transfer boolean)
  language plpgsql stable parallel safe rows 10
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_custom_plan
as $$
begin
  return query
    select b.dso, b.synchronizer_id, count(distinct b.migration_id), sum(b.bytes), sum(b.purchases)::bigint,
           sum(b.stored_bytes) filter (where b."offset" > from_offset),
           coalesce(sum(b.stored_purchases) filter (where b."offset" > from_offset), 0)::bigint, sum(b.stored_bytes) filter (where b.round is not null),
           sum(b.stored_bytes) filter (where b.round is null and b.provider is not null), max(b.record_time),
           (array_agg(b.provider order by b."offset" desc) filter (where b."offset" is not null))[1],
           (array_agg(b.round is null order by b."offset" desc) filter (where b."offset" is not null))[1]
      from (
        select n.payload ->> 'dso' as dso, n.payload ->> 'synchronizerId' as synchronizer_id,
               (n.payload ->> 'migrationId')::bigint as migration_id, (n.payload ->> 'totalPurchased')::numeric as bytes,
               (n.payload ->> 'numPurchases')::numeric as purchases, null::numeric as stored_bytes,
               null::bigint as stored_purchases, null::timestamptz as record_time, null::bigint as "offset",
               null::text as provider, null::bigint as round
          from :explore.network_contracts('DecentralizedSynchronizer', 'MemberTraffic') n
         where n."offset" <= to_offset and (n.ended_offset is null or n.ended_offset > to_offset)
           and n.ended_by is distinct from 'w' and n.unhosted_since is null and n.payload ->> 'memberId' = member
        union all
        select p.dso, p.synchronizer_id, p.migration_id, null, null, p.bytes, p.purchases, p.record_time, p."offset", p.provider,
               p.round
          from :explore.traffic_purchases p
         where p.member_id = member and p."offset" <= to_offset) b
     group by 1, 2;
end
$$;
comment on function :explore.traffic_bought(text, bigint, bigint) is
  'Traffic of a member at an offset, one row for each DSO and synchronizer: from the contracts MemberTraffic (bytes, purchases; null if they are not visible), and from the stored purchases, of which stored_bytes and stored_purchases count those after from_offset, with payer and way of the newest one.';

-- A sum since the beginning of the history divides the last hour, so updates of that hour are counted one by one. Rates
-- are sums of complete hours.
create or replace function :explore.traffic_paid(at_synchronizer text, from_time timestamptz, to_time timestamptz, from_offset bigint,
                                                 to_offset bigint)
  returns table (accepted numeric, rejected numeric)
  language plpgsql stable parallel safe rows 1
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_custom_plan
as $$
declare
  last_hour constant timestamptz := date_trunc('hour', to_time, 'UTC');
  is_newest constant boolean := to_time > (select s.checkpoint_record_time from :storage.stream s);
begin
  accepted := (select coalesce(sum(a.paid_traffic_cost), 0)
                 from :storage.activity_hourly a join :storage.synchronizers s on s.synchronizer_pk = a.synchronizer_pk
                where a.template_pk = 0 and s.synchronizer_id = at_synchronizer
                  and (from_time is null or a.hour >= from_time) and (is_newest or a.hour < last_hour));
  if from_time is null and not is_newest then
    accepted := accepted + (select coalesce(sum(u.paid_traffic_cost), 0)
                              from :storage.updates u join :storage.synchronizers s on s.synchronizer_pk = u.synchronizer_pk
                             where u.record_time >= last_hour and u.record_time <= to_time
                               and s.synchronizer_id = at_synchronizer);
  end if;
  rejected := (select coalesce(sum(c.paid_traffic_cost), 0)
                 from (select * from :storage.completions /*workers where status_code <> 0 offset 0 workers*/) c
                where c.status_code <> 0 and c.synchronizer_id = at_synchronizer and c."offset" > from_offset
                  and case when from_time is null then c.record_time <= to_time
                           else c.record_time >= from_time and c.record_time < to_time end);
  return next;
end
$$;
comment on function :explore.traffic_paid(text, timestamptz, timestamptz, bigint, bigint) is
  'Bytes that updates, and rejected commands, of this participant cost on a synchronizer: from from_time, a full hour, until before to_time, a full hour; or, if from_time is null, since the beginning of the history up to and including to_time. Rejected commands are those after from_offset.';

-- Prices in USD of a million bytes and of one Amulet are in the contract that a purchase uses: the state for external
-- parties if the newest purchase was a transfer, otherwise the newest open round. Contracts of other DSOs do not count.
create or replace function :explore.traffic_amulet_price(at_dso text, "time" timestamptz, to_offset bigint, is_by_transfer boolean)
  returns table (source text, amulet_per_mb numeric)
  language plpgsql stable parallel safe rows 1
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_custom_plan
as $$
declare
  oldest constant bigint := coalesce(:explore.nearest_offset("time" - interval '1 day'), -1);
begin
  return query
    select p.source, p.traffic_price / p.amulet_price
      from (
        select 'external_party_config_state' as source, is_by_transfer as is_preferred, n.created_at,
               (n.payload ->> 'trafficPrice')::numeric as traffic_price, (n.payload ->> 'amuletPrice')::numeric as amulet_price
          from :explore.network_contracts('ExternalPartyConfigState', 'ExternalPartyConfigState') n
         where n."offset" <= to_offset and (n.ended_offset is null or n.ended_offset > to_offset)
           and n.ended_by is distinct from 'w' and n.unhosted_since is null and n.payload ->> 'dso' = at_dso
        union all
        select 'open_mining_round', not is_by_transfer, (n.payload ->> 'opensAt')::timestamptz,
               (n.payload ->> 'trafficPrice')::numeric, (n.payload ->> 'amuletPrice')::numeric
          from :explore.network_contracts('Round', 'OpenMiningRound') n
         where n."offset" <= to_offset and n."offset" > oldest and (n.ended_offset is null or n.ended_offset > to_offset)
           and n.ended_by is distinct from 'w' and n.unhosted_since is null and n.payload ->> 'dso' = at_dso
           and (n.payload ->> 'opensAt')::timestamptz <= "time") p
     where p.traffic_price > 0 and p.amulet_price > 0
     order by p.is_preferred desc nulls last, p.created_at desc limit 1;
end
$$;
comment on function :explore.traffic_amulet_price(text, timestamptz, bigint, boolean) is
  'Price of a million bytes of traffic in Amulet at a time, from the contract that a purchase would use; no row if no such contract is visible.';

-- Locked Amulet cannot pay, so it does not count.
create or replace function :explore.traffic_amulet_left(payer text, at_dso text, to_offset bigint)
  returns table (amulet numeric, reason text)
  language plpgsql stable parallel safe rows 1
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_custom_plan
as $$
begin
  reason := case
    when payer is null then 'no purchase with its payer is visible'
    when not exists (select from :explore.known_ranges() r where traffic_amulet_left.to_offset between r.from_offset and r.to_offset)
      then 'active contracts at this time are not known'
    when not exists (select from :storage.filter_interfaces i
                      where split_part(i.interface_id, ':', 2) in ('Splice.Api.Token.HoldingV1', 'Splice.Api.Token.HoldingV2')
                        and i.state = 'followed' and i.complete_from <= to_offset)
      then 'holdings are not in the filter, or their views are not complete at this time' end;
  if reason is null then
    select coalesce(sum(t.unlocked), 0) into amulet
      from :explore.token_totals_at(array[to_offset]) t
     where t.owner = payer and t.instrument_admin = at_dso and t.instrument_id = 'Amulet';
  end if;
  return next;
end
$$;
comment on function :explore.traffic_amulet_left(text, text, bigint) is
  'Unlocked Amulet of a party right after an update, as its views of the token standard show it; or the reason why it is not known.';

create or replace function :explore.traffic_runway_at("time" timestamptz)
  returns table (at timestamptz, synchronizer_id text, dso text, member_id text, rate_over interval, bytes_bought numeric,
                 bytes_bought_by_choice numeric, bytes_bought_by_transfer numeric, last_bought_at timestamptz,
                 bytes_bought_reason text, bytes_paid numeric, bytes_rejected numeric, bytes_paid_reason text, bytes_left numeric,
                 bytes_left_reason text, bytes_per_hour numeric, bytes_per_hour_reason text, traffic_hours numeric,
                 traffic_ends_at timestamptz, traffic_reason text, payer text, amulet_left numeric, amulet_left_reason text,
                 amulet_per_mb numeric, price_source text, amulet_per_mb_reason text, amulet_hours numeric,
                 amulet_ends_at timestamptz, amulet_reason text)
  language plpgsql stable parallel safe rows 2
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_custom_plan
as $$
declare
  last_hour constant timestamptz := date_trunc('hour', "time", 'UTC');
  history record;
  bought record;
  paid record;
  is_since_first boolean;
begin
  if :explore.is_limited() then
    return;
  end if;
  select h.* into history from :explore.traffic_history("time") h;
  at := "time";
  member_id := 'PAR::' || (select s.participant_id from :storage.stream s);
  is_since_first := history.from_offset = (select min(c.from_offset) from :storage.coverage c);
  for bought in
    select b.*, y.synchronizer_id as at_synchronizer
      from (select s.synchronizer_id from :storage.synchronizers s
             where exists (select from :storage.activity_hourly a
                            where a.template_pk = 0 and a.synchronizer_pk = s.synchronizer_pk and a.paid_traffic_cost > 0)) y
      full join :explore.traffic_bought(member_id, coalesce(history.from_offset, -1), coalesce(history.to_offset, -1)) b
             on b.synchronizer_id = y.synchronizer_id
     order by coalesce(b.synchronizer_id, y.synchronizer_id), b.dso
  loop
    synchronizer_id := coalesce(bought.synchronizer_id, bought.at_synchronizer);
    dso := bought.dso;
    bytes_bought := null;
    bytes_bought_by_choice := coalesce(bought.choice_bytes, 0);
    bytes_bought_by_transfer := coalesce(bought.transfer_bytes, 0);
    last_bought_at := bought.last_bought_at;
    bytes_bought_reason := case
      when bought.dso is null then 'no purchase for this member is visible'
      when history.from_offset is null then history.reason
      when bought.migrations > 1 then 'there are purchases of several migrations'
      when bought.bytes is null and history.from_offset > 0
        then 'the history begins after the first update, and contracts MemberTraffic are not visible'
      when bought.bytes is null
           and exists (select from :storage.stream s where s.pruned_to_offset > history.from_offset)
        then 'old purchases were pruned, and contracts MemberTraffic are not visible' end;
    if bytes_bought_reason is null then
      bytes_bought := coalesce(bought.bytes, bought.stored_bytes);
    end if;

    bytes_paid := null;
    bytes_rejected := null;
    bytes_paid_reason := case
      when history.reason is not null then history.reason
      when not is_since_first then 'updates before a gap in the history are not known'
      when history.rejected_reason is not null then history.rejected_reason
      when history.rejected_from_offset > history.from_offset
        then 'completions begin after the history, so the cost of earlier rejected commands is not known' end;
    if history.reason is null and is_since_first then
      select p.* into paid from :explore.traffic_paid(synchronizer_id, null, "time", history.from_offset, history.to_offset) p;
      bytes_paid := paid.accepted;
      bytes_rejected := case when bytes_paid_reason is null then paid.rejected end;
    end if;
    bytes_left_reason := coalesce(bytes_bought_reason, bytes_paid_reason, case
      when history.from_offset > 0 and bought.purchases is distinct from bought.stored_purchases
        then 'traffic was bought before the history begins'
      when bytes_bought < bytes_paid + bytes_rejected
        then 'more was paid than bought, so the base rate paid a part' end);
    bytes_left := case when bytes_left_reason is null then bytes_bought - bytes_paid - bytes_rejected end;

    payer := bought.payer;
    select a.amulet, a.reason into amulet_left, amulet_left_reason
      from :explore.traffic_amulet_left(payer, dso, history.to_offset) a;
    amulet_left_reason := coalesce(case when bought.dso is null then bytes_bought_reason end, amulet_left_reason);
    select p.source, p.amulet_per_mb into price_source, amulet_per_mb
      from :explore.traffic_amulet_price(dso, "time", history.to_offset, bought.last_is_transfer) p;
    amulet_per_mb_reason := case
      when bought.dso is null then bytes_bought_reason
      when amulet_per_mb is null then 'no open round and no ExternalPartyConfigState with a price is visible' end;

    foreach rate_over in array array[interval '1 day', interval '7 days'] loop
      bytes_per_hour_reason := case
        when history.reason is not null then history.reason
        when history.begins_at > last_hour - rate_over then 'the history begins within the time of the rate'
        when history.rejected_reason is not null then history.rejected_reason
        when coalesce(history.rejected_begins_at > last_hour - rate_over, history.rejected_from_offset > history.from_offset)
          then 'completions begin within the time of the rate' end;
      bytes_per_hour := null;
      if bytes_per_hour_reason is null then
        select p.* into paid from :explore.traffic_paid(synchronizer_id, last_hour - rate_over, last_hour, history.from_offset,
                                                        history.to_offset) p;
        bytes_per_hour := (paid.accepted + paid.rejected) / (extract(epoch from rate_over) / 3600);
      end if;
      traffic_reason := coalesce(bytes_left_reason, bytes_per_hour_reason,
                                 case when bytes_per_hour = 0 then 'nothing was paid in the time of the rate' end);
      traffic_hours := case when traffic_reason is null then bytes_left / bytes_per_hour end;
      traffic_ends_at := case when traffic_reason is null then "time" + least(traffic_hours, 876000) * interval '1 hour' end;
      amulet_reason := coalesce(amulet_left_reason, amulet_per_mb_reason, bytes_per_hour_reason,
                                case when bytes_per_hour = 0 then 'nothing was paid in the time of the rate' end);
      amulet_hours := case when amulet_reason is null then amulet_left / (bytes_per_hour * amulet_per_mb / 1000000) end;
      amulet_ends_at := case when amulet_reason is null then "time" + least(amulet_hours, 876000) * interval '1 hour' end;
      return next;
    end loop;
  end loop;
end
$$;
comment on function :explore.traffic_runway_at(timestamptz) is
  'How long the traffic of this participant, and the Amulet that pays for it, last from a time: one row for each synchronizer, DSO and rate (of the last 24 or 168 full hours). A figure is null if an input is missing, and its column of reasons names the input. Traffic paid by confirmations and by topology transactions is not in the ledger''s updates, and traffic of the base rate is free. No rows for a role that is limited to parties.';

create or replace view :explore.traffic_runway as
  select * from :explore.traffic_runway_at(now());
comment on view :explore.traffic_runway is
  'How long the traffic of this participant, and the Amulet that pays for it, last from now, see traffic_runway_at.';
