/**
 * Names of the generated views and of their columns. They are assigned once and stored in typed_views and
 * typed_columns, so that views of users on them stay valid when a package is upgraded.
 */
import type { ClientBase } from 'pg';
import { tablesOf } from '../connection/query-builder.ts';
import { freeName } from '../../daml/identifiers.ts';
import { viewName } from '../../daml/view-names.ts';
import { reservedColumns } from './shapes.ts';
import { columnKey, subjectKey, type ViewSubject, type RequestedColumn } from './subjects.ts';

export interface RegisteredColumn {
  readonly position: number;
  readonly name: string;
  readonly path: readonly string[];
  readonly type: string;
  readonly description: string;
}

/** A subject with the name of its view and the columns in their permanent order. */
export interface NamedView {
  readonly name: string;
  readonly subject: ViewSubject;
  readonly columns: readonly RegisteredColumn[];
  /** Whether the view is missing in typed_views. */
  readonly isNew: boolean;
  /** Columns that are missing in typed_columns. */
  readonly added: readonly RegisteredColumn[];
}

export class ViewRegistry {
  readonly #names: Map<string, string>;
  readonly #taken = new Set<string>();
  readonly #columns: ReadonlyMap<string, readonly RegisteredColumn[]>;

  /**
   * @param names view names by `subjectKey`
   * @param columns registered columns by view name, in order
   */
  constructor(names: ReadonlyMap<string, string>, columns: ReadonlyMap<string, readonly RegisteredColumn[]>) {
    this.#names = new Map(names);
    this.#columns = columns;
    for (const name of names.values()) this.#taken.add(name);
  }

  /**
   * Assigns missing names. Returns undefined for a subject that has no columns and never had a name, because schema
   * explore has the same data.
   */
  named(subject: ViewSubject): NamedView | undefined {
    const key = subjectKey(subject);
    const registeredName = this.#names.get(key);
    if (registeredName === undefined && subject.columns.length === 0) return undefined;
    const name = registeredName ?? viewName(subject, this.#taken);
    this.#names.set(key, name);
    this.#taken.add(name);
    const columns = [...(this.#columns.get(name) ?? [])];
    const addedColumns = addColumns(columns, subject);
    return { name, subject, columns, isNew: registeredName === undefined, added: addedColumns };
  }
}

/** Appends missing columns of the subject to `columns`; returns the appended ones. */
function addColumns(columns: RegisteredColumn[], subject: ViewSubject): readonly RegisteredColumn[] {
  const knownKeys = new Set(columns.map(({ path, type }) => keyOf(path, type)));
  const names = new Set(columns.map(({ name }) => name));
  const usedNames = new Set([...reservedColumns(subject, names), ...names]);
  const newColumns: RegisteredColumn[] = [];
  for (const column of subject.columns.filter((candidate) => !knownKeys.has(columnKey(candidate)))) {
    const name = freeName(column.name, usedNames);
    usedNames.add(name);
    const { path, type, description } = column;
    const entry = { position: columns.length + 1, name, path, type, description };
    columns.push(entry);
    newColumns.push(entry);
  }
  return newColumns;
}

function keyOf(path: readonly string[], type: string): string {
  return columnKey({ path, type: type as RequestedColumn['type'] });
}

export async function readRegistry(client: ClientBase): Promise<ViewRegistry> {
  const views = await tablesOf(client).selectFrom('typed_views').selectAll().execute();
  const storedColumns = await tablesOf(client)
    .selectFrom('typed_columns')
    .selectAll()
    .orderBy('view_name')
    .orderBy('position')
    .execute();
  const names = views.map((row) => {
    const { kind, package_name: packageName, module_name: moduleName, entity_name: entityName, choice } = row;
    return [subjectKey({ kind, packageName, moduleName, entityName, choice }), row.view_name] as const;
  });
  const columns = new Map<string, RegisteredColumn[]>();
  for (const { view_name: view, column_name: name, position, path, type, description } of storedColumns) {
    const list = columns.get(view) ?? [];
    list.push({ position, name, path, type, description });
    columns.set(view, list);
  }
  return new ViewRegistry(new Map(names), columns);
}

/** Stores new names of a view. @throws STORE_DUPLICATE if another program has registered the view meanwhile */
export async function register(
  client: ClientBase,
  { name, subject, isNew, added: addedColumns }: NamedView,
): Promise<void> {
  const { kind, packageName, moduleName, entityName, choice } = subject;
  if (isNew) {
    await tablesOf(client)
      .insertInto('typed_views')
      .values({
        view_name: name,
        kind,
        package_name: packageName,
        module_name: moduleName,
        entity_name: entityName,
        choice,
      })
      .execute();
  }
  if (addedColumns.length === 0) return;
  await tablesOf(client)
    .insertInto('typed_columns')
    .values(
      addedColumns.map((column) => ({
        view_name: name,
        position: column.position,
        column_name: column.name,
        path: column.path,
        type: column.type,
        description: column.description,
      })),
    )
    .execute();
}
