/** The indexer is a role that may do no more than write, the rebuild one that becomes the owner: each does its part. */
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
import { rebuild, value, whole } from './world.ts';

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
}, 60_000);
afterAll(async () => {
  await world.close();
  const roles = ['owner', ...kinds].map((kind) => `${prefix}_${kind}`).join(', ');
  await query(process.env['TEST_POSTGRES_URL'] ?? '', `drop role if exists ${roles}`);
  rmSync(folder, { recursive: true });
});

describe('with roles of its own', { timeout: 120_000 }, () => {
  it('the writer gives way to who may do as the owner, and writes on in the new storage', async () => {
    await using indexer = await world.run('ledger', {
      ...whole,
      DATABASE_URL: urlOf('writer'),
      POSTGRES_MIGRATE: 'never',
    });
    await indexer.reaches(world.sandbox.ledger.ledgerEnd());
    const rights = `select array_agg(format('%s %s %s', c.relname, a.grantee::regrole, a.privilege_type)
        order by c.relname, a.grantee::regrole::text, a.privilege_type)
      from pg_class c cross join aclexplode(c.relacl) a where c.relnamespace = 'ledger'::regnamespace`;
    const before = await value(world, rights);
    expect(await rebuild(world, '--yes', { DATABASE_URL: urlOf('migrator') })).toContain('done: swapped');
    expect(await value(world, rights)).toEqual(before);
    const owners = `select array_agg(distinct relowner::regrole::text) from pg_class
      where relnamespace = 'ledger'::regnamespace and relkind in ('r', 'v')`;
    expect(await value(world, owners)).toEqual([`${prefix}_owner`]);
    world.grow(40);
    await indexer.reaches(world.sandbox.ledger.ledgerEnd());
    await world.index('fresh', whole);
    expect(await digestOf(world.database.url, 'ledger')).toBe(await digestOf(world.database.url, 'fresh'));
  });

  it('a role that may only write or read cannot rebuild, and the writer does not give way to it', async () => {
    await rebuild(world, '--drop-old --yes', { DATABASE_URL: urlOf('migrator') });
    await expect(rebuild(world, '--yes', { DATABASE_URL: urlOf('writer') })).rejects.toMatchObject({
      code: 'STORE_NOT_PERMITTED',
    });
    await using indexer = await world.run('ledger', {
      ...whole,
      DATABASE_URL: urlOf('writer'),
      POSTGRES_MIGRATE: 'never',
    });
    await indexer.reaches(world.sandbox.ledger.ledgerEnd());
    const reader = new Client({ connectionString: urlOf('reader') });
    await reader.connect();
    // Longer than it takes to see who waits.
    await reader.query(`set statement_timeout = '2500ms'`);
    const wait = `select pg_advisory_lock(hashtext('ledger-indexer writer'), hashtext('ledger'))`;
    await expect(reader.query(wait)).rejects.toMatchObject({ code: '57014' });
    await reader.end();
    expect(indexer.log.join('')).not.toContain('STORE_LOCK_ASKED');
  });
});
