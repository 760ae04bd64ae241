-- Contracts that explain why a token holding is locked: allocations and pending transfers of the token standard, locks
-- by CIP-0105, and the governance locks of splice-amulet. Such a contract counts only if the admin of the instrument
-- signed it, because any party can create a contract with such a view. Functions with the argument at_offset return
-- the contracts that are active now if it is null, otherwise those that were active at the offset.

-- The ledger divides Numerics with ten decimal places and rounds halves to the even neighbor. In PL/pgSQL, so that the
-- quotient is computed once.
create or replace function :explore.ledger_quotient(one numeric, other numeric) returns numeric
  language plpgsql immutable parallel safe
  set search_path = pg_catalog, pg_temp
as $$
declare
  quotient numeric := div(one * 10000000000, nullif(other, 0));
  rest numeric := 2 * abs(one * 10000000000 - quotient * other);
begin
  if rest > abs(other) or rest = abs(other) and mod(quotient, 2) <> 0 then
    quotient := quotient + sign(one) * sign(other);
  end if;
  return quotient * 0.0000000001;
end
$$;
comment on function :explore.ledger_quotient(numeric, numeric) is
  'Quotient of two Numerics, rounded like the ledger: to ten decimal places, halves to the even neighbor. Null if the divisor is zero.';

-- The owner of a lock writes its metadata. A text that is not a time must not make a query fail, and Postgres before 16
-- cannot try a cast. Registries write times as microseconds since 1970 or in the format of ISO 8601.
create or replace function :explore.token_lock_time(value text) returns timestamptz
  language sql immutable parallel safe
  return case
    when value ~ '^-?\d{1,18}$' then
      case when value::bigint between -62135596800000000 and 253402300799999999
           then timestamptz '1970-01-01 00:00:00+00' + value::bigint / 1000000 * interval '1 second'
                + value::bigint % 1000000 * interval '1 microsecond' end
    when value ~ '^(?!0000)\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?Z$' then
      case when extract(month from make_date(left(value, 4)::integer, substr(value, 6, 2)::integer, 1)
                                   + (substr(value, 9, 2)::integer - 1)) = substr(value, 6, 2)::integer
           then (make_date(left(value, 4)::integer, substr(value, 6, 2)::integer, substr(value, 9, 2)::integer)
                 + make_time(substr(value, 12, 2)::integer, substr(value, 15, 2)::integer,
                             rtrim(substr(value, 18), 'Z')::double precision)) at time zone 'UTC' end
    end;
comment on function :explore.token_lock_time(text) is
  'Time in the metadata of a lock, as microseconds since 1970 or by ISO 8601; null for any other text.';

create or replace function :explore.token_lock_amount(value text) returns numeric
  language sql immutable parallel safe
  return case when value ~ '^\d{1,28}(\.\d{1,10})?$' then value::numeric end;
comment on function :explore.token_lock_amount(text) is 'Amount in the metadata of a lock; null for any other text.';

-- Each set of parties may act together. Without a readable text, the owner acts alone.
create or replace function :explore.token_lock_controllers(value text, owner text) returns jsonb
  language sql immutable parallel safe
  return case when value ~ '^[^,;]+([,;][^,;]+)*$'
              then (select jsonb_agg(to_jsonb(string_to_array(s.parties, ',')) order by s.position)
                      from unnest(string_to_array(value, ';')) with ordinality s (parties, position))
              else jsonb_build_array(jsonb_build_array(owner)) end;
comment on function :explore.token_lock_controllers(text, text) is
  'Sets of parties that may act on a lock by CIP-0105, as a JSON list of lists. The owner alone if the text is missing or not readable.';

-- A lock without an end has the greatest time of the ledger as its end.
create or replace function :explore.token_lock_end(expires_at timestamptz) returns timestamptz
  language sql immutable parallel safe
  return case when expires_at < timestamptz '9999-12-31 00:00:00+00' then expires_at end;
comment on function :explore.token_lock_end(timestamptz) is
  'End of a lock; null for the last day of the year 9999, which means that the lock has no end.';

-- CIP-0105 first rounds the elapsed share of the time, then its product with the amount. Governance locks of
-- splice-amulet first round the product of amount and remaining seconds, then its quotient. Both are computed exactly
-- like the ledger computes them.
create or replace function :explore.token_vested(is_allocation boolean, initial_amount numeric, amount numeric,
                                                 starts_at timestamptz, ends_at timestamptz, at timestamptz) returns numeric
  language plpgsql immutable parallel safe
  set search_path = pg_catalog, pg_temp
as $$
begin
  if at >= ends_at then
    return amount;
  elsif at <= starts_at then
    return 0;
  elsif is_allocation then
    return least(amount, greatest(0,
      :explore.ledger_product(initial_amount, :explore.ledger_quotient(extract(epoch from at - starts_at) * 1000000,
                                                                       extract(epoch from ends_at - starts_at) * 1000000))
      - (initial_amount - amount)));
  end if;
  return amount - :explore.ledger_quotient(:explore.ledger_product(amount, extract(epoch from ends_at - at)),
                                           extract(epoch from ends_at - starts_at));
end
$$;
comment on function :explore.token_vested(boolean, numeric, numeric, timestamptz, timestamptz, timestamptz) is
  'Part of the amount of a vesting lock that its owner may withdraw at a time, rounded like the ledger. initial_amount is the amount at the start of the period.';

create or replace function :explore.network_active(module text, entity text, at_offset bigint)
  returns table (contract_id text, payload jsonb, created_at timestamptz, signatories text[])
  language sql stable parallel safe rows 100
begin atomic
  select s.contract_id, c.payload, c.created_at, p.signatories
    from (
      select id_text(v.contract_id) as contract_id, v."offset", v.node_id, v.parties_pk
        from :explore.network_templates(module, entity) t (template_pk)
       cross join lateral (
               select l.contract_id, l."offset", l.node_id, l.parties_pk
                 from (select * from live /*workers
                        where template_pk in (select :explore.network_templates(module, entity)) offset 0 workers*/) l
                where l.template_pk = t.template_pk and l.unhosted_since is null) v
       where at_offset is null
      union all
      select a.contract_id, a.activated_offset, a.node_id, a.parties_pk
        from (select distinct :explore.fqn(coalesce(t.package_name, t.package_id), t.module_name, t.entity_name) as template_fqn
                from templates t
               where t.template_pk in (select :explore.network_templates(module, entity)) and at_offset is not null
              offset 0) f
       cross join lateral :explore.states_at(at_offset, f.template_fqn) a
       where at_offset is not null) s
   cross join lateral (
           select r.payload, r.created_at
             from (select * from contracts /*workers
                    where template_pk in (select :explore.network_templates(module, entity)) offset 0 workers*/) r
            where r."offset" = s."offset" and r.node_id = s.node_id
           offset 0) c
    left join contract_parties p on p.parties_pk = s.parties_pk
   where c.payload is not null;
end;
comment on function :explore.network_active(text, text, bigint) is
  'Active contracts of a template of splice-amulet with their payload: now if the offset is null, otherwise at the offset.';

-- Position and party set of the contracts of an interface of the token standard.
create or replace function :explore.token_active(module text, entity text, at_offset bigint)
  returns table (contract_id text, "offset" bigint, node_id integer, parties_pk integer)
  language sql stable parallel safe rows 100
begin atomic
  select id_text(l.contract_id), l."offset", l.node_id, l.parties_pk
    from (select * from live /*workers
           where unhosted_since is null and template_pk = any ((select :explore.token_templates(module, entity))::integer[]) offset 0
         workers*/) l
   where at_offset is null and l.unhosted_since is null
     and l.template_pk = any ((select :explore.token_templates(module, entity))::integer[])
  union all
  select a.contract_id, a.activated_offset, a.node_id, a.parties_pk
    from (select distinct :explore.fqn(coalesce(t.package_name, t.package_id), t.module_name, t.entity_name) as template_fqn
            from templates t
           where t.template_pk = any ((select :explore.token_templates(module, entity))::integer[]) and at_offset is not null
          offset 0) f
   cross join lateral :explore.states_at(at_offset, f.template_fqn) a
   where at_offset is not null;
end;
comment on function :explore.token_active(text, text, bigint) is
  'Active contracts of templates with views through an interface of the token standard: now if the offset is null, otherwise at the offset.';

-- CIP-0105 uses an allocation of version 2 as a lock: committed, without legs and without an end. Its metadata is
-- written by its owner, so an allocation that does not have this form is a plain allocation.
create or replace function :explore.token_allocation_locks(at_offset bigint)
  returns table (contract_id text, holding_ids text[], instrument_admin text, instrument_id text, owner text, provider text,
                 account_id text, reason text, unlock_controllers jsonb, withdraw_controllers jsonb,
                 substitute_controllers jsonb, beneficiary text, beneficiary_kind text, free_at timestamptz, amount numeric,
                 vesting_starts_at timestamptz, vesting_ends_at timestamptz, vesting_amount numeric, settlement_id text,
                 is_committed boolean, iterations bigint, note text)
  language sql stable parallel safe rows 100
begin atomic
  select x.contract_id, x.holding_ids, x.admin, x.instrument_id, x.owner, x.account ->> 'provider', coalesce(x.account ->> 'id', ''),
         k.reason,
         case when k.reason <> 'allocation' then :explore.token_lock_controllers(x.meta ->> 'cip-105/unlockControllerSets', x.owner) end,
         case when k.reason <> 'allocation' then :explore.token_lock_controllers(x.meta ->> 'cip-105/withdrawControllerSets', x.owner)
              when not x.is_committed then jsonb_build_array(jsonb_build_array(x.owner)) end,
         case when k.reason <> 'allocation' then :explore.token_lock_controllers(x.meta ->> 'cip-105/substituteControllerSets', x.owner) end,
         case when k.reason <> 'allocation' then x.meta ->> 'cip-105/lockBeneficiary' end,
         case when k.reason = 'aggregate_lock' then 'super_validator' end,
         case k.reason when 'vesting_lock' then x.ends_at when 'allocation' then :explore.token_lock_end(least(x.deadline, x.expires_at)) end,
         x.amount, case when k.reason = 'vesting_lock' then x.starts_at end, case when k.reason = 'vesting_lock' then x.ends_at end,
         case when k.reason = 'vesting_lock' then coalesce(x.initial_amount, x.amount) end, x.settlement_id, x.is_committed,
         x.iterations, x.note
    from (
      select a.contract_id, coalesce(:explore.texts(v.view -> 'holdingCids'), '{}') as holding_ids, p.signatories, m.meta, w.account,
             coalesce(v.view #>> '{allocation,admin}', v.view #>> '{allocation,transferLeg,instrumentId,admin}') as admin,
             coalesce(f.instrument_id, v.view #>> '{allocation,transferLeg,instrumentId,id}',
                      v.view #>> '{allocation,transferLegSides,0,instrumentId}') as instrument_id,
             coalesce(w.account ->> 'owner', v.view #>> '{allocation,transferLeg,sender}') as owner,
             coalesce(f.amount, (v.view #>> '{allocation,transferLeg,amount}')::numeric) as amount,
             v.standard = 'V2' and (v.view #>> '{allocation,committed}')::boolean and f.amount is not null
               and coalesce(jsonb_array_length(case jsonb_typeof(v.view #> '{allocation,transferLegSides}')
                                                 when 'array' then v.view #> '{allocation,transferLegSides}' end), 0) = 0
               and :explore.token_lock_end((v.view ->> 'expiresAt')::timestamptz) is null as is_lock,
             coalesce(w.settlement ->> 'settleBefore', v.view #>> '{allocation,settlementDeadline}')::timestamptz as deadline,
             (v.view ->> 'expiresAt')::timestamptz as expires_at,
             coalesce(w.settlement #>> '{settlementRef,id}', w.settlement ->> 'id') as settlement_id,
             coalesce((v.view #>> '{allocation,committed}')::boolean, false) as is_committed,
             (v.view ->> 'numIterations')::bigint as iterations,
             coalesce(v.view #>> '{allocation,meta,values,splice.lfdecentralizedtrust.org/reason}',
                      v.view #>> '{allocation,transferLeg,meta,values,splice.lfdecentralizedtrust.org/reason}') as note,
             :explore.token_lock_time(m.meta ->> 'cip-105/vestingLock.startDate') as starts_at,
             :explore.token_lock_time(m.meta ->> 'cip-105/vestingLock.endDate') as ends_at,
             :explore.token_lock_amount(m.meta ->> 'cip-105/vestingLock.initialAmount') as initial_amount
        from :explore.token_active('Allocation', 'Allocation', at_offset) a
        join contract_parties p on p.parties_pk = a.parties_pk
       cross join lateral :explore.token_view(a."offset", a.node_id, 'Allocation', 'Allocation') v
       cross join lateral (
               select coalesce(v.view -> 'settlement', v.view #> '{allocation,settlement}') as settlement,
                      v.view #> '{allocation,authorizer}' as account) w
       cross join lateral (
               select coalesce(:explore.optional(v.view #> '{allocation,meta,values}'), '{}')
                      || coalesce(:explore.optional(v.view #> '{meta,values}'), '{}') as meta) m
        left join lateral (
               select min(e.key) as instrument_id, min(e.value::numeric) as amount
                 from jsonb_each_text(case jsonb_typeof(v.view #> '{allocation,nextIterationFunding}')
                                        when 'object' then v.view #> '{allocation,nextIterationFunding}' end) e
               having count(*) = 1) f on true) x
   cross join lateral (
           select case when not x.is_lock then 'allocation'
                       when x.meta ->> 'cip-105/type' = 'aggregateLock' then 'aggregate_lock'
                       when x.meta ->> 'cip-105/type' = 'vestingLock' and x.starts_at < x.ends_at then 'vesting_lock'
                       else 'allocation' end as reason) k
   where x.admin = any (x.signatories);
end;
comment on function :explore.token_allocation_locks(bigint) is
  'Terms of active allocations that the admin of their instrument signed, including locks by CIP-0105: now if the offset is null, otherwise at the offset.';

create or replace function :explore.token_transfer_locks(at_offset bigint)
  returns table (contract_id text, holding_ids text[], instrument_admin text, instrument_id text, owner text, provider text,
                 account_id text, free_at timestamptz, amount numeric, note text)
  language sql stable parallel safe rows 100
begin atomic
  select a.contract_id, coalesce(:explore.texts(v.view #> '{transfer,inputHoldingCids}'), '{}'),
         v.view #>> '{transfer,instrumentId,admin}', v.view #>> '{transfer,instrumentId,id}',
         coalesce(v.view #>> '{transfer,sender,owner}', case v.standard when 'V1' then v.view #>> '{transfer,sender}' end),
         v.view #>> '{transfer,sender,provider}', coalesce(v.view #>> '{transfer,sender,id}', ''),
         :explore.token_lock_end(least((v.view #>> '{transfer,executeBefore}')::timestamptz, (v.view ->> 'expiresAt')::timestamptz)),
         (v.view #>> '{transfer,amount}')::numeric, v.view #>> '{transfer,meta,values,splice.lfdecentralizedtrust.org/reason}'
    from :explore.token_active('TransferInstruction', 'TransferInstruction', at_offset) a
    join contract_parties p on p.parties_pk = a.parties_pk
   cross join lateral :explore.token_view(a."offset", a.node_id, 'TransferInstruction', 'TransferInstruction') v
   where v.view #>> '{transfer,instrumentId,admin}' = any (p.signatories);
end;
comment on function :explore.token_transfer_locks(bigint) is
  'Pending transfers that the admin of their instrument signed: now if the offset is null, otherwise at the offset.';

create or replace function :explore.token_governance_locks(at_offset bigint)
  returns table (contract_id text, holding_id text, dso text, owner text, reason text, beneficiary text, beneficiary_kind text,
                 amount numeric, vesting_starts_at timestamptz, vesting_ends_at timestamptz)
  language sql stable parallel safe rows 100
begin atomic
  select n.contract_id, n.payload ->> 'lockedAmulet', n.payload ->> 'dso', n.payload ->> 'owner', 'governance_lock',
         coalesce(k.kind #>> '{value,provider}', k.kind #>> '{value,svName}'),
         case k.kind ->> 'tag' when 'GLK_FeaturedApp' then 'featured_app'
                               when 'GLK_ProvisionalFeaturedApp' then 'provisional_featured_app'
                               when 'GLK_SuperValidatorRightsOwner' then 'super_validator' end,
         (n.payload ->> 'amount')::numeric, null::timestamptz, null::timestamptz
    from :explore.network_active('GovernanceLock', 'GovernanceLock', at_offset) n
   cross join lateral (select n.payload #> '{specification,kind}' as kind) k
   where n.payload ->> 'dso' = any (n.signatories)
  union all
  select n.contract_id, n.payload ->> 'lockedAmulet', n.payload ->> 'dso', n.payload ->> 'owner', 'vesting_lock',
         coalesce(k.kind #>> '{value,provider}', k.kind #>> '{value,svName}'),
         case k.kind ->> 'tag' when 'GLK_FeaturedApp' then 'featured_app'
                               when 'GLK_ProvisionalFeaturedApp' then 'provisional_featured_app'
                               when 'GLK_SuperValidatorRightsOwner' then 'super_validator' end,
         (n.payload ->> 'vestingAmount')::numeric,
         (n.payload ->> 'endTime')::timestamptz - :explore.token_span((n.payload #>> '{vestingPeriod,microseconds}')::bigint),
         (n.payload ->> 'endTime')::timestamptz
    from :explore.network_active('GovernanceLock', 'VestingLock', at_offset) n
   cross join lateral (select n.payload #> '{specification,kind}' as kind) k
   where n.payload ->> 'dso' = any (n.signatories);
end;
comment on function :explore.token_governance_locks(bigint) is
  'Governance locks of splice-amulet that the DSO signed, and their vesting locks: now if the offset is null, otherwise at the offset.';

-- One row per locked holding and explaining contract. If several contracts name the same holding, the most specific
-- contract counts: a governance lock or a lock by CIP-0105, then an allocation, then a transfer.
create or replace function :explore.token_lock_terms(at_offset bigint)
  returns table (holding_id text, contract_id text, instrument_admin text, instrument_id text, owner text, provider text,
                 account_id text, reason text, unlock_controllers jsonb, withdraw_controllers jsonb,
                 substitute_controllers jsonb, beneficiary text, beneficiary_kind text, free_at timestamptz, amount numeric,
                 vesting_starts_at timestamptz, vesting_ends_at timestamptz, vesting_amount numeric, settlement_id text,
                 is_committed boolean, iterations bigint, note text, is_allocation boolean)
  language sql stable parallel safe rows 100
begin atomic
  select distinct on (x.holding_id, x.instrument_admin, x.owner)
         x.holding_id, x.contract_id, x.instrument_admin, x.instrument_id, x.owner, x.provider, x.account_id, x.reason,
         x.unlock_controllers, x.withdraw_controllers, x.substitute_controllers, x.beneficiary, x.beneficiary_kind, x.free_at,
         x.amount, x.vesting_starts_at, x.vesting_ends_at, x.vesting_amount, x.settlement_id, x.is_committed, x.iterations, x.note,
         x.is_allocation
    from (
      select h.holding_id, a.contract_id, a.instrument_admin, a.instrument_id, a.owner, a.provider, a.account_id, a.reason,
             a.unlock_controllers, a.withdraw_controllers, a.substitute_controllers, a.beneficiary, a.beneficiary_kind, a.free_at,
             a.amount, a.vesting_starts_at, a.vesting_ends_at, a.vesting_amount, a.settlement_id, a.is_committed, a.iterations,
             a.note, true as is_allocation, case a.reason when 'allocation' then 2 else 1 end as rank
        from :explore.token_allocation_locks(at_offset) a
       cross join lateral unnest(a.holding_ids) h (holding_id)
      union all
      select h.holding_id, t.contract_id, t.instrument_admin, t.instrument_id, t.owner, t.provider, t.account_id, 'transfer', null,
             jsonb_build_array(jsonb_build_array(t.owner)), null, null, null, t.free_at, t.amount, null, null, null, null, null,
             null, t.note, false, 3
        from :explore.token_transfer_locks(at_offset) t
       cross join lateral unnest(t.holding_ids) h (holding_id)
      union all
      select g.holding_id, g.contract_id, g.dso, 'Amulet', g.owner, null, '', g.reason,
             case g.reason when 'governance_lock' then jsonb_build_array(jsonb_build_array(g.owner)) end,
             case g.reason when 'vesting_lock' then jsonb_build_array(jsonb_build_array(g.owner)) end, null, g.beneficiary,
             g.beneficiary_kind, g.vesting_ends_at, g.amount, g.vesting_starts_at, g.vesting_ends_at,
             case g.reason when 'vesting_lock' then g.amount end, null, null, null, null, false, 1
        from :explore.token_governance_locks(at_offset) g) x
   order by x.holding_id, x.instrument_admin, x.owner, x.rank, x.contract_id;
end;
comment on function :explore.token_lock_terms(bigint) is
  'Terms of the locks of token holdings, one row per holding that an active contract names: now if the offset is null, otherwise at the offset.';
