/** Postgres contains recent history and an export contains the pruned rows. Together they are complete. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hashInDuckDb, hashInPostgres, type TableHash } from '../../bench/lake/compare.ts';
import { pruneCommand } from '../../src/cli/maintain/prune.ts';
import { openDatabase } from '../../src/store/connection/database.ts';
import { pruneInBackground } from '../../src/store/retention/prune.ts';
import { redact } from '../../src/store/retention/redact.ts';
import { createRetentionWorld, type RetentionWorld } from '../retention/retention-world.ts';
import { runCommand } from '../support/run-command.ts';
import { schemasOfFile } from '../support/schemas.ts';
import { waitFor } from '../support/wait-for.ts';
import { activeAt, duck, exportTo, lakeDir, manifestOf } from './lake-world.ts';
import { startHistory, exportInRanges, filesWith, updates } from './small-history.ts';

const schemas = schemasOfFile();
const stop = new AbortController().signal;

/** Output of `prune --yes --json`. */
async function pruneSmall(schema: string, ...argv: string[]): Promise<Record<string, unknown>> {
  const lines: string[] = [];
  const env = { DATABASE_URL: schemas.url, POSTGRES_SCHEMA: schema };
  await runCommand(pruneCommand, [...argv, '--yes', '--json'], env, { print: (line) => lines.push(line) });
  return JSON.parse(lines.at(-1) ?? '{}') as Record<string, unknown>;
}

describe('prune --exported', () => {
  let world: RetentionWorld;
  let client: Client;
  let end: number;
  beforeAll(async () => {
    world = await createRetentionWorld(24, 400);
    end = world.sandbox.ledger.ledgerEnd();
    await using indexer = await world.index('a');
    await indexer.reaches(end, 60_000);
    await waitFor('the typed views are made', async () => {
      const rows = await world.query(`select 1 from a.typed_views where view_name like 'harbor%'`);
      return rows.length > 0 ? true : undefined;
    });
    client = new Client({ connectionString: world.url });
    await client.connect();
  }, 120_000);
  afterAll(async () => {
    await client.end();
    await world[Symbol.asyncDispose]();
  });

  /** Prunes as an indexer with a retention of zero does. */
  const pruneEverything = async (): Promise<unknown> => {
    const options = { url: world.url, schema: 'a', statementTimeoutMs: 60_000, applicationName: 'test lake' };
    const database = openDatabase(options);
    try {
      return await pruneInBackground(database, 0, { stop, onProgress: () => undefined });
    } finally {
      await database.close();
    }
  };
  const readActiveAt = async (offset: number): Promise<readonly string[]> => {
    const rows = await world.query<{ id: string }>(
      `select contract_id || ' ' || synchronizer_id as id from a_explore.active_at(${String(offset)}, null) order by 1`,
    );
    return rows.map(({ id }) => id);
  };

  it('stops at the end of the export, and history and active contracts stay complete', async () => {
    using completeDir = lakeDir();
    using dir = lakeDir();
    const middle = Math.floor(end / 2);
    await exportTo(completeDir.path, world.url, 'a');
    const manifest = manifestOf(completeDir.path);
    const history: Record<string, TableHash> = {};
    for (const table of Object.keys(manifest.tables)) {
      history[table] = await hashInPostgres(client, manifest, table, {
        storage: 'a',
        explore: 'a_explore',
        typed: 'a_typed',
      });
    }
    const activeByOffset = new Map<number, readonly string[]>();
    for (const offset of [1, Math.floor(middle / 2), middle, middle + 1, end])
      activeByOffset.set(offset, await readActiveAt(offset));

    await exportTo(dir.path, world.url, 'a', '--until', String(middle), '--hold', 'lake');
    const plan = await world.prune('a', '--before', String(end), '--exported', dir.path);
    expect(plan).toMatchObject({ dryRun: true, boundary: middle, exported: { offset: middle } });
    const pruneOutput = await world.prune('a', '--before', String(end), '--exported', dir.path, '--yes');
    expect(pruneOutput).toMatchObject({ boundary: middle, finished: true });
    // Pruning by INDEXER_RETENTION has no access to the export folder, so only the hold limits it.
    expect(await pruneEverything()).toMatchObject({ boundary: middle, heldBy: { name: 'lake', offset: middle } });
    // Queries at pruned offsets must read the export. Other queries still read Postgres.
    for (const [offset, ids] of activeByOffset) {
      expect(offset > middle ? await readActiveAt(offset) : await activeAt(dir.path, offset), String(offset)).toEqual(
        ids,
      );
    }

    await exportTo(dir.path, world.url, 'a', '--views', 'typed.harbor*', '--hold', 'lake');
    const manifestAfter = manifestOf(dir.path);
    for (const [table, expectedHash] of Object.entries(history)) {
      expect(await hashInDuckDb(async (sql) => (await duck(sql))[0], dir.path, manifestAfter, table), table).toEqual(
        expectedHash,
      );
    }
    // A table that is requested later begins at the start of the remaining history. The manifest contains this offset.
    const laterTables = Object.entries(manifestAfter.tables).filter(([name]) => name.startsWith('typed.harbor'));
    expect(laterTables.length).toBeGreaterThan(0);
    for (const [name, { from }] of laterTables) {
      expect(from, name).toBe(middle + 1);
      const files = manifestAfter.files.filter(({ table }) => table === name);
      expect(Math.min(...files.map((file) => file.from)), name).toBe(middle + 1);
      expect(files.filter(({ path }) => path !== null).length, name).toBeGreaterThan(0);
    }
    await expect(exportTo(dir.path, world.url, 'a')).resolves.toMatchObject({ files: 0 });

    expect(await world.prune('a', '--before', String(end), '--exported', dir.path, '--yes')).toMatchObject({
      boundary: end,
    });
    for (const [offset, ids] of activeByOffset) expect(await activeAt(dir.path, offset), String(offset)).toEqual(ids);
  });
});

describe('prune --exported', () => {
  it('stops before the first outdated range until the range is exported again', async () => {
    using dir = lakeDir();
    const database = await startHistory(schemas, 'stale', updates());
    await exportInRanges(dir.path, schemas.url, 'stale', 9);
    const subject = { kind: 'contract', contractId: '00c7' } as const;
    await redact(database, { subject, reason: 'r', active: false, exercises: true }, stop);
    const args = ['--before', '9', '--exported', dir.path] as const;
    expect(await pruneSmall('stale', ...args)).toMatchObject({
      boundary: 6,
      exported: { offset: 6, reason: 'contracts must be rewritten: contents were redacted' },
    });
    await exportTo(dir.path, schemas.url, 'stale');
    expect(await pruneSmall('stale', ...args)).toMatchObject({ boundary: 9, exported: { offset: 9 } });
    expect(await filesWith(dir.path, 'SECRET-00c7')).toEqual([]);
  });

  it('fails if the export is missing or lacks a file of its manifest', async () => {
    using dir = lakeDir();
    await startHistory(schemas, 'lacking', updates());
    const args = ['--before', '9', '--exported', dir.path] as const;
    await expect(pruneSmall('lacking', ...args)).rejects.toMatchObject({ code: 'EXPORT_REFUSED' });
    await exportInRanges(dir.path, schemas.url, 'lacking', 9);
    rmSync(join(dir.path, 'exercises/from=4-to=6.parquet'));
    await expect(pruneSmall('lacking', ...args)).rejects.toMatchObject({ code: 'EXPORT_REFUSED' });
  });
});
