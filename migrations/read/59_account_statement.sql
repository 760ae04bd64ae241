-- Account statements: the journal of a party with closing balances, and the value of Amulet in US dollars at the prices of
-- the ledger.

-- A price comes from the first of these sources that is visible: a transfer of the update, otherwise its first choice that
-- reports a price; the configuration that the choice
-- names instead of a round; the round that created an Amulet of the update, if this round was open then; the newest round that
-- was open then. Rounds are numbered by their opening, so that one pass over rounds and offsets in order finds the newest round
-- of each offset. A round counts only while its contract was active: after a gap in the rounds, a price is null.
create or replace function :explore.amulet_prices(for_dso text, offsets bigint[])
  returns table ("offset" bigint, price numeric, round bigint, source text)
  language plpgsql stable parallel safe rows 1000
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_custom_plan
  set jit = off
as $$
#variable_conflict use_column
declare
  -- Constants of the plan, so that its joins fit their number.
  sought constant bigint[] := array(select distinct d.o from unnest(offsets) d (o) where d.o is not null);
  choice_pks constant integer[] := array(
    select h.choice_pk
      from :storage.choices h
      join :storage.templates t on t.template_pk = h.template_pk
      left join :storage.packages p on p.package_id = t.package_id
     where coalesce(t.package_name, p.package_name) = 'splice-amulet');
  transfer_pks constant integer[] := array(
    select h.choice_pk
      from :storage.choices h
     where h.choice_pk = any (choice_pks) and h.choice in ('AmuletRules_Transfer', 'TransferPreapproval_SendV2'));
  stored constant int8multirange := (
    select range_agg(r.stored) from unnest(:explore.projected_ranges('amulet_transfers')) r (stored));
begin
  return query
    -- Most updates with Amulet are transfers, whose rows are stored. The result is the same without them.
    with transfers as materialized (
      select distinct on (p."offset") p."offset", p.amulet_price as price, p.round
        from unnest(sought) o (at_offset)
        join :storage.projected_amulet_transfers p on p."offset" = o.at_offset
       where p."offset" <@ stored and p.amulet_price is not null and coalesce(p.dso, for_dso) = for_dso
       order by p."offset", p.node_id),
    wanted as materialized (
      select o.at_offset, coalesce(u.effective_at, :explore.token_time(o.at_offset)) as at_time
        from (select d.o as at_offset from unnest(sought) d (o) except all select t."offset" from transfers t) o
        left join :storage.updates u on u."offset" = o.at_offset),
    reported as materialized (
      select w.at_offset, w.at_time, r.price, r.round
        from wanted w
        left join lateral (
               select x.price::numeric as price, x.round::bigint as round
                 from (
                   select x.node_id, x.choice_pk, coalesce(m.result #>> '{summary,amuletPrice}', m.result #>> '{result,summary,amuletPrice}',
                                              m.result #>> '{transferResult,summary,amuletPrice}',
                                              m.result #>> '{amuletSum,amuletPrice}') as price,
                          case when m.argument #> '{context,externalPartyConfigState}' is null
                               then coalesce(m.result #>> '{round,number}', m.result #>> '{result,round,number}',
                                             m.result #>> '{transferResult,round,number}',
                                             m.result #>> '{amuletSum,round,number}') end as round
                     from :storage.exercises x
                    cross join lateral (select x.argument::jsonb as argument, x.result::jsonb as result offset 0) m
                    where x."offset" = w.at_offset and x.choice_pk = any (choice_pks)
                      and coalesce(m.argument ->> 'expectedDso', for_dso) = for_dso) x
                where x.price is not null
                order by x.choice_pk = any (transfer_pks) desc, x.node_id limit 1) r on true),
    configured as materialized (
      select w.at_offset, c.price
        from reported w
       cross join lateral (
               select (n.payload ->> 'amuletPrice')::numeric as price
                 from :storage.exercises x
                cross join lateral (
                        select coalesce(x.argument::jsonb #>> '{extraArgs,context,values,external-party-config-state,value}',
                                        x.argument::jsonb #>> '{context,externalPartyConfigState}') as contract_id offset 0) k
                 join :storage.contract_states s on s.contract_id = k.contract_id and s.activated_offset <= w.at_offset
                 join :explore.network_templates('ExternalPartyConfigState', 'ExternalPartyConfigState') t (template_pk)
                   on t.template_pk = s.template_pk
                 join :storage.contracts n on n."offset" = s.activated_offset and n.node_id = s.node_id
                where x."offset" = w.at_offset and n.payload ->> 'dso' = for_dso and n.payload ->> 'amuletPrice' is not null
                order by x.node_id, s.activated_offset desc limit 1) c
       where w.price is null),
    rounds as materialized (
      select n.price, n.number, n.opens_at, n.begun, n.ended, row_number() over (order by n.opens_at, n.number) as place
        from (
          select (n.payload ->> 'amuletPrice')::numeric as price, (n.payload #>> '{round,number}')::bigint as number,
                 (n.payload ->> 'opensAt')::timestamptz as opens_at, n."offset" as begun,
                 case when n.unhosted_since is null then n.ended_offset else n.unhosted_since end as ended
            from :explore.network_contracts('Round', 'OpenMiningRound') n
           where n.payload ->> 'dso' = for_dso) n
       where n.price is not null and n.opens_at is not null
         and exists (select from reported r where r.price is null)),
    placed as materialized (
      select z.at_offset, z.at_time, max(z.place) over (order by z.at_time, z.place nulls last rows unbounded preceding) as place
        from (
          select null::bigint as at_offset, r.opens_at as at_time, r.place from rounds r
          union all
          select w.at_offset, w.at_time, null from reported w where w.price is null) z)
    select t."offset", t.price, t.round, 'choice' from transfers t
    union all
    select w.at_offset, p.price, p.round, p.source
      from reported w
      left join configured c on c.at_offset = w.at_offset
      left join (select k.at_offset, r.*
                   from placed k
                   join rounds r on r.place = k.place
                  where k.at_offset is not null and r.begun <= k.at_offset and coalesce(r.ended > k.at_offset, true)) o
             on o.at_offset = w.at_offset
      left join lateral (
             select r.price, r.number
               from (select coalesce(x.payload -> 'amulet', x.payload) #>> '{amount,createdAt,number}' as number
                       from :storage.contracts x
                       join (select t.template_pk from :explore.network_templates('Amulet', 'Amulet') t (template_pk)
                             union all
                             select t.template_pk from :explore.network_templates('Amulet', 'LockedAmulet') t (template_pk)) t
                         on t.template_pk = x.template_pk
                      where x."offset" = w.at_offset and x.origin = 'c'
                        and coalesce(x.payload -> 'amulet', x.payload) ->> 'dso' = for_dso) x
               join rounds r on r.number = x.number::bigint
              where w.price is null and c.price is null
                and r.begun <= w.at_offset and coalesce(r.ended > w.at_offset, true) and r.opens_at <= w.at_time
              order by r.number desc limit 1) h on true
     cross join lateral (
             select w.price, w.round, 'choice' as source where w.price is not null
             union all
             select c.price, null, 'configuration' where w.price is null and c.price is not null
             union all
             select coalesce(h.price, o.price), coalesce(h.number, o.number), case when h.price is null then 'open round' else 'holding' end
              where w.price is null and c.price is null and coalesce(h.price, o.price) is not null) p;
end
$$;
comment on function :explore.amulet_prices(text, bigint[]) is
  'Price of Amulet in US dollars at offsets, for the Amulet of one DSO, with its source: choice (a transfer of the update, otherwise its first choice that reports a price), configuration (the choice names an ExternalPartyConfigState), holding (the round that created an Amulet of the update) or open round (the newest round that was open then). No row for an offset without a visible price.';

-- The value is rounded like products on the ledger. Statements have few updates in which choices report no price, so that rounds
-- are read once.
create or replace function :explore.account_statement(party text, from_offset bigint default null, to_offset bigint default null)
  returns table ("offset" bigint, update_id text, effective_at timestamptz, record_time timestamptz, provider text,
                 account_id text, instrument_admin text, instrument_id text, kind text, amount_in numeric, amount_out numeric,
                 net numeric, balance numeric, locked numeric, other_owners text[], reason text, basis text,
                 unreadable_holdings bigint, amulet_price numeric, price_round bigint, price_source text, usd numeric)
  language plpgsql stable parallel safe rows 1000
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_custom_plan
  set jit = off
as $$
#variable_conflict use_column
declare
  owner_party text := party;
  begins bigint;
  ends bigint;
begin
  select b.begins, b.ends into begins, ends from :explore.token_journal_bounds(from_offset, to_offset) b;
  -- If there are no holdings at all, no query below checks the party.
  perform :explore.known_party(owner_party);
  return query
    with journal as materialized (
      select * from :explore.token_journal_rows(owner_party, begins, ends)),
    -- An account has one row at an offset.
    lines as (
      select * from journal
      union all
      select ends, null, null, null, j.provider, j.account_id, j.instrument_admin, j.instrument_id, 'closing', 0, 0, 0, j.balance,
             j.locked, null, null, null, 0
        from (select j.provider, j.account_id, j.instrument_admin, j.instrument_id, max(j."offset") as "offset"
                from journal j group by 1, 2, 3, 4) m
        join journal j on j."offset" = m."offset" and j.provider is not distinct from m.provider
                      and (j.account_id, j.instrument_admin, j.instrument_id) = (m.account_id, m.instrument_admin, m.instrument_id)),
    prices as materialized (
      select d.dso, p.*
        from (select l.instrument_admin as dso, array_agg(l."offset") || ends as offsets
                from journal l where l.instrument_id = 'Amulet' group by l.instrument_admin) d
       cross join lateral :explore.amulet_prices(d.dso, d.offsets) p)
    select l.*, p.price, p.round, p.source,
           :explore.ledger_product(case l.kind when 'closing' then l.balance else l.net end, p.price)
      from lines l
      left join prices p on l.instrument_id = 'Amulet' and p.dso = l.instrument_admin and p."offset" = l."offset"
     order by l."offset", l.kind = 'closing', l.instrument_admin collate "C", l.instrument_id collate "C",
              l.provider collate "C", l.account_id collate "C";
end
$$;
comment on function :explore.account_statement(text, bigint, bigint) is
  'Rows of token_journal with the same arguments, then the closing balance of each account and instrument (kind closing, net 0). usd is the value of Amulet in US dollars: net times amulet_price, of a closing row balance times amulet_price, rounded like the ledger to ten decimal places; null for other instruments, and if no price is visible, see amulet_prices. The price of an opening or closing row is the one at its offset.';
