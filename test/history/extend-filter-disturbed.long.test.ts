/**
 * Disturbs a filter extension: the process is killed, another process takes over, the job is paused, or history is
 * reset or redacted.
 */
import { Client } from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readSchemas } from '../../src/store/connection/read-schemas.ts';
import { assertBuilt, startDaemon, type Daemon } from '../e2e/runs/daemon.ts';
import { query } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';
import { HistoryWorld } from './history-run.ts';
import { differences, stageOf, stages, type Stage } from '../support/extended-filter.ts';
import { waitUntilClosed, waitUntilExtended } from './extend-filter-world.ts';

let world: HistoryWorld;
let client: Client;
let someParties: readonly string[];
beforeEach(async () => {
  world = await HistoryWorld.open(120);
  someParties = world.sandbox.ledger.localParties().slice(-3);
  client = new Client({ connectionString: world.database.url });
  await client.connect();
});
afterEach(async () => {
  await client.end();
  await world.close();
});

const url = (): string => world.database.url;
const end = (): number => world.sandbox.ledger.ledgerEnd();
/** Makes the steps small, so that each of them can be interrupted. */
const widerEnv = { INDEXER_START: 'genesis', INDEXER_RETRY_MAX_DELAY: '300ms', INDEXER_BATCH_UPDATES: '2' };
const previousOptions = (): Record<string, string> => ({ ...widerEnv, LEDGER_PARTIES: someParties.join() });

/** Prevents additions until `release` is called, because a step begins by acquiring this lock. */
async function holdSteps(): Promise<() => Promise<void>> {
  await client.query(`begin; select ${readSchemas('ledger').pqs}.__retention_lock()`);
  return async () => {
    await client.query('rollback');
  };
}

async function waitForStage(extendStage: Stage): Promise<void> {
  await waitFor(`it is ${extendStage}`, async () =>
    stages.indexOf(await stageOf(url())) >= stages.indexOf(extendStage) ? true : undefined,
  );
}

/** Expects the rows of an indexer that began with the wider filter. */
async function expectComplete(): Promise<void> {
  const fromOffset = Number((await world.row(`select max(from_offset) as at from ledger.coverage`))['at']);
  await world.index('fresh', widerEnv);
  expect(await differences(url(), 'ledger', 'fresh', fromOffset)).toEqual([]);
  expect(await world.broken()).toEqual([]);
  const extendStateSql = `select to_regnamespace('ledger_filter_extend')::text as staging, (select count(*)::int from ledger.retention_holds) as holds`;
  expect(await world.row(extendStateSql)).toEqual({ staging: null, holds: 0 });
}

it('filter extend stores the rows of a fresh index after kills at every step', async () => {
  assertBuilt();
  await world.index('ledger', previousOptions());
  await world.command('filter extend --yes', 'ledger', widerEnv);
  const start = (env: Record<string, string>): Daemon =>
    startDaemon({ ledgerUrl: world.sandbox.url, databaseUrl: url(), schema: 'ledger', env });
  const killsByStage = new Map<Stage, number>();
  for (let kill = 0; kill < 10; kill += 1) {
    const targetStage = stages[kill % (stages.length - 1)] ?? 'asked';
    // Alternates between the options from before and after the extension.
    await using daemon = start(kill % 2 === 0 ? previousOptions() : widerEnv);
    world.grow(3);
    await waitForStage(targetStage);
    await daemon.kill();
    const stageHit = await stageOf(url());
    killsByStage.set(stageHit, (killsByStage.get(stageHit) ?? 0) + 1);
  }
  // Makes the last step wait for a lock until its process has been killed.
  await client.query('begin; lock table ledger.retention_holds in share mode');
  {
    await using daemon = start(widerEnv);
    await waitFor('the last step waits', async () => {
      if ((await stageOf(url())) === 'done') return true;
      const waitingRow = await query(
        url(),
        `select from pg_locks where relation = 'ledger.retention_holds'::regclass and not granted`,
      );
      return waitingRow.length === 0 ? undefined : true;
    });
    await daemon.kill();
  }
  await client.query('rollback');
  console.log(`killed ${JSON.stringify([...killsByStage])}`);
  expect(killsByStage.size).toBeGreaterThan(2);
  await using last = await world.run('ledger', previousOptions());
  await waitUntilExtended(world);
  world.grow(30);
  await last.reaches(end());
  await expectComplete();
}, 180_000);

it('filter extend adds no contracts while it is paused, and completes after jobs resume', async () => {
  await using indexer = await world.run('ledger', previousOptions());
  await indexer.reaches(end());
  const release = await holdSteps();
  await world.command('filter extend --yes', 'ledger', widerEnv);
  await waitForStage('adding');
  await world.command('jobs pause filter-extend');
  await release();
  world.grow(20);
  await indexer.reaches(end());
  await waitUntilClosed(url(), 'filter-extend');
  const countAdded = async (): Promise<number> =>
    Number((await world.row('select done from ledger_filter_extend.filled'))['done']);
  const last = await countAdded();
  world.grow(20);
  await indexer.reaches(end());
  expect(await countAdded()).toBe(last);
  expect((await indexer.status()).state).toBe('live');
  await world.command('jobs resume filter-extend');
  await waitUntilExtended(world);
  await indexer.reaches(end());
  await expectComplete();
});

it('filter extend completes when it is requested again after jobs cancel', async () => {
  await using indexer = await world.run('ledger', previousOptions());
  await indexer.reaches(end());
  const release = await holdSteps();
  await world.command('filter extend --yes', 'ledger', widerEnv);
  await waitForStage('adding');
  await world.command('jobs cancel filter-extend');
  await release();
  await waitFor('the staged rows are gone', async () => {
    const { staging } = await world.row(`select to_regnamespace('ledger_filter_extend')::text as staging`);
    return staging === null ? true : undefined;
  });
  world.grow(20);
  await indexer.reaches(end());
  const last = `select status, (select count(*)::int from ledger.retention_holds) as holds from explore.coverage order by from_offset desc limit 1`;
  expect(await world.row(last)).toEqual({ status: 'partial', holds: 0 });
  expect(await world.command('filter extend', 'ledger', widerEnv)).toContain('would be added');
  await world.command('filter extend --yes', 'ledger', widerEnv);
  await waitUntilExtended(world);
  await indexer.reaches(end());
  await expectComplete();
});

it('filter extend is resumed by the next writer', async () => {
  await world.index('ledger', previousOptions());
  const release = await holdSteps();
  {
    await using first = await world.run('ledger', previousOptions());
    await first.reaches(end());
    await world.command('filter extend --yes', 'ledger', widerEnv);
    await waitForStage('adding');
  }
  await release();
  await using second = await world.run('ledger', widerEnv);
  world.grow(30);
  await waitUntilExtended(world);
  await second.reaches(end());
  await expectComplete();
});

it('filter extend restarts after a reset, and stores no redacted contents', async () => {
  await world.index('ledger', previousOptions());
  await holdSteps();
  const [positionRow] = await (async () => {
    await using indexer = await world.run('ledger', previousOptions());
    await indexer.reaches(end());
    await world.command('filter extend --yes', 'ledger', widerEnv);
    await waitForStage('adding');
    return query(
      url(),
      `select ledger.id_text(s.contract_id) as id, s."offset"::int as "offset" from ledger_filter_extend.live s
        where not exists (select from ledger.contracts c where c."offset" = s."offset" and c.node_id = s.node_id)
        order by s."offset" limit 1`,
    );
  })();
  const id = String(positionRow?.['id']);
  // The contract is not stored yet, so it is redacted as a contract that may be added later.
  await client.query(
    `insert into ledger.redactions (redaction_id, subject, contract_id, reason, requested_by) values ('r', 'contract', '${id}', 'asked for', 'test');
     insert into ledger.redacted_contracts values ('${id}', 'r');
     commit`,
  );
  const backOffset = end() - 30;
  await world.command(`reset --to ${String(backOffset)} --yes`, 'ledger', widerEnv);
  expect(await world.row(`select to_regnamespace('ledger_filter_extend')::text as staging`)).toEqual({ staging: null });
  await using indexer = await world.run('ledger', previousOptions());
  await waitUntilExtended(world);
  await indexer.reaches(end());
  expect(
    await query(
      url(),
      `select c.payload is null as gone, c.redaction_id from ledger.contracts c where ledger.id_text(c.contract_id) = '${id}'`,
    ),
  ).toEqual([{ gone: true, redaction_id: 'r' }]);
  expect(await world.broken()).toEqual([]);
});
