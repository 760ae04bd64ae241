/** Schemas of one test file or of one test, in a database of its own that is gone when that ends. */
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
  /** Of the database, once the tests run. */
  readonly url: string;
  /** A schema that may or may not exist; closed at the end. */
  open(schema: string): Database;
  /** The same with the tables of this version. */
  migrated(schema: string): Promise<Database>;
}

/** To be called once, outside of tests. */
export function schemasOfFile(): Schemas {
  const opened = new OpenedSchemas();
  beforeAll(async () => opened.in(await createTestDatabase()));
  afterAll(() => opened.drop());
  return opened;
}

/** The same with a database for each test, in which `ledger` and `fresh` have their tables already. */
export function schemasOfEachTest(): Schemas {
  const opened = new OpenedSchemas();
  beforeEach(async () => opened.in(await createMigratedDatabase()));
  afterEach(() => opened.drop());
  return opened;
}

class OpenedSchemas implements Schemas {
  #created: TestDatabase | undefined;
  readonly #opened: Database[] = [];

  in(created: TestDatabase): void {
    this.#created = created;
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
