/** Rules about the stream row, the updates, and the number of rows of an update. */
import type { Invariant } from './invariant.ts';

/** SQL: rows that came with an update. Rows of a seed are excluded, because they represent earlier events. */
const eventRows = `
  select "offset", node_id, id_text(contract_id) as contract_id from contracts where origin <> 's'
  union all select "offset", node_id, id_text(contract_id) from exercises
  union all select "offset", node_id, id_text(contract_id) from archives
  union all select "offset", node_id, id_text(contract_id) from reassignments where kind = 'u' and not incomplete`;

const rowsAfterCheckpoint = (table: string, column = '"offset"'): string =>
  `select ${column} as "offset", '${table}' as place from ${table} cross join stream st where ${column} > st.checkpoint`;

/** Rules I01 to I07, I15 to I18 and I40. */
export const streamInvariants: readonly Invariant[] = [
  {
    id: 'I01',
    says: 'no row is above the checkpoint',
    sql: `select "offset", null::text as contract_id, 'a row of ' || place || ' above the checkpoint' as found from (
            ${[
              ...['updates', 'contracts', 'exercises', 'archives', 'interface_views'].map((table) =>
                rowsAfterCheckpoint(table),
              ),
              ...['reassignments', 'topology_events'].map((table) => rowsAfterCheckpoint(table)),
              ...['live', 'ended'].map((table) => rowsAfterCheckpoint(table)),
              rowsAfterCheckpoint('ended', 'ended_offset'),
              ...['live', 'ended'].map((table) => rowsAfterCheckpoint(table, 'unhosted_since')),
            ].join(' union all ')}) r`,
  },
  {
    id: 'I02',
    says: 'a published stream has a checkpoint at or after its seed and its pruned offset, any other has none',
    sql: `select coalesce(checkpoint, seed_offset) as "offset", null::text as contract_id,
                 'seed offset ' || coalesce(seed_offset::text, 'none') || ', checkpoint ' || coalesce(checkpoint::text, 'none')
                 || case when seeded_at is null then ', unpublished' else '' end as found
            from stream
           where case when seeded_at is null then checkpoint is not null
                      else checkpoint is null or seed_offset is null or checkpoint < seed_offset end
          union all
          select pruned_to_offset, null, 'pruned up to here, beyond the checkpoint' from stream where pruned_to_offset > checkpoint`,
  },
  {
    id: 'I03',
    says: 'an unpublished stream has no updates',
    sql: `select u."offset", null::text as contract_id, 'an update before the seed was published' as found
            from updates u cross join stream st where st.seeded_at is null`,
  },
  {
    id: 'I04',
    says: 'an update id has one offset',
    sql: `select max("offset") as "offset", null::text as contract_id,
                 'update id at ' || count(*) || ' offsets from ' || min("offset") as found
            from updates where update_id is not null group by update_id having count(*) > 1`,
  },
  {
    id: 'I05',
    says: 'an update has as many rows as it had events',
    sql: `select u."offset", null::text as contract_id,
                 u.event_count || ' events, ' || coalesce(e.stored, 0) || ' rows' as found
            from updates u
            left join (select "offset", count(*) as stored
                         from (${eventRows} union all select "offset", event_index, null from topology_events) r
                        group by 1) e using ("offset")
           cross join stream st
           where u."offset" > coalesce(st.pruned_to_offset, 0) and u.event_count <> coalesce(e.stored, 0)`,
  },
  {
    id: 'I06',
    says: 'no row of an event is without its update',
    sql: `select r."offset", r.contract_id, 'an event at an offset without update' as found
            from (${eventRows}
                  union all select "offset", node_id, id_text(contract_id) from reassignments where kind = 'a' and not incomplete
                  union all select "offset", event_index, null from topology_events) r
           cross join stream st
           where r."offset" > coalesce(st.pruned_to_offset, 0)
             and not exists (select from updates u where u."offset" = r."offset")`,
  },
  {
    id: 'I07',
    says: 'a node of an update is stored once',
    sql: `select "offset", min(contract_id) as contract_id, count(*) || ' rows of node ' || node_id as found
            from (${eventRows}) r group by "offset", node_id having count(*) > 1`,
  },
  {
    id: 'I15',
    says: 'record time never falls on a synchronizer',
    sql: `select "offset", null::text as contract_id, 'recorded ' || (before - record_time) || ' before its predecessor' as found
            from (select "offset", record_time,
                         max(record_time) over (partition by synchronizer_pk order by "offset"
                                                rows between unbounded preceding and 1 preceding) as before
                    from updates where record_time is not null) u
           where record_time < before`,
  },
  {
    id: 'I16',
    says: 'the epoch of the writer never falls along the offsets, but after an update that was stored late',
    sql: `select "offset", null::text as contract_id, 'epoch ' || epoch || ' after epoch ' || before as found
            from (select "offset", epoch, indexed_at, lag(epoch) over (order by "offset") as before,
                         lag(indexed_at) over (order by "offset") as before_at from decoded_updates) u
           where epoch < before and indexed_at >= before_at`,
  },
  {
    id: 'I17',
    says: 'no row is of a later epoch than the stream',
    sql: `select r."offset", null::text as contract_id, 'epoch ' || r.epoch || ', the stream has ' || st.epoch as found
            from (select "offset", epoch from decoded_updates union all select "offset", epoch from quarantine) r
           cross join stream st where r.epoch > st.epoch`,
  },
  {
    id: 'I18',
    says: 'the update that proves the history is the newest one stored',
    sql: `select st.checkpoint_update_offset as "offset", null::text as contract_id,
                 'the stream remembers offset ' || coalesce(st.checkpoint_update_offset::text, 'none') ||
                 ', the newest update with an id is at ' || coalesce(n."offset"::text, 'none') as found
            from stream st
            left join (select "offset", id_text(update_id) as update_id from updates where update_id is not null
                          and "offset" > (select max(from_offset) from coverage where to_offset is null)
                        order by "offset" desc limit 1) n on true
           where n."offset" is not null
             and (st.checkpoint_update_offset, st.checkpoint_update_id) is distinct from (n."offset", n.update_id)
              or n."offset" is null and st.checkpoint_update_offset > st.seed_offset
             and (select count(*) from updates where "offset" = (select checkpoint_update_offset from stream)) = 0
             and (select count(*) from quarantine where "offset" = (select checkpoint_update_offset from stream)) = 0`,
  },
  {
    id: 'I40',
    says: 'an update has the batch that stored it, and no batch is without an update',
    sql: `select u."offset", null::text as contract_id, 'not of batch ' || u.batch_offset as found
            from updates u
            left join (select batch_offset, case when batch_offset >= 0
                                                 then lead(batch_offset) over (order by batch_offset) end as next_offset
                         from batches) b using (batch_offset)
           where b.batch_offset is null
              or u.batch_offset <> - u."offset"
             and not (u.batch_offset >= 0 and u."offset" > u.batch_offset and u."offset" <= coalesce(b.next_offset, u."offset"))
          union all
          select b.batch_offset, null, 'a batch without updates'
            from batches b left join (select distinct batch_offset from updates) u on u.batch_offset = b.batch_offset
           where u.batch_offset is null`,
  },
];
