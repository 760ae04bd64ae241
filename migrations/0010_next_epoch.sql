-- The redactor may change stream.epoch, so that a running writer begins a new session and reads the redactions. A
-- column right does not limit the values: after the largest number there is no next epoch, so no writer could begin a
-- session. Owners of the tables are not limited, because a handover adds the epochs of two schemas.
create function next_epoch() returns trigger
  language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if new.epoch <> old.epoch + 1 and not pg_has_role((select relowner from pg_class where oid = tg_relid), 'usage') then
    raise insufficient_privilege using message = format('epoch %s may only be followed by the next one when %s changes it', old.epoch, current_user);
  end if;
  return new;
end $$;
comment on function next_epoch() is
  'Trigger: prevents roles other than the owner from setting stream.epoch to anything but the next number.';
revoke execute on function next_epoch() from public;

-- Citus does not allow triggers on distributed tables.
do $$
declare
  distributed boolean := false;
begin
  if to_regclass('pg_catalog.pg_dist_partition') is not null then
    execute 'select exists (select from pg_catalog.pg_dist_partition where logicalrelid = ''stream''::regclass)' into distributed;
  end if;
  if not distributed then
    create trigger next_epoch before update of epoch on stream
      for each row when (new.epoch is distinct from old.epoch) execute function next_epoch();
  end if;
end $$;
