-- Account statements: the journal of a party with closing balances, and the value of Amulet in US dollars at the prices of
-- the ledger.

-- A price comes from the first of these sources that is visible: the choice of the update; the configuration that the choice
-- names instead of a round; the round that created an Amulet of the update, if this round was open then; the newest round that
-- was open then. Rounds are numbered by their opening, so that one pass over rounds and offsets in order finds the newest round
-- of each offset. A round counts only while its contract was active: after a gap in the rounds, a price is null.
create or replace function :explore.amulet_prices(for_dso text, offsets bigint[])
  returns table ("offset" bigint, price numeric, round bigint, source text)
  language plpgsql stable parallel safe rows 1000
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
begin
  return query
    with wanted as materialized (
      select o.at_offset, coalesce(u.effective_at, :explore.token_time(o.at_offset)) as at_time
        from (select distinct d.at_offset from unnest(offsets) d (at_offset)) o
        left join :storage.updates u on u."offset" = o.at_offset),
    reported as materialized (
      select w.at_offset, w.at_time, r.price, r.round
        from wanted w
        left join lateral (
               select x.price::numeric as price, x.round::bigint as round
                 from (
                   select x.node_id, coalesce(m.result #>> '{summary,amuletPrice}', m.result #>> '{result,summary,amuletPrice}',
                                              m.result #>> '{transferResult,summary,amuletPrice}',
                                              m.result #>> '{amuletSum,amuletPrice}') as price,
                          case when m.argument #> '{context,externalPartyConfigState}' is null
                               then coalesce(m.result #>> '{round,number}', m.result #>> '{result,round,number}',
                                             m.result #>> '{transferResult,round,number}',
                                             m.result #>> '{amuletSum,round,number}') end as round
                     from :storage.exercises x
                     join :storage.choices h on h.choice_pk = x.choice_pk
                     join :storage.templates t on t.template_pk = h.template_pk
                     left join :storage.packages p on p.package_id = t.package_id
                    cross join lateral (select x.argument::jsonb as argument, x.result::jsonb as result offset 0) m
                    where x."offset" = w.at_offset and coalesce(t.package_name, p.package_name) = 'splice-amulet'
                      and coalesce(m.argument ->> 'expectedDso', for_dso) = for_dso) x
                where x.price is not null
                order by x.node_id limit 1) r on true),
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
              where r.begun <= w.at_offset and coalesce(r.ended > w.at_offset, true) and r.opens_at <= w.at_time
              order by r.number desc limit 1) h on w.price is null and c.price is null
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
  'Price of Amulet in US dollars at offsets, for the Amulet of one DSO, with its source: choice (a choice of the update reports it), configuration (the choice names an ExternalPartyConfigState), holding (the round that created an Amulet of the update) or open round (the newest round that was open then). No row for an offset without a visible price.';

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
as $$
#variable_conflict use_column
declare
  owner_party text := party;
  begins bigint;
  ends bigint;
begin
  select b.begins, b.ends into begins, ends from :explore.token_journal_bounds(from_offset, to_offset) b;
  return query
    with journal as materialized (
      select *, row_number() over () as place from :explore.token_journal(owner_party, begins, ends)),
    lines as materialized (
      select j."offset", j.update_id, j.effective_at, j.record_time, j.provider, j.account_id, j.instrument_admin,
             j.instrument_id, j.kind, j.amount_in, j.amount_out, j.net, j.balance, j.locked, j.other_owners, j.reason, j.basis,
             j.unreadable_holdings
        from journal j
      union all
      select ends, null, null, null, c.provider, c.account_id, c.instrument_admin, c.instrument_id, 'closing', 0, 0, 0, c.balance,
             c.locked, null, null, null, 0
        from (select distinct on (j.provider, j.account_id, j.instrument_admin, j.instrument_id) j.*
                from journal j
               order by j.provider, j.account_id, j.instrument_admin, j.instrument_id, j.place desc) c),
    prices as materialized (
      select d.dso, p.*
        from (select l.instrument_admin as dso, array_agg(distinct l."offset") as offsets
                from lines l where l.instrument_id = 'Amulet' group by l.instrument_admin) d
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
