/**
 * The job that reads history from before the filter was extended. Its progress is the offset from which the additions
 * to the filter have all updates. At its end, the coverage ranges are changed to begin there.
 */
import type { ClientBase } from 'pg';
import type { HistoryRequest, FilterExtensionRequest } from '../../model/stream.ts';
import type { Database } from '../connection/database.ts';
import { readSchemas } from '../connection/read-schemas.ts';
import { markUnhostedAgain } from '../write/departures.ts';
import { maintain, refusalError, type StreamFacts } from './maintenance.ts';
import { hold, lockCurrentStream } from './filter-extension.ts';
import { requestJob, getJob, updateJob } from './jobs.ts';

/** The next step of the job. */
export interface DueEarlier {
  readonly request: HistoryRequest;
  /** Whether the job is paused until an operator resumes it. */
  readonly isPaused: boolean;
  /** Whether the filter in force is the one whose history was requested. */
  readonly isInForce: boolean;
  /** Whether a filter extension is running or contracts are being staged; the job continues after that. */
  readonly waits: boolean;
  /** Whether a list of the contracts active at an offset was requested. */
  readonly isListRequested: boolean;
  /** Updates after this offset are stored under the filter in force (exclusive). */
  readonly from: number;
  /** Offset from which active contracts are complete; undefined if some are missing. */
  readonly completeFrom: number | undefined;
  /** Start of the history that can be extended (exclusive). */
  readonly begin: number;
}

/**
 * Name of the step during which contracts active at the start of history are staged. The indexer checks later whether
 * they are stored.
 */
export const stagingStep = 'staging contracts active at its start';

const unfinishedStates: ReadonlySet<string> = new Set(['requested', 'working', 'paused']);

/** The job if it was requested and is unfinished. */
export function dueEarlier(database: Database): Promise<DueEarlier | undefined> {
  return database.withClient(async (client) => {
    const job = await getJob(client, 'history');
    if (job === undefined || job.state === 'done' || job.state === 'failed') return undefined;
    const request = job.request as HistoryRequest;
    const extension = await getJob(client, 'filter-extend');
    const { rows } = await client.query<{
      hash: string;
      from: number | null;
      complete: number | null;
      lacks: boolean;
    }>(
      `select s.filter_hash as hash,
              (select max(from_offset) from filter_additions) as "from",
              (select max(complete_from) from filter_additions) as complete,
              exists (select from filter_additions where complete_from is null) as lacks
         from stream s`,
    );
    const { hash, from = null, complete = null, lacks: isMissingContracts = false } = rows[0] ?? {};
    return {
      request,
      isPaused: job.state === 'paused',
      isInForce: hash === request.filterHash,
      waits: extension !== undefined && unfinishedStates.has(extension.state),
      isListRequested: job.state === 'working' && job.step === stagingStep,
      from: from ?? 0,
      completeFrom: isMissingContracts ? undefined : (complete ?? 0),
      begin: await beginOffsetOf(client),
    };
  });
}

/**
 * Start of the history without a gap. It includes only ranges whose filters have the same shape and were extended to
 * the filter in force. Updates from before another filter was accepted may be invisible under the current one.
 */
async function beginOffsetOf(client: ClientBase): Promise<number> {
  const { rows } = await client.query<{ begin: number | null }>(
    `select greatest(s.pruned_to_offset, (select max(from_offset) from participants), (
              select max(case when c.transaction_shape <> s.transaction_shape then c.to_offset
                              when c.origin in ('filter', 'reset')
                                or not exists (select from coverage b
                                                where b.from_offset < c.from_offset and b.to_offset >= c.from_offset)
                                then c.from_offset end)
                from coverage c)) as begin
       from stream s`,
  );
  return rows[0]?.begin ?? 0;
}

/**
 * Requests a list of the contracts active at an offset, as a filter extension to the filter in force. The list is
 * needed if history begins later than the ledger, because contracts that were active then may have ended since. Nothing
 * is pruned here until the list is stored.
 * @throws IndexerError WRITER_FENCED (fenced)
 */
export function requestContractList(database: Database, at: number, epoch: number): Promise<void> {
  return maintain(database, async (client) => {
    await client.query(`select ${readSchemas(database.schema).pqs}.__retention_lock()`);
    const { filter, filterHash, prunedToOffset } = await lockCurrentStream(client, { epoch });
    const listOffset = Math.max(at, prunedToOffset);
    await hold(client, listOffset);
    await requestJob(client, 'filter-extend', {
      filter,
      filterHash,
      from: filterHash,
      listAt: listOffset,
    } satisfies FilterExtensionRequest);
    await updateJob(client, 'history', { step: stagingStep, unit: null, total: null, perSecond: null, problem: null });
  });
}

/**
 * The last step: records in `coverage` where the complete history begins, and marks the job as done.
 * @param floor start of the history that the participant has, or of the history that is retained here
 * @returns the offset from which history is complete
 * @throws IndexerError WRITER_FENCED (fenced), FILTER_EXTEND_REFUSED if the job was paused or cancelled meanwhile
 */
export function finishEarlier(database: Database, floor: number, epoch: number): Promise<number> {
  return maintain(database, async (client) => {
    const stream = await lockCurrentStream(client, { epoch });
    const { rows } = await client.query<{ at: number | null }>('select max(complete_from) as at from filter_additions');
    const completeOffset = Math.max(floor === 0 ? 0 : (rows[0]?.at ?? 0), await beginOffsetOf(client));
    await client.query(
      'update filter_additions set complete_from = least(complete_from, $1), from_offset = least(from_offset, $1), updated_at = now()',
      [completeOffset],
    );
    await client.query(
      `update filter_interfaces
          set complete_from = case when $1 > (select min(from_offset) from coverage) then $1 else 0 end, updated_at = now()
        where state = 'followed' and complete_from > $1`,
      [completeOffset],
    );
    await beginRangeAt(client, completeOffset, stream);
    await markUnhostedAgain(client, completeOffset + 1);
    const doneState = { state: 'done', step: null, perSecond: null, problem: null } as const;
    if (!(await updateJob(client, 'history', doneState)))
      throw refusalError('filter extend', 'the job was paused or cancelled', 'jobs resume history');
    return completeOffset;
  });
}

/** Replaces the ranges that began after the offset by one range from the offset to the checkpoint. */
async function beginRangeAt(client: ClientBase, at: number, { filterHash, shape }: StreamFacts): Promise<void> {
  await client.query(
    `delete from coverage c
      where c.from_offset > $1
         or c.from_offset = $1 and exists (select from coverage o
              where o.from_offset = $1 and o.filter_hash <> c.filter_hash and (o.recorded_at, o.filter_hash) < (c.recorded_at, c.filter_hash))`,
    [at],
  );
  const { rowCount } = await client.query(
    'update coverage set to_offset = null, filter_hash = $2, complete = true where from_offset = $1',
    [at, filterHash],
  );
  await client.query('update coverage set to_offset = $1 where from_offset < $1 and coalesce(to_offset, $1) >= $1', [
    at,
  ]);
  if (rowCount === 1) return;
  await client.query(
    `insert into coverage (from_offset, filter_hash, origin, transaction_shape, reason)
     values ($1, $2, 'filter-extend', $3, 'the operator extended the filter, and what is shown of the time before was fetched')`,
    [at, filterHash, shape],
  );
}
