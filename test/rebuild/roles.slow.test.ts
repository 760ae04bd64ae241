/**
 * Database roles: an indexer role that may only write, and a role for rebuilds and filter extensions that becomes the
 * owner.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { grantRolesCommand } from '../../src/cli/roles/grant-roles.ts';
import { migrateCommand } from '../../src/cli/follow/migrate.ts';
import { HistoryWorld } from '../history/history-run.ts';
import { query } from '../support/database.ts';
import { digestOf } from '../support/digest.ts';
import { runCommand } from '../support/run-command.ts';
import { waitUntilExtended } from '../history/extend-filter-world.ts';
import { stageOf } from '../support/extended-filter.ts';
import { waitFor } from '../support/wait-for.ts';
import { rebuild, value, fromGenesis } from './world.ts';

const prefix = `rebuild_${randomBytes(4).toString('hex')}`;
const kinds = ['migrator', 'writer', 'redactor', 'reader'] as const;
let world: HistoryWorld;
let folder: string;

function urlOf(kind: (typeof kinds)[number]): string {
  const url = new URL(world.database.url);
  url.username = `${prefix}_${kind}`;
  url.password = 'kept';
  return url.href;
}

beforeAll(async () => {
  world = await HistoryWorld.open(120);
  folder = mkdtempSync(join(tmpdir(), 'rebuild-roles-'));
  for (const kind of kinds) writeFileSync(join(folder, kind), 'kept\n');
  await runCommand(migrateCommand, [], world.env());
  await runCommand(grantRolesCommand, ['--prefix', prefix, '--password-dir', folder], world.env());
});
afterAll(async () => {
  await world.close();
  const roles = ['owner', ...kinds].map((kind) => `${prefix}_${kind}`).join(', ');
  await query(process.env['TEST_POSTGRES_URL'] ?? '', `drop role if exists ${roles}`);
  rmSync(folder, { recursive: true });
});

describe('rebuild with separate roles', { timeout: 120_000 }, () => {
  it('swaps as the owner role, and the writer role continues in the new schema', async () => {
    await using indexer = await world.run('ledger', {
      ...fromGenesis,
      DATABASE_URL: urlOf('writer'),
      POSTGRES_MIGRATE: 'never',
    });
    await indexer.reaches(world.sandbox.ledger.ledgerEnd());
    const rights = `select array_agg(format('%s %s %s', c.relname, a.grantee::regrole, a.privilege_type)
        order by c.relname, a.grantee::regrole::text, a.privilege_type)
      from pg_class c cross join aclexplode(c.relacl) a where c.relnamespace = 'ledger'::regnamespace`;
    const guards = `select array_agg(distinct pg_get_triggerdef(g.oid) order by pg_get_triggerdef(g.oid))
      from pg_trigger g join pg_class c on c.oid = g.tgrelid
     where c.relnamespace = 'ledger'::regnamespace and not g.tgisinternal`;
    const rightsBefore = [await value(world, rights), await value(world, guards)];
    expect(rightsBefore[1]).toHaveLength(23);
    expect(await rebuild(world, '--yes', { DATABASE_URL: urlOf('migrator') })).toContain('done: swapped');
    expect([await value(world, rights), await value(world, guards)]).toEqual(rightsBefore);
    const forgedUpdate = query(urlOf('redactor'), `update ledger.contracts set payload = 'null'`);
    await expect(forgedUpdate).rejects.toThrow('may only be set to null');
    const rewindQuery = query(urlOf('redactor'), 'update ledger.stream set pruned_to_offset = checkpoint + 1');
    await expect(rewindQuery).rejects.toThrow('to the checkpoint');
    const owners = `select array_agg(distinct relowner::regrole::text) from pg_class
      where relnamespace = 'ledger'::regnamespace and relkind in ('r', 'v')`;
    expect(await value(world, owners)).toEqual([`${prefix}_owner`]);
    world.grow(40);
    await indexer.reaches(world.sandbox.ledger.ledgerEnd());
    await world.index('fresh', fromGenesis);
    expect(await digestOf(world.database.url, 'ledger')).toBe(await digestOf(world.database.url, 'fresh'));
  });

  it('rejects the writer role, and the reader role cannot request the writer lock', async () => {
    await rebuild(world, '--drop-previous --yes', { DATABASE_URL: urlOf('migrator') });
    await expect(rebuild(world, '--yes', { DATABASE_URL: urlOf('writer') })).rejects.toMatchObject({
      code: 'STORE_NOT_PERMITTED',
    });
    await using indexer = await world.run('ledger', {
      ...fromGenesis,
      DATABASE_URL: urlOf('writer'),
      POSTGRES_MIGRATE: 'never',
    });
    await indexer.reaches(world.sandbox.ledger.ledgerEnd());
    const reader = new Client({ connectionString: urlOf('reader') });
    await reader.connect();
    // The timeout is longer than the time in which waiting sessions are detected.
    await reader.query(`set statement_timeout = '2500ms'`);
    const advisoryLockSql = `select pg_advisory_lock(hashtext('ledger-indexer writer'), hashtext('ledger'))`;
    const refusals: unknown[] = [];
    const recordRefusal = (error: unknown): void => void refusals.push((error as { code?: unknown }).code);
    await reader.query(advisoryLockSql).catch(recordRefusal);
    // A role that may call the function still waits without success.
    await query(world.database.url, `grant execute on function pg_advisory_lock(integer, integer) to ${prefix}_reader`);
    await reader.query(advisoryLockSql).catch(recordRefusal);
    await reader.end();
    expect(refusals).toEqual(['42501', '57014']);
    expect(indexer.log.join('')).not.toContain('STORE_LOCK_REQUESTED');
  });

  it('requires the owner role at each step of a filter extension', async () => {
    const blobEnv = { ...fromGenesis, LEDGER_CREATED_EVENT_BLOBS: 'true' };
    const start = (kind: (typeof kinds)[number]) =>
      world.run('ledger', { ...fromGenesis, DATABASE_URL: urlOf(kind), POSTGRES_MIGRATE: 'never' });
    const expectRefusal = async (): Promise<void> => {
      await using indexer = await start('writer');
      await indexer.reaches(world.sandbox.ledger.ledgerEnd());
      const problem = `select problem from ledger.jobs where name = 'filter-extend' and state = 'failed'`;
      const refusal = await waitFor('it is refused', async () => (await value(world, problem)) ?? undefined);
      expect(refusal).toMatch(/FILTER_EXTEND_REFUSED: role ".*_writer" may add rows.*jobs resume filter-extend/u);
    };
    await world.command('filter extend --yes', 'ledger', { ...blobEnv, DATABASE_URL: urlOf('migrator') });
    await expectRefusal();
    const holder = new Client({ connectionString: world.database.url });
    await holder.connect();
    await holder.query('begin; select pqs.__retention_lock()');
    {
      await using _ = await start('migrator');
      await world.command('jobs resume filter-extend');
      await waitFor('contracts are being added', async () =>
        (await stageOf(world.database.url)) === 'adding' ? true : undefined,
      );
    }
    await holder.end();
    await expectRefusal();
    await using indexer = await start('migrator');
    await world.command('jobs resume filter-extend');
    await waitUntilExtended(world);
    await indexer.reaches(world.sandbox.ledger.ledgerEnd());
    expect(await world.broken()).toEqual([]);
  });
});
