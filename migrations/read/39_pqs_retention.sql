-- Removal of old updates, and of contracts that ended long ago. The command prune calls the functions with two
-- underscores, step by step; the other functions have the names of PQS.

create or replace function :pqs.__retention_lock() returns void
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
as $$
begin
  -- With an older snapshot, triggers could miss that projections exist, and removed contents would stay in their rows.
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'Pruning and redacting need the isolation level read committed, found %', current_setting('transaction_isolation')
      using errcode = 'invalid_transaction_state', hint = 'Begin the transaction with: begin isolation level read committed.';
  end if;
  perform pg_advisory_xact_lock(hashtext('ledger_indexer retention'), hashtext(:'storage'));
end
$$;
comment on function :pqs.__retention_lock() is
  'Waits until no other transaction prunes or redacts this schema, because two such transactions would lock the same rows in different order. The indexer does not take this lock.';

create or replace function :pqs.validate_pruning_offset("offset" bigint) returns bigint
  language plpgsql stable parallel safe
  set search_path = pg_catalog, pg_temp
as $$
declare
  history record;
  hold record;
begin
  select s.checkpoint, s.seeded_at into history from :storage.stream s;
  select h.name, h."offset" into hold from :storage.retention_holds h order by h."offset", h.name limit 1;
  if "offset" is null or "offset" < 0 then
    raise exception 'Illegal offset %: nothing can be pruned up to there', coalesce("offset"::text, 'null')
      using errcode = 'numeric_value_out_of_range';
  elsif history.seeded_at is null or history.checkpoint is null or "offset" > history.checkpoint then
    raise exception 'Illegal offset % is beyond upper bounds of contiguous history', "offset"
      using errcode = 'numeric_value_out_of_range',
            hint = format('History is complete up to %s.', coalesce(history.checkpoint::text, 'no offset yet'));
  elsif "offset" > hold."offset" then
    raise exception 'History after offset % is held by %', hold."offset", hold.name
      using errcode = 'object_in_use', hint = 'Prune up to there, or release the hold: ledger-indexer hold release NAME.';
  end if;
  return "offset";
end
$$;
comment on function :pqs.validate_pruning_offset(bigint) is
  'The offset itself; an error if history cannot be pruned up to this offset, because it is beyond the checkpoint, or because a hold (table retention_holds) needs earlier history.';

create or replace function :pqs.__note_pruned(boundary bigint) returns bigint
  language sql volatile
begin atomic
  update stream set pruned_to_offset = greatest(pruned_to_offset, boundary) returning pruned_to_offset;
end;
comment on function :pqs.__note_pruned(bigint) is
  'Records that updates up to and including an offset are being pruned, before the first of them is removed. Queries for earlier offsets are then rejected. Returns the recorded offset, which never decreases.';

create or replace function :pqs.__prune_contracts(
  templates integer[], after_offset bigint, to_offset bigint, boundary bigint)
  returns table (contracts bigint, ended bigint, interface_views bigint)
  language plpgsql volatile rows 1
  set search_path = pg_catalog, pg_temp
as $$
begin
  -- One statement per table, because Citus changes rows of one table at a time. Contracts that have ended no longer
  -- change, so each statement finds the same rows. The condition lists every class, so that the index finds the offsets
  -- in each class.
  delete from :storage.interface_views v using :storage.ended e
   where v."offset" = e."offset" and v.node_id = e.node_id
     and e.template_pk = any (templates) and e.class = any (array(select generate_series(-1, 63)::smallint))
     and e."offset" > after_offset and e."offset" <= least(to_offset, boundary) and e.ended_offset <= boundary;
  get diagnostics interface_views = row_count;
  -- Rows of projections at the activations and exercises of these contracts read the contracts. Rows at their ends do not
  -- exist since the boundary was stored.
  insert into :storage.projection_changes (offsets, is_pruned)
  select int8range(after_offset, least(to_offset, boundary), '(]'), true where exists (select from :storage.projections)
  union
  select distinct int8range(x."offset", x."offset", '[]'), true
    from :storage.ended e
    join :storage.exercises x on :storage.id_text(x.contract_id) = :storage.id_text(e.contract_id)
   where exists (select from :storage.projections)
     and e.template_pk = any (templates) and e.class = any (array(select generate_series(-1, 63)::smallint))
     and e."offset" > after_offset and e."offset" <= least(to_offset, boundary) and e.ended_offset <= boundary;
  delete from :storage.contracts c using :storage.ended e
   where c."offset" = e."offset" and c.node_id = e.node_id
     and e.template_pk = any (templates) and e.class = any (array(select generate_series(-1, 63)::smallint))
     and e."offset" > after_offset and e."offset" <= least(to_offset, boundary) and e.ended_offset <= boundary;
  get diagnostics contracts = row_count;
  delete from :storage.ended e
   where e.template_pk = any (templates) and e.class = any (array(select generate_series(-1, 63)::smallint))
     and e."offset" > after_offset and e."offset" <= least(to_offset, boundary) and e.ended_offset <= boundary;
  get diagnostics ended = row_count;
  return next;
end
$$;
comment on function :pqs.__prune_contracts(integer[], bigint, bigint, bigint) is
  'Removes contracts that were activated after after_offset, up to and including to_offset, and had ended at the boundary, with the rows of their ends and views. Returns the number of removed rows.';

create or replace function :pqs.__prune_updates(after_offset bigint, to_offset bigint)
  returns table (updates bigint, batches bigint, exercises bigint, archives bigint, reassignments bigint,
                 topology_events bigint, completions bigint)
  language plpgsql volatile rows 1
  set search_path = pg_catalog, pg_temp
  -- Sessions of the indexer disable this setting, because their statements read only a few rows.
  set enable_hashjoin = on
as $$
declare
  participant text := (select st.participant_id from :storage.stream st);
  proof bigint := (select st.checkpoint_update_offset from :storage.stream st);
  gone bigint[];
  emptied bigint[];
begin
  -- One statement per table, as in __prune_contracts. The rows are determined before the first of them is removed.
  gone := array(
    select u."offset" from :storage.updates u
     where u."offset" > after_offset and u."offset" <= to_offset and u."offset" is distinct from proof
       and not exists (select from (select c."offset" from :storage.templates t
                                      join :storage.contracts c on c.template_pk = t.template_pk
                                       and c."offset" > after_offset and c."offset" <= to_offset
                                    union all
                                    select p."offset" from :storage.topology_events p
                                     where p."offset" > after_offset and p."offset" <= to_offset
                                       and p.participant_id = participant) k
                        where k."offset" = u."offset"));
  delete from :storage.updates u
   where u."offset" > after_offset and u."offset" <= to_offset and u."offset" = any (gone);
  get diagnostics updates = row_count;
  -- A batch stored the updates after its own offset, up to and including the offset of the next batch.
  emptied := array(
    select w.batch_offset
      from (select b.batch_offset,
                   coalesce((select min(n.batch_offset) from :storage.batches n where n.batch_offset > b.batch_offset),
                            9223372036854775807) as next_offset
              from :storage.batches b
             where b.batch_offset < to_offset
               and b.batch_offset >= coalesce((select max(m.batch_offset) from :storage.batches m
                                                where m.batch_offset between 0 and after_offset), 0)) w
     where not exists (
             select from (select "offset", batch_offset from :storage.updates /*workers
                           where batch_offset = any (array(select b.batch_offset from :storage.batches b
                             where b.batch_offset < to_offset
                               and b.batch_offset >= coalesce((select max(m.batch_offset) from :storage.batches m
                                                                where m.batch_offset between 0 and after_offset), 0))) offset 0
                         workers*/) u
              where u."offset" > w.batch_offset and u."offset" <= w.next_offset and u.batch_offset = w.batch_offset));
  delete from :storage.batches b where b.batch_offset = any (emptied || array(select - g from unnest(gone) g));
  get diagnostics batches = row_count;
  delete from :storage.exercises e where e."offset" > after_offset and e."offset" <= to_offset;
  get diagnostics exercises = row_count;
  delete from :storage.archives a where a."offset" > after_offset and a."offset" <= to_offset;
  get diagnostics archives = row_count;
  delete from :storage.reassignments r where r."offset" > after_offset and r."offset" <= to_offset;
  get diagnostics reassignments = row_count;
  delete from :storage.topology_events p
   where p."offset" > after_offset and p."offset" <= to_offset and p.participant_id is distinct from participant;
  get diagnostics topology_events = row_count;
  insert into :storage.projection_changes (offsets, is_pruned)
  select int8range(after_offset, to_offset, '(]'), true where exists (select from :storage.projections);
  delete from :storage.completions c where c."offset" > after_offset and c."offset" <= to_offset;
  get diagnostics completions = row_count;
  return next;
end
$$;
comment on function :pqs.__prune_updates(bigint, bigint) is
  'Removes the updates after after_offset, up to and including to_offset, with their events, batches and completions, after the contracts of the range were pruned. Keeps updates that activated a contract that is still stored, the newest update, which identifies the history, and updates that report parties hosted by the participant. Returns the number of removed rows.';

create or replace function :pqs.__prune_preview(boundary bigint)
  returns table (table_name text, rows bigint, share_of bigint)
  language sql stable rows 10
begin atomic
  with gone as materialized (
    select e."offset", e.node_id from ended e where e.ended_offset <= boundary),
  hosting as materialized (
    select distinct p."offset" from topology_events p join stream st on st.participant_id = p.participant_id
     where p."offset" <= boundary),
  proof as (select coalesce(checkpoint_update_offset, -1) as "offset" from stream),
  kept as materialized (
    select l."offset" from live l where l."offset" <= boundary
    union select e."offset" from ended e where e."offset" <= boundary and e.ended_offset > boundary
    union select h."offset" from hosting h
    union select p."offset" from proof p),
  old_updates as materialized (
    select u."offset" from updates u left join kept k on k."offset" = u."offset"
     where u."offset" <= boundary and k."offset" is null),
  used as materialized (
    select distinct u.batch_offset from updates u
     where not exists (select from old_updates o where o."offset" = u."offset"))
  select 'contracts', (select count(*) from contracts c join gone g on g."offset" = c."offset" and g.node_id = c.node_id),
         (select count(*) from contracts)
  union all
  select 'ended', (select count(*) from gone), (select count(*) from ended)
  union all
  select 'interface_views', (select count(*) from interface_views v
                              where exists (select from gone g where g."offset" = v."offset" and g.node_id = v.node_id)),
         (select count(*) from interface_views)
  union all
  select 'updates', (select count(*) from old_updates), (select count(*) from updates)
  union all
  select 'batches', count(*) filter (where n.batch_offset is null), count(*)
    from batches b left join used n on n.batch_offset = b.batch_offset
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
    from topology_events p
  union all
  select 'completions', count(*) filter (where "offset" <= boundary), count(*) from completions;
end;
comment on function :pqs.__prune_preview(bigint) is
  'Number of rows that pruning up to an offset would remove from each table, and total number of rows. Reads all tables.';

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
  'Number of rows that prune_archived_to_offset would remove. deleted_events is the sum of creates, exercises and archives.';

create or replace function :pqs.prune_archived_to_offset(max_pruned_offset bigint)
  returns table (pruning_boundary_offset bigint, deleted_contracts integer, deleted_exercises integer,
                 deleted_events integer, deleted_transactions integer, deleted_reassignments integer)
  language plpgsql volatile rows 1
  set search_path = pg_catalog, pg_temp
as $$
declare
  boundary bigint;
  ended record;
  old record;
begin
  perform :pqs.__retention_lock();
  boundary := :pqs.__note_pruned(:pqs.validate_pruning_offset(max_pruned_offset));
  select * into ended
    from :pqs.__prune_contracts(array(select t.template_pk from :storage.templates t), -1, boundary, boundary);
  select * into old from :pqs.__prune_updates(-1, boundary);
  return query select boundary, ended.contracts::integer, old.exercises::integer,
                      (ended.contracts + old.exercises + old.archives)::integer, old.updates::integer,
                      old.reassignments::integer;
end
$$;
comment on function :pqs.prune_archived_to_offset(bigint) is
  'Removes the history up to and including an offset, except contracts that were still active at the offset, in one transaction. The command "prune" does the same in small transactions. Needs the right to delete.';

create or replace function :pqs.prune_to_offset(min_offset bigint)
  returns table (squash_inclusive bigint, new_oldest bigint, affected_transactions integer)
  language sql volatile rows 1
begin atomic
  select p.pruning_boundary_offset, p.pruning_boundary_offset, p.deleted_transactions
    from :pqs.prune_archived_to_offset(min_offset) p;
end;
comment on function :pqs.prune_to_offset(bigint) is
  'Same as prune_archived_to_offset, with the name and the result columns of older PQS versions.';
