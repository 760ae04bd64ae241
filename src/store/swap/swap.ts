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
import { fenced, takeEpoch } from '../write/stream-row.ts';
import { moveDependents, searchIn } from './dependents.ts';
import { lockStorage, olderSnapshots } from './locks.ts';
import { analyzeUnknown, buildMissing, carryObjects, moveForeign, pointFunctions } from './objects.ts';
import { type OtherSchema, otherSchemaComment, otherSchemaName, rebuildRefused } from './stream-schemas.ts';
import { carryCompletions, carryPackages, carryRedactions, carryRows, missingRedactions } from './rows.ts';

/** Results of the work that is done while the indexer still writes, so that the swap itself has little to do. */
export interface Prepared {
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
export async function prepareSwap(live: Database, target: Database): Promise<Prepared> {
  const storages = { from: live.schema, to: target.schema };
  await live.transaction(async (client) => {
    await client.query(reportPlanning);
    await client.query('set local statement_timeout = 0');
    await carryRedactions(client, storages);
  });
  await live.transaction(async (client) => {
    await client.query('set local statement_timeout = 0');
    await buildMissing(client, live.schema, target.schema);
    await analyzeUnknown(client, live.schema, target.schema);
  });
  await live.transaction((client) => carryCompletions(client, storages, 'earlier'));
  const packages = await readPackages(live);
  return { typed: await live.withClient((client) => generateTypedViews(client, live.schema, packages)) };
}

/**
 * Stops the writer of the live stream by raising the epoch. The holder of its writer lock calls this. Resolves to the
 * position of the stream.
 */
export function halt(live: Database): Promise<StoppedWriter> {
  return live.transaction(async (client) => {
    await client.query(`set local lock_timeout = '5s'`);
    // This lock also waits for completions that are being stored.
    const stream = await lockStream(client);
    if (stream?.checkpoint === undefined || stream.checkpoint === null)
      throw fenced('the live stream has no checkpoint');
    return { checkpoint: stream.checkpoint, epoch: await takeEpoch(client, undefined) };
  });
}

/**
 * Copies everything that the next storage still lacks while neither storage is written to. Resolves to the commit after
 * which the next storage is complete.
 */
export function complete(live: Database, target: Database): Promise<LastCommit> {
  const storages = { from: live.schema, to: target.schema };
  return live.transaction(async (client) => {
    await carryCompletions(client, storages, 'all');
    await carryPackages(client, storages);
    const { rows } = await client.query<LastCommit>(
      `select pg_current_xact_id()::xid::text as xid, clock_timestamp()::text as at`,
    );
    const [last] = rows;
    if (last === undefined) throw new TypeError('the server did not return the transaction id');
    return last;
  });
}

export interface Swap {
  readonly target: OtherSchema;
  readonly prepared: Prepared;
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
export async function swap(live: Database, swapped: Swap): Promise<number> {
  const checkpoint = await live.transaction((client) => swapIn(client, live.schema, swapped));
  if (swapped.notify) await new CommitNotices(live).notifyCommit(checkpoint);
  return checkpoint;
}

async function swapIn(client: PoolClient, schema: string, options: Swap): Promise<number> {
  const { target, writerStopped, last, onStep = () => undefined } = options;
  const incoming = otherSchemaName(schema, target);
  const outgoing = otherSchemaName(schema, 'previous');
  onStep('locking');
  await client.query(`${reportPlanning}; set local lock_timeout = '500ms'; set local statement_timeout = '60s'`);
  for (const name of [`ledger_indexer:${schema}`, `ledger_indexer_views:${schema}`]) {
    await client.query('select pg_advisory_xact_lock(hashtext($1))', [name]);
  }
  options.onSession?.((await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid ?? 0);
  await lockStorage(client, readSchemas(schema), options.ahead ? 'access exclusive' : 'exclusive');
  await client.query(`set local lock_timeout = '500ms'; set local statement_timeout = '60s'`);
  await refuseOldSnapshots(client, last);
  const checkpoint = await requireSameOffset(client, { live: schema, incoming }, options);
  onStep('carrying');
  await refuseNewRedactions(client, { from: schema, to: incoming });
  await carryRows(client, { from: schema, to: incoming });
  await searchIn(client, incoming);
  const epoch = (await takeEpoch(client, undefined)) + writerStopped.epoch;
  await tablesOf(client).updateTable('stream').set({ epoch, writer: options.writer }).execute();
  await searchIn(client, schema);
  const typed = await typedStatements(client, schema, options.prepared);
  await dropStaging(client, schema, 'interfaces');
  await dropStaging(client, schema, 'reseed');
  await dropStaging(client, incoming, 'interfaces');
  onStep('renaming');
  await rename(client, schema, incoming, outgoing);
  await moveForeign(client, outgoing, schema);
  await pointFunctions(client, schema, incoming);
  await pointFunctions(client, outgoing, schema);
  await carryObjects(client, outgoing, schema);
  await client.query(
    `comment on schema ${escapeIdentifier(outgoing)} is ${escapeLiteral(otherSchemaComment(schema, 'previous'))}`,
  );
  onStep('re-creating views');
  await searchIn(client, schema);
  await moveReadSide(client, schema);
  if (typed.length > 0) await client.query(typed.join('\n'));
  await moveDependents(client, outgoing, schema);
  await secureViews(client, readSchemas(schema));
  await updateJob(client, 'rebuild', { state: 'done', step: 'swapped', perSecond: null, problem: null });
  onStep('committing');
  return checkpoint;
}

async function refuseOldSnapshots(client: ClientBase, last: LastCommit): Promise<void> {
  const holders = await olderSnapshots(client, last);
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
async function requireSameOffset(
  client: PoolClient,
  { live, incoming }: { readonly live: string; readonly incoming: string },
  { writerStopped, ahead }: Pick<Swap, 'writerStopped' | 'ahead'>,
): Promise<number> {
  await searchIn(client, incoming);
  const other = await lockStream(client);
  await searchIn(client, live);
  const liveStream = await lockStream(client);
  if (liveStream?.checkpoint !== writerStopped.checkpoint || liveStream.epoch !== writerStopped.epoch)
    throw fenced('the live stream moved');
  if (
    liveStream.participantId !== null &&
    (other?.participantId ?? liveStream.participantId) !== liveStream.participantId
  ) {
    throw rebuildRefused('the live storage is of another participant', 'run the command again, for that participant');
  }
  const checkpoint = other?.seeded === true ? (other.checkpoint ?? -1) : -1;
  if (checkpoint < writerStopped.checkpoint || (checkpoint > writerStopped.checkpoint && !ahead)) {
    throw fenced('the new storage and the live one are not at the same offset');
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
async function typedStatements(client: ClientBase, schema: string, { typed }: Prepared): Promise<readonly string[]> {
  if ((await typedState(client)) === typed.madeFrom) return typed.statements;
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
async function rename(client: ClientBase, live: string, incoming: string, outgoing: string): Promise<void> {
  const aside = incoming === outgoing ? `${live}_aside` : outgoing;
  const to = async (from: string, name: string): Promise<void> => {
    await client.query(`alter schema ${escapeIdentifier(from)} rename to ${escapeIdentifier(name)}`);
  };
  await to(live, aside);
  await to(incoming, live);
  if (aside !== outgoing) await to(aside, outgoing);
}
