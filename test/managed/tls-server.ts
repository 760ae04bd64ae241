/** A Postgres server that accepts only encrypted connections and few of them, as managed services do. */
import { chmodSync, copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../../packages/embedded-postgres/src/embedded-postgres.ts';
import { query } from '../support/database.ts';
import { createServerFiles, startServer } from '../support/packaged/server.ts';

const certificates = join(import.meta.dirname, '../support/certificates');

export interface TlsServer extends AsyncDisposable {
  /** Major version. */
  readonly version: number;
  /** Encrypted URL of a role in a database; by default of the superuser. */
  url(database: string, role?: string, password?: string): string;
}

/** Starts the embedded server or the newest packaged one. */
export async function startTlsServer(kind: 'embedded' | 'packaged'): Promise<TlsServer> {
  const folder = mkdtempSync(join(tmpdir(), 'managed-postgres-'));
  chmodSync(folder, 0o755);
  for (const name of ['server.pem', 'server-key.pem', 'ca.pem'])
    copyFileSync(join(certificates, name), join(folder, name));
  // The superuser of the service may connect without encryption.
  const access = 'host postgres postgres 127.0.0.1/32 scram-sha-256\nhostssl all all 127.0.0.1/32 scram-sha-256\n';
  writeFileSync(join(folder, 'pg_hba.conf'), access);
  for (const name of ['server-key.pem', 'pg_hba.conf']) chmodSync(join(folder, name), 0o600);
  const settings = {
    ssl: 'on',
    ssl_cert_file: join(folder, 'server.pem'),
    ssl_key_file: join(folder, 'server-key.pem'),
    ssl_ca_file: join(folder, 'ca.pem'),
    hba_file: join(folder, 'pg_hba.conf'),
    max_connections: '60',
    max_wal_size: '1GB',
    shared_buffers: '128MB',
  };
  const started = kind === 'embedded' ? await embedded(folder, settings) : await packaged(folder, settings);
  const url: TlsServer['url'] = (database, role, password) => {
    const built = new URL(started.url);
    built.pathname = `/${database}`;
    if (role !== undefined) [built.username, built.password] = [role, password ?? ''];
    built.searchParams.set('sslmode', 'verify-full');
    built.searchParams.set('sslrootcert', join(certificates, 'ca.pem'));
    return built.href;
  };
  const [row] = await query(url('postgres'), `select current_setting('server_version_num')::int / 10000 as version`);
  return {
    version: Number(row?.['version']),
    url,
    [Symbol.asyncDispose]: async () => {
      await started.server[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

type Settings = Readonly<Record<string, string>>;

async function embedded(folder: string, settings: Settings): Promise<{ url: string; server: AsyncDisposable }> {
  const server = await startEmbeddedPostgres({ dataDir: join(folder, 'data'), settings });
  return { url: server.url, server };
}

async function packaged(folder: string, settings: Settings): Promise<{ url: string; server: AsyncDisposable }> {
  await createServerFiles(join(folder, 'data'));
  const server = await startServer(join(folder, 'data'), settings);
  return { url: server.url('postgres'), server };
}
