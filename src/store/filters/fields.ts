/**
 * The fields that a filter may name: columns of a relation, and fields of its JSON columns. No other name is
 * accepted, so the text of a filter never becomes part of a statement.
 */
import { nearestNames } from '../../errors/nearest-names.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { DamlType, PackageLookup } from '../../daml/package-model.ts';
import { documentKind, type DocumentKind, documentSteps, stepInto } from './document-types.ts';
import type { FieldPath } from './filter.ts';

/** Kinds of columns, by which values they can be compared with. */
export type ColumnKind = 'text' | 'integer' | 'number' | 'boolean' | 'time' | 'texts';

/** A column or field that a filter compares. */
export type FilterField =
  | { readonly column: string; readonly path?: undefined; readonly kind: ColumnKind }
  | { readonly column: string; readonly path: readonly string[]; readonly kind: DocumentKind };

/** The fields of one relation. */
export interface FilterFields {
  readonly columns: Readonly<Record<string, ColumnKind>>;
  /** JSON columns, and the types that their values may have: one for each version of a template. */
  readonly documents: Readonly<Record<string, readonly DamlType[]>>;
  readonly packages: PackageLookup;
}

/** @throws IndexerError FIELD_UNKNOWN, with the nearest names */
export function findField({ columns, documents, packages }: FilterFields, { steps, position }: FieldPath): FilterField {
  const [column = '', ...path] = steps;
  if (Object.hasOwn(columns, column) && path.length === 0) return { column, kind: columns[column] ?? 'text' };
  let types = Object.hasOwn(documents, column) ? documents[column] : undefined;
  if (types === undefined) {
    const names = [...Object.keys(columns), ...Object.keys(documents)];
    throw unknownField(steps.slice(0, Object.hasOwn(columns, column) ? 2 : 1), position, path.length > 0 ? [] : names);
  }
  for (const [index, step] of path.entries()) {
    const next = stepInto(types, step, packages);
    if (next.length === 0) {
      const known = documentSteps(types, packages).map((name) => [...steps.slice(0, index + 1), name].join('.'));
      throw unknownField(steps.slice(0, index + 2), position, known);
    }
    types = next;
  }
  return { column, path, kind: path.length === 0 ? 'object' : documentKind(types, packages) };
}

function unknownField(steps: readonly string[], position: number, known: readonly string[]): IndexerError {
  const name = steps.join('.');
  const nearest = nearestNames(name, known);
  const listed = (nearest.length > 0 ? nearest : known.slice(0, 20)).join(', ');
  return new IndexerError(`the filter names an unknown field: ${name}, at character ${String(position)}`, {
    code: 'FIELD_UNKNOWN',
    remedy: listed === '' ? 'name a column of the endpoint, or a field of the payload' : `name one of: ${listed}`,
    facts: { position, nearest: listed },
  });
}
