/**
 * Stores an update after later ones were stored: a quarantined update, or an update that the ledger sent late. It is
 * stored at its offset as if it had arrived in order.
 */
import type { ClientBase } from 'pg';
import { IndexerError, toIndexerError } from '../../errors/indexer-error.ts';
import { Batch } from '../../model/batch.ts';
import type { Update } from '../../model/update.ts';
import { insertEndedSql, endsTable, endValues, rowStatements } from './batch-writer.ts';
import { BinaryTables } from './copy-binary.ts';
import type { Database } from '../connection/database.ts';
import { markUnhostedAgain } from './departures.ts';
import { loadDictionary } from './dictionary-store.ts';
import { explainRefusal } from './duplicate.ts';
import { runInOneRoundTrip } from '../connection/round-trip.ts';
import { loadRedactions } from '../retention/redaction-store.ts';
import { noteLateUpdate } from '../projections/note-change.ts';
import { storedColumnTypes } from '../schema/exercise-json.ts';
import { increaseEpoch } from './stream-row.ts';

/** Whether everything at an offset is stored or in quarantine, or is outside the history of this schema. */
export async function isStored(database: Database, offset: number): Promise<boolean> {
  const { rows } = await database.withClient((client) =>
    client.query<{ stored: boolean }>(
      `select $1 <= greatest(seed_offset, pruned_to_offset) or $1 > checkpoint
              or exists (select 1 from updates where "offset" = $1)
              or exists (select 1 from quarantine where "offset" = $1) as stored
         from stream`,
      [offset],
    ),
  );
  return rows[0]?.stored !== false;
}

/**
 * Stores the update in one transaction: its rows, the lifetimes that it ends, the ends of its own contracts that were
 * stored since, and the counts. No other writer may run, so hold the writer lock. Raises the epoch, so that a writer
 * cannot continue from memory.
 * @param epoch epoch of the session that stores the update; undefined for a command that holds the lock
 * @throws IndexerError WRITER_FENCED if the epoch differs, QUARANTINE_CONTRACT_MISSING, or the error of Postgres; then
 * nothing is changed
 */
export async function storeLate(database: Database, update: Update, epoch?: number): Promise<void> {
  const storeResult = database.transaction(async (client) => {
    const takenEpoch = await increaseEpoch(client, epoch);
    const dictionary = await loadDictionary(client);
    const { offset } = update;
    const redactions = await loadRedactions(client);
    const rows = new BinaryTables(await storedColumnTypes(client));
    const batch = new Batch(rows, dictionary, takenEpoch, offset - 1, { redactions, batchOffset: -offset });
    batch.add(update);
    await assertEndsKnown(client, batch);
    const addedEntries = dictionary.takeAdded();
    const { copies: copyStatements, rest } = rowStatements(batch, addedEntries);
    await runInOneRoundTrip(client, [...copyStatements, ...rest]);
    await moveEndsEarlier(client, batch);
    await endLiveContracts(client, update.offset, batch.lifetimes.contractIds());
    await markUnhostedAgain(client, update.offset);
    await noteLateUpdate(client, update.offset);
    await moveMark(client, batch);
    await client.query('delete from quarantine where "offset" = $1', [update.offset]);
  });
  await storeResult.catch(async (thrown: unknown) => {
    throw await explainRefusal(database, toIndexerError(thrown), update.offset);
  });
}

/**
 * Refuses updates in history that is not complete here. Ends that were pruned or came in a gap are not stored, so
 * contracts that the update activates would be active forever.
 */
async function assertEndsKnown(client: ClientBase, { offset, lifetimes }: Batch): Promise<void> {
  if (lifetimes.contractIds().length === 0) return;
  const { rows } = await client.query<{ since: number | null }>(
    'select greatest(seed_offset, pruned_to_offset) as since from stream',
  );
  const since = rows[0]?.since ?? 0;
  if (offset > since) return;
  const message = `history is complete here after offset ${String(since)} only: contracts of offset ${String(offset)} may have ended unseen`;
  throw new IndexerError(message, {
    code: 'QUARANTINE_CONTRACT_MISSING',
    facts: { offset },
  });
}

/**
 * Corrects contracts that this update ends and that were stored as ended later. Without this update, they were still
 * open when a later activation of the same contract on the synchronizer ended. That end was stored for both
 * activations. They are already counted as ended.
 */
async function moveEndsEarlier(client: ClientBase, { lifetimes }: Batch): Promise<void> {
  const text = `update ended e
        set ended_offset = d.ended_offset, ended_node_id = d.ended_node_id, ended_by = d.ended_by, ended_at = d.ended_at,
            class = lifetime_class(e."offset", d.ended_offset)
       from ${endsTable}
      where id_text(e.contract_id) = d.contract_id and e.synchronizer_pk = d.synchronizer_pk and e.ended_by <> 'w'
        and e."offset" <= d.ended_offset and e.ended_offset > d.ended_offset`;
  await runInOneRoundTrip(client, [{ name: 'end-sooner', text, values: endValues(lifetimes) }]);
}

/** Ends contracts of this update that later updates ended. When those ends were stored, the contracts were missing. */
async function endLiveContracts(client: ClientBase, offset: number, contractIds: readonly string[]): Promise<void> {
  await client.query(
    `with ends as (
       select id_text(e.contract_id) as contract_id, u.synchronizer_pk, e."offset" as ended_offset,
              e.node_id as ended_node_id, 'a'::"char" as ended_by, coalesce(u.effective_at, u.record_time) as ended_at
         from exercises e join updates u on u."offset" = e."offset"
        where id_text(e.contract_id) = any ($2) and e.consuming and e.acs_delta is distinct from false
       union all
       select id_text(a.contract_id), u.synchronizer_pk, a."offset", a.node_id, 'a', coalesce(u.effective_at, u.record_time)
         from archives a join updates u on u."offset" = a."offset"
        where id_text(a.contract_id) = any ($2)
       union all
       select id_text(r.contract_id), r.source_pk, r."offset", null, 'r', u.record_time
         from reassignments r join updates u on u."offset" = r."offset"
        where id_text(r.contract_id) = any ($2) and r.kind = 'u' and not r.incomplete),
     first as (
       select distinct on (contract_id, synchronizer_pk) *
         from ends where ended_offset > $1 order by contract_id, synchronizer_pk, ended_offset),
     gone as (
       delete from live l using first d
        where id_text(l.contract_id) = d.contract_id and l.synchronizer_pk = d.synchronizer_pk and l."offset" = $1
       returning l.*, d.ended_offset, d.ended_node_id, d.ended_by, d.ended_at),
     moved as (${insertEndedSql('gone')})
     update active_counts a set deactivated = a.deactivated + n.ended
       from (select template_pk, count(*) as ended from gone group by 1) n
      where a.template_pk = n.template_pk`,
    [offset, contractIds],
  );
}

/**
 * Updates the newest stored update, which is used to compare histories: it is this one if nothing was stored after it.
 * Record times increase on each synchronizer, so the newer of two belongs to the later update.
 */
export async function moveMark(
  client: ClientBase,
  { lastUpdate, recordTimes }: Pick<Batch, 'lastUpdate' | 'recordTimes'>,
): Promise<void> {
  const recordTimesJson = JSON.stringify(Object.fromEntries(recordTimes));
  await client.query(
    `update stream
        set checkpoint_update_offset = case when newer then $1 else checkpoint_update_offset end,
            checkpoint_update_id = case when newer then $2 else checkpoint_update_id end,
            checkpoint_record_time =
              greatest(checkpoint_record_time, (select max(t.value::timestamptz) from jsonb_each_text($3) t)),
            record_times = record_times || coalesce(
              (select jsonb_object_agg(t.key, t.value) from jsonb_each_text($3) t
                where ((record_times ->> t.key)::timestamptz > t.value::timestamptz) is not true), '{}')
       from (select $1::bigint > coalesce(checkpoint_update_offset, 0) as newer from stream) mark`,
    [lastUpdate?.offset ?? null, lastUpdate?.updateId ?? null, recordTimesJson],
  );
}
