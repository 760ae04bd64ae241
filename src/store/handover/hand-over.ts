/**
 * A stream handed over to another server. There is no transaction over both, so the order of two commits keeps them apart: first
 * the former storage says that it is handed over, then the new one that it is not being filled any more. In between neither
 * may be written to, and whoever runs it again finishes it.
 */
import { escapeIdentifier } from 'pg';
import type { PoolClient } from 'pg';
import type { Database } from '../connection/database.ts';
import { reportPlanning } from '../connection/report-planning.ts';
import { lockStream } from '../history/maintenance.ts';
import { updateJob } from '../history/jobs.ts';
import { analyzeUnknown } from '../swap/objects.ts';
import { carryCompletions, carryPackages, carryRedactions, carryRows } from '../swap/rows.ts';
import type { Halted } from '../swap/swap.ts';
import { readPackages } from '../typed/package-store.ts';
import { syncTypedViews } from '../typed/views.ts';
import { fenced, takeEpoch } from '../write/stream-row.ts';
import { carryObjectsAcross } from './objects-across.ts';
import { acrossServers, type Completions } from './rows-across.ts';
import type { Storages } from '../swap/rows.ts';
import { readerTables } from '../tables/readers.ts';
import { tablesWhere } from '../tables/tables.ts';

/** What was removed stays away, and packages need not be read again. To be called before anything is read there, and again. */
export async function carryFirst(live: Database, target: Database): Promise<void> {
  await bring(live, target, 'none', async (client, storages) => {
    await carryPackages(client, storages);
    await carryRedactions(client, storages);
  });
}

/** What takes long, while everybody works on. Resolves to what cannot be carried over, in words. */
export async function prepareHandover(live: Database, target: Database): Promise<readonly string[]> {
  await bring(live, target, 'earlier', async (client, storages) => {
    await carryPackages(client, storages);
    await carryRedactions(client, storages);
    await carryCompletions(client, storages, 'earlier');
    await carryNames(client, storages);
  });
  const { failed } = await syncTypedViews(target, await readPackages(target));
  const left = await carryObjectsAcross(live, target);
  await target.transaction((client) => analyzeUnknown(client, target.schema, target.schema));
  return [...left, ...failed.map(({ view, error }) => `view ${view}: ${error.message}`)];
}

/** Names and columns of typed views, which were given once: before views are made there under others. */
async function carryNames(client: PoolClient, { from, to }: Storages): Promise<void> {
  for (const table of ['typed_views', 'typed_columns']) {
    await client.query(`delete from ${escapeIdentifier(to)}.${table}`);
    await client.query(`insert into ${escapeIdentifier(to)}.${table} select * from ${escapeIdentifier(from)}.${table}`);
  }
}

function bring(
  live: Database,
  target: Database,
  completions: Completions,
  carry: (to: PoolClient, storages: Storages) => Promise<void>,
): Promise<void> {
  return live.transaction(async (from) => {
    await from.query('set transaction isolation level repeatable read, read only; set local statement_timeout = 0');
    await carryTo(from, target, completions, carry);
  });
}

const carried = tablesWhere((entry) => entry.carried !== undefined);
const ofReaders: readonly string[] = Object.keys(readerTables);
/** Everything that is carried. Webhooks first, because a delivery goes from their cursor to their hold. */
const lockedTables = [
  ...carried.filter((table) => ofReaders.includes(table)),
  ...carried.filter((table) => !ofReaders.includes(table)),
];

function carryTo(
  from: PoolClient,
  target: Database,
  completions: Completions,
  carry: (to: PoolClient, storages: Storages) => Promise<void>,
): Promise<void> {
  return target.transaction(async (to) => {
    await to.query(`${reportPlanning}; set local statement_timeout = 0`);
    await acrossServers({ from, to, schema: target.schema, completions }, (_, storages) => carry(to, storages));
  });
}

/**
 * The first commit: from here on nobody writes to the storage here. To be called by the holder of its lock, when the other is as far.
 * Resolves to whether the work is still wanted; when it is not, nothing has happened.
 * @param into the other database, as `placeOf` names it
 * @throws IndexerError WRITER_FENCED when the stream is not where it was halted
 */
export function layDown(live: Database, target: Database, halted: Halted, into: string): Promise<boolean> {
  return live.transaction(async (from) => {
    // Nobody writes meanwhile: who is in the way is given his time afterwards.
    await from.query(`set local lock_timeout = '1s'`);
    const ours = await lockStream(from);
    if (ours?.checkpoint !== halted.checkpoint || ours.epoch !== halted.epoch) throw fenced('the live stream moved');
    // Commands that remove contents, or place a hold, do so before, or in the other storage, and not in between.
    await from.query(`lock table ${lockedTables.join(', ')} in exclusive mode`);
    if (!(await updateJob(from, 'rebuild', { step: 'handing over', perSecond: null, problem: null }))) return false;
    await carryTo(from, target, 'all', async (client, storages) => {
      await carryCompletions(client, storages, 'all');
      await carryRedactions(client, storages);
      await carryRows(client, storages);
    });
    await from.query(`update stream set handover = 'handed over', handover_peer = $1`, [into]);
    return true;
  });
}

/**
 * The second commit: from here on indexers may write there. Its epoch is above that of the former storage, so that no writer of that
 * one can commit here, whatever the address leads to that it knows. Resolves to the checkpoint.
 * @throws IndexerError WRITER_FENCED when the other storage is not as far
 */
export function takeUp(target: Database, { checkpoint, epoch }: Halted): Promise<number> {
  return target.transaction(async (client) => {
    const there = await lockStream(client);
    const at = there?.seeded === true ? (there.checkpoint ?? -1) : -1;
    if (at < checkpoint) throw fenced('the new storage is not where the live one is');
    await takeEpoch(client, undefined);
    await client.query('update stream set epoch = epoch + $1, handover = null, handover_peer = null', [epoch]);
    await updateJob(client, 'rebuild', { state: 'done', step: 'handed over', perSecond: null, problem: null });
    await client.query(`comment on schema ${escapeIdentifier(target.schema)} is null`);
    return at;
  });
}
