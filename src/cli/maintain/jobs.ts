/** `jobs`: lists, pauses, resumes and cancels background jobs. */
import { loadConfig } from '../../config/config.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { Database } from '../../store/connection/database.ts';
import { jobNames, type Job, type JobName } from '../../model/stream.ts';
import { type Call, json, writeExitCodes, type Command, type PrintLine } from '../command-line/command.ts';
import { usageError } from '../command-line/refusals.ts';
import { withDatabase } from '../database/with-database.ts';

const usage = `ledger-indexer jobs [list] [--json]
  ledger-indexer jobs pause | resume | cancel NAME`;
const actions = ['list', 'pause', 'resume', 'cancel'] as const;

export const jobsCommand: Command = {
  name: 'jobs',
  usage: '[list] | pause NAME | resume NAME | cancel NAME',
  summary: 'list, pause, resume or cancel background jobs',
  does: [
    'Jobs: filter-extend (adds to the filter), history (its earlier updates), rebuild (a new schema). The process that runs',
    'a job notices a change within seconds. A paused job resumes where it stopped; cancel deletes what it has staged.',
  ],
  operands: [
    { name: 'ACTION', words: [...actions], optional: true },
    { name: 'NAME', words: [...jobNames], optional: true },
  ],
  flags: [json],
  examples: ['jobs', 'jobs pause history', 'jobs resume history'],
  exits: writeExitCodes,
  page: 'docs/how-to/change/pause-jobs.md',
  /** @throws IndexerError USAGE, JOB_REFUSED */
  run: async ({ args, env, print }) => {
    const action = actionOf(args);
    const [verb] = args.operands;
    const openOptions = {
      command: 'jobs',
      feature: `jobs ${actions.find((candidate) => candidate === verb) ?? 'list'}`,
    } as const;
    await withDatabase(loadConfig(env, args.options), openOptions, (database) => action(database, print));
  },
};

type Action = (database: Database, print: PrintLine) => Promise<void>;

function actionOf(args: Call['args']): Action {
  const [verb = 'list', name, ...extraArguments] = args.operands;
  const action = actions.find((candidate) => candidate === verb);
  if (action === undefined) throw usageError(`jobs has no action "${verb}"`, usage);
  if (action === 'list') {
    if (name !== undefined) throw usageError('jobs list takes no job name', usage);
    return (database, print) => list(database, args.has('json'), print);
  }
  const job = jobNames.find((candidate) => candidate === name);
  if (job === undefined || extraArguments.length > 0)
    throw usageError(`jobs ${action} needs the name of one job: ${jobNames.join(', ')}`, usage);
  return (database, print) => change(database, job, action, print);
}

async function list(database: Database, asJson: boolean, print: PrintLine): Promise<void> {
  const { listJobs } = await import('../../store/history/jobs.ts');
  const jobs = await database.withClient(listJobs);
  if (asJson) for (const job of jobs) print(JSON.stringify(job));
  else if (jobs.length === 0) print('there are no jobs');
  else for (const job of jobs) print(lineOf(job));
}

function lineOf(job: Job): string {
  const { name, state, step, unit, done, total, perSecond, problem, updatedAt } = job;
  const countText = unit === null ? '' : `, ${String(done)}${total === null ? '' : ` of ${String(total)}`} ${unit}`;
  const rateText = perSecond === null ? '' : `, ${perSecond.toFixed(perSecond < 10 ? 1 : 0)} per second`;
  const activityText = step === null ? '' : `: ${step}${countText}${rateText}`;
  const problemText = problem === null ? '' : `; ${problem}`;
  return `${name}  ${state}${activityText}${problemText}  (${updatedAt.toISOString()})`;
}

async function change(
  database: Database,
  name: JobName,
  action: 'pause' | 'resume' | 'cancel',
  print: PrintLine,
): Promise<void> {
  const jobs = await import('../../store/history/jobs.ts');
  if (action !== 'cancel') {
    await database.withClient((client) => jobs.changeJob(client, name, action));
    return print(
      action === 'pause' ? `${name} is paused; to resume it: ledger-indexer jobs resume ${name}` : `${name} is resumed`,
    );
  }
  if (await database.withClient((client) => jobs.cancelJob(client, name))) return print(`${name} is cancelled`);
  throw new IndexerError(`there is no unfinished job ${name} to cancel`, {
    code: 'JOB_REFUSED',
    remedy: 'run ledger-indexer jobs to see the jobs; a finished job cannot be cancelled',
  });
}
