-- The first start stores its filter before the ledger has responded. While no history is stored under that filter, the
-- writer may replace the filter: nothing is lost, and otherwise a mistake would be permanent. A column right does not
-- limit when a change is made, so a trigger does. Owners of the tables are not limited. Citus needs a
-- column in each exists.
create function filter_before_history() returns trigger
  language plpgsql as $$
begin
  if (new.seeded_at is not null or new.checkpoint is not null or new.seed_contracts > 0
      or exists (select 1 from coverage) or exists (select 1 from updates))
     and not pg_has_role((select relowner from pg_class where oid = tg_relid), 'usage') then
    raise insufficient_privilege using message = 'only the owner of the tables may change the filter of a stream with history';
  end if;
  return new;
end $$;
comment on function filter_before_history() is
  'Trigger: for roles other than the owner, rejects another filter for a stream that has history.';
revoke execute on function filter_before_history() from public;

-- Names must resolve to the tables of this schema, never to a temporary table. Citus does not allow triggers on distributed
-- tables.
do $$
declare
  distributed boolean := false;
begin
  execute format('alter function filter_before_history() set search_path = %I, pg_temp', current_schema());
  if to_regclass('pg_catalog.pg_dist_partition') is not null then
    execute 'select exists (select from pg_catalog.pg_dist_partition where logicalrelid = ''stream''::regclass)' into distributed;
  end if;
  if not distributed then
    create trigger filter_before_history before update of filter, filter_hash, transaction_shape on stream
      for each row when (new.filter_hash is distinct from old.filter_hash or new.filter is distinct from old.filter
                         or new.transaction_shape is distinct from old.transaction_shape)
      execute function filter_before_history();
  end if;
end $$;
