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
import { cannotMove, fixedDependents } from '../../store/swap/dependents.ts';
import {
  otherSchemaName,
  dropOtherSchema,
  isThere,
  prepareNext,
  rebuildRefused,
} from '../../store/swap/stream-schemas.ts';
import { carryPackages, carryRedactions } from '../../store/swap/rows.ts';
import type { Print } from '../command-line/command.ts';
import { filterDifference } from '../maintain/accept-filter.ts';
import { historyLines } from './history-lost.ts';
import type { Outcome } from './rebuilding.ts';
import { requestIdentity, type RebuildRequest } from './rebuild-request.ts';

/** The lines of the preview. @throws IndexerError REBUILD_REFUSED, STORE_NOT_PERMITTED */
export async function planned(live: Database, request: RebuildRequest, stop: AbortSignal): Promise<readonly string[]> {
  const stream = await liveStream(live);
  await refuse(live, request);
  const { config, replacement } = request;
  const { schema } = live;
  const lines = await changes(live, stream, request);
  const { lines: filter } = filterDifference(stream.filter, config.ledger);
  const name = otherSchemaName(schema, replacement);
  return [
    replacement === 'previous'
      ? `schema "${name}", the previous one, is filled until it has caught up with schema "${schema}", then takes its place again`
      : `schema "${name}" is filled from the ledger until it has caught up with schema "${schema}", then takes its place`,
    ...lines,
    ...(await historyLines(live, stream, request, { replacement, stop })),
    `the current schema stays as "${otherSchemaName(schema, 'previous')}"`,
    ...(filter.length === 0
      ? []
      : ['indexers with another filter park after the swap: configure them like this command']),
  ];
}

/** Differences from the live schema, as indented lines. */
export async function changes(
  live: Database,
  stream: StreamFacts,
  { config, replacement }: RebuildRequest,
): Promise<readonly string[]> {
  const { lines } = filterDifference(stream.filter, config.ledger);
  const stored = await live.withClient(storedExerciseJson);
  const json = config.indexer.exerciseJson ?? stored;
  const differs = [
    ...lines,
    ...(stream.shape === config.ledger.shape ? [] : [`shape: ${config.ledger.shape} instead of ${stream.shape}`]),
    ...(replacement === 'previous' || json === stored
      ? []
      : [`exercises as ${String(json)} instead of ${String(stored)}`]),
  ];
  return differs.length === 0 ? ['  with the filter in force'] : differs.map((line) => `  ${line}`);
}

/** @throws IndexerError REBUILD_REFUSED if there is no history to index again */
export async function liveStream(live: Database): Promise<StreamFacts> {
  const stream = await readStream(live);
  if (stream?.checkpoint !== undefined && stream.checkpoint !== null && stream.seeded) return stream;
  throw rebuildRefused(`schema "${live.schema}" holds no published history`, 'start the indexer: ledger-indexer run');
}

async function refuse(live: Database, { replacement }: RebuildRequest): Promise<void> {
  const { schema } = live;
  await refuseSwitched(live);
  await live.withClient(async (client) => {
    const there = await isThere(client, schema, 'previous');
    if (replacement === 'previous' && !there) {
      throw rebuildRefused(
        `there is no schema "${otherSchemaName(schema, 'previous')}"`,
        'nothing to do: the previous schema was deleted, or there was no swap',
      );
    }
    if (replacement === 'next' && there) {
      throw rebuildRefused(
        `the previous schema "${otherSchemaName(schema, 'previous')}" still exists`,
        'delete it: ledger-indexer rebuild --drop-previous --yes; or swap back to it: ledger-indexer rebuild --rollback --yes',
      );
    }
    const { rows } = await client.query<{ schema: string }>(
      `select nspname::text as schema from pg_namespace
        where nspname = any ($1) and not pg_has_role(nspowner, 'usage')`,
      [Object.values(readSchemas(schema))],
    );
    if (rows[0] !== undefined) throw notOwner(rows[0].schema);
    const [fixed] = await fixedDependents(client, schema);
    if (fixed !== undefined) throw cannotMove(fixed);
  });
}

/**
 * Refuses a switched stream: it has offsets of several participants, but a new schema would only have those of the
 * current one.
 * @throws IndexerError REBUILD_REFUSED
 */
export async function refuseSwitched(live: Database): Promise<void> {
  const { rows } = await live.withClient((client) =>
    client.query<{ participant: string | null; from: number; shift: number }>(
      `select participant_id as participant, from_offset as from, offset_shift as shift from participants order by participant_number desc limit 1`,
    ),
  );
  const [last] = rows;
  if (last === undefined) return;
  const { participant, from, shift } = last;
  throw rebuildRefused(
    `the stream was switched to ${participant ?? 'another participant'} at offset ${String(from)}: stored updates up to there have offsets of the previous participant, ` +
      `and in a new schema, filled from this participant, each would be ${String(Math.abs(shift))} ${shift < 0 ? 'higher' : 'lower'} and history would begin where it was pruned or started to host the parties`,
    'keep this schema and run ledger-indexer filter extend to add to its filter; for another shape or filter with all of its history, index ' +
      'the participant into a new POSTGRES_SCHEMA, which has its own offsets',
  );
}

function notOwner(schema: string): IndexerError {
  return new IndexerError(`schema "${schema}" belongs to another role, and rebuild replaces it`, {
    code: 'STORE_NOT_PERMITTED',
    remedy: 'connect as the owner of the tables (with grant-roles: as the migrator)',
  });
}

/** Requests the job and creates the tables. @throws IndexerError REBUILD_REFUSED, JOB_REFUSED */
export async function makeReady(live: Database, target: Database, request: RebuildRequest): Promise<void> {
  const { schema } = live;
  const stream = await liveStream(live);
  const stored = (await live.withClient(storedExerciseJson)) ?? 'jsonb';
  const exerciseJson: ExerciseJson = request.config.indexer.exerciseJson ?? stored;
  const identity = requestIdentity(request, stream, exerciseJson);
  await live.transaction(async (client) => {
    const job = await getJob(client, 'rebuild');
    const goesOn = job !== undefined && job.state !== 'done' && isDeepStrictEqual(job.request, identity);
    await requestJob(client, 'rebuild', identity);
    // Such a schema was filled by another process, or by a rebuild that was cancelled.
    if (!goesOn && request.replacement === 'next') await dropOtherSchema(client, schema, 'next');
  });
  if (request.replacement === 'next') await prepareNext(target, schema, exerciseJson);
  else await migrate(target, { files: await migrationFiles() });
  const storages = { from: schema, to: target.schema };
  await live.transaction((client) => carryPackages(client, storages));
  // Runs before anything is read, so that contents that were removed on request do not return.
  await live.transaction((client) => carryRedactions(client, storages));
}

/** Number of attempts to drop a cancelled rebuild's schema. The last statement of the follower may still be running. */
const dropTries = 20;

/** Prints the outcome, and deletes the schema of a cancelled rebuild. @throws IndexerError INTERRUPTED */
export async function reportOutcome(
  live: Database,
  { replacement }: RebuildRequest,
  outcome: Outcome,
  print: Print,
): Promise<void> {
  const { schema } = live;
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
  if (replacement === 'next') await dropPatiently(live);
  print('the rebuild was cancelled, and its schema is deleted');
}

async function dropPatiently(live: Database): Promise<void> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await live.transaction((client) => dropOtherSchema(client, live.schema, 'next'));
    } catch (thrown) {
      if (tried === dropTries) throw thrown;
      await sleep(250);
    }
  }
}
