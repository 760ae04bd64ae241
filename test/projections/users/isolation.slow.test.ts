/** A projection of a user that fails, is slow or has many outdated rows does not delay the stream and other projections. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../../../src/store/connection/database.ts';
import { ProjectionJob } from '../../../src/store/projections/projection-job.ts';
import { stopClock } from '../../support/chance/clock.ts';
import { query } from '../../support/database.ts';
import { waitFor } from '../../support/wait-for.ts';
import { withDatabase } from '../projected.ts';
import { contentsSql, transfersSql, UserWorld } from './world.ts';

const env = { LEDGER_INTERFACES: 'tokens', INDEXER_START: 'genesis' };
let user: UserWorld;
beforeAll(async () => {
  user = await UserWorld.open(300);
  await user.add('contents', contentsSql, '--no-look-ups');
  await user.add('transfers', transfersSql);
});
afterAll(() => user.close());

/** Rows whose computation fails after an offset. */
const failingSql = (lastOffset: number, numerator = '1'): string =>
  `select e."offset", e.node_id, ${numerator} / greatest(${String(lastOffset + 1)} - e."offset", 0) as share
     from explore.events e where e."offset" > :from and e."offset" <= :to`;

it('a SELECT that fails from an offset on is reported with error, range and remedy until it is corrected', async () => {
  const failsAfter = (await user.world.checkpoint()) + 10;
  await user.add('shares', failingSql(failsAfter));
  await using indexer = await user.world.run('ledger', env);
  const statusOf = async (name: string) =>
    (await indexer.status()).projections.find((projection) => projection.name === name);
  await waitFor('all projections are stored', async () => {
    const waiting = await user.world.row('select count(*)::int as count from ledger.projections where not is_filled');
    return waiting['count'] === 0 ? true : undefined;
  });
  user.world.grow(60);
  const problem = await waitFor('shares is parked', async () => (await statusOf('shares$1'))?.problem ?? undefined);
  expect(problem).toMatchObject({
    code: 'PROJECTION_SELECT_FAILED',
    message: expect.stringMatching(
      /^the SELECT of shares\$1 failed \(SQLSTATE 22012\), at offsets \d+ to \d+$/,
    ) as string,
    remedy: expect.stringContaining('ledger-indexer projection check FILE') as string,
  });
  const [from, to] = (/(\d+) to (\d+)/.exec(problem.message) ?? []).slice(1).map(Number);
  expect(from).toBeLessThanOrEqual(failsAfter + 1);
  expect(to).toBeGreaterThan(failsAfter);
  expect(await user.projection('list')).toContain(`parked: ${problem.code}: ${problem.message}`);
  expect(await indexer.metric('indexer_projection_parked{name="shares$1"}')).toBe(1);
  await indexer.reaches(user.world.sandbox.ledger.ledgerEnd());
  await waitFor('all others are stored', async () => {
    const behind = await user.world.row(
      `select count(*)::int as count from ledger.projections p cross join ledger.stream s
        where p.name <> 'shares$1' and not p.is_summed and not p.covered @> int8range(null, s.checkpoint, '(]')`,
    );
    return behind['count'] === 0 ? true : undefined;
  });
  await user.add('shares', failingSql(failsAfter, 'null::integer'));
  await waitFor('the corrected projection is stored', async () => {
    const corrected = await statusOf('shares$2');
    return corrected?.offsetsBehind === 0 && corrected.problem === null ? true : undefined;
  });
  expect(await statusOf('shares$1')).toBeUndefined();
  await expect(indexer.metric('indexer_projection_parked{name="shares$1"}')).rejects.toThrow();
  await user.projection('drop', 'shares');
  await waitFor('no dropped projection is reported', async () =>
    (await statusOf('shares$2')) === undefined ? true : undefined,
  );
});

describe('a job', () => {
  it('parks a projection with two rows of the same key at once', async () => {
    const after = Math.floor((await user.world.checkpoint()) / 2);
    const text = `select e."offset", case when e."offset" > ${String(after)} then 0 else e.node_id end as node_id
      from explore.events e where e."offset" > :from and e."offset" <= :to`;
    await user.add('doubles', text, '--key', 'node_id');
    expect(await user.fill()).toEqual(['doubles$1']);
    expect(await user.projection('list')).toMatch(
      /parked: PROJECTION_SELECT_FAILED: the SELECT of doubles\$1 returned two rows with the same key, at offsets \d+ to \d+/,
    );
    await user.projection('drop', 'doubles');
  });

  it('lets a projection whose smallest range is slow wait nine times as long, and fills the others', async () => {
    await user.add(
      'slow',
      `select e."offset", 'slow' as marker, e.node_id from explore.events e
      where e.event_type = 'created' and e."offset" > :from and e."offset" <= :to`,
    );
    const clock = stopClock();
    await withDatabase(user.url, async (database) => {
      const job = new ProjectionJob(slowReads(database, 'slow', () => clock.advance(1_500)));
      const names = await stepNames(job);
      expect(names.filter((name) => name === 'slow$1').length).toBeGreaterThan(3);
      expect(await isFilled('slow$1')).toBe(false);
      await query(user.url, `insert into ledger.projection_changes (offsets) values ('[10,11)')`);
      clock.advance(13_499);
      expect(await stepNames(job)).toContain('contents$1');
      expect(await stepNames(job)).toEqual([]);
      clock.advance(1);
      expect(await stepNames(job)).toEqual(['slow$1']);
      expect(await isFilled('slow$1')).toBe(false);
    });
    await user.projection('drop', 'slow');
  });

  it('gives the projections of users together one turn in each round of the built-in ones', async () => {
    const names = ['first', 'second', 'third'];
    for (const name of names) await user.add(name, contentsSql);
    await query(user.url, `insert into ledger.projection_changes (offsets) values ('(,)')`);
    const filled = await withDatabase(user.url, (database) => stepNames(new ProjectionJob(database)));
    const isOfUser = filled.map((name) => name.includes('$'));
    const turns = isOfUser.flatMap((isUser, at) => (isUser ? [at] : []));
    const [first = 0, second = 0] = turns;
    expect(second - first).toBeGreaterThan(3);
    expect(new Set(turns.slice(0, 4).map((at) => filled[at])).size).toBe(4);
    for (const name of names) await user.projection('drop', name);
  });

  it('removes outdated rows and stores other rows in turn, and marks nothing as filled while a gap is left', async () => {
    await query(
      user.url,
      `insert into derived."contents$1" ("offset") select n / 300 from generate_series(1, 70000) n;
       update ledger.projections set covered = '{}', outdated = '{[20,)}', is_filled = false where name = 'contents$1';
       update ledger.projections set covered = '{[50,60)}', is_filled = false where name = 'transfers$1';
       delete from derived."contents$1" where "offset" < 20;
       delete from derived."transfers$1" where "offset" not between 50 and 59`,
    );
    await withDatabase(user.url, async (database) => {
      const job = new ProjectionJob(database);
      const kinds: string[] = [];
      for (let step = await job.step(); step !== undefined && step !== 'off'; step = await job.step()) {
        kinds.push(step.kind);
        const { left } = await user.world.row(
          `select count(*)::int as left from ledger.projections p cross join ledger.stream s
            where p.is_filled and p.view_name is not null and not p.covered @> int8range(null, s.checkpoint, '(]')`,
        );
        expect(left).toBe(0);
      }
      expect(kinds.indexOf('filled')).toBeLessThan(kinds.lastIndexOf('removed'));
    });
    for (const name of ['contents', 'transfers']) {
      const { stored, computed } = await user.bothRows(name);
      expect(stored).toEqual(computed);
      expect(await user.storedCount(`${name}$1`)).toBe(stored.length);
    }
  });
});

/** Names of the projections that the steps fill until nothing is left to do now. */
async function stepNames(job: ProjectionJob): Promise<readonly string[]> {
  const names: string[] = [];
  for (let step = await job.step(); step !== undefined && step !== 'off'; step = await job.step()) {
    if (step.kind === 'filled') names.push(step.name);
  }
  return names;
}

async function isFilled(name: string): Promise<unknown> {
  return (await user.world.row(`select is_filled from ledger.projections where name = '${name}'`))['is_filled'];
}

/** The database, with a clock that advances when rows with this text are read. */
function slowReads(database: Database, marker: string, advance: () => void): Database {
  return {
    ...database,
    withClient: async (work) => {
      const result = await database.withClient(work);
      if (JSON.stringify(result ?? null).includes(`,${marker},`)) advance();
      return result;
    },
  };
}
