/** A real primary and a real streaming standby. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { chooseAccount } from '../../packages/embedded-postgres/src/account.ts';
import { findBinaries } from '../../packages/embedded-postgres/src/binaries.ts';
import { openCluster } from '../../packages/embedded-postgres/src/cluster.ts';
import { startEmbeddedPostgres, freePort } from '../../packages/embedded-postgres/src/embedded-postgres.ts';
import { startProgram } from '../../packages/embedded-postgres/src/run-program.ts';
import { waitFor } from '../support/wait-for.ts';

export interface Servers extends AsyncDisposable {
  readonly primary: string;
  readonly standby: string;
  /** Ends the primary without a shutdown, as a crash would. */
  crash(): void;
}

/** Starts both servers. The standby may not have caught up yet. */
export async function startServers(): Promise<Servers> {
  const folder = await mkdtemp(join(tmpdir(), 'ledger-indexer-failover-'));
  const [first, second] = [join(folder, 'first'), join(folder, 'second')];
  await (await startEmbeddedPostgres({ dataDir: first })).stop();
  // The files of a stopped server are a base backup. Copying them with Node would take six times the CPU time.
  await promisify(execFile)('cp', ['-Rp', first, second]);
  await writeFile(join(second, 'cluster', 'standby.signal'), '');
  const primary = await startEmbeddedPostgres({ dataDir: first });
  const { password, username } = new URL(primary.url);
  const account = chooseAccount();
  const installation = { account, binaries: await findBinaries(account, join(second, 'links')) };
  const cluster = await openCluster(installation, second);
  const port = await freePort();
  const upstream = `host=127.0.0.1 port=${String(primary.port)} user=${username} password=${password}`;
  const settings = [
    `port=${String(port)}`,
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    `primary_conninfo=${upstream}`,
  ];
  const args = ['-D', cluster.name, ...settings.flatMap((setting) => ['-c', setting])];
  const child = startProgram(installation, installation.binaries.postgres, args, cluster.folder);
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
