/**
 * The statements of docs/how-to/secure/remove-reader-role.md: they drop a role that grant-reader created, and do not
 * change other readers.
 */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { indexCommand } from '../../../src/cli/inspect/index-verb.ts';
import { grantReaderCommand } from '../../../src/cli/roles/grant-reader.ts';
import { blocksOf, pages } from '../../docs/pages.ts';
import { createReadDatabase, type ReadDatabase } from '../../read/read-database.ts';
import { query } from '../../support/database.ts';
import * as frames from '../../support/frames.ts';
import { runCommand } from '../../support/run-command.ts';
import { needs } from '../../support/skips/needs.ts';
import { limitsSkipReason } from '../../support/skips/server-version.ts';

const suffix = randomBytes(4).toString('hex');
const wallet = `wallet_${suffix}`;
const analyst = `analyst_${suffix}`;
const statements = pages()
  .filter(({ path }) => path === 'docs/how-to/secure/remove-reader-role.md')
  .flatMap(blocksOf)
  .filter(({ language }) => language === 'postgresql')
  .map(({ text }) => text.replaceAll(/\bwallet\b/g, wallet));

let history: ReadDatabase;
beforeAll(async () => {
  history = await createReadDatabase();
});
afterAll(async () => {
  await history[Symbol.asyncDispose]();
  await query(process.env['TEST_POSTGRES_URL'] ?? '', `drop role if exists ${wallet}, ${analyst}`);
});

/** Entries of the role in the catalog of the database. */
async function traces(role: string): Promise<unknown> {
  const [roleCounts] = await history.query(
    `select (select count(*)::int from pg_roles where rolname = $1) as roles,
            (select count(*)::int from pg_policies where $1 = any (roles)) as policies,
            (select count(*)::int from pg_class where relacl::text like '%' || $1 || '%') as grants,
            (select count(*)::int from pg_default_acl where defaclacl::text like '%' || $1 || '%') as defaults`,
    [role],
  );
  return roleCounts;
}

it(
  'the documented statements remove the role and its rights, and restore statistics',
  needs(limitsSkipReason),
  async () => {
    const env = { DATABASE_URL: history.url };
    await runCommand(indexCommand, ['create', 'payload.owner'], env);
    await runCommand(grantReaderCommand, [analyst], env);
    await runCommand(grantReaderCommand, [wallet, '--party', frames.alice], env);
    expect(await traces(wallet)).toMatchObject({ roles: 1, defaults: 0 });

    const [refuseLogins = '', grantMembership = '', drop = '', listIndexes = ''] = statements;
    for (const sql of [refuseLogins, grantMembership, drop]) await history.query(sql);

    expect(await traces(wallet)).toEqual({ roles: 0, policies: 0, grants: 0, defaults: 0 });
    const [readRights] = await history.query(
      `select has_table_privilege($1, 'explore.contracts', 'select') as view, has_table_privilege($1, 'ledger.contracts', 'select') as stored`,
      [analyst],
    );
    expect(readRights).toEqual({ view: true, stored: true });
    const indexRows = await history.query(listIndexes);
    expect(indexRows).toHaveLength(1);
    for (const row of indexRows) await history.query(String(row['format']));
    expect(await history.query(listIndexes)).toEqual([]);
    await history.query(`drop owned by ${analyst}`);
  },
);
