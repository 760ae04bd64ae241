/**
 * Ends the session of a migration at one of its statements, by an event trigger that counts them. A second trigger ends
 * it at a commit. After each kill the schema has to be that of a complete step, and the next attempt has to finish.
 */
import { pathToFileURL } from 'node:url';
import { Client, escapeIdentifier } from 'pg';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import type * as DatabaseExports from '../../src/store/connection/database.ts';
import type * as MigrationsExports from '../../src/store/schema/migrations.ts';
import { digestOf } from '../support/digest.ts';
import type { NewerBuild } from './newer-build.ts';

type DatabaseModule = typeof DatabaseExports;
type MigrationsModule = typeof MigrationsExports;

const counter = 'kill_points.statements';

const triggers = `
create schema kill_points;
create sequence ${counter};
create function kill_points.count() returns boolean language plpgsql as $$ begin
  -- A sequence keeps its value when the transaction is rolled back.
  if nextval('${counter}') = current_setting('kill_points.at', true)::bigint then
    perform pg_terminate_backend(pg_backend_pid());
  end if;
  return true;
end $$;
create function kill_points.at_statement() returns event_trigger language plpgsql as $$ begin
  perform kill_points.count();
end $$;
create function kill_points.at_row() returns trigger language plpgsql as $$ begin
  perform kill_points.count();
  return null;
end $$;
create trigger kill_at_insert after insert on ledger.schema_migrations for each row execute function kill_points.at_row();
create constraint trigger kill_at_commit after insert on ledger.schema_migrations
  deferrable initially deferred for each row execute function kill_points.at_row();
create event trigger kill_at_statement on ddl_command_start execute function kill_points.at_statement();`;

/** The state of a schema: its objects, and the rows of its tables. */
export interface SchemaState {
  readonly objects: string;
  readonly rows: string;
}

interface KillResult {
  /** Whether the migration was ended at this statement; false if it has fewer statements. */
  readonly isKilled: boolean;
  readonly afterKill: SchemaState;
  readonly afterRetry: SchemaState;
}

export class MigrationKills {
  readonly #template: string;
  readonly #build: NewerBuild;

  private constructor(template: string, build: NewerBuild) {
    this.#template = template;
    this.#build = build;
  }

  /** @param url of a database without other sessions, which becomes the template of each attempt */
  static async over(url: string, build: NewerBuild): Promise<MigrationKills> {
    await query(url, triggers);
    return new MigrationKills(new URL(url).pathname.slice(1), build);
  }

  /** The states before and after the migration, and the number of its statements. */
  async undisturbed(): Promise<{ readonly states: readonly SchemaState[]; readonly statements: number }> {
    await using database = await createTestDatabase(this.#template);
    const before = await stateOf(database.url);
    const { rows } = await this.#migrate(database);
    return { states: [before, await stateOf(database.url)], statements: rows };
  }

  /** Ends the session at this statement, and migrates again. */
  async killAt(statement: number): Promise<KillResult> {
    await using database = await createTestDatabase(this.#template);
    const name = escapeIdentifier(new URL(database.url).pathname.slice(1));
    await query(database.url, `alter database ${name} set kill_points.at = '${statement}'`);
    const isKilled = await this.#migrate(database).then(
      () => false,
      () => true,
    );
    const afterKill = await stateOf(database.url);
    await query(database.url, `alter database ${name} reset kill_points.at`);
    await this.#migrate(database);
    return { isKilled, afterKill, afterRetry: await stateOf(database.url) };
  }

  /** Migrates with the newer build. Resolves to the number of counted statements. */
  async #migrate({ url }: TestDatabase): Promise<{ readonly rows: number }> {
    const load = async <T>(file: string): Promise<T> =>
      (await import(pathToFileURL(this.#build.program.replace('main.js', file)).href)) as T;
    const { openDatabase } = await load<DatabaseModule>('store/connection/database.js');
    const { migrate } = await load<MigrationsModule>('store/schema/migrations.js');
    const database = openDatabase({ url, schema: 'ledger', statementTimeoutMs: 60_000, applicationName: 'upgrade' });
    try {
      await migrate(database);
    } finally {
      await database.close();
    }
    const [row] = await query(url, `select last_value::int as rows from ${counter}`);
    return { rows: Number(row?.['rows']) };
  }
}

async function stateOf(url: string): Promise<SchemaState> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ objects: string }>(objectsSql);
    return { objects: rows[0]?.objects ?? '', rows: await digestOf(url, 'ledger') };
  } finally {
    await client.end();
  }
}

/** Digest of the definitions, comments and rights of all objects in the schemas of the stream. */
const objectsSql = `
with schemas as (
  select oid from pg_namespace where nspname in ('ledger', 'explore', 'typed', 'pqs', 'pqs_multisync', 'derived')),
objects as (
  select format('%s %s %s %s %s', c.oid::regclass, c.relkind, c.relacl, c.reloptions, obj_description(c.oid, 'pg_class')) as line
    from pg_class c where c.relnamespace in (select oid from schemas)
  union all
  select format('%s %s %s %s %s', c.oid::regclass, a.attname, a.atttypid::regtype, a.attnotnull, col_description(c.oid, a.attnum))
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
   where c.relnamespace in (select oid from schemas)
  union all
  select format('%s %s', c.oid::regclass, pg_get_viewdef(c.oid))
    from pg_class c where c.relnamespace in (select oid from schemas) and c.relkind = 'v'
  union all
  select format('%s %s %s', pg_get_functiondef(p.oid), p.proacl, obj_description(p.oid, 'pg_proc'))
    from pg_proc p where p.pronamespace in (select oid from schemas) and p.prokind = 'f'
  union all
  select format('%s %s %s', p.polrelid::regclass, p.polname, pg_get_expr(p.polqual, p.polrelid))
    from pg_policy p join pg_class c on c.oid = p.polrelid where c.relnamespace in (select oid from schemas)
  union all
  select format('%s %s', n.nspname, obj_description(n.oid, 'pg_namespace'))
    from pg_namespace n where n.oid in (select oid from schemas))
select md5(string_agg(line, chr(10) order by line collate "C")) as objects from objects`;
