/**
 * Two hosts in DATABASE_URL: a primary and a streaming standby, which is promoted when the primary crashes. The daemon
 * finds the server that accepts writes, and reads again the updates that the standby had not received.
 */
import { describe, expect, it } from 'vitest';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import { Steps } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { runIndexer } from '../e2e/runs/indexer-run.ts';
import { query } from '../support/database.ts';
import { digestOf } from '../support/digest.ts';
import { pause, waitFor } from '../support/wait-for.ts';
import { startServers } from './servers.ts';

const startAt = Date.UTC(2026, 0, 5, 8) * 1000;

describe('a database URL with two hosts', { timeout: 180_000 }, () => {
  it('connects to the primary, and to the promoted standby after the primary has crashed', async () => {
    await using servers = await startServers();
    const sandbox = await startSandbox({ seed: 8, now: () => startAt / 1000, limits: { checkpointIntervalMs: 50 } });
    const steps = new Steps(sandbox.ledger, 8);
    let updateCount = 0;
    const growLedger = (updates: number): void => {
      for (const end = updateCount + updates; updateCount < end; updateCount += 1)
        steps.step(startAt + updateCount * 1_000_000);
    };
    await waitFor('the standby streams', async () => {
      const rows = await query(servers.primary, `select from pg_stat_replication where state = 'streaming'`);
      return rows.length === 1 ? true : undefined;
    });
    // The standby is first, so the indexer must recognize that it is not the primary.
    const bothServersUrl = new URL(servers.standby);
    const url = bothServersUrl.href.replace(
      bothServersUrl.host,
      `${bothServersUrl.host},${new URL(servers.primary).host}`,
    );
    const env = { LEDGER_URL: sandbox.url, INDEXER_START: 'genesis', INDEXER_LEASE: '2s' };
    {
      await using indexer = await runIndexer({ ...env, DATABASE_URL: url });
      growLedger(200);
      await indexer.reaches(sandbox.ledger.ledgerEnd());
      // Commits after this point are lost when the primary crashes.
      await query(servers.standby, 'select pg_wal_replay_pause()');
      growLedger(100);
      await indexer.reaches(sandbox.ledger.ledgerEnd());
      servers.crash();
      await pause(200);
      const startMs = performance.now();
      await query(servers.standby, 'select pg_wal_replay_resume()');
      // Does not wait, because a statement that waits for the end of the recovery can block the recovery.
      await query(servers.standby, 'select pg_promote(false)');
      growLedger(50);
      const end = sandbox.ledger.ledgerEnd();
      await waitFor('the new primary has everything', async () => {
        const [row] = await query(servers.standby, 'select checkpoint from ledger.stream');
        return Number(row?.['checkpoint']) >= end ? true : undefined;
      });
      process.stdout.write(
        `failover: everything stored ${Math.round(performance.now() - startMs)} ms after the promotion\n`,
      );
    }
    await using calmIndexer = await runIndexer({ ...env, DATABASE_URL: servers.standby, POSTGRES_SCHEMA: 'calm' });
    await calmIndexer.reaches(sandbox.ledger.ledgerEnd());
    expect(await digestOf(servers.standby, 'ledger')).toBe(await digestOf(servers.standby, 'calm'));
    await sandbox.close();
  });
});
