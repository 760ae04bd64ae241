/** A database of one's own on the server of the test run: tests never see each other's rows. */
import { randomBytes } from 'node:crypto';
import { Client } from 'pg';

export interface TestDatabase {
  readonly url: string;
  /** Removes the database, closing connections that are still open. Can be called again. */
  drop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A UTF-8 database with a name of its own: empty, or a copy of one that nobody is connected to. */
export async function createTestDatabase(template = 'template0'): Promise<TestDatabase> {
  const server = process.env['TEST_POSTGRES_URL'];
  if (server === undefined) throw new Error('TEST_POSTGRES_URL is not set: run the tests with vitest');
  const name = `test_${randomBytes(8).toString('hex')}`;
  await query(server, `CREATE DATABASE ${name} ENCODING 'UTF8' TEMPLATE ${template}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  const drop = async (): Promise<void> => {
    await query(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  };
  return { url: url.href, drop, [Symbol.asyncDispose]: drop };
}

/** One statement on a connection of its own, as the role of the URL; its rows. */
export async function query(url: string, text: string): Promise<readonly Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}
