/**
 * Creates the views of schema typed from the packages that were read. There is one view per choice and interface and
 * two per template, with a column for each field. A view covers all versions of its package. It is replaced only if its
 * definition has changed, so that views of users that depend on it are kept.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ClientBase } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { PackageModel } from '../../daml/package-model.ts';
import type { Database } from '../connection/database.ts';
import { readPackageState } from './package-store.ts';
import { readSchemas, type ReadSchemas } from '../connection/read-schemas.ts';
import { secureViews } from '../roles/secure-views.ts';
import { toStoreError } from '../connection/store-error.ts';
import { type NamedView, readRegistry, register } from './registry.ts';
import { definitionsOf, type ViewDefinition } from './definitions.ts';
import { type ViewKind, viewSubjects } from './subjects.ts';

/** Result of a synchronization, with names of views. */
export interface ViewSync {
  readonly made: readonly string[];
  readonly unchanged: number;
  readonly failed: readonly { readonly view: string; readonly error: IndexerError }[];
}

/** Codes of failures that affect only one view. Any other failure would affect all views. */
const singleViewCodes: ReadonlySet<string> = new Set([
  'STORE_LOCKED',
  'STORE_CONFLICT',
  'STORE_DUPLICATE',
  'STORE_SCHEMA_MISMATCH',
  'STORE_DATA_REFUSED',
  'STORE_STATEMENT_TIMEOUT',
  'STORE_FAILED',
]);

/** If a view is in use, it is replaced later, so that other sessions do not wait. */
const lockLimit = '500ms';

/**
 * Creates the views that the packages require. Each subject has a separate short transaction, so that a lock on one
 * view is never held while waiting for another view. Failures are reported, and the other views are still created.
 * @param rebuildAll whether to replace views that are up to date
 * @throws IndexerError if the state cannot be read, or if no view can be created at all
 */
export async function syncTypedViews(
  database: Database,
  packages: readonly PackageModel[],
  rebuildAll = false,
): Promise<ViewSync> {
  const schemas = readSchemas(database.schema);
  const { named: namedPackages } = await readPackageState(database);
  const {
    registry,
    there: existingViews,
    permitted: isPermitted,
  } = await database.withClient(async (client) => ({
    registry: await readRegistry(client),
    there: await readViews(client, schemas.typed),
    permitted: await canCreateViews(client, schemas),
  }));
  const syncResult: { made: string[]; unchanged: number; failed: { view: string; error: IndexerError }[] } = {
    made: [],
    unchanged: 0,
    failed: [],
  };
  for (const subject of viewSubjects(packages, new Set(namedPackages))) {
    // A participant may have hundreds of views, so the sockets of the ledger must be served in between.
    await nextTurn();
    const view = registry.named(subject);
    if (view === undefined) continue;
    const definitions = definitionsOf(view, schemas, (name) => existingViews.get(name)?.columns ?? []);
    const changedDefinitions = rebuildAll
      ? definitions
      : definitions.filter(({ name, mark: definitionMark }) => existingViews.get(name)?.mark !== definitionMark);
    syncResult.unchanged += definitions.length - changedDefinitions.length;
    if (changedDefinitions.length === 0) continue;
    const failure = isPermitted ? await createView(database, view, changedDefinitions) : notPermittedError();
    if (failure === undefined) syncResult.made.push(...changedDefinitions.map(({ name }) => name));
    else syncResult.failed.push({ view: view.name, error: failure });
  }
  return syncResult;
}

async function createView(
  database: Database,
  view: NamedView,
  definitions: readonly ViewDefinition[],
): Promise<IndexerError | undefined> {
  try {
    await database.transaction(async (client) => {
      await client.query(`set local lock_timeout = '${lockLimit}'`);
      await client.query('select pg_advisory_xact_lock(hashtext($1))', [`ledger_indexer_views:${database.schema}`]);
      await register(client, view);
      await client.query(definitions.map(({ script }) => script).join('\n'));
      await secureViews(client, readSchemas(database.schema));
    });
    return undefined;
  } catch (thrown) {
    const error = toStoreError(thrown);
    if (!singleViewCodes.has(error.code)) throw error;
    return error;
  }
}

/** Statements that create each existing view again, over the tables that will have the names of its current tables. */
export interface TypedViews {
  /**
   * Fingerprint of the state from which the statements were generated. If the state has changed, the statements may be
   * incomplete.
   */
  readonly madeFrom: string;
  readonly statements: readonly string[];
}

/**
 * Generates the statements for all stored packages, even if no event has named their templates, because an existing
 * view is never dropped.
 */
export async function generateTypedViews(
  client: ClientBase,
  storage: string,
  packages: readonly PackageModel[],
): Promise<TypedViews> {
  const schemas = readSchemas(storage);
  const typedStateBefore = await typedState(client);
  const registry = await readRegistry(client);
  const existingViews = await readViews(client, schemas.typed);
  const statements: string[] = [];
  for (const subject of viewSubjects(packages, new Set(packages.map(({ name }) => name)))) {
    await nextTurn();
    const view = registry.named(subject);
    if (view === undefined || view.isNew) continue;
    // Columns that no view has yet are added later, by the regular synchronization.
    const existingView = { ...view, columns: view.columns.filter((column) => !view.added.includes(column)), added: [] };
    const definitions = definitionsOf(existingView, schemas, (name) => existingViews.get(name)?.columns ?? []);
    statements.push(...definitions.filter(({ name }) => existingViews.has(name)).map(({ statement }) => statement));
  }
  return { madeFrom: typedStateBefore, statements };
}

/** A fingerprint of the inputs of typed views. */
export async function typedState(client: ClientBase): Promise<string> {
  const { rows } = await client.query<{ state: string }>(
    `select concat_ws(' ', (select count(*) from packages), (select count(*) from typed_views),
                           (select count(*) from typed_columns)) as state`,
  );
  return rows[0]?.state ?? '';
}

/**
 * Whether this role may create views. A role that has only the rights of the writer may not create views, because it
 * would own them.
 */
async function canCreateViews(client: ClientBase, { typed: typedSchema, explore }: ReadSchemas): Promise<boolean> {
  const { rows } = await client.query<{ permitted: boolean | null }>(
    `select bool_and(has_schema_privilege(oid, case nspname when $1 then 'create' else 'usage' end)) as permitted
       from pg_namespace where nspname in ($1, $2)`,
    [typedSchema, explore],
  );
  return rows[0]?.permitted ?? true;
}

function notPermittedError(): IndexerError {
  return new IndexerError('the role of the indexer may not create views', {
    code: 'VIEWS_NOT_PERMITTED',
  });
}

interface ExistingView {
  readonly mark: string | null;
  readonly columns: readonly string[];
}

/** The existing views, by name. */
async function readViews(client: ClientBase, typedSchema: string): Promise<ReadonlyMap<string, ExistingView>> {
  const { rows } = await client.query<ExistingView & { name: string }>(
    `select c.relname as name, substring(obj_description(c.oid, 'pg_class') from '\\(definition [0-9a-f]+\\)$') as mark,
            array(select a.attname::text from pg_attribute a where a.attrelid = c.oid and a.attnum > 0
                   order by a.attnum) as columns
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = $1 and c.relkind = 'v'`,
    [typedSchema],
  );
  return new Map(rows.map((row) => [row.name, row]));
}

// Listing of the generated views.

export interface ListedView {
  /** Name of the view with its schema, in SQL notation. */
  readonly view: string;
  readonly kind: ViewKind;
  readonly packageName: string;
  /** Module and entity, and the choice if there is one. */
  readonly shows: string;
  /** Versions of the package that were read, in ascending order. */
  readonly versions: readonly string[];
  /** Columns created from fields, in order. */
  readonly columns: readonly string[];
}

/** Every registered view, ordered by name. The view of a template also represents its `__history` view. */
export async function listTypedViews(database: Database): Promise<readonly ListedView[]> {
  const { typed: typedSchema } = readSchemas(database.schema);
  const { rows } = await database.withClient((client) =>
    client.query<ListedView>(
      `select quote_ident($1) || '.' || quote_ident(v.view_name) as view, v.kind, v.package_name as "packageName",
              concat_ws(':', v.module_name, v.entity_name, nullif(v.choice, '')) as shows,
              array(select p.package_version from packages p where p.package_name = v.package_name
                     group by 1 order by string_to_array(p.package_version, '.')::numeric[]) as versions,
              array(select c.column_name from typed_columns c where c.view_name = v.view_name order by c.position) as columns
         from typed_views v
        order by v.view_name`,
      [typedSchema],
    ),
  );
  return rows;
}
