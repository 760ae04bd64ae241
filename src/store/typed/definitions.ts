/** Generates the SQL of the typed views. Pure. */
import { createHash } from 'node:crypto';
import { escapeIdentifier, escapeLiteral } from 'pg';
import type { ReadSchemas } from '../connection/read-schemas.ts';
import type { NamedView, RegisteredColumn } from './registry.ts';
import { shapesOf, type ViewShape } from './shapes.ts';
import { columnKey, type RequestedColumn } from './subjects.ts';

/** The definition that a view should have. */
export interface ViewDefinition {
  /** Name of the view in schema `typed`, unquoted. */
  readonly name: string;
  /** Statements that create or replace the view and set its comments. */
  readonly script: string;
  /** The statement that creates or replaces the view. Comments are kept when a view is replaced. */
  readonly statement: string;
  /** End of the view's comment. It identifies the definition of an existing view. */
  readonly mark: string;
}

/** Returns the columns of an existing view, in order; empty if the view does not exist. */
export type ExistingColumns = (view: string) => readonly string[];

/** The definitions of the views of a subject: two for a template, one for all other subjects. */
export function definitionsOf(
  view: NamedView,
  schemas: ReadSchemas,
  existingColumns: ExistingColumns = () => [],
): readonly ViewDefinition[] {
  const fields = new Set(view.columns.map(({ name }) => name));
  return shapesOf(view.subject, schemas, fields).map((shape) =>
    definition(view, shape, schemas.typed, existingColumns),
  );
}

function definition(
  view: NamedView,
  shape: ViewShape,
  typedSchema: string,
  existingColumns: ExistingColumns,
): ViewDefinition {
  const name = `${view.name}${shape.suffix}`;
  const quotedName = `${escapeIdentifier(typedSchema)}.${escapeIdentifier(name)}`;
  const leadingColumns = shape.leading.map(({ name: column, sql }) => [column, sql] as const);
  const selectedColumns = orderByExisting([...leadingColumns, ...fieldColumns(view, shape)], existingColumns(name));
  const list = selectedColumns.map(([column, sql]) => `${sql} as ${escapeIdentifier(column)}`).join(',\n  ');
  const comments = [
    ...shape.leading.map((column) => [column.name, column.comment] as const),
    ...columnComments(view),
  ].map(([column, text]) => `comment on column ${quotedName}.${escapeIdentifier(column)} is ${escapeLiteral(text)};`);
  const statement = `create or replace view ${quotedName} as\nselect\n  ${list}\n  ${shape.from};`;
  const statements = [statement, ...comments].join('\n');
  const definitionMark = `(definition ${createHash('sha256').update(statements).digest('hex').slice(0, 16)})`;
  const comment = `comment on view ${quotedName} is ${escapeLiteral(`${shape.comment} ${definitionMark}`)};`;
  return { name, statement, script: `${statements}\n${comment}`, mark: definitionMark };
}

/**
 * Orders columns so that new columns come last, because a view can only be replaced by a view that begins with the same
 * columns.
 */
function orderByExisting<T extends readonly [name: string, sql: string]>(
  columns: readonly T[],
  existingNames: readonly string[],
): readonly T[] {
  const positionOf = (name: string): number =>
    existingNames.includes(name) ? existingNames.indexOf(name) : existingNames.length;
  return columns.toSorted(([left], [other]) => positionOf(left) - positionOf(other));
}

function columnComments({ columns }: NamedView): readonly (readonly [name: string, comment: string])[] {
  return columns.map(({ name, description }) => [name, description]);
}

function fieldColumns(
  { columns, subject }: NamedView,
  shape: ViewShape,
): readonly (readonly [name: string, sql: string])[] {
  const subjectColumns = new Map(subject.columns.map((column) => [columnKey(column), column]));
  const pathCounts = new Map<string, number>();
  for (const { path } of columns) {
    // A deeper path also counts for the paths above it, because another version may have a record where this version
    // has a value.
    for (let length = 1; length <= path.length; length += 1) {
      const key = JSON.stringify(path.slice(0, length));
      pathCounts.set(key, (pathCounts.get(key) ?? 0) + 1);
    }
  }
  return columns.map((column) => {
    const value = valueSql(shape.source, column);
    const canCastFail = column.type !== 'jsonb' && column.type !== 'text';
    // If the same path has two types, the upgrade is not valid. A cast of the value of the other version would make
    // every query fail.
    if (!canCastFail || pathCounts.get(JSON.stringify(column.path)) === 1) return [column.name, value];
    const versions = subjectColumns.get(columnKey({ path: column.path, type: column.type as RequestedColumn['type'] }));
    const ids = (versions?.packageIds ?? []).map((id) => escapeLiteral(id)).join(', ');
    return [column.name, `case when ${shape.packageId} = any (array[${ids}]::text[]) then ${value} end`];
  });
}

/** SQL: the value at a path; null if it is absent or null. */
function valueSql(source: string, { path, type }: RegisteredColumn): string {
  if (type === 'jsonb') return `nullif(${jsonAtPath(source, path, '->', '#>')}, 'null'::jsonb)`;
  const text = jsonAtPath(source, path, '->>', '#>>');
  if (type === 'text') return text;
  if (type === 'interval') return intervalOf(`(${text})::bigint`);
  return `(${text})::${type}`;
}

/**
 * SQL: an interval from microseconds. Days are converted separately: Postgres multiplies intervals as floats, which are
 * not exact and cannot represent the largest values.
 */
function intervalOf(microseconds: string): string {
  const day = 86_400_000_000;
  return `${microseconds} / ${day} * interval '1 day' + ${microseconds} % ${day} * interval '1 microsecond'`;
}

function jsonAtPath(source: string, path: readonly string[], singleOperator: string, pathOperator: string): string {
  const [first] = path;
  if (path.length === 1 && first !== undefined) return `(${source} ${singleOperator} ${escapeLiteral(first)})`;
  return `(${source} ${pathOperator} array[${path.map((step) => escapeLiteral(step)).join(', ')}]::text[])`;
}
