/** The Postgres server of a run of the suite, and its databases. Each test run gets a migrated, empty database. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, escapeIdentifier, escapeLiteral } from 'pg';
import { startEmbeddedPostgres } from '../../packages/embedded-postgres/src/embedded-postgres.ts';
import { openDatabase } from '../../src/store/connection/database.ts';
import { migrate } from '../../src/store/schema/migrations.ts';
import { pause } from '../support/wait-for.ts';

/** Schema of the tables in every database. */
export const schema = 'ledger';

/** The suite does not test the disk. A server that never waits for the disk can handle more runs. */
const settings = {
  max_connections: '300',
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  shared_buffers: '256MB',
  autovacuum: 'off',
  max_wal_size: '4GB',
};

export interface ChaosServer extends AsyncDisposable {
  readonly host: string;
  readonly port: number;
  /** Returns a migrated, empty database. It is either new, or was used before and then emptied. */
  lend(): Promise<ChaosDatabase>;
}

export interface ChaosDatabase {
  readonly url: string;
  readonly name: string;
  /** The test's own connection. */
  readonly client: Client;
  /** A second connection, for concurrent statements. */
  readonly aside: Client;
  /** Ends every other connection to the database; resolves when all have ended. */
  endOthers(): Promise<void>;
  /** Deletes all rows. */
  empty(): Promise<void>;
  giveBack(): void;
}

/** @param url of a server on which databases may be created; if absent, an embedded server is started */
export async function openChaosServer(url?: string): Promise<ChaosServer> {
  const embeddedServer = url === undefined ? await startEmbedded() : undefined;
  const address = embeddedServer?.url ?? url ?? '';
  const admin = await clientOf(address);
  if (embeddedServer !== undefined) await reduceLoginCost(admin, address);
  const template = await createDatabase(admin, address, 'template0');
  await migrateDatabase(template.url);
  let whenCreated: Promise<CreatedDatabase> = Promise.resolve(template);
  const spareDatabases: ChaosDatabase[] = [];
  const databases: ChaosDatabase[] = [];
  return {
    host: new URL(address).hostname,
    port: Number(new URL(address).port || 5432),
    lend: async () => {
      const spareDatabase = spareDatabases.pop();
      if (spareDatabase !== undefined) {
        await spareDatabase.endOthers();
        await spareDatabase.empty();
        return spareDatabase;
      }
      // The copies are made sequentially, because a database must not be the template of two copies at the same time.
      whenCreated = whenCreated.then(() => createDatabase(admin, address, template.name));
      const clone = await whenCreated;
      const clients = { client: await clientOf(clone.url), aside: await clientOf(clone.url, 'chaos aside') };
      const database = chaosDatabase(clone, clients, (returnedDatabase) => spareDatabases.push(returnedDatabase));
      databases.push(database);
      return database;
    },
    [Symbol.asyncDispose]: async () => {
      for (const { client, aside: controlClient, name } of databases) {
        await client.end();
        await controlClient.end();
        await admin.query(`drop database if exists ${name} with (force)`);
      }
      await admin.query(`drop database if exists ${template.name} with (force)`);
      await admin.end();
      await embeddedServer?.stop();
    },
  };
}

async function startEmbedded(): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'ledger-indexer-chaos-'));
  const server = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres'), settings });
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  // A run with an injected bug may crash. Its server must not outlive it.
  const onAbort = (): void => {
    try {
      process.kill(server.pid, 'SIGKILL');
    } catch {
      // The server has ended before this process.
    }
    remove();
  };
  process.once('exit', onAbort);
  return {
    url: server.url,
    stop: async () => {
      await server.stop();
      process.removeListener('exit', onAbort);
      remove();
    },
  };
}

async function clientOf(url: string, name = 'chaos'): Promise<Client> {
  const client = new Client({ connectionString: url, application_name: name });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/** Thousands of connections are opened, and password checks are slow by design. */
async function reduceLoginCost(admin: Client, address: string): Promise<void> {
  const { username, password } = new URL(address);
  await admin.query('set scram_iterations = 1');
  const secret = escapeLiteral(decodeURIComponent(password));
  await admin.query(`alter role ${escapeIdentifier(decodeURIComponent(username))} password ${secret}`);
}

interface CreatedDatabase {
  readonly name: string;
  readonly url: string;
}

let createdCount = 0;

async function createDatabase(admin: Client, address: string, template: string): Promise<CreatedDatabase> {
  createdCount += 1;
  const name = `chaos_${String(process.pid)}_${String(createdCount)}`;
  await admin.query(`create database ${name} template ${template}`);
  const url = new URL(address);
  url.pathname = `/${name}`;
  return { name, url: url.href };
}

async function migrateDatabase(url: string): Promise<void> {
  const database = openDatabase({ url, schema, statementTimeoutMs: 60_000, applicationName: 'chaos migrations' });
  try {
    await migrate(database);
  } finally {
    await database.close();
  }
}

const endOtherSessions = `select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and application_name not in ('chaos', 'chaos aside')
    and backend_type = 'client backend'`;

function chaosDatabase(
  { name, url }: CreatedDatabase,
  { client, aside: controlClient }: { readonly client: Client; readonly aside: Client },
  release: (database: ChaosDatabase) => void,
): ChaosDatabase {
  let truncate: string | undefined;
  const database: ChaosDatabase = {
    url,
    name,
    client,
    aside: controlClient,
    endOthers: async () => {
      // `pg_terminate_backend` could wait for the end itself, but it checks only ten times per second.
      while ((await client.query(endOtherSessions)).rowCount !== 0) await pause(1);
    },
    empty: async () => {
      truncate ??= await truncation(client);
      await client.query(truncate);
    },
    giveBack: () => {
      release(database);
    },
  };
  return database;
}

async function truncation(client: Client): Promise<string> {
  const { rows } = await client.query<{ name: string }>(
    `select c.oid::regclass::text as name from pg_class c
      where c.relnamespace = $1::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
        and c.relname not like '%migration%'`,
    [escapeIdentifier(schema)],
  );
  return `truncate ${rows.map(({ name }) => name).join(', ')}`;
}
