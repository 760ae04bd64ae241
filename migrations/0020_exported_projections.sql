-- Changes of history that outdate files of an export with rows of projections of users.

alter table projections add column listed_at timestamptz not null default now();
comment on column projections.listed_at is 'Time at which the projection was added to this table. All of its rows were stored later.';

alter table projection_changes add column is_pruned boolean not null default false;
comment on column projection_changes.is_pruned is 'Whether the offsets were pruned. Exports keep the rows of pruned history.';

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
