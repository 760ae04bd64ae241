/** A migrated database with its read side, for tests of the views and functions of readers. */
import { Client, escapeIdentifier } from 'pg';
import { decodeActiveContract, decodeUpdate } from '../support/wire/decode.ts';
import { openDatabase } from '../../src/store/connection/database.ts';
import { migrate } from '../../src/store/schema/migrations.ts';
import { openSession } from '../../src/store/write/session.ts';
import { createTestDatabase } from '../support/database.ts';
import { text, type JsonRecord } from '../support/frames.ts';
import { createMigratedDatabase } from '../support/migrated-database.ts';
import { identity } from '../support/schemas.ts';

export interface ReadDatabase extends AsyncDisposable {
  readonly url: string;
  /**
   * Rows of a statement on a connection like those of readers, with planner settings. Unqualified names belong to the
   * storage schema.
   */
  query<T extends object = Record<string, unknown>>(sql: string, values?: unknown[]): Promise<readonly T[]>;
  /** The plan that Postgres makes for a statement, as text. */
  plan(sql: string): Promise<string>;
  /** Writes frames like the indexer, one batch per frame. */
  write(...frames: readonly JsonRecord[]): Promise<void>;
  /** Writes frames as one batch. */
  writeTogether(frames: readonly JsonRecord[]): Promise<void>;
  /** Quarantines an update that could not be stored. */
  quarantine(offset: number): Promise<void>;
}

/** Where history begins, with the contracts that are active there. */
export interface StreamStart {
  readonly offset: number;
  /** Active contracts as frames. */
  readonly entries: readonly JsonRecord[];
}

/**
 * Creates a database with the storage schema `schema`. The stream is published from genesis, so that frames with any
 * offset from 1 can be written, or from a seed, so that later offsets can be written.
 */
export async function createReadDatabase(schema = 'ledger', seed?: StreamStart): Promise<ReadDatabase> {
  const testDatabase = await (schema === 'ledger' ? createMigratedDatabase(['ledger']) : createTestDatabase());
  const database = openDatabase({
    url: testDatabase.url,
    schema,
    statementTimeoutMs: 120_000,
    applicationName: 'test',
  });
  await migrate(database);
  const session = await openSession(database, identity);
  let checkpoint = seed?.offset ?? 0;
  if (seed === undefined) await session.publishSeed(0, 'genesis');
  else await writeSeed(session, seed);
  const writeInOneBatch = async (frames: readonly JsonRecord[]): Promise<void> => {
    const batch = session.newBatch(checkpoint);
    for (const frame of frames) batch.add(decodeUpdate(text(frame)));
    await session.writeBatch(batch, checkpoint);
    checkpoint = batch.offset;
  };
  const reader = new Client({ connectionString: testDatabase.url });
  await reader.connect();
  await reader.query(`set search_path to ${escapeIdentifier(schema)}`);
  const query: ReadDatabase['query'] = async <T extends object>(sql: string, values?: unknown[]) =>
    (await reader.query<T>(sql, values)).rows;
  return {
    url: testDatabase.url,
    query,
    plan: async (sql) =>
      (await query<{ 'QUERY PLAN': string }>(`explain (costs off) ${sql}`)).map((row) => row['QUERY PLAN']).join('\n'),
    write: async (...frames) => {
      for (const frame of frames) await writeInOneBatch([frame]);
    },
    writeTogether: writeInOneBatch,
    quarantine: async (offset) => {
      const update = { offset, code: 'LEDGER_DATA_INVALID', problem: 'a test', frame: Buffer.from('{}') } as const;
      await session.quarantine(update, checkpoint);
      checkpoint = offset;
    },
    [Symbol.asyncDispose]: async () => {
      await reader.end();
      await database.close();
      await testDatabase.drop();
    },
  };
}

type Session = Awaited<ReturnType<typeof openSession>>;

async function writeSeed(session: Session, { offset, entries }: StreamStart): Promise<void> {
  await session.beginSeed(offset);
  const batch = session.newBatch(offset);
  for (const entry of entries) batch.addEntry(decodeActiveContract(text(entry)));
  await session.writeSeed(batch, 0);
  await session.publishSeed(offset, 'seed');
}
