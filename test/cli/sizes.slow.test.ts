/** Compares `status --sizes` with values from Postgres, and tests its output if a value is not available. */
import { createHash } from 'node:crypto';
import { mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startEmbeddedPostgres } from '../../packages/embedded-postgres/src/embedded-postgres.ts';
import { sizeReport, type DiskRoom, type SizeReport } from '../../src/cli/inspect/size-report.ts';
import { sizeLines } from '../../src/cli/inspect/sizes.ts';
import { statusCommand } from '../../src/cli/inspect/status.ts';
import { openDatabase } from '../../src/store/connection/database.ts';
import type { StoredSizes } from '../../src/store/reads/sizes.ts';
import { grantReader } from '../../src/store/roles/reader-role.ts';
import { createReadDatabase, type ReadDatabase } from '../read/read-database.ts';
import { query } from '../support/database.ts';
import { runCommand } from '../support/run-command.ts';
import * as frames from '../support/frames.ts';

type PrintedSizes = Omit<SizeReport, 'growth' | 'disk'> & {
  readonly asked: string;
  readonly growth: null | {
    readonly from: string;
    readonly to: string;
    readonly hours: number;
    readonly events: number;
    readonly eventsPerDay: number;
    readonly bytesPerDay: number;
    readonly days: readonly { readonly to: string; readonly events: number }[];
  };
  readonly disk: { readonly free: number; readonly daysLeft: number; readonly fullAt: string; readonly source: string };
};

async function sizesAt(url: string, ...args: readonly string[]): Promise<PrintedSizes> {
  return JSON.parse((await printSizes({ DATABASE_URL: url }, '--json', ...args)).join('')) as PrintedSizes;
}

async function printSizes(env: NodeJS.ProcessEnv, ...args: readonly string[]): Promise<readonly string[]> {
  const lines: string[] = [];
  await runCommand(statusCommand, ['--sizes', ...args], env, { print: (line) => lines.push(line) });
  return lines;
}

let database: ReadDatabase;

/** 4000 bytes that depend only on the name. */
function incompressible(name: string): string {
  return createHash('shake256', { outputLength: 4_000 }).update(name).digest('base64');
}

/**
 * A transaction with `creates` creates and, if `ended` is given, an exercise that archives it. The payloads do not
 * compress enough to fit into a row.
 */
function updateAt(offset: number, recordTime: string, creates: number, archivedId?: string): frames.JsonRecord {
  const contract = (node: number): frames.JsonRecord => ({
    CreatedEvent: frames.created({
      offset,
      nodeId: node,
      contractId: `00${String(offset).padStart(2, '0')}${String(node).padStart(2, '0')}`,
      createArgument: { note: incompressible(`${String(offset)}-${String(node)}`) },
    }),
  });
  const change = { nodeId: creates, lastDescendantNodeId: creates, contractId: archivedId ?? '' };
  const end = archivedId === undefined ? [] : [{ ExercisedEvent: frames.exercised({ offset, ...change }) }];
  const events = [...Array.from({ length: creates }, (_, node) => contract(node)), ...end];
  return frames.transaction(offset, events, { recordTime });
}

beforeAll(async () => {
  database = await createReadDatabase();
  await database.write(
    updateAt(1, '2026-08-14T00:10:00Z', 1),
    updateAt(2, '2026-08-15T10:30:00Z', 2),
    updateAt(3, '2026-08-20T12:00:00Z', 4),
    updateAt(4, '2026-08-22T10:00:00Z', 1),
    updateAt(5, '2026-08-23T09:59:59Z', 1, '000100'),
    updateAt(6, '2026-08-23T10:30:00Z', 2),
  );
  await query(database.url, 'vacuum (analyze)');
});
afterAll(() => database[Symbol.asyncDispose]());

/** Size of the files and number of rows of each table, as Postgres reports them. */
async function countTables(): Promise<readonly Record<string, unknown>[]> {
  const sizes = await query(
    database.url,
    `select relname as table, pg_total_relation_size(oid)::float8 as total, pg_indexes_size(oid)::float8 as indexes,
            (pg_table_size(oid) - coalesce(pg_total_relation_size(nullif(reltoastrelid, 0)), 0))::float8 as heap,
            coalesce(pg_total_relation_size(nullif(reltoastrelid, 0)), 0)::float8 as toast
       from pg_class where relnamespace = 'ledger'::regnamespace and relkind = 'r'`,
  );
  const sizeQueries = sizes.map(
    ({ table }) => `select '${String(table)}' as table, count(*)::int as rows from ledger.${String(table)}`,
  );
  const rows = await query(database.url, sizeQueries.join(' union all '));
  return sizes.map((size) => ({ ...size, ...rows.find(({ table }) => table === size['table']) }));
}

const sum = (rows: readonly { readonly total: number }[]): number =>
  rows.reduce((runningTotal, { total }) => runningTotal + total, 0);

function urlAs(role: string): string {
  const url = new URL(database.url);
  [url.username, url.password] = [role, 'secret'];
  return url.href;
}

describe('status --sizes', () => {
  it('prints the table sizes of Postgres, and the number of rows after analyze', async () => {
    const { tables, groups, bytes, indexes } = await sizesAt(database.url);
    const compareTables = (a: { readonly table?: unknown }, b: { readonly table?: unknown }): number =>
      String(a.table) < String(b.table) ? -1 : 1;
    expect(tables.toSorted(compareTables)).toMatchObject((await countTables()).toSorted(compareTables));
    expect([sum(groups), sum(tables)]).toEqual([bytes.total, bytes.total]);
    expect(indexes.reduce((total, index) => total + index.bytes, 0)).toBe(bytes.indexes);
    expect(bytes.database - bytes.total).toBe(bytes.elsewhere);
    const rows = Object.fromEntries(groups.map((group) => [group.group, group.rows]));
    expect(rows).toMatchObject({ updates: 12, contracts: 11, live: 10, ended: 1, exercises: 1, interface_views: 11 });
    expect(tables.find(({ table }) => table === 'contracts')?.toast).toBeGreaterThan(11 * 4_000);
  });

  it('prints the events of the last seven days and the days until the disk is full', async () => {
    const {
      events,
      bytesPerEvent,
      bytes,
      growth,
      disk,
      takenAt: measuredAt,
    } = await sizesAt(database.url, '--free', '10MiB');
    expect(events).toBe(12);
    expect(bytesPerEvent).toBeCloseTo(bytes.total / 12, 0);
    // Without the first hour, the current hour, and hours older than a week.
    expect(growth).toMatchObject({ from: '2026-08-16T10:00:00.000Z', to: '2026-08-23T10:00:00.000Z', hours: 168 });
    expect(growth?.days.map((day) => day.events)).toEqual([3, 0, 4, 0, 0, 0, 0]);
    expect(growth).toMatchObject({ events: 7, eventsPerDay: 1, bytesPerDay: Math.round(bytesPerEvent ?? 0) });
    expect(disk).toMatchObject({ source: 'free', free: 10 * 2 ** 20 });
    expect(disk.daysLeft).toBeCloseTo((10 * 2 ** 20) / (bytesPerEvent ?? 0), 0);
    expect(Date.parse(disk.fullAt) - Date.parse(String(measuredAt))).toBeCloseTo(disk.daysLeft * 86_400_000, 0);
  });

  it('subtracts database sizes and max_wal_size from the value of --disk', async () => {
    const { disk, bytes } = await sizesAt(database.url, '--disk', '1TB');
    const [wal] = await query(database.url, `select pg_size_bytes(current_setting('max_wal_size'))::float8 as bytes`);
    expect(disk.source).toBe('disk');
    expect(disk.free).toBeLessThanOrEqual(1e12 - Number(wal?.['bytes']) - bytes.database);
    expect(disk.free).toBeGreaterThan(9e11);
  });

  it('prints table sizes to a role without rights, with unknown growth', async () => {
    const [fullReader, noRightsReader] = ['whole', 'none'].map((name) => `sizes_${name}_${String(process.pid)}`) as [
      string,
      string,
    ];
    const owner = openDatabase({
      url: database.url,
      schema: 'ledger',
      statementTimeoutMs: 9_000,
      applicationName: 'test',
    });
    try {
      await grantReader(owner, { role: fullReader, parties: [], password: 'secret' });
      await query(database.url, `create role ${noRightsReader} login password 'secret'`);
      const [asOwner, reader] = [await sizesAt(database.url), await sizesAt(urlAs(fullReader))];
      expect(reader).toEqual({ ...asOwner, takenAt: reader.takenAt });
      // At first the role may not use the schema. Then it may use the schema, but may not read the tables.
      for (const grant of ['select', `grant usage on schema ledger to ${noRightsReader}`]) {
        await query(database.url, grant);
        const unprivileged = await sizesAt(urlAs(noRightsReader));
        expect(unprivileged).toMatchObject({
          tables: asOwner.tables,
          events: 12,
          growth: null,
          disk: { daysLeft: null },
        });
        expect(unprivileged.notes).toContainEqual(expect.stringMatching(/growth is unknown/));
      }
    } finally {
      await owner.close();
      await query(
        database.url,
        `drop owned by ${fullReader}, ${noRightsReader}; drop role ${fullReader}, ${noRightsReader}`,
      );
    }
  });

  it('reads the free disk space of an embedded server, even without an indexer schema', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'sizes-'));
    const server = await startEmbeddedPostgres({ dataDir: join(dir, 'postgres') });
    try {
      const lines = await printSizes({ DATABASE_URL: server.url, INDEXER_DATA_DIR: dir }, '--json');
      const { disk, tables, notes } = JSON.parse(lines.join('')) as PrintedSizes;
      const { bavail, bsize } = await statfs(dir);
      expect(disk.source).toBe('embedded');
      expect(Math.abs(disk.free - bavail * bsize)).toBeLessThan(2 ** 30);
      expect([tables, notes[0]]).toEqual([[], expect.stringMatching(/no tables in this schema/)]);
    } finally {
      await server.stop();
      await rm(dir, { recursive: true });
    }
  });

  it.each([
    [['--free', '1GiB']],
    [['--sizes', '--watch']],
    [['--sizes', '--free', '1GiB', '--disk', '2GiB']],
    [['--sizes', '--disk', 'half']],
  ])('rejects the arguments %j', async (args) => {
    await expect(runCommand(statusCommand, args, { DATABASE_URL: database.url })).rejects.toMatchObject({
      code: 'USAGE',
    });
  });
});

const hour = (text: string): Date => new Date(`2026-08-${text}:00Z`);
const table = { heap: 60e6, toast: 0, indexes: 40e6, total: 100e6 };
const growingSizes: StoredSizes = {
  server: {
    version: '17.10',
    standby: false,
    distributed: false,
    databaseBytes: 3e8,
    databasesBytes: 3e8,
    databasesUnseen: 0,
    walBytes: 1e8,
  },
  tables: [
    { table: 'contracts', rows: 150_000, ...table },
    { table: 'exercises', rows: 50_000, ...table },
  ],
  indexes: [],
  derived: { tables: [], indexes: [] },
  growth: {
    from: hour('20T00:00'),
    to: hour('21T12:00'),
    events: 36_000,
    days: [{ from: hour('20T12:00'), to: hour('21T12:00'), events: 30_000 }],
  },
  prunedToOffset: undefined,
};

const report = (change: object, diskSpace: DiskRoom = { source: 'free', freeBytes: 2.4e9 }): SizeReport =>
  sizeReport({ ...growingSizes, ...change }, diskSpace, hour('22T00:00'));

describe('size report', () => {
  it('contains a table, daily growth and the day on which the disk will be full', () => {
    const text = sizeLines('database a/b, schema "ledger"', report({})).join('\n');
    for (const expectedText of [
      /^contracts +150,000 +57\.2 MiB +0 B +38\.1 MiB +95\.4 MiB +50\.0 % +500 B$/m,
      /^all +- +114\.4 MiB +0 B +76\.3 MiB +190\.7 MiB +100\.0 % +1,000 B$/m,
      /^growth of a day +22\.9 MiB, 24,000 events, by 36 hours up to 2026-08-21T12:00Z$/m,
      /^ +up to 2026-08-21T12:00Z +28\.6 MiB, 30,000 events$/m,
      /^full +in 100 days, about 2026-11-30$/m,
    ]) {
      expect(text).toMatch(expectedText);
    }
    expect(text).not.toMatch(/^note/m);
  });

  it.each<[string, object, DiskRoom | undefined, RegExp]>([
    [
      'uncounted rows',
      { tables: [{ table: 'contracts', rows: null, ...table }] },
      undefined,
      /rows of contracts are not counted yet/,
    ],
    ['a standby', { server: { ...growingSizes.server, standby: true } }, undefined, /a standby/],
    ['Citus', { server: { ...growingSizes.server, distributed: true } }, undefined, /without the workers/],
    ['pruned history', { prunedToOffset: 7 }, undefined, /up to offset 7 was pruned/],
    [
      'failed index builds',
      { indexes: [{ index: 'own_a', table: 'contracts', bytes: 1, valid: false }] },
      undefined,
      /own_a/,
    ],
    ['unknown disk space', {}, { source: null }, /pass --free or --disk/],
    [
      'databases that the role may not read',
      { server: { ...growingSizes.server, databasesUnseen: 2 } },
      { source: 'disk', diskBytes: 1e9 },
      /^2 databases/,
    ],
    ['a ledger without growth', { growth: { ...growingSizes.growth, events: 0 } }, undefined, /nothing grew/],
  ])('contains a note about %s', (_, change, diskSpace, expectedNote) => {
    expect(report(change, diskSpace).notes).toContainEqual(expect.stringMatching(expectedNote));
  });

  it('contains no full-disk date if row counts, growth or disk space are unknown', () => {
    const unknown = { daysLeft: null, fullAt: null };
    expect(report({ tables: [{ table: 'exercises', rows: null, ...table }] })).toMatchObject({
      bytesPerEvent: null,
      disk: unknown,
    });
    expect(report({ growth: undefined }).disk).toMatchObject(unknown);
    expect(report({}, { source: null }).disk).toEqual({ source: null, free: null, ...unknown });
    expect(report({}, { source: 'disk', diskBytes: 1e6 }).disk).toMatchObject({ free: 0, daysLeft: 0 });
  });
});
