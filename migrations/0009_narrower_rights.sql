-- Limits on damage by a stolen password of the writer or of the redactor.

-- The role of the writer may change stream.seeded_at, so the function does not rely on that column alone. Publishing a seed adds
-- a row to coverage in the same transaction, and the writer may not delete rows of coverage.
create or replace function clear_unfinished_seed(expected_epoch bigint) returns boolean
  language plpgsql security definer as $$
begin
  if not has_table_privilege(session_user, format('%I.contracts', current_schema()), 'insert') then
    raise insufficient_privilege using message = 'only the writer of the stream may clear a seed';
  end if;
  perform from stream where epoch = expected_epoch and seeded_at is null for update;
  if not found or exists (select from coverage) or exists (select from batches) or exists (select from updates) then
    return false;
  end if;
  truncate contracts, live, ended, contract_parties, event_parties, active_counts, interface_views, reassignments,
           templates, omitted_fields, choices, synchronizers, coverage, template_interfaces;
  return true;
end $$;
comment on function clear_unfinished_seed(bigint) is
  'Removes the rows that an unfinished seed has stored. Returns false and removes nothing if the epoch is not the expected epoch, if the seed is published, or if coverage, batches or updates have rows.';
do $$ begin
  execute format('alter function clear_unfinished_seed(bigint) set search_path = %I, pg_temp', current_schema());
end $$;

-- The redactor needs the right to update contents, and a column right does not limit the values. So this trigger allows
-- it only to remove contents. Owners of the tables are not limited, because `filter extend` and interface backfills add
-- contents. Only the owner may call this function, so no other role can attach it to a table.
create function only_remove() returns trigger
  language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  before jsonb;
  after jsonb;
  name text;
begin
  if pg_has_role((select relowner from pg_class where oid = tg_relid), 'usage') then
    return new;
  end if;
  before := to_jsonb(old);
  after := to_jsonb(new);
  foreach name in array tg_argv loop
    if after -> name <> 'null' and after -> name is distinct from before -> name then
      raise insufficient_privilege using message = format('%s may only be set to null by %s', name, current_user);
    end if;
  end loop;
  if before -> 'redaction_id' <> 'null' and before -> 'redaction_id' is distinct from after -> 'redaction_id' then
    raise insufficient_privilege using message = format('a redaction may not be revoked by %s', current_user);
  end if;
  return new;
end $$;
comment on function only_remove() is
  'Trigger: prevents roles other than the owner from setting the listed columns to anything but null, and from replacing a redaction_id.';
revoke execute on function only_remove() from public;

-- Citus does not allow triggers on distributed tables. On such tables the redactor may write any contents.
do $$
declare
  guarded record;
  distributed boolean := false;
begin
  for guarded in
    select * from (values
      ('contracts', 'payload, contract_key, contract_key_hash, created_event_blob'),
      ('exercises', 'argument, result'),
      ('interface_views', 'view, status_message, status_details'),
      ('reassignments', 'created_event'),
      ('completions', 'status_message')) t (relation, columns)
  loop
    if to_regclass('pg_catalog.pg_dist_partition') is not null then
      execute 'select exists (select from pg_catalog.pg_dist_partition where logicalrelid = $1::regclass)'
        into distributed using guarded.relation;
    end if;
    if not distributed then
      execute format('create trigger only_remove before update on %I for each row execute function only_remove(%s)',
                     guarded.relation, guarded.columns);
    end if;
  end loop;
end $$;
