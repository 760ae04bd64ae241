-- Tokens of the token standard, versions 1 (CIP-56) and 2 (CIP-112), as views over its interfaces: holdings and
-- balances, present and past. The views always exist. They are empty until views of contracts through these interfaces
-- are stored; the filter of the indexer has to name the interfaces.
-- A holding with views of both versions counts once, with the view of version 2. Amounts are numeric, exact to the last
-- digit. A field that is None may be null or missing in the JSON; both are returned as null. Active holdings are found
-- by the active contracts of the templates that implement an interface, so the cost does not depend on the length of
-- history.

create or replace function :explore.texts(list jsonb) returns text[]
  language sql immutable parallel safe
  return case jsonb_typeof(list) when 'array' then array(select jsonb_array_elements_text(list)) end;
comment on function :explore.texts(jsonb) is 'JSON list of texts as an array; null if the value is not a list.';

create or replace function :explore.json_list(value jsonb) returns jsonb
  language sql immutable parallel safe
  return case jsonb_typeof(value) when 'array' then value else '[]' end;
comment on function :explore.json_list(jsonb) is 'The value if it is a JSON list, otherwise the empty list.';

create or replace function :explore.optional(value jsonb) returns jsonb
  language sql immutable parallel safe
  return nullif(value, 'null'::jsonb);
comment on function :explore.optional(jsonb) is 'Value of an optional field; null both for JSON null and for a missing field.';

-- Packages of the standard are named after their module. While the package name of an interface is not known, module
-- and name identify it. In PL/pgSQL, so that a query evaluates it once: (select token_pks(…)).
create or replace function :explore.token_pks(module text, entity text) returns integer[]
  language plpgsql stable parallel safe
  set search_path = pg_catalog, pg_temp
as $$
declare
  package text := 'splice-api-token-' || lower(regexp_replace(module, '([a-z0-9])([A-Z])', E'\\1-\\2', 'g'));
begin
  return array(
    select t.template_pk
      from :storage.templates t
      left join :storage.packages p on p.package_id = t.package_id
     where t.module_name = 'Splice.Api.Token.' || module and t.entity_name = entity
       and coalesce(t.package_name, p.package_name, package) = package);
end
$$;
comment on function :explore.token_pks(text, text) is
  'Numbers of an interface of the token standard, one for each package in which it occurs. Arguments are module and entity, e.g. HoldingV2 and Holding.';

create or replace function :explore.token_templates(module text, entity text) returns integer[]
  language plpgsql stable parallel safe
  set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select distinct m.template_pk from :storage.template_interfaces m
     where m.interface_pk = any (:explore.token_pks(module || 'V1', entity) || :explore.token_pks(module || 'V2', entity)));
end
$$;
comment on function :explore.token_templates(text, text) is
  'Keys of the templates with stored views through an interface of the token standard, of either version. Arguments are module and entity, e.g. Holding and Holding.';

create or replace function :explore.token_choices(module text, entity text, names text[]) returns integer[]
  language plpgsql stable parallel safe
  set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select h.choice_pk from :storage.choices h
     where h.interface_pk = any (:explore.token_pks(module, entity)) and h.choice = any (names));
end
$$;
comment on function :explore.token_choices(text, text, text[]) is
  'Keys of choices of an interface of the token standard, one for each template on which they were exercised.';

create or replace function :explore.token_step_choices(version text) returns integer[]
  language sql stable parallel safe
  return :explore.token_choices('TransferInstruction' || version, 'TransferFactory', '{TransferFactory_Transfer}')
    || :explore.token_choices('TransferInstruction' || version, 'TransferInstruction',
         '{TransferInstruction_Accept,TransferInstruction_Reject,TransferInstruction_Withdraw,TransferInstruction_Update}');
comment on function :explore.token_step_choices(text) is
  'Keys of the choices that are steps of a transfer in a version of the token standard, V1 or V2.';

-- View of a contract through one of two interfaces. If both exist, the newer interface is used, because its view has an
-- account.
create or replace function :explore.token_view(at_offset bigint, at_node integer, module text, entity text)
  returns table (standard text, view jsonb)
  language sql stable parallel safe rows 1
begin atomic
  select case when v.interface_pk = any ((select :explore.token_pks(module || 'V2', entity))::integer[]) then 'V2' else 'V1' end,
         v.view
    from interface_views v
   where v."offset" = at_offset and v.node_id = at_node and v.status_code = 0 and v.view is not null
     and v.interface_pk = any ((select :explore.token_pks(module || 'V1', entity) || :explore.token_pks(module || 'V2', entity))::integer[])
   order by 1 desc limit 1;
end;
comment on function :explore.token_view(bigint, integer, text, text) is
  'View of the row of contracts with this offset and node through an interface of the token standard: the view of version 2, otherwise of version 1.';

-- The creator of a holding chooses its lock duration. A query must not fail if the duration exceeds the range of
-- intervals or timestamps.
create or replace function :explore.token_span(microseconds bigint) returns interval
  language sql immutable parallel safe
  return case when abs(microseconds::numeric) < 9000000000000000000 then microseconds
              else sign(microseconds) * 9000000000000000000 end * interval '1 microsecond';
comment on function :explore.token_span(bigint) is 'Microseconds as an interval, at most 285,000 years.';

create or replace function :explore.token_holding(at_offset bigint, at_node integer)
  returns table (standard text, owner text, provider text, account_id text, instrument_admin text, instrument_id text,
                 amount numeric, is_locked boolean, lock_holders text[], lock_expires_at timestamptz,
                 lock_expires_after interval, lock_context text, meta jsonb)
  language sql stable parallel safe rows 1
begin atomic
  select v.standard, coalesce(v.view #>> '{account,owner}', v.view ->> 'owner'), v.view #>> '{account,provider}',
         coalesce(v.view #>> '{account,id}', ''), v.view #>> '{instrumentId,admin}', v.view #>> '{instrumentId,id}',
         (v.view ->> 'amount')::numeric, :explore.optional(v.view -> 'lock') is not null,
         :explore.texts(v.view #> '{lock,holders}'), (v.view #>> '{lock,expiresAt}')::timestamptz,
         :explore.token_span((v.view #>> '{lock,expiresAfter,microseconds}')::bigint), v.view #>> '{lock,context}',
         v.view #> '{meta,values}'
    from :explore.token_view(at_offset, at_node, 'Holding', 'Holding') v
   where v.view ->> 'amount' is not null;
end;
comment on function :explore.token_holding(bigint, integer) is
  'Token holding of the row of contracts with this offset and node. No row if the contract is not a holding, or if its view is not stored, failed or was redacted, see token_holdings_unreadable.';

create or replace function :explore.token_locked_until(created_at timestamptz, expires_at timestamptz, expires_after interval)
  returns timestamptz
  language sql immutable parallel safe
  return least(expires_at, case when expires_after < interval '0' then created_at
                                when expires_after < interval '200000 years' then created_at + expires_after end);
comment on function :explore.token_locked_until(timestamptz, timestamptz, interval) is
  'End of a lock: the earlier of its end time and its duration after the create of the holding; null if it has no end within 200,000 years.';

create or replace view :explore.token_holdings as
  select id_text(l.contract_id) as contract_id, h.standard, h.owner, h.provider, h.account_id, h.instrument_admin,
         h.instrument_id, h.amount, h.is_locked, h.lock_holders, h.lock_expires_at, h.lock_expires_after,
         :explore.token_locked_until(c.created_at, h.lock_expires_at, h.lock_expires_after) as locked_until,
         h.is_locked and coalesce(:explore.token_locked_until(c.created_at, h.lock_expires_at, h.lock_expires_after) > now(), true)
           as is_locked_now,
         h.lock_context, h.meta, l."offset" as created_at_offset, c.created_at,
         :explore.fqn(coalesce(t.package_name, t.package_id), t.module_name, t.entity_name) as template_fqn,
         s.synchronizer_id
    from (select * from live /*workers
           where unhosted_since is null and template_pk = any ((select :explore.token_templates('Holding', 'Holding'))::integer[]) offset 0 workers*/) l
   cross join lateral :explore.token_holding(l."offset", l.node_id) h
    left join templates t on t.template_pk = l.template_pk
    left join (select * from contracts /*workers
                where template_pk = any ((select :explore.token_templates('Holding', 'Holding'))::integer[]) offset 0 workers*/) c
           on c."offset" = l."offset" and c.node_id = l.node_id
    left join synchronizers s on s.synchronizer_pk = l.synchronizer_pk
   where l.unhosted_since is null
     and l.template_pk = any ((select :explore.token_templates('Holding', 'Holding'))::integer[]);
comment on view :explore.token_holdings is
  'Token holdings that are active now, one row per holding contract, read by version 2 of the standard if the contract has this view. Empty without an interface Holding in the filter. While interface_coverage reports such an interface as backfilling, holdings that have only its view are missing.';

create or replace view :explore.token_balances as
  select owner, provider, account_id, instrument_admin, instrument_id, sum(amount) as total,
         coalesce(sum(amount) filter (where is_locked), 0) as locked,
         coalesce(sum(amount) filter (where not is_locked), 0) as unlocked,
         coalesce(sum(amount) filter (where not is_locked_now), 0) as available, count(*) as holdings
    from :explore.token_holdings
   group by owner, provider, account_id, instrument_admin, instrument_id;
comment on view :explore.token_balances is
  'Current balance of each account and instrument. In version 1 an owner has one account, without provider and id. Empty without an interface Holding in the filter. While interface_coverage reports such an interface as backfilling, holdings that have only its view are missing.';

-- The projection of holdings has a row without a standard for each holding that cannot be read.
create or replace function :explore.token_unreadable_states(for_parties integer[])
  returns table (contract_id text, activated_offset bigint, node_id integer, template_pk integer, parties_pk integer,
                 deactivated_offset bigint, ended_by "char", unhosted_since bigint)
  language sql stable parallel safe rows 10
begin atomic
  select s.contract_id, s.activated_offset, s.node_id, s.template_pk, s.parties_pk, s.deactivated_offset, s.ended_by,
         s.unhosted_since
    from (select p.contract_id, p."offset", p.cause
            from projected_token_holding_events p
           where p.standard is null
             and not ((select :pqs.__offsets_without('token_holding_events')) @> p."offset")
          union all
          select u.contract_id, u."offset", u.cause
            from :pqs.__rows_in_gaps(null::projected_token_holding_events, 'token_holding_events', null, null) u
           where u.standard is null) k
   cross join lateral (
           select c.*
             from (select * from contract_states /*workers
                    where template_pk = any ((select :explore.token_templates('Holding', 'Holding'))::integer[]) offset 0 workers*/) c
            where c.contract_id = k.contract_id and c.activated_offset = k."offset"
           offset 0) s
   where k.cause in ('created', 'assigned', 'seeded', 'retained') and (for_parties is null or s.parties_pk = any (for_parties))
  union all
  select l.contract_id, l.activated_offset, l.node_id, l.template_pk, l.parties_pk, l.deactivated_offset, l.ended_by,
         l.unhosted_since
    from (select * from contract_states /*workers
           where template_pk = any ((select :explore.token_templates('Holding', 'Holding'))::integer[])
             and (for_parties is null or parties_pk = any (for_parties)) offset 0 workers*/) l
   where (select :explore.projected_ranges('token_holding_events')) is null
     and l.ended_by is distinct from 'w'
     and l.template_pk = any ((select :explore.token_templates('Holding', 'Holding'))::integer[])
     and (for_parties is null or l.parties_pk = any (for_parties))
     and not exists (select from :explore.token_holding(l.activated_offset, l.node_id));
end;
comment on function :explore.token_unreadable_states(integer[]) is
  'Rows of contract_states of holdings that cannot be read, for these party sets (contract_parties.parties_pk); null is all.';

-- A holding that cannot be read is listed here, so that balances are either complete or known to be incomplete.
create or replace view :explore.token_holdings_unreadable as
  select l.contract_id, :explore.fqn(coalesce(t.package_name, t.package_id), t.module_name, t.entity_name) as template_fqn,
         case when v.views is null then 'no view' when v.redaction_id is not null then 'redacted' else 'failed' end as reason,
         v.status_message, v.redaction_id, p.signatories, p.observers,
         l.ended_by is null and l.unhosted_since is null as is_active, l.activated_offset as created_at_offset, c.created_at,
         l.deactivated_offset as archived_at_offset
    from :explore.token_unreadable_states(null) l
    left join lateral (
           select count(*) as views, max(i.redaction_id) as redaction_id, max(i.status_message) as status_message
             from (select "offset", node_id, interface_pk, redaction_id, status_message from interface_views /*workers
                    where interface_pk = any ((select :explore.token_pks('HoldingV1', 'Holding')
                                           || :explore.token_pks('HoldingV2', 'Holding'))::integer[]) offset 0 workers*/) i
            where i."offset" = l.activated_offset and i.node_id = l.node_id
              and i.interface_pk = any ((select :explore.token_pks('HoldingV1', 'Holding')
                                              || :explore.token_pks('HoldingV2', 'Holding'))::integer[])
           having count(*) > 0) v on true
    left join templates t on t.template_pk = l.template_pk
    left join contract_parties p on p.parties_pk = l.parties_pk
    left join (select * from contracts /*workers
                where template_pk = any ((select :explore.token_templates('Holding', 'Holding'))::integer[]) offset 0 workers*/) c
           on c."offset" = l.activated_offset and c.node_id = l.node_id;
comment on view :explore.token_holdings_unreadable is
  'Contracts of token holding templates, present and past, whose owner and amount cannot be determined, because the interface was added to the filter after their end, or their view failed or was redacted. Balances and changes do not include them.';

create or replace function :explore.token_offset(at_offset bigint) returns bigint
  language plpgsql stable parallel safe
  set search_path = pg_catalog, pg_temp
as $$
begin
  return :explore.token_known_at('Holding', 'Holding', :explore.known_offset(at_offset));
end
$$;
comment on function :explore.token_offset(bigint) is
  'The offset itself if the holdings at this offset are known, because coverage includes the offset and interface_coverage reports complete holdings; otherwise SQLSTATE LI003.';

-- Time with which the ends of locks are compared: the time of the newest transaction in the known range, otherwise of
-- the next transaction. Pruning and seeding leave some older updates in the tables; their times are not used.
create or replace function :explore.token_time(at_offset bigint) returns timestamptz
  language sql stable parallel safe
begin atomic
  select coalesce(
    (select u.effective_at from updates u
      where u."offset" <= at_offset and u.effective_at is not null
        and u."offset" > (select r.from_offset from :explore.known_ranges() r where at_offset between r.from_offset and r.to_offset)
      order by u."offset" desc limit 1),
    (select u.effective_at from updates u
      where u."offset" > at_offset and u.effective_at is not null order by u."offset" limit 1));
end;
comment on function :explore.token_time(bigint) is
  'Ledger effective time of the newest transaction up to and including an offset; if there is none in the known range, of the next transaction; null if there is no next transaction either.';

-- Several templates may be holdings, so states_at is called for each template. The offset is checked first, even if
-- there are no holdings.
create or replace function :explore.token_holdings_at(at_offset bigint)
  returns setof :explore.token_holdings
  language sql stable parallel safe rows 1000
begin atomic
  select l.contract_id, h.standard, h.owner, h.provider, h.account_id, h.instrument_admin, h.instrument_id, h.amount,
         h.is_locked, h.lock_holders, h.lock_expires_at, h.lock_expires_after,
         :explore.token_locked_until(c.created_at, h.lock_expires_at, h.lock_expires_after),
         h.is_locked
           and coalesce(:explore.token_locked_until(c.created_at, h.lock_expires_at, h.lock_expires_after) > k.known_at, true),
         h.lock_context, h.meta, l.activated_offset, c.created_at, f.template_fqn, s.synchronizer_id
    from (select o.at_offset, coalesce(:explore.token_time(o.at_offset), now()) as known_at
            from (select :explore.token_offset(at_offset) as at_offset offset 0) o offset 0) k
   cross join lateral (
           select distinct :explore.fqn(coalesce(t.package_name, t.package_id), t.module_name, t.entity_name) as template_fqn
             from templates t
            where k.at_offset is not null
              and t.template_pk = any ((select :explore.token_templates('Holding', 'Holding'))::integer[])
           offset 0) f
   cross join lateral :explore.states_at(k.at_offset, f.template_fqn) l
   cross join lateral :explore.token_holding(l.activated_offset, l.node_id) h
    left join (select * from contracts /*workers
                where template_pk = any ((select :explore.token_templates('Holding', 'Holding'))::integer[]) offset 0 workers*/) c
           on c."offset" = l.activated_offset and c.node_id = l.node_id
    left join synchronizers s on s.synchronizer_pk = l.synchronizer_pk;
end;
comment on function :explore.token_holdings_at(bigint) is
  'Token holdings that were active right after the update with this offset; is_locked_now refers to the time of that update. Needs a known offset, see coverage, at which views of holdings are complete; other offsets are rejected with SQLSTATE LI003.';

create or replace function :explore.token_balances_at(at_offset bigint)
  returns setof :explore.token_balances
  language sql stable parallel safe rows 1000
begin atomic
  select owner, provider, account_id, instrument_admin, instrument_id, sum(amount),
         coalesce(sum(amount) filter (where is_locked), 0), coalesce(sum(amount) filter (where not is_locked), 0),
         coalesce(sum(amount) filter (where not is_locked_now), 0), count(*)
    from :explore.token_holdings_at(at_offset)
   group by owner, provider, account_id, instrument_admin, instrument_id;
end;
comment on function :explore.token_balances_at(bigint) is
  'Balance of each account and instrument right after the update with this offset, with the columns of token_balances. Needs a known offset, see coverage, at which holdings are complete, see interface_coverage; other offsets are rejected with SQLSTATE LI003.';

create or replace function :explore.token_balances_at("time" timestamptz)
  returns setof :explore.token_balances
  language sql stable parallel safe rows 1000
begin atomic
  select b.*
    from (select :explore.known_offset("time") as at_offset offset 0) k
   cross join lateral :explore.token_balances_at(k.at_offset) b;
end;
comment on function :explore.token_balances_at(timestamptz) is
  'Balance of each account and instrument at a time, by ledger effective time. Needs a time with a known state, see coverage, at which holdings are complete, see interface_coverage; other times are rejected with SQLSTATE LI003.';

create or replace function :explore.token_balances_at("position" text)
  returns setof :explore.token_balances
  language sql stable parallel safe rows 1000
begin atomic
  select b.*
    from (select :explore.known_offset("position") as at_offset offset 0) k
   cross join lateral :explore.token_balances_at(k.at_offset) b;
end;
comment on function :explore.token_balances_at(text) is
  'Balance of each account and instrument at an offset or a time, written as text, see known_offset. Needs a known offset at which holdings are complete, see interface_coverage; others are rejected with SQLSTATE LI003.';
