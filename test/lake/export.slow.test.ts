/**
 * Exports a realistic history. For every table and offset, DuckDB must read the rows from the files that Postgres
 * returns.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hashInDuckDb, hashInHyparquet, hashInPostgres, type TableHash } from '../../bench/lake/compare.ts';
import { waitFor } from '../support/wait-for.ts';
import { createRetentionWorld, type RetentionWorld } from '../retention/retention-world.ts';
import { activeAt, duck, exportTo, filesIn, lakeDir, manifestOf } from './lake-world.ts';

let world: RetentionWorld;
let client: Client;
let end: number;
const schemas = { storage: 'a', explore: 'a_explore', typed: 'a_typed' };
beforeAll(async () => {
  world = await createRetentionWorld(21, 600);
  end = world.sandbox.ledger.ledgerEnd();
  await using indexer = await world.index('a');
  await indexer.reaches(end, 60_000);
  // Packages are read in the background.
  await waitFor('the typed views are made', async () => {
    const [row] = await world.query<{ made: boolean }>(
      `select bool_or(view_name like 'harbor%') and bool_or(view_name like 'splice_amulet__amulet%') as made from a.typed_views`,
    );
    return row?.made === true ? true : undefined;
  });
  client = new Client({ connectionString: world.url });
  await client.connect();
}, 120_000);
afterAll(async () => {
  await client.end();
  await world[Symbol.asyncDispose]();
});

const queryOne = async (sql: string) => (await duck(sql))[0];

/** Hashes of all tables of an export, as DuckDB reads them. */
async function hashes(path: string): Promise<Readonly<Record<string, TableHash>>> {
  const manifest = manifestOf(path);
  const hashesByTable: Record<string, TableHash> = {};
  for (const table of Object.keys(manifest.tables))
    hashesByTable[table] = await hashInDuckDb(queryOne, path, manifest, table);
  return hashesByTable;
}

describe('export', () => {
  it('writes files with the same rows as Postgres, as read by DuckDB and hyparquet', async () => {
    using dir = lakeDir();
    const result = await exportTo(dir.path, world.url, 'a');
    expect(result).toMatchObject({ until: end, rewritten: 0 });
    const manifest = manifestOf(dir.path);
    expect(manifest.until).toBe(end);
    for (const [table, tableHash] of Object.entries(await hashes(dir.path))) {
      const expectedHash = await hashInPostgres(client, manifest, table, schemas);
      expect(tableHash, table).toEqual(expectedHash);
      expect(await hashInHyparquet(dir.path, manifest, table), table).toEqual(expectedHash);
    }
    for (const table of ['updates', 'contracts', 'contract_ends', 'exercises', 'reassignments', 'topology_events']) {
      expect(manifest.files.find((file) => file.table === table)?.rows, table).toBeGreaterThan(0);
    }
    const exportedPaths = manifest.files.flatMap(({ path }) => (path === null ? [] : [path]));
    expect(filesIn(dir.path).filter((name) => name.endsWith('.parquet'))).toEqual(exportedPaths.sort());
  });

  it('writes typed views with one column per field', async () => {
    using dir = lakeDir();
    await exportTo(dir.path, world.url, 'a', '--views', 'typed.harbor*', '--views', 'typed.splice_amulet__amulet*');
    const manifest = manifestOf(dir.path);
    const typedTables = Object.keys(manifest.tables).filter((name) => name.startsWith('typed.'));
    expect(typedTables.length).toBeGreaterThan(3);
    let decimals = 0;
    for (const table of typedTables) {
      const columns = manifest.tables[table]?.columns ?? [];
      decimals += columns.filter(({ type }) => type === 'decimal').length;
      const view = columns.some(({ name }) => name === 'exercised_at_offset') ? table : `${table}__history`;
      const duckDbHash = await hashInDuckDb(queryOne, dir.path, manifest, table);
      expect(duckDbHash, table).toEqual(await hashInPostgres(client, manifest, table, schemas, view));
    }
    expect(decimals).toBeGreaterThan(0);
  });

  it('writes the same data in two steps as in one, and changes no file of the first step', async () => {
    using singleExport = lakeDir();
    using rangedExport = lakeDir();
    const middle = Math.floor(end / 2);
    await exportTo(singleExport.path, world.url, 'a');
    await exportTo(rangedExport.path, world.url, 'a', '--until', String(middle));
    const first = manifestOf(rangedExport.path);
    expect(first.until).toBe(middle);
    await exportTo(rangedExport.path, world.url, 'a', '--views', 'typed.harbor*');
    const second = manifestOf(rangedExport.path);
    const base = (table: string) => !table.startsWith('typed.');
    expect(second.files.filter(({ table, to }) => base(table) && to <= middle)).toEqual(first.files);
    expect(await hashes(rangedExport.path)).toMatchObject(await hashes(singleExport.path));
    // A table that is requested later begins at the same offset as the others. Later exports include it without the
    // flag.
    const laterExport = await exportTo(rangedExport.path, world.url, 'a');
    expect(laterExport).toMatchObject({ files: 0, rows: 0 });
    expect(second.files.some(({ table, from }) => table.startsWith('typed.harbor') && from === 0)).toBe(true);
  });

  it('writes active.sql, which returns the active contracts at an offset', async () => {
    using dir = lakeDir();
    await exportTo(dir.path, world.url, 'a', '--until', String(Math.floor(end / 3)));
    await exportTo(dir.path, world.url, 'a');
    for (const offset of [0, 1, Math.floor(end / 3), Math.floor(end / 2), end - 1, end]) {
      const expectedRows = await world.query<{ id: string }>(
        `select contract_id || ' ' || synchronizer_id as id from a_explore.active_at(${String(offset)}, null) order by 1`,
      );
      expect(await activeAt(dir.path, offset), String(offset)).toEqual(expectedRows.map(({ id }) => id));
    }
  });

  it('refuses offsets after the checkpoint, foreign folders and a concurrent export', async () => {
    using dir = lakeDir();
    await expect(exportTo(dir.path, world.url, 'a', '--until', String(end + 1))).rejects.toMatchObject({
      code: 'EXPORT_NOT_READY',
    });
    await exportTo(dir.path, world.url, 'a');
    await world.query(`update a.stream set filter_hash = 'another' || filter_hash`);
    await expect(exportTo(dir.path, world.url, 'a')).rejects.toMatchObject({ code: 'EXPORT_REFUSED' });
    await world.query(
      `update a.stream set filter_hash = substr(filter_hash, 8), participant_id = 'other::' || participant_id`,
    );
    await expect(exportTo(dir.path, world.url, 'a')).rejects.toMatchObject({ code: 'EXPORT_REFUSED' });
    await world.query(`update a.stream set participant_id = substr(participant_id, 8)`);
    using foreign = lakeDir();
    writeFileSync(join(foreign.path, 'diary.txt'), 'dear diary');
    await expect(exportTo(foreign.path, world.url, 'a')).rejects.toMatchObject({ code: 'EXPORT_REFUSED' });
    expect(filesIn(foreign.path)).toEqual(['diary.txt']);
    writeFileSync(join(dir.path, '.lock'), JSON.stringify({ host: 'elsewhere', pid: 1 }));
    await expect(exportTo(dir.path, world.url, 'a')).rejects.toMatchObject({ code: 'EXPORT_BUSY' });
  });
});
