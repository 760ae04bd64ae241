/** Schemas of one test file, in a database of its own that is gone when the file ends. */
import { afterAll, beforeAll } from 'vitest';
import type { StreamIdentity } from '../../src/model/stream.ts';
import { openDatabase, type Database } from '../../src/store/connection/database.ts';
import { migrate } from '../../src/store/schema/migrations.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';

/** Of a stream of which it does not matter who asked for what. */
export const identity: StreamIdentity & { readonly participantId: string } = {
  participantId: 'p::1220',
  filter:
    '{"createdEventBlobs":false,"interfaces":[],"parties":[],"shape":"LEDGER_EFFECTS","templates":[],"topology":false}',
  filterHash: 'f',
  shape: 'LEDGER_EFFECTS',
};

export interface Schemas {
  /** Of the database, once the tests run. */
  readonly url: string;
  /** A schema as it is, or is not, there; closed at the end. */
  open(schema: string): Database;
  /** The same with the tables of this version. */
  migrated(schema: string): Promise<Database>;
}

/** To be called once, outside of tests. */
export function schemasOfFile(): Schemas {
  let created: TestDatabase | undefined;
  const opened: Database[] = [];
  beforeAll(async () => {
    created = await createTestDatabase();
  });
  afterAll(async () => {
    for (const database of opened) await database.close();
    await created?.drop();
  });
  const schemas: Schemas = {
    get url() {
      if (created === undefined) throw new Error('there is no database before the tests run');
      return created.url;
    },
    open(schema) {
      const options = { url: schemas.url, schema, statementTimeoutMs: 60_000, applicationName: 'test' };
      const database = openDatabase(options);
      opened.push(database);
      return database;
    },
    async migrated(schema) {
      const database = schemas.open(schema);
      await migrate(database);
      return database;
    },
  };
  return schemas;
}
