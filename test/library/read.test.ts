/** `ledger-indexer/read` returns all stored data as of one moment, for programs that copy it. */
import { describe, expect, it } from 'vitest';
import { openReads } from '../../src/library/read.ts';
import { startHistory, create, updates, write } from '../lake/small-history.ts';
import { query } from '../support/database.ts';
import { schemasOfFile } from '../support/schemas.ts';
import { waitFor } from '../support/wait-for.ts';

const schemas = schemasOfFile();

async function bytesOf(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const readPieces: Uint8Array[] = [];
  for await (const chunk of chunks) readPieces.push(chunk);
  return Buffer.concat(readPieces);
}

describe('openReads()', () => {
  it('reads facts, tables and rows from one snapshot despite concurrent writes', async () => {
    const database = await startHistory(schemas, 'read', updates());
    const databaseReads = openReads({ databaseUrl: schemas.url, schema: 'read' });
    try {
      await databaseReads.inSnapshot(async (snapshot) => {
        await write(database, 9, [create(10, '00c10')]);
        expect(snapshot.facts).toMatchObject({ checkpoint: 9, prunedToOffset: -1 });
        const tables = await snapshot.tables(() => false);
        expect(tables.map(({ name }) => name)).toContain('contracts');
        expect(tables.find(({ name }) => name === 'updates')?.columns).toContainEqual({
          name: 'offset',
          type: 'int64',
        });
        // Other programs need no SQL, so it is omitted.
        expect(Object.keys(tables[0] ?? {})).not.toContain('sql');
        const contracts = await bytesOf(snapshot.rows('contracts', 0, 10));
        expect(contracts.subarray(0, 6).toString('latin1')).toBe('PGCOPY');
        expect(contracts.includes('00c9')).toBe(true);
        expect(contracts.includes('00c10')).toBe(false);
        expect(await snapshot.redactions()).toBeUndefined();
      });
      expect(await databaseReads.inSnapshot((snapshot) => Promise.resolve(snapshot.facts.checkpoint))).toBe(10);
    } finally {
      await databaseReads.close();
    }
  });

  it('rejects with the unchanged error of the callback', async () => {
    await startHistory(schemas, 'failing', updates().slice(0, 2));
    const databaseReads = openReads({ databaseUrl: schemas.url, schema: 'failing' });
    const diskFullError = Object.assign(new Error('the disk is full'), { code: 'ENOSPC', syscall: 'write' });
    const notReadyError = Object.assign(new Error('not ready'), { code: 'EXPORT_NOT_READY' });
    try {
      for (const failure of [diskFullError, notReadyError])
        await expect(databaseReads.inSnapshot(() => Promise.reject(failure))).rejects.toBe(failure);
      await expect(databaseReads.inSnapshot(async ({ rows }) => await bytesOf(rows('updates', 0, 1)))).rejects.toThrow(
        TypeError,
      );
    } finally {
      await databaseReads.close();
    }
  });

  it('reads again after a consumer stops reading rows early', async () => {
    await startHistory(schemas, 'left', updates());
    // These are more bytes than the reader reads ahead.
    await query(schemas.url, `update "left".contracts set payload = jsonb_build_object('text', repeat('x', 8000000))`);
    const databaseReads = openReads({ databaseUrl: schemas.url, schema: 'left' });
    const readFirst = async (): Promise<number> =>
      await databaseReads.inSnapshot(async (snapshot) => {
        await snapshot.tables(() => false);
        for await (const chunk of snapshot.rows('contracts', 0, 9)) return chunk.length;
        return 0;
      });
    try {
      for (let index = 0; index < 3; index += 1) expect(await readFirst()).toBeGreaterThan(0);
      const busyPids = `select pid from pg_stat_activity where application_name = 'ledger-indexer read' and state <> 'idle'`;
      await waitFor('no session has an open snapshot', async () =>
        (await query(schemas.url, busyPids)).length === 0 ? true : undefined,
      );
    } finally {
      await databaseReads.close();
    }
  });

  it('rejects with an IndexerError if a query fails or the schema does not exist', async () => {
    await startHistory(schemas, 'refused', updates().slice(0, 2));
    const databaseReads = openReads({ databaseUrl: schemas.url, schema: 'refused' });
    try {
      await query(schemas.url, `alter table refused.exercises rename column argument to other`);
      const describeTables = databaseReads.inSnapshot(async ({ tables }) => await tables(() => false));
      await expect(describeTables).rejects.toMatchObject({
        name: 'IndexerError',
        code: expect.stringMatching(/^STORE_/) as string,
      });
    } finally {
      await databaseReads.close();
    }
    const missingSchemaReads = openReads({ databaseUrl: schemas.url, schema: 'nothing_here' });
    try {
      await expect(missingSchemaReads.inSnapshot(() => Promise.resolve())).rejects.toMatchObject({
        name: 'IndexerError',
      });
    } finally {
      await missingSchemaReads.close();
    }
  });
});
