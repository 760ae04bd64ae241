-- The migration of the newer version in the upgrade tests: a column of a table with many rows, and a new table that is
-- filled from stored rows. It follows the rules of docs/how-to/run/upgrade.md.
create table update_totals (
  synchronizer_pk integer primary key,
  updates bigint not null
);
comment on table update_totals is 'Number of updates of each synchronizer that were stored before the upgrade.';
comment on column update_totals.synchronizer_pk is 'Number of the synchronizer.';
comment on column update_totals.updates is 'Number of its updates.';

insert into update_totals (synchronizer_pk, updates)
select synchronizer_pk, count(*) from updates group by synchronizer_pk;

-- Last, because readers of the table wait until the transaction has ended.
alter table updates add column received_at timestamptz;
comment on column updates.received_at is 'Time at which the indexer received the update; null if an earlier version stored it.';
