/** What everything that belongs to a materialized view is called. */
import { escapeIdentifier } from 'pg';
import { shortName } from '../../packages/short-name.ts';
import type { ReadSchemas } from '../readers/read-schemas.ts';
import type { NamedView } from '../typed/registry.ts';

/** The names of everything that belongs to one materialized view, quoted. */
export interface MaterializedNames {
  readonly view: string;
  /** Of the view with its schema. */
  readonly viewName: string;
  /** Of the table without schema, unquoted. */
  readonly tableName: string;
  readonly table: string;
  /** Function `(after, up to)` that enters what was activated in between and is active. */
  readonly fill: string;
  /** Trigger functions: what changes the rows, and what completes them at the commit. */
  readonly keep: string;
  readonly complete: string;
  /** For the names of triggers, unquoted. */
  readonly trigger: (event: string) => string;
  readonly storage: string;
  /** Columns of the table that no view shows; their names are free of those of fields. */
  readonly templatePk: string;
  readonly synchronizerPk: string;
}

/** The names that belong to a view. */
export function materializedNames(
  { name, columns }: Pick<NamedView, 'name' | 'columns'>,
  schemas: ReadSchemas,
): MaterializedNames {
  const tableName = shortName(`${name}__active`, name);
  const storage = escapeIdentifier(schemas.storage);
  const taken = new Set(columns.map((column) => column.name));
  const free = (wanted: string): string => (taken.has(wanted) ? free(`${wanted}_`) : escapeIdentifier(wanted));
  const called = (what: string): string => `${storage}.${escapeIdentifier(shortName(`${tableName}_${what}`, name))}`;
  return {
    view: name,
    viewName: `${escapeIdentifier(schemas.typed)}.${escapeIdentifier(name)}`,
    tableName,
    table: `${escapeIdentifier(schemas.typed)}.${escapeIdentifier(tableName)}`,
    fill: called('fill'),
    keep: called('keep'),
    complete: called('complete'),
    trigger: (event) => shortName(`${tableName}_${event}`, `${name} ${event}`),
    storage,
    templatePk: free('template_pk'),
    synchronizerPk: free('synchronizer_pk'),
  };
}
