/**
 * Swaps the storages in one transaction. The next storage gets the name of the live storage. All views and functions
 * for readers are replaced in place and then read the next storage, so that objects of users that depend on them are
 * kept. The swap has no effect before its commit.
 */
import { escapeIdentifier, escapeLiteral } from 'pg';
import type { ClientBase, PoolClient } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { PackageModel } from '../../daml/package-model.ts';
import type { Database } from '../connection/database.ts';
import { tablesOf } from '../connection/query-builder.ts';
import { readSchemas } from '../connection/read-schemas.ts';
import { reportPlanning } from '../connection/report-planning.ts';
import { lockStream } from '../history/maintenance.ts';
import { dropStaging } from '../history/staging.ts';
import { updateJob } from '../history/jobs.ts';
import { secureViews } from '../roles/secure-views.ts';
import { moveReadSide } from '../schema/read-side.ts';
import { typedState, generateTypedViews, type TypedViews } from '../typed/views.ts';
import { readPackages } from '../typed/package-store.ts';
import { CommitNotices } from '../write/commit-notices.ts';
import { fencedError, increaseEpoch } from '../write/stream-row.ts';
import { moveDependents, searchIn } from './dependents.ts';
import { lockStorage, findOlderSnapshots } from './locks.ts';
import {
  analyzeUnknownTables,
  createMissingObjects,
  copyDependentObjects,
  moveOwnObjects,
  pointFunctions,
} from './objects.ts';
import { type OtherSchema, otherSchemaComment, otherSchemaName, rebuildRefusedError } from './stream-schemas.ts';
import { copyCompletions, copyPackages, copyRedactions, copyTableRows, missingRedactions } from './rows.ts';

/** Results of the work that is done while the indexer still writes, so that the swap itself has little to do. */
export interface PreparedSwap {
  readonly typed: TypedViews;
}

/** Position at which the writer of the live stream was stopped. */
export interface StoppedWriter {
  readonly checkpoint: number;
  readonly epoch: number;
}

/** The last commit of the next storage. Snapshots from before this commit do not contain the complete storage. */
export interface LastCommit {
  readonly xid: string;
  readonly at: string;
}

/** Builds indexes and copies large tables, while the indexer and readers continue. */
export async function prepareSwap(liveDatabase: Database, target: Database): Promise<PreparedSwap> {
  const storages = { from: liveDatabase.schema, to: target.schema };
  await liveDatabase.transaction(async (client) => {
    await client.query(reportPlanning);
    await client.query('set local statement_timeout = 0');
    await copyRedactions(client, storages);
  });
  await liveDatabase.transaction(async (client) => {
    await client.query('set local statement_timeout = 0');
    await createMissingObjects(client, liveDatabase.schema, target.schema);
    await analyzeUnknownTables(client, liveDatabase.schema, target.schema);
  });
  await liveDatabase.transaction((client) => copyCompletions(client, storages, 'earlier'));
  const packages = await readPackages(liveDatabase);
  return {
    typed: await liveDatabase.withClient((client) => generateTypedViews(client, liveDatabase.schema, packages)),
  };
}

/**
 * Stops the writer of the live stream by raising the epoch. The holder of its writer lock calls this. Resolves to the
 * position of the stream.
 */
export function stopWriter(liveDatabase: Database): Promise<StoppedWriter> {
  return liveDatabase.transaction(async (client) => {
    await client.query(`set local lock_timeout = '5s'`);
    // This lock also waits for completions that are being stored.
    const stream = await lockStream(client);
    if (stream?.checkpoint === undefined || stream.checkpoint === null)
      throw fencedError('the live stream has no checkpoint');
    return { checkpoint: stream.checkpoint, epoch: await increaseEpoch(client, undefined) };
  });
}

/**
 * Copies everything that the next storage still lacks while neither storage is written to. Resolves to the commit after
 * which the next storage is complete.
 */
export function complete(liveDatabase: Database, target: Database): Promise<LastCommit> {
  const storages = { from: liveDatabase.schema, to: target.schema };
  return liveDatabase.transaction(async (client) => {
    await copyCompletions(client, storages, 'all');
    await copyPackages(client, storages);
    const { rows } = await client.query<LastCommit>(
      `select pg_current_xact_id()::xid::text as xid, clock_timestamp()::text as at`,
    );
    const [last] = rows;
    if (last === undefined) throw new TypeError('the server did not return the transaction id');
    return last;
  });
}

export interface SwapRequest {
  readonly target: OtherSchema;
  readonly prepared: PreparedSwap;
  readonly writerStopped: StoppedWriter;
  readonly last: LastCommit;
  /** Whether the next storage may be ahead of the live storage, because nothing was written to the live storage. */
  readonly ahead: boolean;
  readonly notify: boolean;
  readonly writer: string;
  /** Called with the process id of the server session that swaps. */
  readonly onSession?: (pid: number) => void;
  /** Called before each step. */
  readonly onStep?: (step: string) => void;
}

/**
 * Swaps the storages. The holder of the locks of both streams calls it when the next storage has caught up with the
 * live one. Resolves to the checkpoint.
 * @throws IndexerError STORE_LOCKED or REBUILD_SWAP_BLOCKED if other sessions blocked the swap, in which case nothing
 * has changed and the swap can be retried; REBUILD_REFUSED if something cannot be copied
 */
export async function swap(liveDatabase: Database, swapRequest: SwapRequest): Promise<number> {
  const checkpoint = await liveDatabase.transaction((client) =>
    swapInTransaction(client, liveDatabase.schema, swapRequest),
  );
  if (swapRequest.notify) await new CommitNotices(liveDatabase).notifyCommit(checkpoint);
  return checkpoint;
}

async function swapInTransaction(client: PoolClient, schema: string, options: SwapRequest): Promise<number> {
  const { target, writerStopped, last, onStep = () => undefined } = options;
  const incoming = otherSchemaName(schema, target);
  const previousSchema = otherSchemaName(schema, 'previous');
  onStep('locking');
  await client.query(`${reportPlanning}; set local lock_timeout = '500ms'; set local statement_timeout = '60s'`);
  for (const name of [`ledger_indexer:${schema}`, `ledger_indexer_views:${schema}`]) {
    await client.query('select pg_advisory_xact_lock(hashtext($1))', [name]);
  }
  options.onSession?.((await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid ?? 0);
  await lockStorage(client, readSchemas(schema), options.ahead ? 'access exclusive' : 'exclusive');
  await client.query(`set local lock_timeout = '500ms'; set local statement_timeout = '60s'`);
  await refuseOldSnapshots(client, last);
  const checkpoint = await assertSameOffset(client, { live: schema, incoming }, options);
  onStep('carrying');
  await refuseNewRedactions(client, { from: schema, to: incoming });
  await copyTableRows(client, { from: schema, to: incoming });
  await searchIn(client, incoming);
  const epoch = (await increaseEpoch(client, undefined)) + writerStopped.epoch;
  await tablesOf(client).updateTable('stream').set({ epoch, writer: options.writer }).execute();
  await searchIn(client, schema);
  const typedSql = await typedStatements(client, schema, options.prepared);
  await dropStaging(client, schema, 'interfaces');
  await dropStaging(client, schema, 'reseed');
  await dropStaging(client, incoming, 'interfaces');
  onStep('renaming');
  await renameSchemas(client, schema, incoming, previousSchema);
  await moveOwnObjects(client, previousSchema, schema);
  await pointFunctions(client, schema, incoming);
  await pointFunctions(client, previousSchema, schema);
  await copyDependentObjects(client, previousSchema, schema);
  await client.query(
    `comment on schema ${escapeIdentifier(previousSchema)} is ${escapeLiteral(otherSchemaComment(schema, 'previous'))}`,
  );
  onStep('re-creating views');
  await searchIn(client, schema);
  await moveReadSide(client, schema);
  if (typedSql.length > 0) await client.query(typedSql.join('\n'));
  await moveDependents(client, previousSchema, schema);
  await secureViews(client, readSchemas(schema));
  await updateJob(client, 'rebuild', { state: 'done', step: 'swapped', perSecond: null, problem: null });
  onStep('committing');
  return checkpoint;
}

async function refuseOldSnapshots(client: ClientBase, last: LastCommit): Promise<void> {
  const holders = await findOlderSnapshots(client, last);
  if (holders.length === 0) return;
  throw new IndexerError(
    `transactions that began before the new storage had caught up still run: ${holders.join(', ')}`,
    {
      code: 'REBUILD_SWAP_BLOCKED',
    },
  );
}

/**
 * Checks that both storages are at the same offset, and returns it. This ensures that readers never see the checkpoint
 * decrease, and that a snapshot that reads from both storages is consistent.
 */
async function assertSameOffset(
  client: PoolClient,
  { live: liveSchema, incoming }: { readonly live: string; readonly incoming: string },
  { writerStopped, ahead: isAhead }: Pick<SwapRequest, 'writerStopped' | 'ahead'>,
): Promise<number> {
  await searchIn(client, incoming);
  const other = await lockStream(client);
  await searchIn(client, liveSchema);
  const liveStream = await lockStream(client);
  if (liveStream?.checkpoint !== writerStopped.checkpoint || liveStream.epoch !== writerStopped.epoch)
    throw fencedError('the live stream moved');
  if (
    liveStream.participantId !== null &&
    (other?.participantId ?? liveStream.participantId) !== liveStream.participantId
  ) {
    throw rebuildRefusedError(
      'the live storage is of another participant',
      'run the command again, for that participant',
    );
  }
  const checkpoint = other?.seeded === true ? (other.checkpoint ?? -1) : -1;
  if (checkpoint < writerStopped.checkpoint || (checkpoint > writerStopped.checkpoint && !isAhead)) {
    throw fencedError('the new storage and the live one are not at the same offset');
  }
  return checkpoint;
}

async function refuseNewRedactions(
  client: ClientBase,
  storages: { readonly from: string; readonly to: string },
): Promise<void> {
  if ((await missingRedactions(client, storages)) === 0) return;
  throw new IndexerError('contents were redacted in the live storage since the new one was checked', {
    code: 'REBUILD_SWAP_BLOCKED',
  });
}

/** The prepared statements, or new ones if packages have been read since they were prepared. */
async function typedStatements(
  client: ClientBase,
  schema: string,
  { typed: typedViews }: PreparedSwap,
): Promise<readonly string[]> {
  if ((await typedState(client)) === typedViews.madeFrom) return typedViews.statements;
  const { rows } = await client.query<{ model: PackageModel }>('select model from packages order by package_id');
  return (
    await generateTypedViews(
      client,
      schema,
      rows.map(({ model }) => model),
    )
  ).statements;
}

/**
 * Renames the schemas. If the previous storage becomes live again, two storages exchange their names, so a third name
 * is needed temporarily.
 */
async function renameSchemas(
  client: ClientBase,
  liveSchema: string,
  incoming: string,
  previousSchema: string,
): Promise<void> {
  const temporaryName = incoming === previousSchema ? `${liveSchema}_aside` : previousSchema;
  const to = async (from: string, name: string): Promise<void> => {
    await client.query(`alter schema ${escapeIdentifier(from)} rename to ${escapeIdentifier(name)}`);
  };
  await to(liveSchema, temporaryName);
  await to(incoming, liveSchema);
  if (temporaryName !== previousSchema) await to(temporaryName, previousSchema);
}
