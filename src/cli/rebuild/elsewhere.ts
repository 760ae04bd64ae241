/** What a rebuild into another database would do, what stands in its way, and what has to be there before it begins. */
import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../../config/config.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { ExerciseJson } from '../../model/tables.ts';
import type { Database } from '../../store/connection/database.ts';
import { placeOf, samePlace } from '../../store/connection/hosts.ts';
import { requestJob, getJob, updateJob } from '../../store/history/jobs.ts';
import { carryFirst } from '../../store/handover/hand-over.ts';
import { fillAgain, giveUpTarget, isOurs, prepareTarget, readTurn, type Turn } from '../../store/handover/target.ts';
import { storedExerciseJson } from '../../store/schema/exercise-json.ts';
import { rebuildRefused } from '../../store/swap/places.ts';
import type { Print } from '../command-line/command.ts';
import { historyLines } from './history-lost.ts';
import { changes, liveStream, refuseSwitched } from './plan.ts';
import type { Outcome } from './rebuilding.ts';
import { wantedOf, type Into, type Wish } from './wish.ts';

/** A wish with another database. */
export type Elsewhere = Wish & { readonly into: Into };

/** The configuration of who fills the storage there. */
export function configThere({ config, into }: Elsewhere): Config {
  return { ...config, database: { ...config.database, url: into.url, urlFile: into.urlFile } };
}

/** The database that hands over, as `placeOf` names it. */
export function sourceOf({ config }: Wish): string {
  return placeOf(config.database.url ?? '');
}

/**
 * How far a hand-over has come. `ready`: there may be something to fill there, or is already; `again`: it was handed over
 * from there to here, and comes back; `laid down`: cut between the two commits; `taken up`: all but said here.
 */
type Stage = 'ready' | 'again' | 'laid down' | 'taken up';

async function stageOf(live: Database, target: Database, wish: Elsewhere): Promise<Stage> {
  const { into } = wish;
  const source = sourceOf(wish);
  if (samePlace(source, into.place)) {
    throw rebuildRefused('--into names the database of DATABASE_URL', 'name another one, or leave --into out');
  }
  const here = await readTurn(live);
  const there = await readTurn(target);
  if (here?.handover === 'handed over') return laidDown(here, there, into.place);
  if (here?.handover === 'filling') {
    throw rebuildRefused(
      'the schema here is being filled itself',
      'let that be finished first, or name the database it is filled from',
    );
  }
  await refuseSwitched(live);
  if (there === undefined) return 'ready';
  const fromHere = there.peer !== null && samePlace(there.peer, source);
  if (there.handover === 'filling' && fromHere) return 'ready';
  if (there.handover === 'handed over' && fromHere) return 'again';
  throw rebuildRefused(
    there.peer === null
      ? `schema "${target.schema}" in ${into.place} holds a stream already`
      : `schema "${target.schema}" in ${into.place} has to do with database ${there.peer}, and not with ${source}`,
    'name a database without such a schema, or drop it there if it is of no use',
  );
}

function laidDown(here: Turn, there: Turn | undefined, place: string): Stage {
  if (there !== undefined && here.peer !== null && samePlace(here.peer, place)) {
    if (there.handover === 'filling') return 'laid down';
    if (there.handover === null) return 'taken up';
  }
  throw handedOver(here);
}

/** @throws IndexerError REBUILD_REFUSED where the stream has left */
export async function refuseHandedOver(live: Database): Promise<void> {
  const here = await readTurn(live);
  if (here?.handover === 'handed over') throw handedOver(here);
}

function handedOver({ peer }: Turn): IndexerError {
  return rebuildRefused(
    `the stream was handed over and goes on in database ${String(peer)}`,
    'set DATABASE_URL to that one; to come back from there: --into this one; if the hand-over was cut, run the command that was cut',
  );
}

/** What would happen, in lines. @throws IndexerError REBUILD_REFUSED, STORE_UNREACHABLE */
export async function plannedElsewhere(
  live: Database,
  target: Database,
  wish: Elsewhere,
  stop: AbortSignal,
): Promise<readonly string[]> {
  const stage = await stageOf(live, target, wish);
  const { place } = wish.into;
  if (stage === 'laid down' || stage === 'taken up') {
    return [`the hand-over to ${place} was cut; it is finished`];
  }
  const ours = await liveStream(live);
  const lines = await changes(live, ours, wish);
  return [
    stage === 'again'
      ? `schema "${live.schema}" in ${place}, from where it was handed over, is filled until it has caught up, then takes over again`
      : `schema "${live.schema}" in ${place} is filled from the ledger until it has caught up, then takes over`,
    ...lines,
    ...(await historyLines(live, ours, wish, { beside: stage === 'again' ? 'previous' : 'next', stop })),
    'from then on no indexer writes here: those that are to go on need DATABASE_URL set to that database, and readers too',
  ];
}

/**
 * Requests the job, and creates the tables there. Resolves to what is left: to fill it, to finish a
 * hand-over that was cut, or nothing.
 */
export async function makeReadyElsewhere(
  live: Database,
  target: Database,
  wish: Elsewhere,
): Promise<'fill' | 'finish' | 'nothing'> {
  const stage = await stageOf(live, target, wish);
  const source = sourceOf(wish);
  const ours = await liveStream(live);
  const stored = (await live.withClient(storedExerciseJson)) ?? 'jsonb';
  const there = stage === 'again' ? await target.withClient(storedExerciseJson) : undefined;
  const exerciseJson: ExerciseJson = there ?? wish.config.indexer.exerciseJson ?? stored;
  if (stage === 'taken up') {
    const done = { state: 'done', step: 'handed over', perSecond: null, problem: null } as const;
    await live.withClient((client) => updateJob(client, 'rebuild', done));
    return 'nothing';
  }
  const wanted = wantedOf(wish, ours, exerciseJson);
  const goesOn = await live.transaction(async (client) => {
    const job = await getJob(client, 'rebuild');
    await requestJob(client, 'rebuild', wanted);
    return job !== undefined && job.state !== 'done' && isDeepStrictEqual(job.request, wanted);
  });
  if (stage === 'laid down') return 'finish';
  // What another one has filled, or one that was given up.
  if (!goesOn && (await target.withClient((client) => isOurs(client, target.schema, source)))) {
    await giveUpTarget(target, source);
  }
  await prepareTarget(target, source, exerciseJson);
  if (stage === 'again') await fillAgain(target);
  await carryFirst(live, target);
  return 'fill';
}

/** Says how it ended, and removes what was given up. @throws IndexerError INTERRUPTED */
export async function toldElsewhere(
  target: Database,
  wish: Elsewhere,
  outcome: Outcome | 'nothing',
  print: Print,
): Promise<void> {
  const { place } = wish.into;
  if (outcome === 'interrupted') {
    throw new IndexerError('the rebuild was stopped; what it has filled is kept', {
      code: 'INTERRUPTED',
      remedy: 'run the same command again: it goes on where it was',
    });
  }
  if (outcome === 'caught up') {
    return print(
      `schema "${target.schema}" in ${place} has caught up; to hand over: the same command without --no-swap`,
    );
  }
  if (outcome === 'cancelled') {
    await giveUpTarget(target, sourceOf(wish));
    return print(
      `the rebuild was cancelled; no indexer writes to schema "${target.schema}" in ${place}, and what it made there is deleted`,
    );
  }
  if (outcome === 'nothing') print('done: it was handed over before');
  else {
    const { checkpoint, pauseMs } = outcome;
    print(`done: handed over at offset ${String(checkpoint)}; nobody wrote for ${String(pauseMs)} ms`);
  }
  print(`the stream goes on in ${place} once an indexer is started with that DATABASE_URL; here none writes any more`);
}
