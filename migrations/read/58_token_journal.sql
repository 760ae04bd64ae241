-- Journal of the receipts and payments of a party, in order, with running balances, and notes on its completeness.

create or replace function :explore.token_journal_bounds(from_offset bigint, to_offset bigint)
  returns table (begins bigint, ends bigint)
  language plpgsql stable parallel safe rows 1
  set search_path = pg_catalog, pg_temp
as $$
begin
  ends := :explore.token_offset(coalesce(to_offset, :explore.latest_offset()));
  if from_offset is null then
    begins := (select greatest(r.from_offset, (select max(f.complete_from) from :storage.filter_interfaces f
                                                where f.interface_id like '%:Splice.Api.Token.HoldingV_:Holding'))
                 from :explore.known_ranges() r where ends between r.from_offset and r.to_offset);
  else
    begins := :explore.token_offset(from_offset);
  end if;
  if begins > ends then
    raise exception 'A journal from % to % ends before it begins', begins, ends
      using errcode = 'invalid_parameter_value', hint = 'Give the earlier offset first.';
  elsif not exists (select from :explore.known_ranges() r
                     where begins between r.from_offset and r.to_offset and ends between r.from_offset and r.to_offset) then
    raise exception 'Changes between % and % are not completely known: %', begins, ends, :explore.known_ranges_text()
      using errcode = 'LI003', hint = 'Query each range separately; view coverage lists the gaps between them.';
  end if;
  return next;
end
$$;
comment on function :explore.token_journal_bounds(bigint, bigint) is
  'The offsets themselves if all history between them is known, otherwise SQLSTATE LI003. For null, the beginning of the known range, and the checkpoint.';

-- Without an order, because account_statement sorts the rows itself.
create or replace function :explore.token_journal_rows(party text, begins bigint, ends bigint)
  returns table ("offset" bigint, update_id text, effective_at timestamptz, record_time timestamptz, provider text,
                 account_id text, instrument_admin text, instrument_id text, kind text, amount_in numeric, amount_out numeric,
                 net numeric, balance numeric, locked numeric, other_owners text[], reason text, basis text, unreadable_holdings bigint)
  language sql stable parallel safe rows 1000
begin atomic
  select j."offset", j.update_id, j.effective_at, j.record_time, j.provider, j.account_id, j.instrument_admin,
         j.instrument_id, j.kind, j.amount_in, j.amount_out, j.net, sum(j.net) over account,
         sum(j.locked_in - j.locked_out) over account, j.other_owners, j.reason, j.basis, j.unreadable_holdings
    from (
      select begins as "offset", null::text as update_id, null::timestamptz as effective_at,
             null::timestamptz as record_time, h.provider, h.account_id, h.instrument_admin, h.instrument_id,
             'opening' as kind, 0::numeric as amount_in, 0::numeric as amount_out, sum(h.amount) as net,
             coalesce(sum(h.amount) filter (where h.is_locked), 0) as locked_in, 0::numeric as locked_out,
             null::text[] as other_owners, null::text as reason, null::text as basis, 0::bigint as unreadable_holdings
        from :explore.token_holdings_at(begins) h
       where h.owner = party
         and exists (select from (select contract_id, activated_offset, parties_pk from contract_states /*workers
                                   where parties_pk = any ((select :explore.token_parties(party))::integer[]) offset 0
                                 workers*/) l
                       join contract_parties w on w.parties_pk = l.parties_pk
                      where l.contract_id = h.contract_id and l.activated_offset = h.created_at_offset
                        and party = any (w.signatories || w.observers))
       group by h.provider, h.account_id, h.instrument_admin, h.instrument_id
      union all
      select c."offset", c.update_id, c.effective_at, c.record_time, c.provider, c.account_id, c.instrument_admin,
             c.instrument_id, c.kind, c.amount_in, c.amount_out, c.net, c.locked_in, c.locked_out, c.other_owners, c.reason,
             c.basis, c.unreadable_holdings
        from :explore.token_changes_of(party) c
       where c."offset" > begins and c."offset" <= ends) j
  window account as (partition by j.provider, j.account_id, j.instrument_admin, j.instrument_id order by j."offset"
                     rows between unbounded preceding and current row);
end;
comment on function :explore.token_journal_rows(text, bigint, bigint) is
  'Rows of token_journal in no order. The offsets are those of token_journal_bounds.';

-- In PL/pgSQL, so that the offsets are constants for the planner, and conditions on them reach the indexes of holdings.
create or replace function :explore.token_journal(party text, from_offset bigint default null, to_offset bigint default null)
  returns table ("offset" bigint, update_id text, effective_at timestamptz, record_time timestamptz, provider text,
                 account_id text, instrument_admin text, instrument_id text, kind text, amount_in numeric, amount_out numeric,
                 net numeric, balance numeric, locked numeric, other_owners text[], reason text, basis text, unreadable_holdings bigint)
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
  -- If there are no holdings at all, no query below checks the party.
  perform :explore.known_party(owner_party);
  return query
    select * from :explore.token_journal_rows(owner_party, begins, ends) j
     order by j."offset", j.instrument_admin collate "C", j.instrument_id collate "C", j.provider collate "C",
              j.account_id collate "C";
end
$$;
comment on function :explore.token_journal(text, bigint, bigint) is
  'Changes of the holdings of a party after one offset, up to and including another, with the balance after each change, by account and instrument. The first rows are the opening balances. Without offsets, from the beginning of the known range to the checkpoint. Unknown offsets, and a gap between the offsets, are rejected with SQLSTATE LI003; token_journal_notes reports other limits. The party has to be a stakeholder of its holdings.';

create or replace function :explore.token_journal_notes(party text, from_offset bigint default null, to_offset bigint default null)
  returns setof text
  language sql stable parallel safe rows 2
begin atomic
  with bounds as materialized (
    select b.begins, b.ends, r.from_offset as known_from
      from :explore.token_journal_bounds(from_offset, to_offset) b
      join :explore.known_ranges() r on b.ends between r.from_offset and r.to_offset)
  select case c.status when 'quarantined' then format('offset %s: %s', c.to_offset, c.reason)
                       else format('from offset %s: %s', c.from_offset, c.reason) end
    from bounds b
    join :explore.coverage c on c.status in ('quarantined', 'partial') and c.to_offset > b.known_from and c.from_offset < b.ends
  union all
  select format('%s holdings that the party is a stakeholder of cannot be read and are not counted: see token_holdings_unreadable',
                count(*))
    from bounds b
    join :explore.token_unreadable_states((select :explore.token_parties(party))::integer[]) l
      on l.activated_offset <= b.ends and coalesce(l.deactivated_offset > b.begins, true)
  having count(*) > 0;
end;
comment on function :explore.token_journal_notes(text, bigint, bigint) is
  'Limits on the completeness of token_journal with the same arguments, as sentences: updates in quarantine, history that began without a seed, holdings that cannot be read. No rows if there are none.';
