/**
 * Packages that cannot be read and views that cannot be replaced are reported and retried. They do not affect
 * ingestion.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { viewsCommand } from '../../../src/cli/inspect/views.ts';
import { createLedgerClient } from '../../../src/ledger/api/client.ts';
import { createTokenSource } from '../../../src/ledger/access/token.ts';
import { startSandbox } from '../../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../../packages/ledger-sandbox/src/server/sandbox.ts';
import { openDatabase } from '../../../src/store/connection/database.ts';
import { readPackages } from '../../../src/store/typed/package-store.ts';
import { syncTypedViews } from '../../../src/store/typed/views.ts';
import { runIndexer, type IndexerRun } from '../../e2e/runs/indexer-run.ts';
import { createTestDatabase, query, type TestDatabase } from '../../support/database.ts';
import { alice, created, transaction } from '../../support/frames.ts';
import { waitFor } from '../../support/wait-for.ts';
import { runCommand } from '../../support/run-command.ts';
import { recordDar, type FieldType, type RecordDar } from './typed-dar.ts';

let sandbox: Sandbox;
let database: TestDatabase;
beforeEach(async () => {
  sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
  database = await createTestDatabase();
});
afterEach(async () => {
  await sandbox.close();
  await database.drop();
});

const berthModel = (version: string, fields: Record<string, FieldType> = {}): RecordDar =>
  recordDar({ name: 'harbor', version, templates: ['Berth'], records: { Berth: { owner: 'text', ...fields } } });

async function upload({ dar }: RecordDar): Promise<void> {
  const { url } = sandbox;
  const tokenSource = createTokenSource({});
  await createLedgerClient({ url, tokenSource, insecure: false, requestTimeoutMs: 10_000 }).packages.uploadDar(dar);
}

async function create(indexer: IndexerRun, { packageId }: RecordDar): Promise<void> {
  const offset = sandbox.ledger.ledgerEnd() + 1;
  const event = created({
    offset,
    contractId: `00${String(offset).padStart(6, '0')}`,
    templateId: `${packageId}:Main:Berth`,
    packageName: 'harbor',
    createArgument: { owner: alice },
    interfaceViews: [],
  });
  sandbox.ledger.appendRaw(transaction(offset, [{ CreatedEvent: event }]));
  await indexer.reaches(offset);
}

const start = (): Promise<IndexerRun> => runIndexer({ LEDGER_URL: sandbox.url, DATABASE_URL: database.url });
const rows = (sql: string): Promise<readonly Record<string, unknown>[]> => query(database.url, sql);

async function expectColumn(column: string): Promise<void> {
  await waitFor(column, async () => {
    const columnRows = await rows(
      `select from information_schema.columns where table_schema = 'typed' and table_name = 'harbor__berth'
          and column_name = '${column}'`,
    );
    return columnRows.length === 1 ? true : undefined;
  });
}

describe('package of a typed view', () => {
  it('is reported once if missing on the participant, and read after the next start', async () => {
    const firstVersion = berthModel('1.0.0');
    {
      await using indexer = await start();
      await create(indexer, firstVersion);
      await waitFor('the warning', () =>
        indexer.logged('packages cannot be read: no typed views for them') === 1 ? true : undefined,
      );
      await create(indexer, firstVersion);
      const otherVersion = berthModel('1.2.0', { extra: { optional: 'int64' } });
      await upload(otherVersion);
      await create(indexer, otherVersion);
      await expectColumn('extra');
      expect(indexer.logged('packages cannot be read: no typed views for them')).toBe(1);
      expect((await indexer.status()).state).toBe('live');
      expect(await rows('select package_version from typed.harbor__berth order by created_at_offset')).toEqual([
        { package_version: null },
        { package_version: null },
        { package_version: '1.2.0' },
      ]);
    }
    await upload(firstVersion);
    await using restartedIndexer = await start();
    await waitFor('the version', async () => {
      const readBerths = await rows(`select from typed.harbor__berth where package_version = '1.0.0'`);
      return readBerths.length === 2 ? true : undefined;
    });
    expect(restartedIndexer.logged('packages cannot be read: no typed views for them')).toBe(0);
  });

  it('is retried if temporarily unavailable', async () => {
    const firstVersion = berthModel('1.0.0');
    await upload(firstVersion);
    sandbox.faults.answer = {
      path: `/v2/packages/${firstVersion.packageId}`,
      times: 1,
      as: 'PARTICIPANT_BACKPRESSURE',
    };
    await using indexer = await start();
    await create(indexer, firstVersion);
    await expectColumn('owner');
    expect(sandbox.faults.answer).toBeUndefined();
    expect(indexer.logged('typed views failed, trying again')).toBe(1);
    expect(indexer.logged('packages cannot be read: no typed views for them')).toBe(0);
    expect(indexer.logged('backing off')).toBe(0);
  });
});

describe('typed view', () => {
  it('is replaced after a reader releases its lock, without stopping ingestion', async () => {
    const [firstVersion, secondVersion] = [berthModel('1.0.0'), berthModel('1.1.0', { note: { optional: 'text' } })];
    await upload(firstVersion);
    await using indexer = await start();
    await create(indexer, firstVersion);
    await expectColumn('owner');
    const reader = openDatabase({
      url: database.url,
      schema: 'ledger',
      statementTimeoutMs: 10_000,
      applicationName: 'reader',
    });
    await reader.transaction(async (client) => {
      await client.query('select * from typed.harbor__berth');
      await upload(secondVersion);
      await create(indexer, secondVersion);
      await waitFor('the warning', () => (indexer.logged('typed views not created') > 0 ? true : undefined));
      await create(indexer, secondVersion);
    });
    await reader.close();
    await expectColumn('note');
    expect(await rows('select from typed.harbor__berth')).toHaveLength(3);
  });

  it('is kept while its definition is unchanged, and re-created after a drop', async () => {
    const firstVersion = berthModel('1.0.0');
    await upload(firstVersion);
    await using indexer = await start();
    await create(indexer, firstVersion);
    await expectColumn('owner');
    const store = openDatabase({
      url: database.url,
      schema: 'ledger',
      statementTimeoutMs: 10_000,
      applicationName: 'test',
    });
    const packages = await readPackages(store);
    expect(await syncTypedViews(store, packages)).toEqual({ made: [], unchanged: 2, failed: [] });
    await rows('drop view typed.harbor__berth__history');
    expect(await syncTypedViews(store, packages)).toMatchObject({ made: ['harbor__berth__history'], failed: [] });
    const lines: string[] = [];
    const env = { DATABASE_URL: database.url };
    await runCommand(viewsCommand, ['rebuild'], env, { print: (line) => lines.push(line) });
    await runCommand(viewsCommand, ['list'], env, { print: (line) => lines.push(line) });
    expect(lines).toEqual([
      'replaced 2 views',
      'VIEW                 KIND      PACKAGE  VERSIONS  COLUMNS',
      'typed.harbor__berth  template  harbor   1.0.0     owner',
    ]);
    await store.close();
  });

  it('has a comment on the view and on each column', async () => {
    const firstVersion = berthModel('1.0.0');
    await upload(firstVersion);
    await using indexer = await start();
    await create(indexer, firstVersion);
    await expectColumn('owner');
    const columnsWithoutTable = await rows(
      `select c.relname, a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
        where c.relnamespace = 'typed'::regnamespace
          and (col_description(c.oid, a.attnum) is null or obj_description(c.oid, 'pg_class') is null)`,
    );
    expect(columnsWithoutTable).toEqual([]);
  });

  it('is created in a separate schema for another storage schema', async () => {
    const firstVersion = berthModel('1.0.0');
    await upload(firstVersion);
    await using indexer = await runIndexer({
      LEDGER_URL: sandbox.url,
      DATABASE_URL: database.url,
      POSTGRES_SCHEMA: 'net2',
    });
    await create(indexer, firstVersion);
    const viewRow = await waitFor('the view', async () => {
      const sql = `select count(*)::int as count from net2_typed.harbor__berth where owner = '${alice}'`;
      return rows(sql).catch(() => undefined);
    });
    expect(viewRow).toEqual([{ count: 1 }]);
  });
});

describe('views command', () => {
  it.each([
    [[], { DATABASE_URL: 'postgres://localhost/x' }, 'USAGE'],
    [['drop'], { DATABASE_URL: 'postgres://localhost/x' }, 'USAGE'],
    [['list'], {}, 'CONFIGURATION_INVALID'],
    [['rebuild', '--nonsense', 'x'], { DATABASE_URL: 'postgres://localhost/x' }, 'USAGE'],
  ])('rejects the arguments %j', async (argv, env, code) => {
    await expect(runCommand(viewsCommand, argv, env)).rejects.toMatchObject({ code });
  });

  it('rejects a database that was never migrated', async () => {
    const env = { DATABASE_URL: database.url };
    await expect(runCommand(viewsCommand, ['list'], env)).rejects.toMatchObject({ code: 'SCHEMA_OUTDATED' });
  });
});
