/**
 * Hands a stream over to another server. No transaction spans both servers, so two commits in a fixed order keep them
 * consistent. The first commit records in the old storage that it is handed over. The second records in the new storage
 * that it is no longer being filled. Between the two commits, indexers may write to neither storage. If the command
 * stops there, its next run finishes the handover.
 */
import { escapeIdentifier } from 'pg';
import type { PoolClient } from 'pg';
import type { Database } from '../connection/database.ts';
import { reportPlanning } from '../connection/report-planning.ts';
import { lockStream } from '../history/maintenance.ts';
import { updateJob } from '../history/jobs.ts';
import { analyzeUnknownTables } from '../swap/objects.ts';
import { copyCompletions, copyPackages, copyRedactions, copyTableRows } from '../swap/rows.ts';
import type { StoppedWriter } from '../swap/swap.ts';
import { readPackages } from '../typed/package-store.ts';
import { syncTypedViews } from '../typed/views.ts';
import { fencedError, increaseEpoch } from '../write/stream-row.ts';
import { copyObjects } from './objects-across.ts';
import { copyAcrossServers, type Completions } from './rows-across.ts';
import type { Storages } from '../swap/rows.ts';
import { readerTables } from '../tables/readers.ts';
import { tablesWhere } from '../tables/tables.ts';

/**
 * Copies redactions and packages, so that redacted contents stay removed and packages need not be read again. Call it
 * before the target reads anything, and repeat it later.
 */
export async function copyInitialRows(liveDatabase: Database, target: Database): Promise<void> {
  await copyBetween(liveDatabase, target, 'none', async (client, storages) => {
    await copyPackages(client, storages);
    await copyRedactions(client, storages);
  });
}

/**
 * Copies everything that takes long, while the indexer continues. Resolves to descriptions of the objects that could
 * not be copied.
 */
export async function prepareHandover(liveDatabase: Database, target: Database): Promise<readonly string[]> {
  await copyBetween(liveDatabase, target, 'earlier', async (client, storages) => {
    await copyPackages(client, storages);
    await copyRedactions(client, storages);
    await copyCompletions(client, storages, 'earlier');
    await copyNames(client, storages);
  });
  const { failed } = await syncTypedViews(target, await readPackages(target));
  const notCopied = await copyObjects(liveDatabase, target);
  await target.transaction((client) => analyzeUnknownTables(client, target.schema, target.schema));
  return [...notCopied, ...failed.map(({ view, error }) => `view ${view}: ${error.message}`)];
}

/** Copies the registered names and columns of typed views, before the target creates views under other names. */
async function copyNames(client: PoolClient, { from, to }: Storages): Promise<void> {
  for (const table of ['typed_views', 'typed_columns']) {
    await client.query(`delete from ${escapeIdentifier(to)}.${table}`);
    await client.query(`insert into ${escapeIdentifier(to)}.${table} select * from ${escapeIdentifier(from)}.${table}`);
  }
}

function copyBetween(
  liveDatabase: Database,
  target: Database,
  completions: Completions,
  copyTables: (to: PoolClient, storages: Storages) => Promise<void>,
): Promise<void> {
  return liveDatabase.transaction(async (from) => {
    await from.query('set transaction isolation level repeatable read, read only; set local statement_timeout = 0');
    await copyToTarget(from, target, completions, copyTables);
  });
}

const copiedTables = tablesWhere((entry) => entry.carried !== undefined);
const readerTableNames: readonly string[] = Object.keys(readerTables);
/** All copied tables. The tables of webhooks come first, because a delivery locks its cursor before its hold. */
const lockedTables = [
  ...copiedTables.filter((table) => readerTableNames.includes(table)),
  ...copiedTables.filter((table) => !readerTableNames.includes(table)),
];

function copyToTarget(
  from: PoolClient,
  target: Database,
  completions: Completions,
  copyTables: (to: PoolClient, storages: Storages) => Promise<void>,
): Promise<void> {
  return target.transaction(async (to) => {
    await to.query(`${reportPlanning}; set local statement_timeout = 0`);
    await copyAcrossServers({ from, to, schema: target.schema, completions }, (_, storages) =>
      copyTables(to, storages),
    );
  });
}

/**
 * The first commit: after it, no indexer writes to the old storage. The holder of its writer lock calls this when the
 * target has caught up. Resolves to true if the job is still active; otherwise nothing has changed.
 * @param targetLabel label of the other database, see `databaseLabel`
 * @throws IndexerError WRITER_FENCED if the stream is not where its writer stopped
 */
export function closeSource(
  liveDatabase: Database,
  target: Database,
  writerStopped: StoppedWriter,
  targetLabel: string,
): Promise<boolean> {
  return liveDatabase.transaction(async (from) => {
    // The writer is stopped, so this statement waits only briefly. If other sessions hold locks, the next attempt waits
    // again.
    await from.query(`set local lock_timeout = '1s'`);
    const liveStream = await lockStream(from);
    if (liveStream?.checkpoint !== writerStopped.checkpoint || liveStream.epoch !== writerStopped.epoch)
      throw fencedError('the live stream moved');
    // Commands that redact contents or place a hold run before this lock is taken, or later in the other storage. They
    // cannot run in between.
    await from.query(`lock table ${lockedTables.join(', ')} in exclusive mode`);
    if (!(await updateJob(from, 'rebuild', { step: 'handing over', perSecond: null, problem: null }))) return false;
    await copyToTarget(from, target, 'all', async (client, storages) => {
      await copyCompletions(client, storages, 'all');
      await copyRedactions(client, storages);
      await copyTableRows(client, storages);
    });
    await from.query(`update stream set handover = 'handed over', handover_peer = $1`, [targetLabel]);
    return true;
  });
}

/**
 * The second commit: after it, indexers may write to the target. The epoch of the target is raised above that of the
 * old storage. A writer of the old storage then cannot commit here, even if the address that it uses now refers to this
 * server. Resolves to the checkpoint.
 * @throws IndexerError WRITER_FENCED if the target has not caught up
 */
export function openTarget(target: Database, { checkpoint, epoch }: StoppedWriter): Promise<number> {
  return target.transaction(async (client) => {
    const lockedStream = await lockStream(client);
    const targetCheckpoint = lockedStream?.seeded === true ? (lockedStream.checkpoint ?? -1) : -1;
    if (targetCheckpoint < checkpoint) throw fencedError('the new storage has not caught up with the live one');
    await increaseEpoch(client, undefined);
    await client.query('update stream set epoch = epoch + $1, handover = null, handover_peer = null', [epoch]);
    await updateJob(client, 'rebuild', { state: 'done', step: 'handed over', perSecond: null, problem: null });
    await client.query(`comment on schema ${escapeIdentifier(target.schema)} is null`);
    return targetCheckpoint;
  });
}
