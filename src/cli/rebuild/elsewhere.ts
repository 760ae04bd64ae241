/**
 * Plans a rebuild into another database: preconditions, the preview, and the tables that have to exist before it
 * starts.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../../config/config.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { ExerciseJson } from '../../model/tables.ts';
import type { Database } from '../../store/connection/database.ts';
import { databaseLabel, samePlace } from '../../store/connection/hosts.ts';
import { requestJob, getJob, updateJob } from '../../store/history/jobs.ts';
import { carryFirst } from '../../store/handover/hand-over.ts';
import {
  fillAgain,
  giveUpTarget,
  isCreatedByRebuild,
  prepareTarget,
  readTurn,
  type Turn,
} from '../../store/handover/target.ts';
import { storedExerciseJson } from '../../store/schema/exercise-json.ts';
import { rebuildRefused } from '../../store/swap/stream-schemas.ts';
import type { Print } from '../command-line/command.ts';
import { historyLines } from './history-lost.ts';
import { changes, liveStream, refuseSwitched } from './plan.ts';
import type { Outcome } from './rebuilding.ts';
import { requestIdentity, type Into, type RebuildRequest } from './rebuild-request.ts';

/** A request for a rebuild into another database. */
export type Elsewhere = RebuildRequest & { readonly into: Into };

/** The configuration of the process that fills the other database. */
export function configThere({ config, into }: Elsewhere): Config {
  return { ...config, database: { ...config.database, url: into.url, urlFile: into.urlFile } };
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

async function stageOf(live: Database, target: Database, request: Elsewhere): Promise<Stage> {
  const { into } = request;
  const source = sourceOf(request);
  if (samePlace(source, into.label)) {
    throw rebuildRefused('--into names the database of DATABASE_URL', 'pass another database, or remove --into');
  }
  const here = await readTurn(live);
  const there = await readTurn(target);
  if (here?.handover === 'handed over') return stageAfterClose(here, there, into.label);
  if (here?.handover === 'filling') {
    throw rebuildRefused(
      'the source schema is itself being filled',
      'wait until it is filled, or set DATABASE_URL to the database from which it is filled',
    );
  }
  await refuseSwitched(live);
  if (there === undefined) return 'ready';
  const fromHere = there.peer !== null && samePlace(there.peer, source);
  if (there.handover === 'filling' && fromHere) return 'ready';
  if (there.handover === 'handed over' && fromHere) return 'again';
  throw rebuildRefused(
    there.peer === null
      ? `schema "${target.schema}" in ${into.label} already contains a stream`
      : `schema "${target.schema}" in ${into.label} belongs to a handover with database ${there.peer}, not with ${source}`,
    'pass a database without such a schema, or drop the schema there if it is not needed',
  );
}

function stageAfterClose(here: Turn, there: Turn | undefined, label: string): Stage {
  if (there !== undefined && here.peer !== null && samePlace(here.peer, label)) {
    if (there.handover === 'filling') return 'closed';
    if (there.handover === null) return 'opened';
  }
  throw handedOver(here);
}

/** @throws IndexerError REBUILD_REFUSED if the stream was handed over */
export async function refuseHandedOver(live: Database): Promise<void> {
  const here = await readTurn(live);
  if (here?.handover === 'handed over') throw handedOver(here);
}

function handedOver({ peer }: Turn): IndexerError {
  return rebuildRefused(
    `the stream was handed over and continues in database ${String(peer)}`,
    'set DATABASE_URL to that database; to return, run rebuild there with --into this database; if the handover was interrupted, run the same command again',
  );
}

/** The lines of the preview. @throws IndexerError REBUILD_REFUSED, STORE_UNREACHABLE */
export async function plannedElsewhere(
  live: Database,
  target: Database,
  request: Elsewhere,
  stop: AbortSignal,
): Promise<readonly string[]> {
  const stage = await stageOf(live, target, request);
  const { label } = request.into;
  if (stage === 'closed' || stage === 'opened') {
    return [`the handover to ${label} was interrupted; it will be finished`];
  }
  const stream = await liveStream(live);
  const lines = await changes(live, stream, request);
  return [
    stage === 'again'
      ? `schema "${live.schema}" in ${label}, from where it was handed over, is filled until it has caught up, then takes over again`
      : `schema "${live.schema}" in ${label} is filled from the ledger until it has caught up, then takes over`,
    ...lines,
    ...(await historyLines(live, stream, request, { replacement: stage === 'again' ? 'previous' : 'next', stop })),
    'from then on no indexer writes here: set DATABASE_URL of indexers and readers to that database',
  ];
}

/**
 * Requests the job, and creates the tables in the target. Resolves to the remaining step: filling, finishing an
 * interrupted handover, or none.
 */
export async function makeReadyElsewhere(
  live: Database,
  target: Database,
  request: Elsewhere,
): Promise<'fill' | 'finish' | 'nothing'> {
  const stage = await stageOf(live, target, request);
  const source = sourceOf(request);
  const stream = await liveStream(live);
  const stored = (await live.withClient(storedExerciseJson)) ?? 'jsonb';
  const there = stage === 'again' ? await target.withClient(storedExerciseJson) : undefined;
  const exerciseJson: ExerciseJson = there ?? request.config.indexer.exerciseJson ?? stored;
  if (stage === 'opened') {
    const done = { state: 'done', step: 'handed over', perSecond: null, problem: null } as const;
    await live.withClient((client) => updateJob(client, 'rebuild', done));
    return 'nothing';
  }
  const identity = requestIdentity(request, stream, exerciseJson);
  const goesOn = await live.transaction(async (client) => {
    const job = await getJob(client, 'rebuild');
    await requestJob(client, 'rebuild', identity);
    return job !== undefined && job.state !== 'done' && isDeepStrictEqual(job.request, identity);
  });
  if (stage === 'closed') return 'finish';
  // Such a target was filled by another process, or by a rebuild that was cancelled.
  if (!goesOn && (await target.withClient((client) => isCreatedByRebuild(client, target.schema, source)))) {
    await giveUpTarget(target, source);
  }
  await prepareTarget(target, source, exerciseJson);
  if (stage === 'again') await fillAgain(target);
  await carryFirst(live, target);
  return 'fill';
}

/** Prints the outcome, and deletes the target of a cancelled rebuild. @throws IndexerError INTERRUPTED */
export async function reportOutcomeElsewhere(
  target: Database,
  request: Elsewhere,
  outcome: Outcome | 'nothing',
  print: Print,
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
    await giveUpTarget(target, sourceOf(request));
    return print(
      `the rebuild was cancelled; no indexer writes to schema "${target.schema}" in ${label}, and its schemas there are deleted`,
    );
  }
  if (outcome === 'nothing') print('done: the stream was already handed over');
  else {
    const { checkpoint, pauseMs } = outcome;
    print(`done: handed over at offset ${String(checkpoint)}; write pause ${String(pauseMs)} ms`);
  }
  print(
    `the stream continues in ${label} when an indexer is started with that DATABASE_URL; no indexer writes here any more`,
  );
}
