/** Background jobs can be requested once, paused, resumed where they stopped, and cancelled. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { jobsCommand } from '../../src/cli/maintain/jobs.ts';
import { openDatabase, type Database } from '../../src/store/connection/database.ts';
import { requestJob, cancelJob, changeJob, getJob, isDue, updateJob } from '../../src/store/history/jobs.ts';
import { migrate } from '../../src/store/schema/migrations.ts';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import { runCommand } from '../support/run-command.ts';

let home: TestDatabase;
let database: Database;
beforeAll(async () => {
  home = await createTestDatabase();
  database = openDatabase({ url: home.url, schema: 'ledger', applicationName: 'jobs', statementTimeoutMs: 10_000 });
  await migrate(database);
});
afterAll(async () => {
  await database.close();
  await home.drop();
});
beforeEach(() => query(home.url, 'delete from ledger.jobs'));

const request = { parties: ['a', 'b'] };
const withJobClient = <T>(work: Parameters<typeof database.withClient<T>>[0]): Promise<T> => database.withClient(work);

async function jobs(...args: string[]): Promise<readonly string[]> {
  const lines: string[] = [];
  await runCommand(jobsCommand, args, { DATABASE_URL: home.url }, { print: (line) => lines.push(line) });
  return lines;
}

describe('a background job', () => {
  it('accepts an equal request again, and refuses a different one until it is done', async () => {
    await withJobClient((client) => requestJob(client, 'filter-extend', request));
    expect(
      await withJobClient((client) =>
        updateJob(client, 'filter-extend', { step: 'gathering', unit: 'contracts', done: 7 }),
      ),
    ).toBe(true);
    await withJobClient((client) => requestJob(client, 'filter-extend', { ...request }));
    expect(await withJobClient((client) => getJob(client, 'filter-extend'))).toMatchObject({
      state: 'requested',
      done: 0,
      request,
    });
    await expect(
      withJobClient((client) => requestJob(client, 'filter-extend', { parties: ['c'] })),
    ).rejects.toMatchObject({
      code: 'JOB_REFUSED',
    });
    await withJobClient((client) => updateJob(client, 'filter-extend', { state: 'done' }));
    await withJobClient((client) => requestJob(client, 'filter-extend', { parties: ['c'] }));
    expect(await withJobClient((client) => getJob(client, 'filter-extend'))).toMatchObject({
      request: { parties: ['c'] },
    });
  });

  it('is not due while it is paused, and ignores progress of its process', async () => {
    await withJobClient((client) => requestJob(client, 'rebuild', request));
    await withJobClient((client) => updateJob(client, 'rebuild', { step: 'following', done: 3, perSecond: 2 }));
    await withJobClient((client) => changeJob(client, 'rebuild', 'pause'));
    const pausedJob = await withJobClient((client) => getJob(client, 'rebuild'));
    expect([pausedJob?.state, pausedJob?.perSecond, isDue(pausedJob)]).toEqual(['paused', null, false]);
    expect(await withJobClient((client) => updateJob(client, 'rebuild', { done: 4 }))).toBe(false);
    expect((await withJobClient((client) => getJob(client, 'rebuild')))?.done).toBe(3);
    await withJobClient((client) => changeJob(client, 'rebuild', 'resume'));
    expect(isDue(await withJobClient((client) => getJob(client, 'rebuild')))).toBe(true);
  });

  it('cannot be requested or resumed while it would undo an unfinished job', async () => {
    await withJobClient((client) => requestJob(client, 'filter-extend', request));
    await withJobClient((client) => updateJob(client, 'filter-extend', { state: 'failed', problem: 'no room' }));
    await withJobClient((client) => requestJob(client, 'rebuild', request));
    await withJobClient((client) => changeJob(client, 'rebuild', 'pause'));
    const jobError = { code: 'JOB_REFUSED', message: 'job rebuild is not finished, and filter-extend would undo it' };
    await expect(withJobClient((client) => requestJob(client, 'filter-extend', request))).rejects.toMatchObject(
      jobError,
    );
    await expect(withJobClient((client) => changeJob(client, 'filter-extend', 'resume'))).rejects.toMatchObject(
      jobError,
    );
    await withJobClient((client) => cancelJob(client, 'rebuild'));
    await withJobClient((client) => changeJob(client, 'filter-extend', 'resume'));
    await expect(withJobClient((client) => requestJob(client, 'rebuild', request))).rejects.toMatchObject({
      code: 'JOB_REFUSED',
      remedy: expect.stringContaining('jobs cancel filter-extend') as string,
    });
  });

  it('stays cancelled when its process reports progress', async () => {
    await withJobClient((client) => requestJob(client, 'history', request));
    expect(await withJobClient((client) => cancelJob(client, 'history'))).toBe(true);
    expect(await withJobClient((client) => updateJob(client, 'history', { done: 4 }))).toBe(false);
    expect(await withJobClient((client) => getJob(client, 'history'))).toBeUndefined();
  });
});

describe('the command jobs', () => {
  it('lists, pauses, resumes and cancels a job', async () => {
    expect(await jobs()).toEqual(['there are no jobs']);
    await withJobClient((client) => requestJob(client, 'filter-extend', request));
    const progress = { step: 'gathering', unit: 'contracts', done: 70, total: 900, perSecond: 12.4 } as const;
    await withJobClient((client) => updateJob(client, 'filter-extend', progress));
    expect(await jobs('list')).toEqual([
      expect.stringMatching(/^filter-extend {2}working: gathering, 70 of 900 contracts, 12 per second {2}\(20.*Z\)$/u),
    ]);
    expect(await jobs('pause', 'filter-extend')).toEqual([
      'filter-extend is paused; to resume it: ledger-indexer jobs resume filter-extend',
    ]);
    expect(await jobs('resume', 'filter-extend')).toEqual(['filter-extend is resumed']);
    await withJobClient((client) =>
      updateJob(client, 'filter-extend', { state: 'failed', problem: 'the disk is full' }),
    );
    const [line] = await jobs('list', '--json');
    expect(JSON.parse(line ?? '')).toMatchObject({
      name: 'filter-extend',
      state: 'failed',
      problem: 'the disk is full',
      request,
    });
    expect(await jobs('cancel', 'filter-extend')).toEqual(['filter-extend is cancelled']);
  });

  it.each([[['pause']], [['pause', 'stream']], [['list', 'filter-extend']], [['halt', 'filter-extend']]])(
    'rejects %j with USAGE',
    async (args) => {
      await expect(jobs(...args)).rejects.toMatchObject({ code: 'USAGE' });
    },
  );

  it('refuses to pause, resume or cancel a job that was not requested', async () => {
    for (const action of ['pause', 'resume', 'cancel']) {
      await expect(jobs(action, 'rebuild')).rejects.toMatchObject({ code: 'JOB_REFUSED' });
    }
  });
});
