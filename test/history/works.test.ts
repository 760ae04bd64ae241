/** What was asked for beside the stream: it is asked for once, goes on where it was, and rests when it should. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { worksCommand } from '../../src/cli/maintain/works.ts';
import { openDatabase, type Database } from '../../src/store/connection/database.ts';
import { askWork, cancelWork, changeWork, findWork, isDue, noteWork } from '../../src/store/history/works.ts';
import { migrate } from '../../src/store/schema/migrations.ts';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import { runCommand } from '../support/run-command.ts';

let home: TestDatabase;
let database: Database;
beforeAll(async () => {
  home = await createTestDatabase();
  database = openDatabase({ url: home.url, schema: 'ledger', applicationName: 'works', statementTimeoutMs: 10_000 });
  await migrate(database);
});
afterAll(async () => {
  await database.close();
  await home.drop();
});
beforeEach(() => query(home.url, 'delete from ledger.works'));

const wanted = { parties: ['a', 'b'] };
const within = <T>(work: Parameters<typeof database.withClient<T>>[0]): Promise<T> => database.withClient(work);

async function works(...words: string[]): Promise<readonly string[]> {
  const lines: string[] = [];
  await runCommand(worksCommand, words, { DATABASE_URL: home.url }, { print: (line) => lines.push(line) });
  return lines;
}

describe('what was asked for', () => {
  it('goes on when it is asked for again, and keeps another one waiting until it is finished', async () => {
    await within((client) => askWork(client, 'widen', wanted));
    expect(await within((client) => noteWork(client, 'widen', { step: 'gathering', unit: 'contracts', done: 7 }))).toBe(
      true,
    );
    await within((client) => askWork(client, 'widen', { ...wanted }));
    expect(await within((client) => findWork(client, 'widen'))).toMatchObject({ state: 'asked', done: 0, wanted });
    await expect(within((client) => askWork(client, 'widen', { parties: ['c'] }))).rejects.toMatchObject({
      code: 'WORK_REFUSED',
    });
    await within((client) => noteWork(client, 'widen', { state: 'done' }));
    await within((client) => askWork(client, 'widen', { parties: ['c'] }));
    expect(await within((client) => findWork(client, 'widen'))).toMatchObject({ wanted: { parties: ['c'] } });
  });

  it('rests when it is stopped: who does it hears so, and writes over nothing', async () => {
    await within((client) => askWork(client, 'rebuild', wanted));
    await within((client) => noteWork(client, 'rebuild', { step: 'following', done: 3, perSecond: 2 }));
    await within((client) => changeWork(client, 'rebuild', 'stop'));
    const stopped = await within((client) => findWork(client, 'rebuild'));
    expect([stopped?.state, stopped?.perSecond, isDue(stopped)]).toEqual(['stopped', null, false]);
    expect(await within((client) => noteWork(client, 'rebuild', { done: 4 }))).toBe(false);
    expect((await within((client) => findWork(client, 'rebuild')))?.done).toBe(3);
    await within((client) => changeWork(client, 'rebuild', 'resume'));
    expect(isDue(await within((client) => findWork(client, 'rebuild')))).toBe(true);
  });

  it('is refused while what it would undo is not finished, asked for or resumed', async () => {
    await within((client) => askWork(client, 'widen', wanted));
    await within((client) => noteWork(client, 'widen', { state: 'failed', problem: 'no room' }));
    await within((client) => askWork(client, 'rebuild', wanted));
    await within((client) => changeWork(client, 'rebuild', 'stop'));
    const refused = { code: 'WORK_REFUSED', message: 'a rebuild is not finished, and widen would undo it' };
    await expect(within((client) => askWork(client, 'widen', wanted))).rejects.toMatchObject(refused);
    await expect(within((client) => changeWork(client, 'widen', 'resume'))).rejects.toMatchObject(refused);
    await within((client) => cancelWork(client, 'rebuild'));
    await within((client) => changeWork(client, 'widen', 'resume'));
    await expect(within((client) => askWork(client, 'rebuild', wanted))).rejects.toMatchObject({
      code: 'WORK_REFUSED',
      remedy: expect.stringContaining('works cancel widen') as string,
    });
  });

  it('is given up, which is not undone by who did it', async () => {
    await within((client) => askWork(client, 'history', wanted));
    expect(await within((client) => cancelWork(client, 'history'))).toBe(true);
    expect(await within((client) => noteWork(client, 'history', { done: 4 }))).toBe(false);
    expect(await within((client) => findWork(client, 'history'))).toBeUndefined();
  });
});

describe('the command works', () => {
  it('lists, stops, resumes and gives up', async () => {
    expect(await works()).toEqual(['nothing was asked for']);
    await within((client) => askWork(client, 'widen', wanted));
    const progress = { step: 'gathering', unit: 'contracts', done: 70, total: 900, perSecond: 12.4 } as const;
    await within((client) => noteWork(client, 'widen', progress));
    expect(await works('list')).toEqual([
      expect.stringMatching(/^widen {2}working: gathering, 70 of 900 contracts, 12 per second {2}\(20.*Z\)$/u),
    ]);
    expect(await works('stop', 'widen')).toEqual(['widen rests; to go on: ledger-indexer works resume widen']);
    expect(await works('resume', 'widen')).toEqual(['widen goes on']);
    await within((client) => noteWork(client, 'widen', { state: 'failed', problem: 'the disk is full' }));
    const [line] = await works('list', '--json');
    expect(JSON.parse(line ?? '')).toMatchObject({
      name: 'widen',
      state: 'failed',
      problem: 'the disk is full',
      wanted,
    });
    expect(await works('cancel', 'widen')).toEqual(['widen is given up']);
  });

  it.each([[['stop']], [['stop', 'stream']], [['list', 'widen']], [['halt', 'widen']]])(
    'refuses %j as mistyped',
    async (words) => {
      await expect(works(...words)).rejects.toMatchObject({ code: 'USAGE' });
    },
  );

  it('refuses what there is not', async () => {
    for (const action of ['stop', 'resume', 'cancel']) {
      await expect(works(action, 'rebuild')).rejects.toMatchObject({ code: 'WORK_REFUSED' });
    }
  });
});
