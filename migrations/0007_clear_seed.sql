-- The one thing the writer removes is a seed that was never published. As a function that looks first, so that the role
-- of the writer needs no right to truncate or delete; `ledger-indexer grant-roles` lets it call this.

create function clear_unfinished_seed(expected_epoch bigint) returns boolean
  language plpgsql security definer as $$
begin
  if not has_table_privilege(session_user, format('%I.contracts', current_schema()), 'insert') then
    raise insufficient_privilege using message = 'only the writer of the stream may clear a seed';
  end if;
  perform from stream where epoch = expected_epoch and seeded_at is null for update;
  if not found then
    return false;
  end if;
  truncate contracts, lifetimes, active_counts, interface_views, reassignments, templates, paddings, choices,
           synchronizers, coverage, template_interfaces;
  return true;
end $$;
comment on function clear_unfinished_seed(bigint) is
  'Removes what an unfinished seed has stored; false, and nothing is removed, when the seed is published or the epoch is not the one given.';

-- It runs with the rights of its owner: names must mean the tables of this schema, and never a temporary one.
do $$ begin
  execute format('alter function clear_unfinished_seed(bigint) set search_path = %I, pg_temp', current_schema());
end $$;
revoke execute on function clear_unfinished_seed(bigint) from public;
