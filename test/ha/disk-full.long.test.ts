/** Simulates a full disk of Postgres with a tablespace on a small tmpfs. Requires root. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startEmbeddedPostgres } from '../../packages/embedded-postgres/src/embedded-postgres.ts';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import { generateHistory } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { runIndexer } from '../e2e/runs/indexer-run.ts';
import { query } from '../support/database.ts';
import { digestOf } from '../support/digest.ts';
import { waitFor } from '../support/wait-for.ts';
import { mountSmallDisk, smallDiskSkipReason } from './small-disk.ts';
import { needs } from '../support/skips/needs.ts';

describe('a full disk', needs(smallDiskSkipReason), () => {
  it('makes the indexer back off until space is freed, and changes no stored rows', { timeout: 180_000 }, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'ledger-indexer-full-'));
    await using disk = await mountSmallDisk(16);
    const sandbox = await startSandbox({ seed: 9, limits: { checkpointIntervalMs: 50 } });
    generateHistory(sandbox.ledger, { seed: 9, updates: 6_000 });
    try {
      await using server = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres') });
      await query(server.url, `create tablespace small location '${disk.folder}'`);
      await query(server.url, 'create database filled tablespace small');
      const url = new URL(server.url);
      url.pathname = '/filled';
      const env = { LEDGER_URL: sandbox.url, INDEXER_START: 'genesis', INDEXER_BATCH_UPDATES: '100' };
      await using indexer = await runIndexer({ ...env, DATABASE_URL: url.href });
      await waitFor('the disk is full', async () =>
        JSON.stringify((await indexer.status()).lastError).includes('STORE_FULL') ? true : undefined,
      );
      expect(await query(url.href, 'select from ledger.quarantine')).toEqual([]);
      expect((await indexer.status()).state).toBe('backing_off');
      disk.grow(300);
      await indexer.reaches(sandbox.ledger.ledgerEnd(), 90_000);
      await using calm = await runIndexer({ ...env, DATABASE_URL: server.url, POSTGRES_SCHEMA: 'calm' });
      await calm.reaches(sandbox.ledger.ledgerEnd(), 60_000);
      expect(await digestOf(url.href, 'ledger')).toBe(await digestOf(server.url, 'calm'));
    } finally {
      await sandbox.close();
      await rm(folder, { recursive: true, force: true });
    }
  });
});
