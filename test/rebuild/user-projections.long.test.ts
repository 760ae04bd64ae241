/**
 * A stream with a projection of a user is handed over to another server and back. Its view has the same rows on both
 * servers, and they are stored there again.
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
} from '../../packages/embedded-postgres/src/embedded-postgres.ts';
import { projectionCommand } from '../../src/cli/projections/projection.ts';
import { grantReaderCommand } from '../../src/cli/roles/grant-reader.ts';
import { ProjectionJob } from '../../src/store/projections/projection-job.ts';
import { withDatabase } from '../projections/projected.ts';
import { contentsSql, UserWorld } from '../projections/users/world.ts';
import { query } from '../support/database.ts';
import { runCommand } from '../support/run-command.ts';
import { secretFile } from '../support/secret-file.ts';
import { rebuild, fromGenesis } from './world.ts';

const env = { ...fromGenesis, LEDGER_INTERFACES: 'tokens' };
const missingRole = `into_missing_${randomBytes(4).toString('hex')}`;
let user: UserWorld;
let folder: string;
let server: EmbeddedPostgres;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'projections-into-'));
  [user, server] = await Promise.all([UserWorld.open(150), startEmbeddedPostgres({ dataDir: folder })]);
  await query(server.url, `create role ${user.role}`);
  await user.add('contents', contentsSql, '--key', 'node_id', '--no-look-ups');
  await runCommand(grantReaderCommand, [missingRole, '--shared-database'], user.world.env());
  await user.projection('add', 'orphans', '--sql', user.file(contentsSql), '--role', missingRole);
  await user.fill();
}, 90_000);
afterAll(async () => {
  await query(user.url, `drop owned by ${missingRole}; drop role ${missingRole}`);
  await user.close();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Fills the projections of a database; resolves to the rows of the view, the stored ones and the computed ones. */
async function rowsOf(
  databaseUrl: string,
): Promise<Readonly<Record<'view' | 'computed' | 'stored', readonly string[]>>> {
  await withDatabase(databaseUrl, async (database) => {
    const job = new ProjectionJob(database);
    for (let step = await job.step(); step !== undefined; step = await job.step()) {
      if (step !== 'off' && step.kind === 'failed') throw step.error;
    }
  });
  const [newest] = await query(
    databaseUrl,
    `select 'derived."contents$' || max(generation) || '"' as table from ledger.user_projections where name = 'contents'`,
  );
  const linesOf = async (from: string, settings = ''): Promise<readonly string[]> => {
    const url = new URL(databaseUrl);
    url.searchParams.set('options', settings);
    return (await query(url.href, `select to_jsonb(t)::text as line from ${from} t order by 1`)).map(({ line }) =>
      String(line),
    );
  };
  return {
    view: await linesOf('derived.contents'),
    computed: await linesOf('derived.contents', '-c ledger_indexer.projections=off'),
    stored: await linesOf(String(newest?.['table'])),
  };
}

async function expectSame(databaseUrl: string): Promise<void> {
  const { view, computed, stored } = await rowsOf(databaseUrl);
  expect(view.length).toBeGreaterThan(20);
  expect(view).toEqual(computed);
  expect(stored).toEqual(computed);
}

describe('a projection of a user', { timeout: 120_000 }, () => {
  it('is created in the database to which the stream is handed over', async () => {
    const { view } = await rowsOf(user.url);
    const output = await rebuild(user.world, `--into-file ${secretFile(server.url)} --yes`, env);
    expect(output).toContain('projection contents is created there; its rows are stored in the background');
    expect(output).toMatch(
      new RegExp(
        `projection orphans is not created there: .*${missingRole}.*run there: ledger-indexer projection refill orphans`,
      ),
    );
    const there = await rowsOf(server.url);
    expect(there.view).toEqual(view);
    await expectSame(server.url);
    const [key] = await query(
      server.url,
      `select array_to_string(key_columns, ',') || ' ' || looks_up as key from ledger.user_projections where name = 'contents'`,
    );
    expect(key).toEqual({ key: 'node_id false' });
  });

  it('has the new rows after the stream was handed back, and no tables of earlier versions', async () => {
    user.world.grow(20);
    await user.world.index('ledger', { ...env, DATABASE_URL: server.url });
    const { view } = await rowsOf(server.url);
    await query(server.url, `delete from ledger.user_projections where name = 'orphans'`);
    const output = await rebuild(user.world, `--into-file ${secretFile(user.url)} --yes`, {
      ...env,
      DATABASE_URL: server.url,
    });
    expect(output).toContain('projection contents is created there');
    expect((await rowsOf(user.url)).view).toEqual(view);
    await expectSame(user.url);
    await runCommand(projectionCommand, ['refill', 'contents'], user.world.env());
    await expectSame(user.url);
    await runCommand(projectionCommand, ['refill', 'contents'], user.world.env());
    const tables = await query(
      user.url,
      `select relname from pg_class where relnamespace = 'derived'::regnamespace and relkind = 'r' and relname like 'contents$%'`,
    );
    expect(tables.length).toBe(2);
  });
});
