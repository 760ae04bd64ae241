-- Locked token holdings with the reason of each lock, and balances by reason.
-- Reasons:
--   allocation       allocated to a settlement
--   transfer         offered to a receiver who has not responded yet
--   aggregate_lock   locked by CIP-0105, without an end
--   vesting_lock     unlocked by CIP-0105 or from a governance lock, becomes free over the vesting period
--   governance_lock  locked for a featured app or the rights of a super validator (GovernanceLock of splice-amulet)
--   conditional      no contract explains the lock, its text is not known, and a party other than the owner holds it
--   other            no contract explains the lock, and there is no text or no such party
-- If the explaining contract is not visible, the text of the lock names the reason (basis context). Only the four texts
-- of splice-amulet and of the test token are known. Such a holding never disappears from these views.

create or replace function :explore.token_lock_reason(owner text, lock_holders text[], lock_context text) returns text
  language sql immutable parallel safe
  return case when lock_context like 'transfer to %' then 'transfer'
              when lock_context like 'allocation for %' then 'allocation'
              when lock_context like 'Locked to support %' then 'governance_lock'
              when lock_context like 'Unlocking from supporting %' then 'vesting_lock'
              when lock_context <> '' and exists (select from unnest(lock_holders) h (party) where h.party is distinct from owner)
                then 'conditional'
              else 'other' end;
comment on function :explore.token_lock_reason(text, text[], text) is
  'Reason of a lock that no visible contract explains, from its text and its holders.';

-- All holdings, locked or not. With at_offset null, the planner removes the branch that reads an earlier state.
create or replace function :explore.token_holding_reasons(at_offset bigint)
  returns table (contract_id text, standard text, owner text, provider text, account_id text, instrument_admin text,
                 instrument_id text, amount numeric, is_locked boolean, lock_holders text[], locked_until timestamptz,
                 is_locked_now boolean, lock_context text, created_at_offset bigint, created_at timestamptz, template_fqn text,
                 synchronizer_id text, reason text, lock_contract_id text, unlock_controllers jsonb, withdraw_controllers jsonb,
                 substitute_controllers jsonb, beneficiary text, beneficiary_kind text, free_at timestamptz, lock_amount numeric,
                 vesting_starts_at timestamptz, vesting_ends_at timestamptz, vesting_amount numeric, settlement_id text,
                 is_committed boolean, iterations bigint, note text, is_allocation boolean)
  language sql stable parallel safe rows 1000
begin atomic
  with terms as materialized (select * from :explore.token_lock_terms(at_offset))
  select h.contract_id, h.standard, h.owner, h.provider, h.account_id, h.instrument_admin, h.instrument_id, h.amount, h.is_locked,
         h.lock_holders, h.locked_until, h.is_locked_now, h.lock_context, h.created_at_offset, h.created_at, h.template_fqn,
         h.synchronizer_id,
         case when not h.is_locked then 'free'
              else coalesce(t.reason, :explore.token_lock_reason(h.owner, h.lock_holders, h.lock_context)) end,
         t.contract_id, t.unlock_controllers, t.withdraw_controllers, t.substitute_controllers, t.beneficiary, t.beneficiary_kind,
         t.free_at, t.amount, t.vesting_starts_at, t.vesting_ends_at, t.vesting_amount, t.settlement_id, t.is_committed,
         t.iterations, t.note, t.is_allocation
    from (
      select n.* from :explore.token_holdings n where at_offset is null
      union all
      select a.* from :explore.token_holdings_at(at_offset) a where at_offset is not null) h
    left join terms t on h.is_locked and t.holding_id = h.contract_id and t.instrument_admin = h.instrument_admin
                     and t.owner is not distinct from h.owner;
end;
comment on function :explore.token_holding_reasons(bigint) is
  'Token holdings with the reason of their lock, or free: now if the offset is null, otherwise at the offset.';

-- A lock may have several holdings. The part that may be withdrawn is assigned to them in the order of their ids.
create or replace function :explore.token_lock_rows(at_offset bigint, known_at timestamptz)
  returns table (contract_id text, owner text, provider text, account_id text, instrument_admin text, instrument_id text,
                 amount numeric, reason text, basis text, lock_contract_id text, is_locked_now boolean, locked_until timestamptz,
                 free_at timestamptz, lock_holders text[], unlock_controllers jsonb, withdraw_controllers jsonb,
                 substitute_controllers jsonb, beneficiary text, beneficiary_kind text, vesting_starts_at timestamptz,
                 vesting_ends_at timestamptz, vesting_amount numeric, withdrawable numeric, settlement_id text,
                 is_committed boolean, iterations bigint, note text, lock_context text, created_at_offset bigint,
                 created_at timestamptz, template_fqn text, synchronizer_id text)
  language sql stable parallel safe rows 1000
begin atomic
  select h.contract_id, h.owner, h.provider, h.account_id, h.instrument_admin, h.instrument_id, h.amount, h.reason,
         case when h.lock_contract_id is not null then 'contract' when h.reason in ('conditional', 'other') then 'none'
              else 'context' end,
         h.lock_contract_id, h.is_locked_now, h.locked_until, least(h.free_at, :explore.token_lock_end(h.locked_until)),
         h.lock_holders, h.unlock_controllers, h.withdraw_controllers, h.substitute_controllers, h.beneficiary, h.beneficiary_kind,
         h.vesting_starts_at, h.vesting_ends_at, h.vesting_amount,
         case when h.vesting_ends_at is not null then
           least(h.amount, greatest(0,
             :explore.token_vested(h.is_allocation, h.vesting_amount, h.lock_amount, h.vesting_starts_at, h.vesting_ends_at, known_at)
             - coalesce(sum(h.amount) over (partition by h.lock_contract_id order by h.contract_id
                          rows between unbounded preceding and 1 preceding), 0))) end,
         h.settlement_id, h.is_committed, h.iterations, h.note, h.lock_context, h.created_at_offset, h.created_at, h.template_fqn,
         h.synchronizer_id
    from :explore.token_holding_reasons(at_offset) h
   where h.is_locked;
end;
comment on function :explore.token_lock_rows(bigint, timestamptz) is
  'Rows of token_locks with the amounts that may be withdrawn at a time: now if the offset is null, otherwise at the offset.';

create or replace view :explore.token_locks as
  select r.* from :explore.token_lock_rows(null, now()) r;
comment on view :explore.token_locks is
  'Locked token holdings that are active now, one row each, with the reason of the lock, the parties that control it, the time at which it ends and its vesting period. Contains locks that have ended but whose holding was not unlocked yet, see is_locked_now. Reasons need the interfaces Allocation and TransferInstruction in the filter; without them, the text of the lock is used.';

-- Reasons at an offset need all three interfaces to be complete at the offset.
create or replace function :explore.token_lock_offset(at_offset bigint) returns bigint
  language plpgsql stable parallel safe
  set search_path = pg_catalog, pg_temp
as $$
begin
  return :explore.token_known_at('TransferInstruction', 'TransferInstruction',
           :explore.token_known_at('Allocation', 'Allocation', :explore.token_offset(at_offset)));
end
$$;
comment on function :explore.token_lock_offset(bigint) is
  'The offset itself if holdings, allocations and transfers at this offset are known, see coverage and interface_coverage; otherwise SQLSTATE LI003.';

create or replace function :explore.token_locks_at(at_offset bigint)
  returns setof :explore.token_locks
  language sql stable parallel safe rows 1000
begin atomic
  select r.*
    from (select o.at_offset, coalesce(:explore.token_time(o.at_offset), now()) as known_at
            from (select :explore.token_lock_offset(at_offset) as at_offset offset 0) o offset 0) k
   cross join lateral :explore.token_lock_rows(k.at_offset, k.known_at) r
   where k.at_offset is not null;
end;
comment on function :explore.token_locks_at(bigint) is
  'Locked token holdings right after the update with this offset, with the columns of token_locks. Reasons are those of the contracts that were active then; is_locked_now and withdrawable refer to the time of that update. Needs a known offset, see coverage, at which holdings, allocations and transfers are complete, see interface_coverage; other offsets are rejected with SQLSTATE LI003.';

create or replace function :explore.token_locks_at("time" timestamptz)
  returns setof :explore.token_locks
  language sql stable parallel safe rows 1000
begin atomic
  select l.*
    from (select :explore.known_offset("time") as at_offset offset 0) k
   cross join lateral :explore.token_locks_at(k.at_offset) l;
end;
comment on function :explore.token_locks_at(timestamptz) is
  'Locked token holdings at a time, by ledger effective time, with the columns of token_locks. Needs a time with a known state, see coverage; other times are rejected with SQLSTATE LI003.';

create or replace function :explore.token_locks_at("position" text)
  returns setof :explore.token_locks
  language sql stable parallel safe rows 1000
begin atomic
  select l.*
    from (select :explore.known_offset("position") as at_offset offset 0) k
   cross join lateral :explore.token_locks_at(k.at_offset) l;
end;
comment on function :explore.token_locks_at(text) is
  'Locked token holdings at an offset or a time, written as text, see known_offset. Needs a known offset at which holdings, allocations and transfers are complete, see interface_coverage; others are rejected with SQLSTATE LI003.';

create or replace view :explore.token_balances_by_reason as
  select h.owner, h.provider, h.account_id, h.instrument_admin, h.instrument_id, h.reason, sum(h.amount) as amount,
         coalesce(sum(h.amount) filter (where not h.is_locked_now), 0) as available, count(*) as holdings
    from :explore.token_holding_reasons(null) h
   group by h.owner, h.provider, h.account_id, h.instrument_admin, h.instrument_id, h.reason;
comment on view :explore.token_balances_by_reason is
  'Current balance of each account and instrument, split by the reason of the lock: one row per reason, and one with reason free for holdings that are not locked. The amounts of an account add up to its total in token_balances.';

create or replace function :explore.token_balances_by_reason_at(at_offset bigint)
  returns setof :explore.token_balances_by_reason
  language sql stable parallel safe rows 1000
begin atomic
  select h.owner, h.provider, h.account_id, h.instrument_admin, h.instrument_id, h.reason, sum(h.amount),
         coalesce(sum(h.amount) filter (where not h.is_locked_now), 0), count(*)
    from (select :explore.token_lock_offset(at_offset) as at_offset offset 0) k
   cross join lateral :explore.token_holding_reasons(k.at_offset) h
   where k.at_offset is not null
   group by h.owner, h.provider, h.account_id, h.instrument_admin, h.instrument_id, h.reason;
end;
comment on function :explore.token_balances_by_reason_at(bigint) is
  'Balance of each account and instrument right after the update with this offset, split by the reason of the lock, with the columns of token_balances_by_reason. Needs a known offset, see coverage, at which holdings, allocations and transfers are complete, see interface_coverage; other offsets are rejected with SQLSTATE LI003.';

create or replace function :explore.token_balances_by_reason_at("time" timestamptz)
  returns setof :explore.token_balances_by_reason
  language sql stable parallel safe rows 1000
begin atomic
  select b.*
    from (select :explore.known_offset("time") as at_offset offset 0) k
   cross join lateral :explore.token_balances_by_reason_at(k.at_offset) b;
end;
comment on function :explore.token_balances_by_reason_at(timestamptz) is
  'Balance of each account and instrument at a time, by ledger effective time, split by the reason of the lock. Needs a time with a known state, see coverage; other times are rejected with SQLSTATE LI003.';

create or replace function :explore.token_balances_by_reason_at("position" text)
  returns setof :explore.token_balances_by_reason
  language sql stable parallel safe rows 1000
begin atomic
  select b.*
    from (select :explore.known_offset("position") as at_offset offset 0) k
   cross join lateral :explore.token_balances_by_reason_at(k.at_offset) b;
end;
comment on function :explore.token_balances_by_reason_at(text) is
  'Balance of each account and instrument at an offset or a time, written as text, split by the reason of the lock, see known_offset. Needs a known offset at which holdings, allocations and transfers are complete, see interface_coverage; others are rejected with SQLSTATE LI003.';
