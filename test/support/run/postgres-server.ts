/**
 * The Postgres server of a test run. It is chosen once and reported in one line: TEST_DATABASE_URL if set, otherwise a
 * container (if TEST_POSTGRES=testcontainers or an engine has the image), otherwise the embedded server.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PostgreSqlContainer } from '@testcontainers/postgresql';
import { getContainerRuntimeClient, Wait } from 'testcontainers';
import type { TestProject } from 'vitest/node';
import { startEmbeddedPostgres } from '../../../packages/embedded-postgres/src/embedded-postgres.ts';
import { dropDatabase, query } from '../database.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Connection URL of a role that may create databases. */
    postgresUrl: string;
  }
}

interface Server {
  readonly kind: string;
  readonly url: string;
  stop(): Promise<void>;
}

const IMAGE = process.env['TEST_POSTGRES_IMAGE'] ?? 'postgres:17-alpine';

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startServer();
  process.stdout.write(`tests use ${server.kind}: Postgres ${await versionOf(server.url)}\n`);
  process.env['TEST_POSTGRES_URL'] = server.url;
  const templates = `template_${randomBytes(8).toString('hex')}`;
  process.env['TEST_POSTGRES_TEMPLATES'] = templates;
  project.provide('postgresUrl', server.url);
  return async () => {
    // The server may outlive the run, so the templates are dropped.
    const remainingDatabases = await query(
      server.url,
      `select datname from pg_database where starts_with(datname, '${templates}')`,
    );
    for (const { datname } of remainingDatabases) await dropDatabase(server.url, String(datname));
    await server.stop();
  };
}

async function startServer(): Promise<Server> {
  const configuredUrl = process.env['TEST_DATABASE_URL'];
  if (configuredUrl !== undefined && configuredUrl !== '')
    return { kind: 'TEST_DATABASE_URL', url: configuredUrl, stop: async () => undefined };
  const requestedKind = process.env['TEST_POSTGRES'];
  if (requestedKind === 'testcontainers' || (requestedKind !== 'embedded' && (await hasImage())))
    return startContainer();
  return startEmbedded();
}

async function hasImage(): Promise<boolean> {
  try {
    const client = await getContainerRuntimeClient();
    const images = await client.container.dockerode.listImages();
    return images.some((image) => image.RepoTags?.includes(IMAGE));
  } catch {
    return false;
  }
}

async function startContainer(): Promise<Server> {
  const container = await new PostgreSqlContainer(IMAGE)
    // The image starts a first server to prepare the data. The second ready message is from the final server.
    .withWaitStrategy(Wait.forLogMessage(/database system is ready to accept connections/, 2))
    .start();
  return {
    kind: `testcontainers (${IMAGE})`,
    url: container.getConnectionUri(),
    stop: async () => {
      await container.stop();
    },
  };
}

async function startEmbedded(): Promise<Server> {
  const folder = await mkdtemp(join(tmpdir(), 'ledger-indexer-test-'));
  const server = await startEmbeddedPostgres({
    dataDir: join(folder, 'postgres'),
    // The buffers are small, because several servers may run at once, and Postgres scans all buffers for each truncate.
    settings: { max_connections: '200', shared_buffers: '128MB', max_wal_size: '1GB' },
  });
  const onAbort = (): void => {
    try {
      process.kill(server.pid, 'SIGKILL');
    } catch {
      // The server has already ended.
    }
    rmSync(folder, { recursive: true, force: true });
  };
  process.once('exit', onAbort);
  const guard = guardOf(folder, server.pid);
  // Vitest stops no server on a signal. In addition, a library kills the process if there is no other listener.
  for (const [signal, code] of [
    ['SIGTERM', 143],
    ['SIGINT', 130],
    ['SIGHUP', 129],
  ] as const) {
    process.once(signal, () => process.exit(code));
  }
  return {
    kind: 'the embedded server',
    url: server.url,
    stop: async () => {
      guard.kill();
      await server.stop();
      process.removeListener('exit', onAbort);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Starts a shell that ends the server when this process has ended. After SIGKILL, this process cannot do it. */
function guardOf(folder: string, pid: number): ChildProcess {
  const endScript =
    'cat >/dev/null; [ "$(head -n 1 "$1/postgres/cluster/postmaster.pid")" = "$2" ] && kill -9 "$2"; rm -rf "$1"';
  const guard = spawn('sh', ['-c', endScript, 'sh', folder, String(pid)], {
    // The guard's end of the pipe is closed when this process has ended for any reason. The guard ignores signals of
    // the terminal.
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  guard.unref();
  if (guard.stdin instanceof Socket) guard.stdin.unref();
  return guard;
}

async function versionOf(url: string): Promise<string> {
  const [row] = await query(url, 'SHOW server_version');
  return String(row?.['server_version']);
}
