-- Changes of history that outdate files of an export with rows of projections of users.

alter table projections add column listed_at timestamptz not null default now();
comment on column projections.listed_at is 'Time at which the projection was added to this table. All of its rows were stored later.';

alter table projection_changes add column is_pruned boolean not null default false;
comment on column projection_changes.is_pruned is 'Whether the offsets were pruned. Exports keep the rows of pruned history.';

-- With a retention, history is pruned all the time. Rows that look up a contract stay as they are when it is pruned.
create function outdated_offsets(changed int8multirange, pruned int8multirange, is_summed boolean, looks_up boolean)
  returns int8multirange
  language sql immutable parallel safe
  return dependent_offsets(coalesce(changed, '{}'), is_summed, looks_up) + in_blocks(coalesce(pruned, '{}'), is_summed);
comment on function outdated_offsets(int8multirange, int8multirange, boolean, boolean) is
  'Offsets of the rows that changed and pruned offsets make invalid. Null is no offset.';

create function noted_offsets(is_summed boolean, looks_up boolean) returns int8multirange
  language sql stable parallel safe
begin atomic
  select outdated_offsets(range_agg(c.offsets) filter (where not c.is_pruned),
                          range_agg(c.offsets) filter (where c.is_pruned), is_summed, looks_up)
    from projection_changes c;
end;
comment on function noted_offsets(boolean, boolean) is
  'Offsets of the rows that are invalid because of changes that the projections have not taken note of.';

create table history_changes (
  change_number bigint primary key,
  offsets int8multirange not null,
  noted_at timestamptz not null default now()
);
comment on table history_changes is 'Changes of history other than pruning, one row each, since a projection of a user is listed. Exports compare the numbers with those of their files.';
comment on column history_changes.change_number is 'Number of the change. A later change has a higher number.';
comment on column history_changes.offsets is 'Offsets whose events were changed, or that depend on a changed event, without the offsets of later changes.';
comment on column history_changes.noted_at is 'Time at which the projections took note of the change.';

create or replace function note_moved_start() returns trigger
  language plpgsql
as $$
begin
  if exists (select from projections) then
    insert into projection_changes (offsets, is_pruned)
    values (int8range(null, case when new.seed_offset is distinct from old.seed_offset then null
                                 else least(greatest(new.pruned_to_offset, old.pruned_to_offset), 9223372036854775806) end, '(]'),
            new.seed_offset is not distinct from old.seed_offset
              and coalesce(new.pruned_to_offset > coalesce(old.pruned_to_offset, -1), false));
  end if;
  return null;
end
$$;

-- Replacing a function removes its settings.
do $$
begin
  execute format('alter function note_moved_start() set search_path = %I, pg_temp', current_schema());
end
$$;
