/** Plans a rebuild: preconditions, the preview, and the tables that have to exist before it starts. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { ExerciseJson } from '../../model/tables.ts';
import type { Database } from '../../store/connection/database.ts';
import { readSchemas } from '../../store/connection/read-schemas.ts';
import { readStream, type StreamFacts } from '../../store/history/maintenance.ts';
import { requestJob, getJob } from '../../store/history/jobs.ts';
import { migrate, migrationFiles } from '../../store/schema/migrations.ts';
import { storedExerciseJson } from '../../store/schema/exercise-json.ts';
import { cannotMoveError, fixedDependents } from '../../store/swap/dependents.ts';
import {
  otherSchemaName,
  dropOtherSchema,
  schemaExists,
  prepareNextSchema,
  rebuildRefusedError,
} from '../../store/swap/stream-schemas.ts';
import { copyPackages, copyRedactions } from '../../store/swap/rows.ts';
import type { PrintLine } from '../command-line/command.ts';
import { filterDifference } from '../maintain/accept-filter.ts';
import { historyLines } from './history-lost.ts';
import type { RebuildOutcome } from './rebuilding.ts';
import { requestIdentity, type RebuildRequest } from './rebuild-request.ts';

/** The lines of the preview. @throws IndexerError REBUILD_REFUSED, STORE_NOT_PERMITTED */
export async function planned(
  liveDatabase: Database,
  request: RebuildRequest,
  stop: AbortSignal,
): Promise<readonly string[]> {
  const stream = await liveStream(liveDatabase);
  await assertCanRebuild(liveDatabase, request);
  const { config, replacement } = request;
  const { schema } = liveDatabase;
  const lines = await changes(liveDatabase, stream, request);
  const { lines: filter } = filterDifference(stream.filter, config.ledger);
  const name = otherSchemaName(schema, replacement);
  return [
    replacement === 'previous'
      ? `schema "${name}", the previous one, is filled until it has caught up with schema "${schema}", then takes its place again`
      : `schema "${name}" is filled from the ledger until it has caught up with schema "${schema}", then takes its place`,
    ...lines,
    ...(await historyLines(liveDatabase, stream, request, { replacement, stop })),
    `the current schema stays as "${otherSchemaName(schema, 'previous')}"`,
    ...(filter.length === 0
      ? []
      : ['indexers with another filter park after the swap: configure them like this command']),
  ];
}

/** Differences from the live schema, as indented lines. */
export async function changes(
  liveDatabase: Database,
  stream: StreamFacts,
  { config, replacement }: RebuildRequest,
): Promise<readonly string[]> {
  const { lines } = filterDifference(stream.filter, config.ledger);
  const exerciseJson = await liveDatabase.withClient(storedExerciseJson);
  const json = config.indexer.exerciseJson ?? exerciseJson;
  const differences = [
    ...lines,
    ...(stream.shape === config.ledger.shape ? [] : [`shape: ${config.ledger.shape} instead of ${stream.shape}`]),
    ...(replacement === 'previous' || json === exerciseJson
      ? []
      : [`exercises as ${String(json)} instead of ${String(exerciseJson)}`]),
  ];
  return differences.length === 0 ? ['  with the filter in force'] : differences.map((line) => `  ${line}`);
}

/** @throws IndexerError REBUILD_REFUSED if there is no history to index again */
export async function liveStream(liveDatabase: Database): Promise<StreamFacts> {
  const stream = await readStream(liveDatabase);
  if (stream?.checkpoint !== undefined && stream.checkpoint !== null && stream.seeded) return stream;
  throw rebuildRefusedError(
    `schema "${liveDatabase.schema}" holds no published history`,
    'start the indexer: ledger-indexer run',
  );
}

async function assertCanRebuild(liveDatabase: Database, { replacement }: RebuildRequest): Promise<void> {
  const { schema } = liveDatabase;
  await assertNotSwitched(liveDatabase);
  await liveDatabase.withClient(async (client) => {
    const hasPrevious = await schemaExists(client, schema, 'previous');
    if (replacement === 'previous' && !hasPrevious) {
      throw rebuildRefusedError(
        `there is no schema "${otherSchemaName(schema, 'previous')}"`,
        'nothing to do: the previous schema was deleted, or there was no swap',
      );
    }
    if (replacement === 'next' && hasPrevious) {
      throw rebuildRefusedError(
        `the previous schema "${otherSchemaName(schema, 'previous')}" still exists`,
        'delete it: ledger-indexer rebuild --drop-previous --yes; or swap back to it: ledger-indexer rebuild --rollback --yes',
      );
    }
    const { rows } = await client.query<{ schema: string }>(
      `select nspname::text as schema from pg_namespace
        where nspname = any ($1) and not pg_has_role(nspowner, 'usage')`,
      [Object.values(readSchemas(schema))],
    );
    if (rows[0] !== undefined) throw notOwnerError(rows[0].schema);
    const [fixedDependent] = await fixedDependents(client, schema);
    if (fixedDependent !== undefined) throw cannotMoveError(fixedDependent);
  });
}

/**
 * Refuses a switched stream: it has offsets of several participants, but a new schema would only have those of the
 * current one.
 * @throws IndexerError REBUILD_REFUSED
 */
export async function assertNotSwitched(liveDatabase: Database): Promise<void> {
  const { rows } = await liveDatabase.withClient((client) =>
    client.query<{ participant: string | null; from: number; shift: number }>(
      `select participant_id as participant, from_offset as from, offset_shift as shift from participants order by participant_number desc limit 1`,
    ),
  );
  const [last] = rows;
  if (last === undefined) return;
  const { participant, from, shift } = last;
  throw rebuildRefusedError(
    `the stream was switched to ${participant ?? 'another participant'} at offset ${String(from)}: stored updates up to there have offsets of the previous participant, ` +
      `and in a new schema, filled from this participant, each would be ${String(Math.abs(shift))} ${shift < 0 ? 'higher' : 'lower'} and history would begin where it was pruned or started to host the parties`,
    'keep this schema and run ledger-indexer filter extend to add to its filter; for another shape or filter with all of its history, index ' +
      'the participant into a new POSTGRES_SCHEMA, which has its own offsets',
  );
}

function notOwnerError(schema: string): IndexerError {
  return new IndexerError(`schema "${schema}" belongs to another role, and rebuild replaces it`, {
    code: 'STORE_NOT_PERMITTED',
    remedy: 'connect as the owner of the tables (with grant-roles: as the migrator)',
  });
}

/** Requests the job and creates the tables. @throws IndexerError REBUILD_REFUSED, JOB_REFUSED */
export async function makeReady(liveDatabase: Database, target: Database, request: RebuildRequest): Promise<void> {
  const { schema } = liveDatabase;
  const stream = await liveStream(liveDatabase);
  const storedFormat = (await liveDatabase.withClient(storedExerciseJson)) ?? 'jsonb';
  const exerciseJson: ExerciseJson = request.config.indexer.exerciseJson ?? storedFormat;
  const identity = requestIdentity(request, stream, exerciseJson);
  await liveDatabase.transaction(async (client) => {
    const job = await getJob(client, 'rebuild');
    const isResumed = job !== undefined && job.state !== 'done' && isDeepStrictEqual(job.request, identity);
    await requestJob(client, 'rebuild', identity);
    // Such a schema was filled by another process, or by a rebuild that was cancelled.
    if (!isResumed && request.replacement === 'next') await dropOtherSchema(client, schema, 'next');
  });
  if (request.replacement === 'next') await prepareNextSchema(target, schema, exerciseJson);
  else await migrate(target, { files: await migrationFiles() });
  const storages = { from: schema, to: target.schema };
  await liveDatabase.transaction((client) => copyPackages(client, storages));
  // Runs before anything is read, so that contents that were removed on request do not return.
  await liveDatabase.transaction((client) => copyRedactions(client, storages));
}

/** Number of attempts to drop a cancelled rebuild's schema. The last statement of the follower may still be running. */
const dropTries = 20;

/** Prints the outcome, and deletes the schema of a cancelled rebuild. @throws IndexerError INTERRUPTED */
export async function reportOutcome(
  liveDatabase: Database,
  { replacement }: RebuildRequest,
  outcome: RebuildOutcome,
  print: PrintLine,
): Promise<void> {
  const { schema } = liveDatabase;
  if (outcome === 'interrupted') {
    throw new IndexerError('the rebuild was stopped; its progress is kept', {
      code: 'INTERRUPTED',
      remedy: 'run the same command again: it resumes',
    });
  }
  if (outcome === 'caught up') {
    return print(
      `schema "${otherSchemaName(schema, replacement)}" has caught up; to swap, run the same command without --no-swap`,
    );
  }
  if (outcome !== 'cancelled') {
    const { checkpoint, pauseMs } = outcome;
    print(`done: swapped at offset ${String(checkpoint)}; write pause ${String(pauseMs)} ms`);
    return print(
      `the previous schema is "${otherSchemaName(schema, 'previous')}"; rebuild --rollback --yes swaps back, rebuild --drop-previous --yes deletes it`,
    );
  }
  if (replacement === 'next') await dropWithRetries(liveDatabase);
  print('the rebuild was cancelled, and its schema is deleted');
}

async function dropWithRetries(liveDatabase: Database): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await liveDatabase.transaction((client) => dropOtherSchema(client, liveDatabase.schema, 'next'));
    } catch (thrown) {
      if (attempt === dropTries) throw thrown;
      await sleep(250);
    }
  }
}
