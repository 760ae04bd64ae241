/** Creates a separate database for each test on the server of the test run, so that tests do not share rows. */
import { randomBytes } from 'node:crypto';
import { Client, DatabaseError } from 'pg';

export interface TestDatabase {
  readonly url: string;
  /** Removes the database, and closes connections that are still open. May be called again. */
  drop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Creates a UTF-8 database with a unique name: empty, or a copy of a database without connections. */
export async function createTestDatabase(template = 'template0'): Promise<TestDatabase> {
  const server = process.env['TEST_POSTGRES_URL'];
  if (server === undefined) throw new Error('TEST_POSTGRES_URL is not set: run the tests with vitest');
  const name = `test_${randomBytes(8).toString('hex')}`;
  await query(server, `CREATE DATABASE ${name} ENCODING 'UTF8' TEMPLATE ${template}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  const drop = (): Promise<void> => dropDatabase(server, name);
  return { url: url.href, drop, [Symbol.asyncDispose]: drop };
}

/** SQLSTATE of a rejected drop because the database has sessions. */
const objectInUse = '55006';

/**
 * Removes a database with its sessions, if it exists. Postgres waits five seconds for these sessions to end. On a busy
 * machine this may take longer, so the drop is tried up to ten times.
 */
export async function dropDatabase(server: string, name: string): Promise<void> {
  for (let remainingAttempts = 9; ; remainingAttempts -= 1) {
    try {
      await query(server, `drop database if exists ${name} with (force)`);
      return;
    } catch (error) {
      if (remainingAttempts === 0 || !(error instanceof DatabaseError) || error.code !== objectInUse) throw error;
    }
  }
}

/** Runs one statement as the role of the URL, in a session that runs no other statement. Resolves to its rows. */
export async function query(url: string, text: string): Promise<readonly Record<string, unknown>[]> {
  if (!/^\s*(select|with)\b[^;]*;?\s*$/i.test(text)) return queryOnce(url, text);
  const client = takePending(url) ?? (await connected(url));
  try {
    const { rows } = await client.query<Record<string, unknown>>(text);
    keepPending(url, client);
    return rows;
  } catch (error) {
    void client.end();
    // The server may have ended the session while it was idle. If there was another reason, a new session fails too.
    if (error instanceof DatabaseError && error.code !== adminShutdown) throw error;
    return queryOnce(url, text);
  }
}

async function queryOnce(url: string, text: string): Promise<readonly Record<string, unknown>[]> {
  const client = await connected(url);
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}

async function connected(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  client.on('error', () => forgetClient(url, client));
  await client.connect();
  return client;
}

/** SQLSTATE of a session that an administrator ended. */
const adminShutdown = '57P01';

/**
 * Idle sessions for the next read, by URL. They are reused because tests repeat a statement until an event has
 * happened. Opening a session takes 15 ms of CPU time, and running the statement takes 1 ms.
 */
const pendingDrops = new Map<string, readonly PendingDrop[]>();

interface PendingDrop {
  readonly client: Client;
  readonly end: NodeJS.Timeout;
}

/** How long a session stays idle before it is closed, in milliseconds. */
const WAIT_MS = 1_000;

function keepPending(url: string, client: Client): void {
  const end = setTimeout(() => {
    forgetClient(url, client);
    void client.end();
  }, WAIT_MS).unref();
  pendingDrops.set(url, [...(pendingDrops.get(url) ?? []), { client, end }]);
}

function takePending(url: string): Client | undefined {
  const last = pendingDrops.get(url)?.at(-1);
  if (last !== undefined) forgetClient(url, last.client);
  return last?.client;
}

function forgetClient(url: string, client: Client): void {
  const dropQueue = pendingDrops.get(url) ?? [];
  clearTimeout(dropQueue.find((pending) => pending.client === client)?.end);
  pendingDrops.set(
    url,
    dropQueue.filter((pending) => pending.client !== client),
  );
}
