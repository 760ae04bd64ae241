/** The Postgres server under attack: an existing one, or an embedded one. The suite creates a database on it. */
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, escapeIdentifier } from 'pg';
import { startEmbeddedPostgres } from '../../../packages/embedded-postgres/src/embedded-postgres.ts';

export interface Server extends AsyncDisposable {
  /** Whether the server was started for this run, so that attempts may exhaust its shared resources. */
  readonly isOwn: boolean;
  readonly version: string;
  /** Creates an empty database; returns its URL for a superuser. */
  createDatabase(): Promise<string>;
  dropDatabase(url: string): Promise<void>;
  /** Roles whose names begin with this prefix are dropped at the end. */
  readonly rolePrefix: string;
}

/** @param superuserUrl URL of a superuser; if absent, an embedded server is started */
export async function openServer(superuserUrl: string | undefined): Promise<Server> {
  const embeddedServer = superuserUrl === undefined ? await startEmbedded() : undefined;
  const address = superuserUrl ?? embeddedServer?.url ?? '';
  const admin = await connected(address);
  const { rows } = await admin.query<{ version: string; isSuperuser: boolean }>(
    `select current_setting('server_version') as version, current_setting('is_superuser')::boolean as "isSuperuser"`,
  );
  if (rows[0]?.isSuperuser !== true) throw new Error('the role of the database URL must be a superuser');
  const rolePrefix = `attack_${randomBytes(3).toString('hex')}`;
  const createdDatabases = new Set<string>();
  const dropDatabase = async (url: string): Promise<void> => {
    createdDatabases.delete(url);
    await admin.query(`drop database if exists ${escapeIdentifier(new URL(url).pathname.slice(1))} with (force)`);
  };
  return {
    isOwn: superuserUrl === undefined,
    version: rows[0].version,
    rolePrefix,
    createDatabase: async () => {
      const name = `${rolePrefix}_${randomBytes(3).toString('hex')}`;
      await admin.query(`create database ${name} encoding 'UTF8' template template0`);
      const url = new URL(address);
      url.pathname = `/${name}`;
      createdDatabases.add(url.href);
      return url.href;
    },
    dropDatabase,
    [Symbol.asyncDispose]: async () => {
      const logins = await tokenLogins(createdDatabases);
      for (const url of createdDatabases) await dropDatabase(url);
      for (const role of [...(await rolesOf(admin, rolePrefix)), ...logins]) {
        await admin.query(`drop role if exists ${escapeIdentifier(role)}`);
      }
      await admin.end();
      await embeddedServer?.stop();
    },
  };
}

/** Opens a connection for the suite. Errors of an idle connection do not end the process. */
export async function connected(url: string, name = 'attack suite'): Promise<Client> {
  const client = new Client({ connectionString: url, application_name: name });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/** Logins that `reader-token create` created. Their names are random. */
async function tokenLogins(urls: ReadonlySet<string>): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const url of urls) {
    const client = await connected(url);
    try {
      const { rows } = await client.query<{ name: string }>('select login_name as name from ledger.reader_tokens');
      problems.push(...rows.map(({ name }) => name));
    } catch {
      // The database has no tables yet.
    } finally {
      await client.end();
    }
  }
  return problems;
}

async function rolesOf(admin: Client, prefix: string): Promise<readonly string[]> {
  const { rows } = await admin.query<{ name: string }>(
    'select rolname as name from pg_roles where starts_with(rolname, $1)',
    [prefix],
  );
  return rows.map(({ name }) => name);
}

async function startEmbedded(): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'ledger-indexer-attack-'));
  const server = await startEmbeddedPostgres({
    dataDir: join(folder, 'postgres'),
    // The smallest notification queue: filling it has the same effect as filling the default of 8 GB.
    settings: { max_notify_queue_pages: '64', shared_buffers: '64MB' },
  });
  const onAbort = (): void => {
    try {
      process.kill(server.pid, 'SIGKILL');
    } catch {
      // The server has ended.
    }
    rmSync(folder, { recursive: true, force: true });
  };
  process.once('exit', onAbort);
  return {
    url: server.url,
    stop: async () => {
      await server.stop();
      process.removeListener('exit', onAbort);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
