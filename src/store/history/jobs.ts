/**
 * Table `jobs`: long-running background jobs. The process that runs a job writes its progress here. Before each step it
 * checks whether the job is paused or cancelled, so that another process can resume the job.
 */
import type { ClientBase } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { Job, JobName, JobProgress, JobState } from '../../model/stream.ts';
import { tablesOf, type Change } from '../connection/query-builder.ts';

/** The latest job of each name, ordered by name. */
export async function listJobs(client: ClientBase): Promise<readonly Job[]> {
  const rows = await tablesOf(client).selectFrom('jobs').selectAll().orderBy('name').execute();
  return rows.map(({ per_second: perSecond, requested_at: requestedAt, updated_at: updatedAt, ...row }) => ({
    ...row,
    perSecond,
    requestedAt,
    updatedAt,
  }));
}

/** The latest job of this name. */
export async function getJob(client: ClientBase, name: JobName): Promise<Job | undefined> {
  return (await listJobs(client)).find((job) => job.name === name);
}

/** Whether the job has to run now: requested or working. */
export function isDue(job: Job | undefined): job is Job {
  return job !== undefined && (job.state === 'requested' || job.state === 'working');
}

/**
 * For each job, the jobs whose results it would undo. For example, a rebuilt schema has the filter that was in force
 * when the rebuild was requested.
 */
const excluded: Readonly<Record<JobName, readonly JobName[]>> = {
  'filter-extend': ['rebuild'],
  history: ['rebuild'],
  rebuild: ['filter-extend', 'history'],
};

/** @throws IndexerError JOB_REFUSED while a job that would undo this one is unfinished */
async function refuseExcluded(client: ClientBase, name: JobName): Promise<void> {
  const other = (await listJobs(client)).find(
    (job) => excluded[name].includes(job.name) && job.state !== 'done' && job.state !== 'failed',
  );
  if (other !== undefined)
    throw unfinishedJobError(`job ${other.name} is not finished, and ${name} would undo it`, other.name);
}

function unfinishedJobError(message: string, name: JobName): IndexerError {
  return new IndexerError(message, {
    code: 'JOB_REFUSED',
    remedy: `wait for it (ledger-indexer jobs), or cancel it: ledger-indexer jobs cancel ${name}`,
  });
}

/**
 * Requests a job. Requesting an unfinished job again resumes it.
 * @throws IndexerError JOB_REFUSED while a different request of this name, or a job that this one would undo, is
 * unfinished
 */
export async function requestJob(client: ClientBase, name: JobName, request: object): Promise<void> {
  await refuseExcluded(client, name);
  const { rowCount } = await client.query(
    `insert into jobs (name, state, request) values ($1, 'requested', $2)
     on conflict (name) do update set state = 'requested', request = excluded.request, step = null, unit = null, done = 0,
       total = null, per_second = null, problem = null, requested_at = now(), updated_at = now()
      where jobs.state in ('done', 'failed') or jobs.request = excluded.request`,
    [name, JSON.stringify(request)],
  );
  if (rowCount === 1) return;
  throw unfinishedJobError(`another request of job ${name} is not finished`, name);
}

/** Stores progress, unless the job was paused or cancelled. Resolves to true if the job should continue. */
export async function updateJob(
  client: ClientBase,
  name: JobName,
  progress: Partial<JobProgress> & { readonly state?: 'working' | 'done' | 'failed' },
): Promise<boolean> {
  const { step, unit, done: doneCount, total, perSecond, problem, state = 'working' } = progress;
  // An undefined column keeps its value.
  const changes: Change<'jobs'> = { step, unit, done: doneCount, total, per_second: perSecond, problem, state };
  const { numUpdatedRows } = await tablesOf(client)
    .updateTable('jobs')
    .set(changes)
    .set('updated_at', (e) => e.fn('now'))
    .where('name', '=', name)
    .where('state', 'in', ['requested', 'working'])
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** Pauses or resumes a job. @throws IndexerError JOB_REFUSED if its state does not allow that */
export async function changeJob(client: ClientBase, name: JobName, change: 'pause' | 'resume'): Promise<void> {
  if (change === 'resume') await refuseExcluded(client, name);
  const [from, to]: readonly [JobState[], JobState] =
    change === 'pause' ? [['requested', 'working'], 'paused'] : [['paused', 'failed'], 'requested'];
  const { numUpdatedRows } = await tablesOf(client)
    .updateTable('jobs')
    .set({ state: to, per_second: null })
    .set('updated_at', (e) => e.fn('now'))
    .where('name', '=', name)
    .where('state', 'in', from)
    .executeTakeFirst();
  if (numUpdatedRows === 1n) return;
  throw new IndexerError(`there is no job ${name} to ${change}`, {
    code: 'JOB_REFUSED',
    remedy: 'run ledger-indexer jobs to see the jobs and their state',
  });
}

/**
 * Cancels a job and resolves to true if there was one. The staged rows are deleted by the process that ran the job, or
 * by the next process.
 * @throws IndexerError JOB_REFUSED after the handover, when the job can only be finished
 */
export async function cancelJob(client: ClientBase, name: JobName): Promise<boolean> {
  if (name === 'rebuild') await refuseHandedOver(client);
  const { numDeletedRows } = await tablesOf(client)
    .deleteFrom('jobs')
    .where('name', '=', name)
    .where('state', '<>', 'done')
    .executeTakeFirst();
  return numDeletedRows > 0n;
}

/**
 * Refuses to cancel a handover between its two commits, because this server does not know whether the other server has
 * made the second commit.
 */
async function refuseHandedOver(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ peer: string }>(
    `select s.handover_peer as peer from stream s, jobs j
      where s.handover = 'handed over' and j.name = 'rebuild' and j.state <> 'done'`,
  );
  if (rows[0] === undefined) return;
  throw new IndexerError(
    `the stream was handed over to database ${rows[0].peer}, and the rebuild ended before it recorded that`,
    {
      code: 'JOB_REFUSED',
      remedy: 'run the same rebuild command again: it finishes the handover',
    },
  );
}
