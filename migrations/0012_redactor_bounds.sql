-- Limits on the columns other than contents that the role of the redactor may change: those that record removals.
-- Owners of the tables are not limited, as in 0009 and 0010.

-- JSON null is a ledger value, for example of an empty optional result. Removed contents are SQL null, so JSON null in their
-- place is a forgery. A redaction recorded for contents that are still present is a forgery as well; `redact` skips such rows.
create or replace function only_remove() returns trigger
  language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  old_id text;
  new_id text;
  name text;
  is_kept boolean;
  is_changed boolean;
  is_known boolean;
begin
  if pg_has_role((select relowner from pg_class where oid = tg_relid), 'usage') then
    return new;
  end if;
  old_id := to_jsonb(old) ->> 'redaction_id';
  new_id := to_jsonb(new) ->> 'redaction_id';
  if old_id is not null and old_id is distinct from new_id then
    raise insufficient_privilege using message = format('a redaction may not be revoked by %s', current_user);
  end if;
  foreach name in array tg_argv loop
    -- Compared as text: equal numbers of jsonb may be printed differently, and json has no equality operator.
    execute format('select $1.%1$I is not null, $1.%1$I::text is distinct from $2.%1$I::text', name)
      into is_kept, is_changed using new, old;
    if is_kept and is_changed then
      raise insufficient_privilege using message = format('%s may only be set to null by %s', name, current_user);
    end if;
    -- When a key is removed, its hash remains.
    if is_kept and name <> 'contract_key_hash' and new_id is distinct from old_id then
      raise insufficient_privilege using message = format('%s records %s as removed, but it is present', current_user, name);
    end if;
  end loop;
  if new_id is distinct from old_id then
    execute format('select exists (select 1 from %I.redactions where redaction_id = $1)', tg_table_schema) into is_known using new_id;
    if not is_known then
      raise insufficient_privilege using message = format('%s names a redaction that is not in redactions', current_user);
    end if;
  end if;
  return new;
end $$;
comment on function only_remove() is
  'Trigger: for roles other than the owner, rejects any value but null in the listed columns, a redaction_id while contents are present, a redaction_id that is not in redactions, and a change of an existing redaction_id.';

-- Updates up to and including pruned_to_offset count as removed: queries for them are rejected, and no rows may be
-- added for them. A value beyond the checkpoint would prevent every later update from being stored.
create function pruned_to_offset_in_history() returns trigger
  language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  held bigint;
begin
  if pg_has_role((select relowner from pg_class where oid = tg_relid), 'usage') then
    return new;
  end if;
  execute format('select min("offset") from %I.retention_holds', tg_table_schema) into held;
  if new.seeded_at is null or new.pruned_to_offset is null or new.pruned_to_offset < old.pruned_to_offset
     or new.pruned_to_offset > coalesce(new.checkpoint, -1) or new.pruned_to_offset > held then
    raise insufficient_privilege using message = format(
      'pruned_to_offset may only grow, to the checkpoint or the first hold at most, when %s changes it', current_user);
  end if;
  return new;
end $$;
comment on function pruned_to_offset_in_history() is
  'Trigger: for roles other than the owner, rejects a pruned_to_offset that is lower than before, beyond the checkpoint or beyond a hold.';
revoke execute on function pruned_to_offset_in_history() from public;

create function own_redaction() returns trigger
  language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if pg_has_role((select relowner from pg_class where oid = tg_relid), 'usage') then
    return new;
  end if;
  if tg_op = 'INSERT' then
    if new.requested_by <> session_user or new.redacted_at <> now() or new.contracts <> 0 or new.exercises <> 0 then
      raise insufficient_privilege using message = format(
        'a redaction must have the name of its login, %s, the time of its transaction and no counts when %s adds it', session_user, current_user);
    end if;
  elsif new.contracts < old.contracts or new.exercises < old.exercises then
    raise insufficient_privilege using message = format('counts of a redaction may only grow when %s changes them', current_user);
  end if;
  return new;
end $$;
comment on function own_redaction() is
  'Trigger: for roles other than the owner, rejects a redaction in the name of another login or with another time, and lower counts.';
revoke execute on function own_redaction() from public;

-- These rows prevent redacted contents from being stored again. After a change of a row, the contents could be stored
-- again.
create function redacted_stays() returns trigger
  language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  stored text;
begin
  if pg_has_role((select relowner from pg_class where oid = tg_relid), 'usage') then
    return new;
  end if;
  if tg_table_name = 'redacted_contracts' then
    if old.exercises and not new.exercises then
      raise insufficient_privilege using message = format('exercises that stay redacted may not be restored by %s', current_user);
    end if;
    return new;
  end if;
  -- After a new seed, another update may have the offset, and its exercise may be redacted as well.
  execute format('select %1$I.id_text(update_id) from %1$I.updates where "offset" = $1', tg_table_schema) into stored using new."offset";
  if new.update_id is not distinct from old.update_id or new.update_id is distinct from stored then
    raise insufficient_privilege using message = format(
      'a redacted exercise may only be assigned to the update stored at its offset when %s changes it', current_user);
  end if;
  return new;
end $$;
comment on function redacted_stays() is
  'Trigger: for roles other than the owner, rejects changes after which the writer would store redacted contents again.';
revoke execute on function redacted_stays() from public;

-- Citus does not allow triggers on distributed tables. There, redacted_contracts and redacted_exercises are on every node.
do $$
declare
  guarded record;
  distributed boolean := false;
begin
  for guarded in
    select * from (values
      ('stream', 'pruned_to_offset_in_history', 'update of pruned_to_offset', 'when (new.pruned_to_offset is distinct from old.pruned_to_offset)'),
      ('redactions', 'own_redaction', 'insert or update', ''),
      ('redacted_contracts', 'redacted_stays', 'update', 'when (new is distinct from old)'),
      ('redacted_exercises', 'redacted_stays', 'update', 'when (new is distinct from old)')) t (relation, guard, event, condition)
  loop
    if to_regclass('pg_catalog.pg_dist_partition') is not null then
      execute 'select exists (select from pg_catalog.pg_dist_partition where logicalrelid = $1::regclass)'
        into distributed using guarded.relation;
    end if;
    if not distributed then
      execute format('create trigger %1$I before %2$s on %3$I for each row %4$s execute function %1$I()',
                     guarded.guard, guarded.event, guarded.relation, guarded.condition);
    end if;
  end loop;
end $$;

-- As in 0009, but with columns in the subqueries. On Citus, queries without columns over tables that are on every node
-- cannot be planned, so no seed could begin.
create or replace function clear_unfinished_seed(expected_epoch bigint) returns boolean
  language plpgsql security definer as $$
begin
  if not has_table_privilege(session_user, format('%I.contracts', current_schema()), 'insert') then
    raise insufficient_privilege using message = 'only the writer of the stream may clear a seed';
  end if;
  perform from stream where epoch = expected_epoch and seeded_at is null for update;
  if not found or exists (select 1 from coverage) or exists (select 1 from batches) or exists (select 1 from updates) then
    return false;
  end if;
  truncate contracts, live, ended, contract_parties, event_parties, active_counts, interface_views, reassignments,
           templates, omitted_fields, choices, synchronizers, coverage, template_interfaces;
  return true;
end $$;
do $$ begin
  execute format('alter function clear_unfinished_seed(bigint) set search_path = %I, pg_temp', current_schema());
end $$;
