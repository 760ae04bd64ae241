/**
 * Two hosts in DATABASE_URL: a real primary and a real streaming standby, which is promoted when the primary dies. The
 * daemon finds the one that takes writes, and fills up from the ledger what the standby had not received.
 */
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { chooseAccount } from '../../packages/embedded-postgres/src/account.ts';
import { findBinaries } from '../../packages/embedded-postgres/src/binaries.ts';
import { openCluster } from '../../packages/embedded-postgres/src/cluster.ts';
import { startEmbeddedPostgres, freePort } from '../../packages/embedded-postgres/src/embedded-postgres.ts';
import { startProgram } from '../../packages/embedded-postgres/src/run-program.ts';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import { Steps } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { runIndexer } from '../e2e/runs/indexer-run.ts';
import { query } from '../support/database.ts';
import { digestOf } from '../support/digest.ts';
import { pause, waitFor } from '../support/wait-for.ts';

const startAt = Date.UTC(2026, 0, 5, 8) * 1000;

interface Servers extends AsyncDisposable {
  readonly primary: string;
  readonly standby: string;
  /** Ends the primary without a goodbye, as a crash does. */
  crash(): void;
}

async function startServers(): Promise<Servers> {
  const folder = await mkdtemp(join(tmpdir(), 'ledger-indexer-failover-'));
  const [first, second] = [join(folder, 'first'), join(folder, 'second')];
  await (await startEmbeddedPostgres({ dataDir: first })).stop();
  // The server is stopped: a copy of its files is a base backup.
  await cp(first, second, { recursive: true, preserveTimestamps: true });
  await writeFile(join(second, 'cluster', 'standby.signal'), '');
  const primary = await startEmbeddedPostgres({ dataDir: first });
  const { password, username } = new URL(primary.url);
  const account = chooseAccount();
  const place = { account, binaries: await findBinaries(account, join(second, 'links')) };
  const cluster = await openCluster(place, second);
  const port = await freePort();
  const upstream = `host=127.0.0.1 port=${String(primary.port)} user=${username} password=${password}`;
  const settings = [
    `port=${String(port)}`,
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    `primary_conninfo=${upstream}`,
  ];
  const args = ['-D', cluster.name, ...settings.flatMap((setting) => ['-c', setting])];
  const child = startProgram(place, place.binaries.postgres, args, cluster.folder);
  for (const output of [child.stdout, child.stderr]) output?.resume();
  const standby = new URL(primary.url);
  standby.port = String(port);
  return {
    primary: primary.url,
    standby: standby.href,
    crash: () => {
      process.kill(primary.pid, 'SIGQUIT');
    },
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGQUIT');
      await primary.stop();
      await waitFor('the standby has ended', () =>
        child.exitCode === null && child.signalCode === null ? undefined : true,
      );
      await rm(folder, { recursive: true, force: true });
    },
  };
}

describe('a database URL with two hosts', { timeout: 180_000 }, () => {
  it('leads to the primary, and to the promoted standby after the primary has died', async () => {
    await using servers = await startServers();
    const sandbox = await startSandbox({ seed: 8, now: () => startAt / 1000, limits: { checkpointIntervalMs: 50 } });
    const steps = new Steps(sandbox.ledger, 8);
    let made = 0;
    const grow = (updates: number): void => {
      for (const end = made + updates; made < end; made += 1) steps.step(startAt + made * 1_000_000);
    };
    await waitFor('the standby streams', async () => {
      const rows = await query(servers.primary, `select from pg_stat_replication where state = 'streaming'`);
      return rows.length === 1 ? true : undefined;
    });
    // The standby comes first: it must be found to be the wrong one.
    const both = new URL(servers.standby);
    const url = both.href.replace(both.host, `${both.host},${new URL(servers.primary).host}`);
    const env = { LEDGER_URL: sandbox.url, INDEXER_START: 'genesis', INDEXER_LEASE: '2s' };
    {
      await using indexer = await runIndexer({ ...env, DATABASE_URL: url });
      grow(200);
      await indexer.reaches(sandbox.ledger.ledgerEnd());
      // What it has committed since is lost with the primary.
      await query(servers.standby, 'select pg_wal_replay_pause()');
      grow(100);
      await indexer.reaches(sandbox.ledger.ledgerEnd());
      servers.crash();
      await pause(200);
      const started = performance.now();
      await query(servers.standby, 'select pg_wal_replay_resume()');
      // Without waiting: a statement that waits for the end of the recovery can be what the recovery waits for.
      await query(servers.standby, 'select pg_promote(false)');
      grow(50);
      const end = sandbox.ledger.ledgerEnd();
      await waitFor('the new primary has everything', async () => {
        const [row] = await query(servers.standby, 'select checkpoint from ledger.stream');
        return Number(row?.['checkpoint']) >= end ? true : undefined;
      });
      process.stdout.write(
        `failover: everything stored ${Math.round(performance.now() - started)} ms after the promotion\n`,
      );
    }
    await using calm = await runIndexer({ ...env, DATABASE_URL: servers.standby, POSTGRES_SCHEMA: 'calm' });
    await calm.reaches(sandbox.ledger.ledgerEnd());
    expect(await digestOf(servers.standby, 'ledger')).toBe(await digestOf(servers.standby, 'calm'));
    await sandbox.close();
  });
});
