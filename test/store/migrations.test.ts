import { randomUUID } from 'node:crypto';
import { escapeIdentifier } from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { migrateCommand } from '../../src/cli/follow/migrate.ts';
import { openDatabase } from '../../src/store/connection/database.ts';
import type { Database } from '../../src/store/connection/database.ts';
import { assertMigrated, migrate, migrationFiles, printMigrations } from '../../src/store/schema/migrations.ts';
import type { Migration } from '../../src/store/schema/migrations.ts';
import { readSchemas } from '../../src/store/connection/read-schemas.ts';
import { checkServer } from '../../src/store/connection/server-check.ts';
import { createTestDatabase } from '../support/database.ts';
import { runCommand } from '../support/run-command.ts';
import { waitFor } from '../support/wait-for.ts';

const first: Migration = {
  id: '0001_first',
  sql: `create table counters (id int primary key, n int not null);
        insert into counters values (1, 0);
        create function one() returns int language plpgsql as $$ begin return 1; end $$;`,
};
const second: Migration = { id: '0002_second', sql: 'update counters set n = n + one() where id = 1;' };
const brokenMigration: Migration = {
  id: '0003_broken',
  sql: 'update counters set n = 99; select 1 from no_such_table;',
};

let server: Awaited<ReturnType<typeof createTestDatabase>>;
const openDatabases: Database[] = [];

beforeAll(async () => {
  server = await createTestDatabase();
});
afterEach(async () => {
  await Promise.all(openDatabases.splice(0).map((database) => database.close(500)));
});
afterAll(() => server.drop());

function openAt(schema: string, url = server.url): Database {
  const database = openDatabase({ url, schema, statementTimeoutMs: 10_000, applicationName: 'migrations-test' });
  openDatabases.push(database);
  return database;
}

function freshSchema(): string {
  return `Schema ${randomUUID()}`;
}

async function counter(database: Database): Promise<unknown> {
  const { rows } = await database.pool.query<{ n: number }>('select n from counters');
  return rows[0]?.n;
}

/** Runs `work` with the URL of a new role without rights. Then drops the role, because no database contains it. */
async function asLimitedRole<T>(work: (url: string, role: string) => Promise<T>): Promise<T> {
  const role = `limited_${randomUUID().replaceAll('-', '')}`;
  const admin = openAt('public');
  await admin.pool.query(`create role ${role}`);
  const url = new URL(server.url);
  url.searchParams.set('options', `-c role=${role}`);
  try {
    return await work(url.href, role);
  } finally {
    await admin.pool.query(`drop owned by ${role}; drop role ${role}`);
  }
}

describe('migrate()', () => {
  it('creates the schema, applies pending migrations in order, and does nothing the second time', async () => {
    const database = openAt(freshSchema());
    expect(await migrate(database, { files: [first] })).toEqual(['0001_first']);
    expect(await migrate(database, { files: [first, second] })).toEqual(['0002_second']);
    expect(await migrate(database, { files: [first, second] })).toEqual([]);
    expect(await counter(database)).toBe(1);
  });

  it('applies each migration once if several processes start at the same time', async () => {
    const schema = freshSchema();
    const startingDatabases = [openAt(schema), openAt(schema), openAt(schema)];
    const appliedMigrations = await Promise.all(
      startingDatabases.map((database) => migrate(database, { files: [first, second] })),
    );
    expect(appliedMigrations.flat().sort()).toEqual(['0001_first', '0002_second']);
    expect(await counter(startingDatabases[0] ?? openAt(schema))).toBe(1);
  });

  it('waits for a reader of a table without blocking other readers, and is repeated', async () => {
    const schema = freshSchema();
    const database = openAt(schema);
    await migrate(database, { files: [first] });
    const holder = await openAt(schema).pool.connect();
    await holder.query('begin; select n from counters');
    const altering = migrate(database, {
      files: [first, { id: '0002_column', sql: 'alter table counters add m int' }],
    });
    await waitFor('the migration waits for the table', async () => {
      const waiting = `select from pg_locks where relation = 'counters'::regclass and not granted`;
      return (await database.pool.query(waiting)).rowCount === 0 ? undefined : true;
    });
    // This statement waits behind the migration, which then gives up its place.
    expect(await counter(openAt(schema))).toBe(0);
    await holder.query('commit');
    holder.release();
    expect(await altering).toEqual(['0002_column']);
  });

  it('rolls back a failed migration, and keeps the migrations before it', async () => {
    const database = openAt(freshSchema());
    await expect(migrate(database, { files: [first, second, brokenMigration] })).rejects.toMatchObject({
      code: 'STORE_SCHEMA_MISMATCH',
    });
    expect(await counter(database)).toBe(1);
    await expect(assertMigrated(database, [first, second])).resolves.toBeUndefined();
  });

  it('rejects a schema that a newer program migrated', async () => {
    const database = openAt(freshSchema());
    await migrate(database, { files: [first, second] });
    const refusal = { code: 'SCHEMA_NEWER', retry: 'fatal', exitCode: 78 };
    await expect(migrate(database, { files: [first] })).rejects.toMatchObject(refusal);
    await expect(assertMigrated(database, [first])).rejects.toMatchObject(refusal);
  });

  it('rejects a schema of the previous layout, and changes nothing in it', async () => {
    const database = openAt(freshSchema());
    const previousLayout = ['0001_storage', '0009_departed_parties'].map((id) => ({
      id,
      sql: `create table "${id}" ()`,
    }));
    await migrate(database, { files: [] });
    for (const { id, sql } of previousLayout) {
      await database.pool.query(`${sql}; insert into schema_migrations (id) values ('${id}')`);
    }
    const layoutPattern = /earlier layout \(migrations 0001_storage/;
    const refusal = { code: 'SCHEMA_LAYOUT_UNSUPPORTED', retry: 'fatal', exitCode: 78 };
    for (const refusedCall of [
      () => migrate(database),
      () => assertMigrated(database),
      () => migrate(database, { files: [first] }),
    ]) {
      await expect(refusedCall()).rejects.toMatchObject({
        ...refusal,
        message: expect.stringMatching(layoutPattern) as unknown,
      });
    }
    const { rows } = await database.pool.query<{ name: string }>(
      `select tablename::text as name from pg_tables where schemaname = current_schema() order by 1`,
    );
    expect(rows.map(({ name }) => name)).toEqual(['0001_storage', '0009_departed_parties', 'schema_migrations']);
  });

  it('rejects a schema with a migration that was renamed', async () => {
    const database = openAt(freshSchema());
    await migrate(database, { files: [] });
    await database.pool.query(`insert into schema_migrations (id) values ('0001_stream'), ('0004_in_words')`);
    await expect(migrate(database)).rejects.toMatchObject({
      code: 'SCHEMA_LAYOUT_UNSUPPORTED',
      message: expect.stringContaining('earlier layout (migrations 0004_in_words)') as unknown,
    });
  });

  it('needs no create right if no migration is pending', async () => {
    const schema = freshSchema();
    const owner = openAt(schema);
    await migrate(owner, { files: [first] });
    await asLimitedRole(async (url, role) => {
      await owner.pool.query(
        `grant usage on schema "${schema}" to ${role}; grant select on all tables in schema "${schema}" to ${role}`,
      );
      const limitedDatabase = openAt(schema, url);
      await expect(checkServer(limitedDatabase)).resolves.toBeUndefined();
      expect(await migrate(limitedDatabase, { files: [first] })).toEqual([]);
      await limitedDatabase.close();
    });
  });

  it('runs a migration that takes longer than the statement timeout', async () => {
    const database = openDatabase({
      url: server.url,
      schema: freshSchema(),
      statementTimeoutMs: 100,
      applicationName: 'migrations-test',
    });
    openDatabases.push(database);
    expect(await migrate(database, { files: [{ id: '0001_slow', sql: 'select pg_sleep(0.3)' }] })).toEqual([
      '0001_slow',
    ]);
  });
});

describe('assertMigrated()', () => {
  it('reports pending migrations, even if the schema does not exist', async () => {
    const database = openAt(freshSchema());
    const outdatedError = { code: 'SCHEMA_OUTDATED', retry: 'fatal', exitCode: 78 };
    await expect(assertMigrated(database, [first, second])).rejects.toMatchObject(outdatedError);
    await migrate(database, { files: [first] });
    await expect(assertMigrated(database, [first, second])).rejects.toThrow('0002_second');
  });

  it('rejects reader views of another version', async () => {
    const schema = freshSchema();
    const database = openAt(schema);
    await migrate(database);
    await expect(assertMigrated(database)).resolves.toBeUndefined();
    const explore = escapeIdentifier(readSchemas(schema).explore);
    await database.pool.query(`comment on schema ${explore} is 'read side of another version'`);
    await expect(assertMigrated(database)).rejects.toThrow('the views and functions for readers');
  });
});

describe('printMigrations()', () => {
  it('prints SQL that creates the same schema as migrate', async () => {
    const schema = freshSchema();
    const sql = await printMigrations(schema, { files: [first, second] });
    await openAt('public').pool.query(sql);
    const database = openAt(schema);
    await expect(assertMigrated(database, [first, second])).resolves.toBeUndefined();
    expect(await migrate(database, { files: [first, second] })).toEqual([]);
    expect(await counter(database)).toBe(1);
  });
});

describe('shipped migrations', () => {
  it('are numbered without gaps and can be applied by the command', async () => {
    const ids = (await migrationFiles()).map(({ id }) => id);
    expect(ids.map((id) => Number(id.slice(0, 4)))).toEqual(ids.map((_, index) => index + 1));
    const schema = `shipped_${randomUUID().replaceAll('-', '')}`;
    const outputLines: string[] = [];
    const run = (...argv: readonly string[]): Promise<unknown> =>
      runCommand(
        migrateCommand,
        argv,
        { DATABASE_URL: server.url, POSTGRES_SCHEMA: schema },
        { write: (text) => outputLines.push(text) },
      );
    await run();
    await run();
    expect(outputLines).toEqual(
      [...ids.map((id) => `applied ${id}\n`), `schema "${schema}" is up to date\n`].slice(-1 - ids.length),
    );
    await run('--print');
    expect(outputLines.at(-1)).toBe(await printMigrations(schema));
  });
});

describe('checkServer()', () => {
  it('accepts a server on which the schema can be created', async () => {
    await expect(checkServer(openAt(freshSchema()))).resolves.toBeUndefined();
  });

  it('rejects a role without rights on the schema and names the missing right', async () => {
    const schema = freshSchema();
    await asLimitedRole(async (url, role) => {
      const limitedDatabase = openAt(schema, url);
      const refusal = { code: 'STORE_NOT_PERMITTED', retry: 'fatal', exitCode: 77 };
      await expect(checkServer(limitedDatabase)).rejects.toMatchObject(refusal);
      const owner = openAt(schema);
      await owner.pool.query(`create schema "${schema}"`);
      await expect(checkServer(limitedDatabase)).rejects.toThrow(`usage on schema "${schema}"`);
      await owner.pool.query(`grant usage on schema "${schema}" to ${role}`);
      await expect(checkServer(limitedDatabase)).rejects.toThrow(`create on schema "${schema}"`);
      await owner.pool.query(`grant create on schema "${schema}" to ${role}`);
      await expect(checkServer(limitedDatabase)).resolves.toBeUndefined();
      await limitedDatabase.close();
    });
  });

  it('rejects a database that does not store UTF8', async () => {
    const admin = openAt('public');
    const name = `ascii_${randomUUID().replaceAll('-', '')}`;
    const { rows } = await admin.pool.query<{ v: number }>(`select current_setting('server_version_num')::int as v`);
    // Since Postgres 15, the default locale provider of a server may support only UTF8.
    const provider = (rows[0]?.v ?? 0) >= 150_000 ? 'locale_provider libc' : '';
    await admin.pool.query(
      `create database ${name} encoding 'SQL_ASCII' lc_collate 'C' lc_ctype 'C' ${provider} template template0`,
    );
    const url = new URL(server.url);
    url.pathname = `/${name}`;
    const ascii = openAt('public', url.href);
    await expect(checkServer(ascii)).rejects.toMatchObject({ code: 'STORE_ENCODING_UNSUPPORTED', exitCode: 78 });
    await ascii.close();
    await admin.pool.query(`drop database ${name} with (force)`);
  });
});
