/**
 * Disturbs the backfill of interface views: the process is killed, the merge is rejected, history is reset, or contents
 * are redacted.
 */
import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { redactCommand } from '../../src/cli/maintain/redact.ts';
import { grantRolesCommand } from '../../src/cli/roles/grant-roles.ts';
import { assertBuilt, startDaemon, type Daemon } from '../e2e/runs/daemon.ts';
import { query } from '../support/database.ts';
import { runCommand } from '../support/run-command.ts';
import { waitFor } from '../support/wait-for.ts';
import { differingRows, hidePackage, interfaceOf, waitUntilFollowed } from './interface-world.ts';
import { HistoryWorld } from './history-run.ts';

let world: HistoryWorld;
let client: Client;
beforeEach(async () => {
  world = await HistoryWorld.open(120);
  client = new Client({ connectionString: world.database.url });
  await client.connect();
});
afterEach(async () => {
  await client.end();
  await world.close();
});

const tokens = { LEDGER_INTERFACES: 'tokens', INDEXER_RETRY_MAX_DELAY: '300ms', INDEXER_START: 'genesis' };
const holding = 'HoldingV1:Holding';
const retryLog = 'backfill of interface views failed, trying again';

const url = (): string => world.database.url;
const end = (): number => world.sandbox.ledger.ledgerEnd();

/** Indexes without interfaces, then accepts a filter that requests them. */
async function expectNoBackfill(schema = 'ledger'): Promise<void> {
  await world.index(schema, { INDEXER_START: 'genesis' });
  await world.command('filter accept --yes', schema, tokens);
}

/** Prevents interfaces from becoming followed until `release` is called. */
async function refuseMerges(schema = 'ledger'): Promise<() => Promise<void>> {
  await client.query(
    `create function ${schema}.refuse() returns trigger language plpgsql as $$ begin raise 'not today' using errcode = '55P03'; end $$;
     create trigger refuse before update on ${schema}.filter_interfaces for each row
       when (new.state = 'followed' and old.state <> 'followed') execute function ${schema}.refuse()`,
  );
  return async () => {
    await client.query(`drop function ${schema}.refuse() cascade`);
  };
}

it('interface backfill stores the views of a fresh index after kills at every step', async () => {
  assertBuilt();
  await expectNoBackfill();
  const killsByStage = { preparing: 0, gathering: 0, merging: 0, anywhere: 0 };
  const start = (): Daemon =>
    startDaemon({
      ledgerUrl: world.sandbox.url,
      databaseUrl: url(),
      schema: 'ledger',
      env: { ...tokens, INDEXER_BATCH_UPDATES: '2' },
    });
  const countStaged = async (): Promise<number> => {
    const schemaRow = await client.query(`select to_regclass('ledger_interfaces.stream') is not null as there`);
    if (schemaRow.rows[0]?.there !== true) return -1;
    const { rows } = await client.query('select checkpoint from ledger_interfaces.stream').catch(() => ({ rows: [] }));
    return Number(rows[0]?.checkpoint ?? 0);
  };
  for (let kill = 0; kill < 8; kill += 1) {
    const killPhase = (['preparing', 'gathering', 'gathering', 'anywhere'] as const)[kill % 4] ?? 'anywhere';
    const stagedBefore = await countStaged();
    await using daemon = start();
    world.grow(2);
    await waitFor('there is a process to kill', async () => {
      if ((await interfaceOf(url(), 'ledger', holding))?.state === 'followed') return true;
      if (killPhase === 'preparing') return stagedBefore >= 0 || (await hasSchema()) ? true : undefined;
      if (killPhase === 'anywhere') return daemon.output().includes('backfilling interface views') ? true : undefined;
      return (await countStaged()) > stagedBefore ? true : undefined;
    });
    await daemon.kill();
    killsByStage[killPhase] += 1;
  }
  // Makes the last step of the merge wait for a lock until its process has been killed.
  for (let kill = 0; kill < 3; kill += 1) {
    if ((await interfaceOf(url(), 'ledger', holding))?.state === 'followed') break;
    await client.query('begin; lock table ledger.interface_views in share mode');
    await using daemon = start();
    try {
      await waitFor('the merge waits', async () => {
        const waitingRow = await query(
          url(),
          `select from pg_locks l join pg_stat_activity a using (pid)
            where l.relation = 'ledger.interface_views'::regclass and not l.granted and a.application_name like '%views%'`,
        );
        return waitingRow.length === 0 ? undefined : true;
      });
      await daemon.kill();
    } finally {
      await client.query('rollback');
    }
    killsByStage.merging += 1;
  }
  await using last = start();
  await waitUntilFollowed(url(), 'ledger', holding);
  world.grow(30);
  await waitFor('it has caught up', async () => ((await world.checkpoint()) >= end() ? true : undefined));
  await last.kill();
  await world.index('fresh', tokens);
  console.log(`killed ${JSON.stringify(killsByStage)}`);
  expect(killsByStage.gathering).toBeGreaterThan(3);
  expect(killsByStage.merging).toBeGreaterThan(0);
  expect(await differingRows(url(), 'ledger', 'fresh')).toEqual([]);
  expect(await world.broken()).toEqual([]);
}, 180_000);

async function hasSchema(): Promise<boolean> {
  const { rows } = await client.query(`select to_regnamespace('ledger_interfaces') is not null as there`);
  return rows[0]?.there === true;
}

it('interface backfill retries a rejected merge while the stream continues', async () => {
  await expectNoBackfill();
  const release = await refuseMerges();
  await using indexer = await world.run('ledger', { ...tokens, INDEXER_RETRY_MAX_DELAY: '2s' });
  await waitFor('the merge is refused', () => (indexer.logged(retryLog) > 0 ? true : undefined));
  const sessions = indexer.logged('backfilling interface views in the background');
  world.grow(40);
  await indexer.reaches(end());
  await waitFor('it is refused again', () => (indexer.logged(retryLog) > 1 ? true : undefined));
  expect(indexer.logged('backfilling interface views in the background')).toBe(sessions + 1);
  expect(await indexer.metric('indexer_interface_retries_total')).toBe(2);
  expect(await indexer.metric('indexer_interfaces_backfilling')).toBeGreaterThan(0);
  await expect(query(url(), `select * from explore.token_balances_at(${String(end())})`)).rejects.toMatchObject({
    code: 'LI003',
    message: expect.stringMatching(/backfilled in the background/),
  });
  await release();
  expect(await waitUntilFollowed(url(), 'ledger', holding)).toBe(0);
  await indexer.reaches(end());
  await world.index('fresh', tokens);
  expect(await differingRows(url(), 'ledger', 'fresh')).toEqual([]);
});

it('interface backfill restarts after a reset, and stores no redacted contents', async () => {
  await expectNoBackfill();
  const release = await refuseMerges();
  {
    await using indexer = await world.run('ledger', tokens);
    await waitFor('everything is staged', () => (indexer.logged(retryLog) > 0 ? true : undefined));
  }
  const [countRow] = await query(
    url(),
    `select ledger.id_text(c.contract_id) as id from ledger_interfaces.interface_views v
       join ledger_interfaces.contracts c using ("offset", node_id)
      where not exists (select from ledger.live l where l."offset" = c."offset" and l.node_id = c.node_id) limit 1`,
  );
  const id = String(countRow?.['id']);
  await runCommand(redactCommand, ['contract', id, '--reason', 'asked for', '--yes'], world.env());
  const views = (schema: string): Promise<readonly Record<string, unknown>[]> =>
    query(
      url(),
      `select distinct v.view is null as gone from ${schema}.interface_views v
         join ${schema}.contracts c using ("offset", node_id) where ledger.id_text(c.contract_id) = '${id}'`,
    );
  {
    await using indexer = await world.run('ledger', tokens);
    await waitFor('the merge is refused', () => (indexer.logged(retryLog) > 0 ? true : undefined));
    expect(await views('ledger_interfaces')).toEqual([{ gone: true }]);
  }
  const backOffset = end() - 30;
  await world.command(`reset --to ${String(backOffset)} --yes`);
  expect(await hasSchema()).toBe(false);
  await release();
  await using indexer = await world.run('ledger', tokens);
  await waitUntilFollowed(url(), 'ledger', holding);
  await indexer.reaches(end());
  expect(await views('ledger')).toEqual([{ gone: true }]);
  expect(await world.broken()).toEqual([]);
});

it('interface backfill waits for a run by the table owner, and logs this remedy', async () => {
  await world.index('ledger', { INDEXER_START: 'genesis' });
  const prefix = `views_${randomBytes(4).toString('hex')}`;
  await runCommand(grantRolesCommand, ['--prefix', prefix], world.env());
  await client.query(`alter role ${prefix}_writer password 'p'`);
  const writerUrl = new URL(url());
  [writerUrl.username, writerUrl.password] = [`${prefix}_writer`, 'p'];
  await world.command('filter accept --yes', 'ledger', tokens);
  try {
    const env = { ...world.env('ledger', tokens), POSTGRES_MIGRATE: 'never', DATABASE_URL: writerUrl.href };
    {
      await using writer = await world.run('ledger', env);
      await waitFor('it is reported', () =>
        writer.log.some((line) => line.includes('INTERFACE_BACKFILL_REFUSED')) ? true : undefined,
      );
      expect(writer.log.find((line) => line.includes('INTERFACE_BACKFILL_REFUSED'))).toMatch(
        /as the owner of the tables .*INDEXER_STOP_AT=end/,
      );
      world.grow(10);
      await writer.reaches(end());
      expect((await interfaceOf(url(), 'ledger', holding))?.state).toBe('backfilling');
    }
    {
      await using _ = await world.run('ledger', { ...tokens, INDEXER_STOP_AT: 'end' });
      await waitUntilFollowed(url(), 'ledger', holding);
    }
    await using writer = await world.run('ledger', env);
    world.grow(10);
    await writer.reaches(end());
    await world.index('fresh', tokens);
    expect(await differingRows(url(), 'ledger', 'fresh')).toEqual([]);
  } finally {
    for (const kind of ['migrator', 'writer', 'redactor', 'reader', 'owner']) {
      await client.query(
        `reassign owned by ${prefix}_${kind} to current_user; drop owned by ${prefix}_${kind} cascade`,
      );
    }
    for (const kind of ['migrator', 'writer', 'redactor', 'reader', 'owner'])
      await client.query(`drop role ${prefix}_${kind}`);
  }
});

it('interface views are kept while the participant does not know their interface', async () => {
  await world.index('ledger', tokens);
  const revealPackage = hidePackage(world.sandbox.ledger, 'AllocationRequest');
  world.grow(20);
  {
    await using indexer = await world.run('ledger', tokens);
    await indexer.reaches(end());
    expect(await interfaceOf(url(), 'ledger', 'V1:AllocationRequest')).toMatchObject({
      state: 'waiting',
      completeFrom: 0,
    });
    expect((await indexer.status()).state).toBe('live');
    revealPackage();
    expect(await waitUntilFollowed(url(), 'ledger', 'V1:AllocationRequest')).toBe(0);
    world.grow(20);
    await indexer.reaches(end());
  }
  await world.index('fresh', tokens);
  expect(await differingRows(url(), 'ledger', 'fresh')).toEqual([]);
});
