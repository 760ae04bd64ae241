/** Creates schemas for one test file or one test, in a separate database that is dropped at the end. */
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import type { StreamIdentity } from '../../src/model/stream.ts';
import { openDatabase, type Database } from '../../src/store/connection/database.ts';
import { migrate } from '../../src/store/schema/migrations.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { createMigratedDatabase } from './migrated-database.ts';

/** Identity of a stream in tests for which party and filter do not matter. */
export const identity: StreamIdentity & { readonly participantId: string } = {
  participantId: 'p::1220',
  filter:
    '{"createdEventBlobs":false,"interfaces":[],"parties":[],"shape":"LEDGER_EFFECTS","templates":[],"topology":false}',
  filterHash: 'f',
  shape: 'LEDGER_EFFECTS',
};

export interface Schemas {
  /** URL of the database; available while tests run. */
  readonly url: string;
  /** Opens a schema, which does not need to exist. It is closed at the end. */
  open(schema: string): Database;
  /** Opens a schema, and creates its tables with the current migrations. */
  migrated(schema: string): Promise<Database>;
}

/** Schemas in one database per test file. Must be called once, outside of tests. */
export function schemasOfFile(): Schemas {
  const openedSchemas = new OpenedSchemas();
  beforeAll(async () => openedSchemas.in(await createTestDatabase()));
  afterAll(() => openedSchemas.drop());
  return openedSchemas;
}

/** Schemas in one database per test, in which `ledger` and `fresh` already have their tables. */
export function schemasOfEachTest(): Schemas {
  const openedSchemas = new OpenedSchemas();
  beforeEach(async () => openedSchemas.in(await createMigratedDatabase()));
  afterEach(() => openedSchemas.drop());
  return openedSchemas;
}

class OpenedSchemas implements Schemas {
  #created: TestDatabase | undefined;
  readonly #opened: Database[] = [];

  in(testDatabase: TestDatabase): void {
    this.#created = testDatabase;
  }

  async drop(): Promise<void> {
    for (const database of this.#opened.splice(0)) await database.close();
    await this.#created?.drop();
    this.#created = undefined;
  }

  get url(): string {
    if (this.#created === undefined) throw new Error('there is no database before the tests run');
    return this.#created.url;
  }

  open(schema: string): Database {
    const options = { url: this.url, schema, statementTimeoutMs: 60_000, applicationName: 'test' };
    const database = openDatabase(options);
    this.#opened.push(database);
    return database;
  }

  async migrated(schema: string): Promise<Database> {
    const database = this.open(schema);
    await migrate(database);
    return database;
  }
}
