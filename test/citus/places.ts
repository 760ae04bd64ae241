/** Creates schemas on a plain server and, if available, on Citus. Tests do the same on both and compare the results. */
import { Client, escapeIdentifier } from 'pg';
import { afterAll, beforeAll } from 'vitest';
import { openDatabase, type Database } from '../../src/store/connection/database.ts';
import { readSchemas } from '../../src/store/connection/read-schemas.ts';
import type { Distribution } from '../../src/store/schema/distribution.ts';
import { migrate } from '../../src/store/schema/migrations.ts';
import { openSession } from '../../src/store/write/session.ts';
import { createTestDatabase } from '../support/database.ts';
import { text, type JsonRecord } from '../support/frames.ts';
import { identity } from '../support/schemas.ts';
import { decodeUpdate } from '../support/wire/decode.ts';

/** URL of a database on a Citus coordinator with workers. Its role may create schemas. */
export const citusUrl = process.env['TEST_CITUS_URL'];

/**
 * Command that kills a worker with SIGKILL and restarts it before it returns. The number of the worker (0 or 1) is
 * appended.
 */
export const killCommand = process.env['TEST_CITUS_KILL'];

export const citusSkipReason =
  citusUrl === undefined ? 'needs Citus (TEST_CITUS_URL names a database of a coordinator with workers)' : undefined;
export const killSkipReason =
  killCommand === undefined ? 'needs a command that kills a Citus worker (TEST_CITUS_KILL)' : undefined;

/**
 * Lets one test file at a time use the Citus server: files use the same schemas, and one of them kills the workers of
 * all. To be called once in a file, outside of tests.
 */
export function takeTurn(): void {
  if (citusUrl === undefined) return;
  const client = new Client({ connectionString: citusUrl });
  beforeAll(async () => {
    await client.connect();
    await client.query(`select pg_advisory_lock(hashtext('test/citus'))`);
  }, 1_800_000);
  afterAll(() => client.end());
}

export interface CitusPlace extends AsyncDisposable {
  readonly url: string;
  readonly schema: string;
  readonly database: Database;
  /** Runs a statement in which unqualified names refer to the schema of the indexer. */
  query(sql: string, values?: unknown[]): Promise<readonly Record<string, unknown>[]>;
  /** Writes frames of a history that are not stored yet, in batches of `batchSize` updates, over two connections. */
  write(frames: readonly JsonRecord[], batchSize: number): Promise<void>;
}

/** A migrated schema on plain Postgres. @param isBegun whether its stream begins at genesis, as `write` requires */
export async function plainPlace(schema: string, isBegun = true): Promise<CitusPlace> {
  const testDatabase = await createTestDatabase();
  return openCitusPlace(testDatabase.url, schema, { drop: () => testDatabase.drop(), begun: isBegun });
}

/** A migrated schema that is distributed over the workers. */
export async function citusPlace(url: string, schema: string, shards: number, isBegun = true): Promise<CitusPlace> {
  await dropSchemas(url, schema);
  return openCitusPlace(url, schema, {
    drop: () => dropSchemas(url, schema),
    begun: isBegun,
    distribution: { shards },
  });
}

interface PlaceOptions {
  readonly drop: () => Promise<void>;
  readonly begun: boolean;
  readonly distribution?: Distribution;
}

async function openCitusPlace(
  url: string,
  schema: string,
  { drop, begun: isBegun, distribution }: PlaceOptions,
): Promise<CitusPlace> {
  const database = openDatabase({ url, schema, statementTimeoutMs: 60_000, applicationName: 'test' });
  await migrate(database, { distribution });
  if (isBegun) await (await openSession(database, identity)).publishSeed(0, 'genesis');
  const reader = new Client({ connectionString: url });
  await reader.connect();
  await reader.query(`set search_path to ${escapeIdentifier(schema)}`);
  return {
    url,
    schema,
    database,
    query: async (sql, values) => (await reader.query<Record<string, unknown>>(sql, values)).rows,
    write: (frames, batchSize) => writeAll(database, frames, batchSize),
    [Symbol.asyncDispose]: async () => {
      await reader.end();
      await database.close();
      await drop();
    },
  };
}

/** The offsets of the frames are 1, 2, 3 …, so the checkpoint equals the number of stored frames. */
async function writeAll(database: Database, frames: readonly JsonRecord[], batchSize: number): Promise<void> {
  const session = await openSession(database, identity);
  let checkpoint = session.state.checkpoint ?? 0;
  let whenPrevious: Promise<unknown> | undefined;
  while (checkpoint < frames.length) {
    const batch = session.newBatch(checkpoint);
    for (const frame of frames.slice(checkpoint, checkpoint + batchSize)) batch.add(decodeUpdate(text(frame)));
    const whenWritten = session.writeBatch(batch, checkpoint, whenPrevious);
    // The caller awaits `whenWritten` and gets the error. Before that, an unhandled rejection must not end the process.
    whenWritten.catch(() => undefined);
    await whenPrevious;
    whenPrevious = whenWritten;
    checkpoint = batch.offset;
  }
  await whenPrevious;
}

/** Drops the schema and the schemas for readers that were created with it. */
async function dropSchemas(url: string, schemaName: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query('set client_min_messages to error');
    for (const schema of Object.values(readSchemas(schemaName))) {
      await client.query(`drop schema if exists ${escapeIdentifier(schema)} cascade`);
    }
  } finally {
    await client.end();
  }
}
