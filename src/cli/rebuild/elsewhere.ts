/**
 * Plans a rebuild into another database: preconditions, the preview, and the tables that have to exist before it
 * starts.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../../config/config.ts';
import { IndexerError, toIndexerError } from '../../errors/indexer-error.ts';
import type { ExerciseJson } from '../../model/tables.ts';
import type { Database } from '../../store/connection/database.ts';
import { databaseLabel, isSameDatabase } from '../../store/connection/hosts.ts';
import { requestJob, getJob, updateJob } from '../../store/history/jobs.ts';
import { copyInitialRows } from '../../store/handover/hand-over.ts';
import {
  fillAgain,
  discardTarget,
  isCreatedByRebuild,
  prepareTarget,
  readHandoverState,
  type HandoverState,
} from '../../store/handover/target.ts';
import { storedExerciseJson } from '../../store/schema/exercise-json.ts';
import { rebuildRefusedError } from '../../store/swap/stream-schemas.ts';
import type { PrintLine } from '../command-line/command.ts';
import { historyLines } from './history-lost.ts';
import { changes, liveStream, assertNotSwitched } from './plan.ts';
import type { RebuildOutcome } from './rebuilding.ts';
import { requestIdentity, type TargetAddress, type RebuildRequest } from './rebuild-request.ts';

/** A request for a rebuild into another database. */
export type HandoverRequest = RebuildRequest & { readonly into: TargetAddress };

/** The configuration of the process that fills the other database. */
export function configThere({ config, into: targetConfig }: HandoverRequest): Config {
  return { ...config, database: { ...config.database, url: targetConfig.url, urlFile: targetConfig.urlFile } };
}

/** Label of the database that hands over, see `databaseLabel`. */
export function sourceOf({ config }: RebuildRequest): string {
  return databaseLabel(config.database.url ?? '');
}

/**
 * Progress of a handover.
 * - `ready`: the target can be filled, or is being filled
 * - `again`: the target has handed the stream over to this database before, and gets it back
 * - `closed`: the source is closed, and the target is not open yet: the handover was interrupted between its two commits
 * - `opened`: the handover is complete, but not recorded here
 */
type Stage = 'ready' | 'again' | 'closed' | 'opened';

async function stageOf(liveDatabase: Database, target: Database, request: HandoverRequest): Promise<Stage> {
  const { into: targetAddress } = request;
  const source = sourceOf(request);
  if (isSameDatabase(source, targetAddress.label)) {
    throw rebuildRefusedError('--into names the database of DATABASE_URL', 'pass another database, or remove --into');
  }
  const sourceTurn = await readHandoverState(liveDatabase);
  const targetTurn = await readHandoverState(target);
  if (sourceTurn?.handover === 'handed over') return stageAfterClose(sourceTurn, targetTurn, targetAddress.label);
  if (sourceTurn?.handover === 'filling') {
    throw rebuildRefusedError(
      'the source schema is itself being filled',
      'wait until it is filled, or set DATABASE_URL to the database from which it is filled',
    );
  }
  await assertNotSwitched(liveDatabase);
  if (targetTurn === undefined) return 'ready';
  const isFromSource = targetTurn.peer !== null && isSameDatabase(targetTurn.peer, source);
  if (targetTurn.handover === 'filling' && isFromSource) return 'ready';
  if (targetTurn.handover === 'handed over' && isFromSource) return 'again';
  throw rebuildRefusedError(
    targetTurn.peer === null
      ? `schema "${target.schema}" in ${targetAddress.label} already contains a stream`
      : `schema "${target.schema}" in ${targetAddress.label} belongs to a handover with database ${targetTurn.peer}, not with ${source}`,
    'pass a database without such a schema, or drop the schema there if it is not needed',
  );
}

function stageAfterClose(sourceTurn: HandoverState, targetTurn: HandoverState | undefined, label: string): Stage {
  if (targetTurn !== undefined && sourceTurn.peer !== null && isSameDatabase(sourceTurn.peer, label)) {
    if (targetTurn.handover === 'filling') return 'closed';
    if (targetTurn.handover === null) return 'opened';
  }
  throw handedOverError(sourceTurn);
}

/** @throws IndexerError REBUILD_REFUSED if the stream was handed over */
export async function refuseHandedOver(liveDatabase: Database): Promise<void> {
  const sourceTurn = await readHandoverState(liveDatabase);
  if (sourceTurn?.handover === 'handed over') throw handedOverError(sourceTurn);
}

function handedOverError({ peer }: HandoverState): IndexerError {
  return rebuildRefusedError(
    `the stream was handed over and continues in database ${String(peer)}`,
    'set DATABASE_URL to that database; to return, run rebuild there with --into this database; if the handover was interrupted, run the same command again',
  );
}

/** The lines of the preview. @throws IndexerError REBUILD_REFUSED, STORE_UNREACHABLE */
export async function handoverPlanLines(
  liveDatabase: Database,
  target: Database,
  request: HandoverRequest,
  stop: AbortSignal,
): Promise<readonly string[]> {
  const stage = await stageOf(liveDatabase, target, request);
  const { label } = request.into;
  if (stage === 'closed' || stage === 'opened') {
    return [`the handover to ${label} was interrupted; it will be finished`];
  }
  const stream = await liveStream(liveDatabase);
  const lines = await changes(liveDatabase, stream, request);
  return [
    stage === 'again'
      ? `schema "${liveDatabase.schema}" in ${label}, from where it was handed over, is filled until it has caught up, then takes over again`
      : `schema "${liveDatabase.schema}" in ${label} is filled from the ledger until it has caught up, then takes over`,
    ...lines,
    ...(await historyLines(liveDatabase, stream, request, {
      replacement: stage === 'again' ? 'previous' : 'next',
      stop,
    })),
    'from then on no indexer writes here: set DATABASE_URL of indexers and readers to that database',
  ];
}

/**
 * Requests the job, and creates the tables in the target. Resolves to the remaining step: filling, finishing an
 * interrupted handover, or none.
 */
export async function prepareTargetDatabase(
  liveDatabase: Database,
  target: Database,
  request: HandoverRequest,
): Promise<'fill' | 'finish' | 'nothing'> {
  const stage = await stageOf(liveDatabase, target, request);
  const source = sourceOf(request);
  const stream = await liveStream(liveDatabase);
  const storedFormat = (await liveDatabase.withClient(storedExerciseJson)) ?? 'jsonb';
  const targetExerciseJson = stage === 'again' ? await target.withClient(storedExerciseJson) : undefined;
  const exerciseJson: ExerciseJson = targetExerciseJson ?? request.config.indexer.exerciseJson ?? storedFormat;
  if (stage === 'opened') {
    const doneState = { state: 'done', step: 'handed over', perSecond: null, problem: null } as const;
    await liveDatabase.withClient((client) => updateJob(client, 'rebuild', doneState));
    return 'nothing';
  }
  const identity = requestIdentity(request, stream, exerciseJson);
  const isResumed = await liveDatabase.transaction(async (client) => {
    const job = await getJob(client, 'rebuild');
    await requestJob(client, 'rebuild', identity);
    return job !== undefined && job.state !== 'done' && isDeepStrictEqual(job.request, identity);
  });
  if (stage === 'closed') return 'finish';
  // Such a target was filled by another process, or by a rebuild that was cancelled.
  if (!isResumed && (await target.withClient((client) => isCreatedByRebuild(client, target.schema, source)))) {
    await discardTarget(target, source);
  }
  await prepareTarget(target, source, exerciseJson);
  if (stage === 'again') await fillAgain(target);
  await copyInitialRows(liveDatabase, target);
  return 'fill';
}

/** Prints the outcome, and deletes the target of a cancelled rebuild. @throws IndexerError INTERRUPTED */
export async function reportHandoverOutcome(
  target: Database,
  request: HandoverRequest,
  outcome: RebuildOutcome | 'nothing',
  print: PrintLine,
): Promise<void> {
  const { label } = request.into;
  if (outcome === 'interrupted') {
    throw new IndexerError('the rebuild was stopped; its progress is kept', {
      code: 'INTERRUPTED',
      remedy: 'run the same command again: it resumes',
    });
  }
  if (outcome === 'caught up') {
    return print(
      `schema "${target.schema}" in ${label} has caught up; to hand over, run the same command without --no-swap`,
    );
  }
  if (outcome === 'cancelled') {
    await discardTarget(target, sourceOf(request));
    return print(
      `the rebuild was cancelled; no indexer writes to schema "${target.schema}" in ${label}, and its schemas there are deleted`,
    );
  }
  if (outcome === 'nothing') print('done: the stream was already handed over');
  else {
    const { checkpoint, pauseMs } = outcome;
    print(`done: handed over at offset ${String(checkpoint)}; write pause ${String(pauseMs)} ms`);
  }
  await createProjections(target, print);
  print(
    `the stream continues in ${label} when an indexer is started with that DATABASE_URL; no indexer writes here any more`,
  );
}

/** Creates the projections of users in the target, where only their SELECTs were copied. Their rows are stored there again. */
async function createProjections(target: Database, print: PrintLine): Promise<void> {
  const { listProjections } = await import('../../store/user-projections/list.ts');
  const { refillProjection } = await import('../../store/user-projections/change.ts');
  for (const { name } of await listProjections(target)) {
    try {
      await refillProjection(target, name);
      print(`projection ${name} is created there; its rows are stored in the background`);
    } catch (thrown) {
      const { message, remedy } = toIndexerError(thrown);
      print(
        `projection ${name} is not created there: ${message}; ${remedy}; then run there: ledger-indexer projection refill ${name}`,
      );
    }
  }
}
