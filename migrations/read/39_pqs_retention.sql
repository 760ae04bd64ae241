-- Taking out what ended long ago. The command prune uses the functions with two underscores, step by step; the others have
-- the names of PQS.

create or replace function :pqs.__retention_lock() returns void
  language sql volatile
  return pg_advisory_xact_lock(hashtext('ledger_indexer retention'), hashtext(:'storage'));
comment on function :pqs.__retention_lock() is
  'Waits until no other transaction prunes or redacts this schema: two of them would lock the same rows in different order. The indexer does not take part.';

create or replace function :pqs.validate_pruning_offset("offset" bigint) returns bigint
  language plpgsql stable parallel safe
  set search_path = pg_catalog, pg_temp
as $$
declare
  history record;
begin
  select s.checkpoint, s.seeded_at into history from :storage.stream s;
  if "offset" is null or "offset" < 0 then
    raise exception 'Illegal offset %: nothing can be pruned up to there', coalesce("offset"::text, 'null')
      using errcode = 'numeric_value_out_of_range';
  elsif history.seeded_at is null or history.checkpoint is null or "offset" > history.checkpoint then
    raise exception 'Illegal offset % is beyond upper bounds of contiguous history', "offset"
      using errcode = 'numeric_value_out_of_range',
            hint = format('History is complete up to %s.', coalesce(history.checkpoint::text, 'nowhere yet'));
  end if;
  return "offset";
end
$$;
comment on function :pqs.validate_pruning_offset(bigint) is
  'The offset itself; an error when history cannot be pruned up to there, because it has not been read as far.';

create or replace function :pqs.__note_pruned(boundary bigint) returns bigint
  language sql volatile
begin atomic
  update stream set kept_offset = greatest(kept_offset, boundary) returning kept_offset;
end;
comment on function :pqs.__note_pruned(bigint) is
  'Says that updates up to an offset are being pruned, before the first of them goes: from then on nobody may ask what was before. Gives the offset that holds, which never falls.';

create or replace function :pqs.__prune_contracts(
  templates integer[], after_offset bigint, to_offset bigint, boundary bigint)
  returns table (contracts bigint, lifetimes bigint, interface_views bigint)
  language sql volatile rows 1
begin atomic
  with ended as (
    delete from contracts c
     where c.template_pk = any (templates) and c."offset" > after_offset and c."offset" <= least(to_offset, boundary)
       and not exists (select from lifetimes l
                        where l.contract_id = c.contract_id and l.activated_offset = c."offset"
                          and (l.deactivated_offset is null or l.deactivated_offset > boundary))
    returning c.contract_id, c."offset"),
  ended_lifetimes as (
    delete from lifetimes l using ended e
     where l.contract_id = e.contract_id and l.activated_offset = e."offset" returning 1),
  ended_views as (
    delete from interface_views v using ended e
     where v.contract_id = e.contract_id and v."offset" = e."offset" returning 1)
  select (select count(*) from ended), (select count(*) from ended_lifetimes), (select count(*) from ended_views);
end;
comment on function :pqs.__prune_contracts(integer[], bigint, bigint, bigint) is
  'Removes contracts activated in a range of offsets that were no longer active at the boundary, with their lifetimes and views. Gives the rows removed.';

create or replace function :pqs.__prune_updates(after_offset bigint, to_offset bigint)
  returns table (updates bigint, exercises bigint, archives bigint, reassignments bigint, topology_events bigint)
  language sql volatile rows 1
  -- The sessions of the program have it off, for statements that touch a few rows.
  set enable_hashjoin = on
begin atomic
  with kept as materialized (
    select c."offset" from templates t
      join contracts c on c.template_pk = t.template_pk and c."offset" > after_offset and c."offset" <= to_offset
    union all
    select p."offset" from topology_events p join stream st on st.participant_id = p.participant_id
     where p."offset" > after_offset and p."offset" <= to_offset
    union all select checkpoint_update_offset from stream where checkpoint_update_offset is not null),
  old_updates as (
    delete from updates u
     where u."offset" > after_offset and u."offset" <= to_offset
       and not exists (select from kept k where k."offset" = u."offset")
    returning 1),
  old_exercises as (
    delete from exercises e where e."offset" > after_offset and e."offset" <= to_offset returning 1),
  old_archives as (
    delete from archives a where a."offset" > after_offset and a."offset" <= to_offset returning 1),
  old_reassignments as (
    delete from reassignments r where r."offset" > after_offset and r."offset" <= to_offset returning 1),
  old_topology as (
    delete from topology_events p
     where p."offset" > after_offset and p."offset" <= to_offset
       and p.participant_id is distinct from (select st.participant_id from stream st)
    returning 1)
  select (select count(*) from old_updates), (select count(*) from old_exercises), (select count(*) from old_archives),
         (select count(*) from old_reassignments), (select count(*) from old_topology);
end;
comment on function :pqs.__prune_updates(bigint, bigint) is
  'Removes the updates of a range of offsets and their events, once its contracts are pruned. Updates that activated a contract which is still here stay, the newest one, which proves the history, and those that say whom the participant hosts. Gives the rows removed.';

create or replace function :pqs.__prune_preview(boundary bigint)
  returns table (table_name text, rows bigint, share_of bigint)
  language sql stable rows 8
begin atomic
  with kept as materialized (
    select l.contract_id, l.activated_offset as "offset" from lifetimes l
     where l.activated_offset <= boundary and (l.deactivated_offset is null or l.deactivated_offset > boundary)),
  gone as materialized (
    select c.contract_id, c."offset" from contracts c
     where c."offset" <= boundary
       and not exists (select from kept k where k.contract_id = c.contract_id and k."offset" = c."offset")),
  hosting as materialized (
    select distinct p."offset" from topology_events p join stream st on st.participant_id = p.participant_id
     where p."offset" <= boundary),
  proof as (select coalesce(checkpoint_update_offset, -1) as "offset" from stream)
  select 'contracts', (select count(*) from gone), (select count(*) from contracts)
  union all
  select 'lifetimes', count(*) filter (where deactivated_offset <= boundary), count(*) from lifetimes
  union all
  select 'interface_views', (select count(*) from interface_views v
                              where exists (select from gone g
                                             where g.contract_id = v.contract_id and g."offset" = v."offset")),
         (select count(*) from interface_views)
  union all
  select 'updates', count(*) filter (where u."offset" <= boundary
                                       and u."offset" <> (select p."offset" from proof p)
                                       and k."offset" is null), count(*)
    from updates u
    left join (select "offset" from kept union select "offset" from hosting) k on k."offset" = u."offset"
  union all
  select 'exercises', count(*) filter (where "offset" <= boundary), count(*) from exercises
  union all
  select 'archives', count(*) filter (where "offset" <= boundary), count(*) from archives
  union all
  select 'reassignments', count(*) filter (where "offset" <= boundary), count(*) from reassignments
  union all
  select 'topology_events', count(*) filter (
           where p."offset" <= boundary and p.participant_id is distinct from (select st.participant_id from stream st)),
         count(*)
    from topology_events p;
end;
comment on function :pqs.__prune_preview(bigint) is
  'How many rows of each table pruning up to an offset would remove, and how many there are. Reads all tables.';

create or replace function :pqs.prune_archived_to_offset_dry_run(max_pruned_offset bigint)
  returns table (pruning_boundary_offset bigint, deleted_contracts integer, deleted_exercises integer,
                 deleted_events integer, deleted_transactions integer, deleted_reassignments integer)
  language sql stable rows 1
begin atomic
  select :pqs.validate_pruning_offset(max_pruned_offset),
         (max(rows) filter (where table_name = 'contracts'))::integer,
         (max(rows) filter (where table_name = 'exercises'))::integer,
         (sum(rows) filter (where table_name in ('contracts', 'exercises', 'archives')))::integer,
         (max(rows) filter (where table_name = 'updates'))::integer,
         (max(rows) filter (where table_name = 'reassignments'))::integer
    from :pqs.__prune_preview(max_pruned_offset);
end;
comment on function :pqs.prune_archived_to_offset_dry_run(bigint) is
  'What prune_archived_to_offset would remove. deleted_events are creates, exercises and archives together.';

create or replace function :pqs.prune_archived_to_offset(max_pruned_offset bigint)
  returns table (pruning_boundary_offset bigint, deleted_contracts integer, deleted_exercises integer,
                 deleted_events integer, deleted_transactions integer, deleted_reassignments integer)
  language plpgsql volatile rows 1
  set search_path = pg_catalog, pg_temp
as $$
declare
  boundary bigint := :pqs.validate_pruning_offset(max_pruned_offset);
  ended record;
  old record;
begin
  perform :pqs.__retention_lock();
  boundary := :pqs.__note_pruned(boundary);
  select * into ended
    from :pqs.__prune_contracts(array(select t.template_pk from :storage.templates t), -1, boundary, boundary);
  select * into old from :pqs.__prune_updates(-1, boundary);
  return query select boundary, ended.contracts::integer, old.exercises::integer,
                      (ended.contracts + old.exercises + old.archives)::integer, old.updates::integer,
                      old.reassignments::integer;
end
$$;
comment on function :pqs.prune_archived_to_offset(bigint) is
  'Removes everything up to and including an offset but contracts still active there, in one transaction. The command "prune" does the same in small ones. Needs the right to delete.';

create or replace function :pqs.prune_to_offset(min_offset bigint)
  returns table (squash_inclusive bigint, new_oldest bigint, affected_transactions integer)
  language sql volatile rows 1
begin atomic
  select p.pruning_boundary_offset, p.pruning_boundary_offset, p.deleted_transactions
    from :pqs.prune_archived_to_offset(min_offset) p;
end;
comment on function :pqs.prune_to_offset(bigint) is
  'As prune_archived_to_offset, under the older name and with its columns.';
