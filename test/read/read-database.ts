/** A migrated database with its read side, for tests of what readers see. */
import { Client, escapeIdentifier } from 'pg';
import { decodeUpdate } from '../support/wire/decode.ts';
import { openDatabase } from '../../src/store/connection/database.ts';
import { migrate } from '../../src/store/schema/migrations.ts';
import { openSession } from '../../src/store/write/session.ts';
import { createTestDatabase } from '../support/database.ts';
import { text, type JsonRecord } from '../support/frames.ts';
import { identity } from '../support/schemas.ts';

export interface ReadDatabase extends AsyncDisposable {
  readonly url: string;
  /** Rows of a statement on a connection as readers have it, planner settings included; unqualified names are those of the storage schema. */
  query<T extends object = Record<string, unknown>>(sql: string, values?: unknown[]): Promise<readonly T[]>;
  /** The plan that Postgres makes for a statement, as text. */
  plan(sql: string): Promise<string>;
  /** Writes frames as the indexer does, one batch each. */
  write(...frames: readonly JsonRecord[]): Promise<void>;
}

/** `schema`: the storage schema. Published from genesis, so that frames with any offset from 1 on can be written. */
export async function createReadDatabase(schema = 'ledger'): Promise<ReadDatabase> {
  const created = await createTestDatabase();
  const database = openDatabase({ url: created.url, schema, statementTimeoutMs: 120_000, applicationName: 'test' });
  await migrate(database);
  const session = await openSession(database, identity);
  await session.publishSeed(0, 'genesis');
  let checkpoint = 0;
  const reader = new Client({ connectionString: created.url });
  await reader.connect();
  await reader.query(`set search_path to ${escapeIdentifier(schema)}`);
  const query: ReadDatabase['query'] = async <T extends object>(sql: string, values?: unknown[]) =>
    (await reader.query<T>(sql, values)).rows;
  return {
    url: created.url,
    query,
    plan: async (sql) =>
      (await query<{ 'QUERY PLAN': string }>(`explain (costs off) ${sql}`)).map((row) => row['QUERY PLAN']).join('\n'),
    write: async (...frames) => {
      for (const frame of frames) {
        const batch = session.newBatch(checkpoint);
        batch.add(decodeUpdate(text(frame)));
        await session.writeBatch(batch, checkpoint);
        checkpoint = batch.offset;
      }
    },
    [Symbol.asyncDispose]: async () => {
      await reader.end();
      await database.close();
      await created.drop();
    },
  };
}
