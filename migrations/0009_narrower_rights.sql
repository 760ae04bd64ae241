-- What stolen passwords of the writer and of the redactor are not good for.

-- The role of the writer may change stream.seeded_at, so the function does not rely on it alone. Publishing a seed adds a
-- row to coverage in the same transaction, and the writer may delete none.
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
           templates, paddings, choices, synchronizers, coverage, template_interfaces;
  return true;
end $$;
comment on function clear_unfinished_seed(bigint) is
  'Removes what an unfinished seed has stored. Returns false and removes nothing if the epoch is not the given one, if the seed is published, or if coverage, batches or updates show that one was.';
do $$ begin
  execute format('alter function clear_unfinished_seed(bigint) set search_path = %I, pg_temp', current_schema());
end $$;
