/**
 * Resets the stream in one of two ways. The first removes everything above an offset in one transaction, as if the
 * indexer had stopped there. Dictionaries are kept, so that later updates get the same numbers. The second removes
 * everything, so that the next session seeds.
 */
import type { ClientBase } from 'pg';
import type { StreamIdentity } from '../../model/stream.ts';
import type { Database } from '../connection/database.ts';
import { type Change, countRows, tablesOf, type TablesWithColumn } from '../connection/query-builder.ts';
import { revertibleTables, tablesWhere } from '../tables/tables.ts';
import { beginSeed } from '../write/stream-row.ts';
import { splitRanges } from './coverage-ranges.ts';
import { dropParticipantsAfter } from './participants.ts';
import { lockStream, maintain, readStream, refusalError, type StreamFacts } from './maintenance.ts';
import { dropEmptyActivity, lastOffset, subtractActivity } from './activity-share.ts';
import { dropStaging } from './staging.ts';
import { truncateFilterParts } from './filter-parts.ts';
import { dropFilterExtension } from './filter-extension.ts';
import { truncateWebhooks } from '../webhooks/hooks.ts';
import { noteChange } from '../projections/note-change.ts';
import { userProjections } from '../projections/user-versions.ts';

/** Tables of stored rows of projections. */
const projectedTables = tablesWhere(({ sizes }) => sizes === 'projections');

/** Tables whose rows belong to an "offset" of the ledger, in the order of deletion. */
const byOffset: readonly TablesWithColumn<'offset'>[] = revertibleTables;

/** Records that no stored update can be used to compare histories. */
const emptyMark: Change<'stream'> = { checkpoint_update_offset: null, checkpoint_update_id: null };

/** The stream row before anything was read from the ledger. */
const unseededState: Change<'stream'> = {
  seeded_at: null,
  checkpoint: null,
  checkpoint_record_time: null,
  record_times: '{}',
  ledger_end: null,
  participant_pruned_offset: null,
  pruned_to_offset: null,
};

/** Number of rows by table; `lifetimes` counts the rows of live and ended together. */
export type RowCounts = ReadonlyMap<string, number>;

/** Rows that a reset to this offset would remove; `lifetimes reopened` are contracts that would be active again. */
export async function planReset(database: Database, to: number): Promise<RowCounts> {
  refuseReset(await readStream(database), to);
  return maintain(database, async (client) => {
    const tables = tablesOf(client);
    const counts = new Map<string, number>();
    for (const table of byOffset) {
      const rows = tables.selectFrom(table).where('offset', '>', to).select(countRows);
      counts.set(table, (await rows.executeTakeFirstOrThrow()).count);
    }
    const endedCount = tables.selectFrom('ended').where('ended_by', '<>', 'w').select(countRows);
    const liveCount = await tables
      .selectFrom('live')
      .where('offset', '>', to)
      .select(countRows)
      .executeTakeFirstOrThrow();
    const removedEnded = await endedCount.where('offset', '>', to).executeTakeFirstOrThrow();
    counts.set('lifetimes', liveCount.count + removedEnded.count);
    const reopenedCount = endedCount.where('offset', '<=', to).where('ended_offset', '>', to);
    counts.set('lifetimes reopened', (await reopenedCount.executeTakeFirstOrThrow()).count);
    return counts;
  });
}

/**
 * Removes everything above `to`, makes it the checkpoint, and raises the epoch. Only the holder of the writer lock
 * calls it. Resolves to the number of rows removed.
 * @throws IndexerError RESET_REFUSED; then nothing is changed
 */
export function resetTo(database: Database, to: number, writer: string): Promise<RowCounts> {
  return maintain(database, async (client) => {
    const stream = refuseReset(await lockStream(client), to);
    const tables = tablesOf(client);
    await subtractActivity(client, { above: to, upTo: lastOffset });
    await dropEmptyActivity(client, to);
    const counts = new Map<string, number>();
    for (const [name, rows] of await truncateLifetimes(client, to)) counts.set(name, rows);
    for (const table of byOffset) {
      const deleteResult = await tables.deleteFrom(table).where('offset', '>', to).executeTakeFirst();
      counts.set(table, Number(deleteResult.numDeletedRows));
    }
    await noteChange(client, { after: to, upTo: null });
    await truncateBatches(client, to);
    await truncateCompletionRanges(client, to);
    await dropParticipantsAfter(client, to);
    await truncateWebhooks(client, to);
    await tables.deleteFrom('verifications').where('at_offset', '>', to).execute();
    // Staged views may belong to updates that were removed.
    await dropStaging(client, database.schema, 'interfaces');
    await dropFilterExtension(client, database.schema);
    await truncateFilterParts(client, to);
    const otherFilter = await splitRanges(client, to, stream);
    await moveCheckpointBack(client, to, writer);
    // An update that may be invisible under the filter in force cannot be used to compare histories.
    if (otherFilter) await tables.updateTable('stream').set(emptyMark).execute();
    return counts;
  });
}

/** Refuses an offset to which the stream cannot be reset; otherwise returns the stream. */
function refuseReset(stream: StreamFacts | undefined, to: number): StreamFacts {
  if (stream?.checkpoint === undefined || stream.checkpoint === null || !stream.seeded) {
    throw refusalError('reset', 'nothing is published in this schema yet', 'start the indexer: it seeds automatically');
  }
  const { checkpoint, prunedToOffset } = stream;
  const first = stream.seedOffset ?? 0;
  if (to > checkpoint) {
    const message = `offset ${String(to)} is after the checkpoint ${String(checkpoint)}`;
    throw refusalError(
      'reset',
      message,
      `choose an offset from ${String(Math.max(first, prunedToOffset))} to ${String(checkpoint)}`,
    );
  }
  if (to < first) {
    const message = `history without a gap begins here after offset ${String(first)}: ${String(to)} cannot be gone back to`;
    throw refusalError(
      'reset',
      message,
      `choose ${String(first)} or a later offset, or run: ledger-indexer reset --all`,
    );
  }
  if (to < prunedToOffset) {
    const message = `updates up to offset ${String(prunedToOffset)} were pruned here and cannot be gone back into`;
    throw refusalError(
      'reset',
      message,
      `choose ${String(prunedToOffset)} or a later offset, or run: ledger-indexer reset --all`,
    );
  }
  return stream;
}

/**
 * Resets live and ended contracts, and their counts. Contracts created above the offset are removed, and contracts that
 * ended above it become active again. Parties that left after the offset count as hosted again. Contracts that became
 * unhosted before the offset stay unhosted.
 */
async function truncateLifetimes(client: ClientBase, to: number): Promise<readonly (readonly [string, number])[]> {
  // These are separate statements, because Citus changes the rows of one table at a time. No other session writes in
  // the meantime.
  const startedAfter = `"offset" > $1`;
  const reopenedCondition = `"offset" <= $1 and ended_offset > $1`;
  const { rows } = await client.query<{ gone: number }>(
    `select (select count(*) from ended where ${startedAfter} and ended_by <> 'w') + (select count(*) from live where ${startedAfter}) as gone`,
    [to],
  );
  await client.query(
    `update active_counts a
        set activated = a.activated - p.activated, deactivated = a.deactivated - p.deactivated
       from (select template_pk, sum(activated) as activated, sum(deactivated) as deactivated
               from (select template_pk, 1 as activated, 1 as deactivated from ended where ${startedAfter} and ended_by <> 'w'
                     union all select template_pk, 1, 0 from live where ${startedAfter}
                     union all select template_pk, 0, 1 from ended where ${reopenedCondition}) parts
              group by 1) p
      where p.template_pk = a.template_pk`,
    [to],
  );
  await client.query(`delete from live where ${startedAfter}`, [to]);
  const reopenedContracts = await client.query(
    `insert into live ("offset", unhosted_since, node_id, template_pk, synchronizer_pk, parties_pk, contract_id)
     select "offset", case when unhosted_since <= $1 then unhosted_since end, node_id, template_pk, synchronizer_pk,
            parties_pk, contract_id
       from ended where ${reopenedCondition}`,
    [to],
  );
  await client.query(`delete from ended where ${startedAfter} or ended_offset > $1`, [to]);
  const tables = tablesOf(client);
  await tables.deleteFrom('active_counts').where('activated', '=', 0).where('deactivated', '=', 0).execute();
  for (const table of ['live', 'ended'] as const) {
    await tables.updateTable(table).set({ unhosted_since: null }).where('unhosted_since', '>', to).execute();
  }
  return [
    ['lifetimes', rows[0]?.gone ?? 0],
    ['lifetimes reopened', reopenedContracts.rowCount ?? 0],
  ];
}

/**
 * Removes batches that began at the offset or later, and the batch that spans the offset if all of its updates were
 * removed.
 */
async function truncateBatches(client: ClientBase, to: number): Promise<void> {
  const { rows } = await client.query<{ across: number | null }>(
    'select max(batch_offset) as across from batches where batch_offset between 0 and $1 - 1',
    [to],
  );
  const crossingBatch = rows[0]?.across ?? null;
  const remainingUpdate = await client.query(
    'select "offset" from updates where "offset" > $1 and batch_offset = $1 limit 1',
    [crossingBatch],
  );
  await client.query('delete from batches where batch_offset >= $1 or batch_offset < -$1 or batch_offset = $2', [
    to,
    remainingUpdate.rowCount === 0 ? crossingBatch : null,
  ]);
}

/** Records that completions beyond the offset have to be read again. */
async function truncateCompletionRanges(client: ClientBase, to: number): Promise<void> {
  const tables = tablesOf(client);
  await tables.deleteFrom('completion_ranges').where('from_offset', '>', to).execute();
  await tables.updateTable('completion_ranges').set({ to_offset: to }).where('to_offset', '>', to).execute();
}

/** Sets the stream row to its state when `to` was the checkpoint. */
async function moveCheckpointBack(client: ClientBase, to: number, writer: string): Promise<void> {
  const [newest, recordTimes] = [await newestUpdate(client), await newestRecordTimes(client)];
  await client.query(
    `with newest as (select $3::bigint as "offset", $4::text as update_id),
     times as (select * from unnest($5::text[], $6::timestamptz[]) t (synchronizer_id, record_time))
     update stream
        set checkpoint = $1, epoch = epoch + 1, writer = $2,
            checkpoint_update_offset = case when checkpoint_update_offset <= $1 then checkpoint_update_offset
                                            else (select "offset" from newest) end,
            checkpoint_update_id = case when checkpoint_update_offset <= $1 then checkpoint_update_id
                                        else (select update_id from newest) end,
            checkpoint_record_time = (select max(record_time) from times),
            record_times = coalesce(
              (select jsonb_object_agg(synchronizer_id, record_times -> synchronizer_id) from times
                where (record_times ->> synchronizer_id)::timestamptz = record_time), '{}')
              || coalesce(
              (select jsonb_object_agg(synchronizer_id,
                        to_char(record_time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')) from times
                where (record_times ->> synchronizer_id)::timestamptz is distinct from record_time), '{}')`,
    [
      to,
      writer,
      newest?.offset,
      newest?.id,
      recordTimes.map(({ synchronizer }) => synchronizer),
      recordTimes.map(({ time }) => time),
    ],
  );
}

/** The newest update with an id in the open range. */
async function newestUpdate(client: ClientBase): Promise<{ readonly offset: number; readonly id: string } | undefined> {
  const { rows } = await client.query<{ offset: number; id: string }>(
    `select "offset", id_text(update_id) as id from updates
      where update_id is not null and "offset" > (select max(from_offset) from coverage where to_offset is null)
      order by "offset" desc limit 1`,
  );
  return rows[0];
}

/**
 * The record time of the newest update of each synchronizer, as Postgres formats it. It runs one query for each
 * synchronizer, because there are few of them and the row is at the end of an index.
 */
async function newestRecordTimes(
  client: ClientBase,
): Promise<readonly { readonly synchronizer: string; readonly time: string }[]> {
  const { rows: synchronizers } = await client.query<{ pk: number; synchronizer: string }>(
    'select synchronizer_pk as pk, synchronizer_id as synchronizer from synchronizers',
  );
  const recordTimes = [];
  for (const { pk, synchronizer } of synchronizers) {
    const { rows } = await client.query<{ time: string }>(
      `select record_time::text as time from updates where synchronizer_pk = $1 and record_time is not null
        order by "offset" desc limit 1`,
      [pk],
    );
    if (rows[0] !== undefined) recordTimes.push({ synchronizer, time: rows[0].time });
  }
  return recordTimes;
}

// Removal of everything.

/**
 * Removes everything, as before the first seed, and stores `identity` as the new identity of the stream; the next
 * session seeds. Packages and the names of typed views are kept. Only the holder of the writer lock calls it.
 */
export function emptyHistory(database: Database, identity: StreamIdentity, writer: string): Promise<void> {
  return maintain(database, async (client) => {
    const stream = await lockStream(client);
    if (stream === undefined) return;
    await client.query(
      `truncate coverage, updates, batches, exercises, archives, topology_events, activity_hourly, quarantine, verifications,
                completions, submitters, completion_ranges`,
    );
    const userTables = (await userProjections(client, database.schema)).map(({ table }) => table);
    await client.query(
      `truncate projections, projection_changes, history_changes, ${[...projectedTables, ...userTables].join(', ')}`,
    );
    const tablesWithOffsets = ['filter_interfaces', 'filter_additions', 'participants'] as const;
    for (const table of tablesWithOffsets) await tablesOf(client).deleteFrom(table).execute();
    await truncateWebhooks(client, null);
    await dropStaging(client, database.schema, 'interfaces');
    await dropFilterExtension(client, database.schema);
    const { participantId = null, filter, filterHash, shape } = identity;
    const { epoch } = await tablesOf(client)
      .updateTable('stream')
      .set({ participant_id: participantId, filter, filter_hash: filterHash, transaction_shape: shape, writer })
      .set({ filter_extended_from: [] })
      .set(emptyMark)
      .set(unseededState)
      .set('epoch', (e) => e('epoch', '+', 1))
      .returning('epoch')
      .executeTakeFirstOrThrow();
    // The start of a seed removes the remaining rows.
    await beginSeed(client, epoch, 0);
    await tablesOf(client).updateTable('stream').set({ seed_offset: null }).execute();
  });
}

/** Number of rows in each table that `emptyHistory` would empty. */
export function planEmpty(database: Database): Promise<RowCounts> {
  const emptiedTables = tablesWhere(({ survivesReset }) => survivesReset !== true);
  return maintain(database, async (client) => {
    const counts = new Map<string, number>();
    for (const table of emptiedTables) {
      const { rows } = await client.query<{ count: number }>(`select count(*) from ${table}`);
      counts.set(table, rows[0]?.count ?? 0);
    }
    return counts;
  });
}
