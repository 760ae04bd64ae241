/**
 * Combines the table of keys and relations with the views that a database has. The result refers only to views that
 * exist. Pure.
 */
import type { ReadSide, ReadView } from 'ledger-indexer/codegen';
import {
  derivedEntity,
  type Entity,
  exploreEntities,
  exploreFunctions,
  typedEntities,
  type ViewRelation,
} from './relations.ts';

/** A view with its name, its keys and its relations to other views. */
export interface Node {
  readonly schema: string;
  readonly view: string;
  /**
   * Name for clients, in snake case: the name of the view; typed views have the prefix `typed_`, and projections of
   * users `derived_`. The names are also unique in camel case.
   */
  readonly name: string;
  readonly keys: readonly (readonly string[])[];
  /** Whether columns of the keys may be null, so that no key is the primary one. */
  readonly mayHaveNulls: boolean;
  readonly edges: readonly Edge[];
}

export interface Edge {
  readonly columns: readonly string[];
  readonly to: { readonly schema: string; readonly view: string };
  readonly toColumns: readonly string[];
  readonly field: string;
  readonly back: string | undefined;
  /** Whether at most one row of this view refers to a row of the other view. */
  readonly isOne: boolean;
  readonly mayMiss: string | undefined;
}

export interface Graph {
  readonly nodes: readonly Node[];
  readonly functions: readonly GraphFunction[];
  /** Views that the role may not read, and views of labels. */
  readonly hidden: readonly { readonly schema: string; readonly view: string }[];
}

export interface GraphFunction {
  readonly schema: string;
  readonly name: string;
  /** Whether readers call it; other functions are only used by views and functions. */
  readonly isShown: boolean;
  readonly overloads: number;
  readonly returns: string | null;
}

/** Views without a type, because clients could filter by their columns, and labels must not select rows. */
const labelViews: ReadonlySet<string> = new Set(['party_labels', 'instrument_labels']);

export function graphOf({ schemas, views: allViews, functions, hidden, derivedSchema }: ReadSide): Graph {
  const names = new NodeNames();
  const isLabelView = ({ kind, name }: ReadView): boolean => kind === 'explore' && labelViews.has(name);
  const views = allViews.filter((view) => !isLabelView(view));
  const storedViews = new Set(views.filter(({ kind }) => kind === 'explore').map(({ name }) => name));
  return {
    nodes: views.map((view) => nodeOf(view, schemas.explore, storedViews, names)),
    functions: functions.map((readFunction) => ({
      ...readFunction,
      schema: schemas.explore,
      isShown: exploreFunctions.includes(readFunction.name),
    })),
    hidden: [
      ...hidden.map((view) => ({ schema: derivedSchema, view })),
      ...allViews.filter(isLabelView).map(({ schema, name: view }) => ({ schema, view })),
    ],
  };
}

function nodeOf(view: ReadView, explore: string, storedViews: ReadonlySet<string>, names: NodeNames): Node {
  const { keys, relations } = entityOf(view);
  const keyColumns = keys.map((key) => key.map((name) => view.columnOf(name)));
  return {
    schema: view.schema,
    view: view.name,
    name: names.of(view),
    keys: keyColumns,
    mayHaveNulls: view.kind === 'derived',
    edges: relations
      .filter(({ to }) => storedViews.has(to))
      .map((relation) => edgeOf(view, relation, keyColumns, explore)),
  };
}

const unknownEntity: Entity = { keys: [], relations: [] };

function entityOf({ kind, name, derived }: ReadView): Entity {
  if (derived !== undefined) return derivedEntity(derived);
  if (kind === 'explore' || kind === 'derived') return exploreEntities[name] ?? unknownEntity;
  return typedEntities[kind];
}

function edgeOf(view: ReadView, relation: ViewRelation, keys: Node['keys'], explore: string): Edge {
  const { to, toColumns, field, back: reverseField, mayMiss: missingReason } = relation;
  const columns = relation.columns.map((name) => view.columnOf(name));
  return {
    columns,
    to: { schema: explore, view: to },
    toColumns,
    field,
    back: reverseField,
    isOne: keys.some((key) => key.every((name) => columns.includes(name))),
    mayMiss: missingReason,
  };
}

/**
 * Assigns names. Camel case removes underscores from a name, and type names are singular. If two names differ only in
 * these respects, a number is added.
 */
class NodeNames {
  readonly #taken = new Set<string>();

  of({ kind, name }: ReadView): string {
    const baseName = kind === 'explore' ? name : kind === 'derived' ? `derived_${name}` : `typed_${name}`;
    for (let number = 1; ; number += 1) {
      const candidate = number === 1 ? baseName : `${baseName}_${String(number)}`;
      const normalizedName = candidate.replaceAll('_', '').replace(/s$/, '');
      if (this.#taken.has(normalizedName)) continue;
      this.#taken.add(normalizedName);
      return candidate;
    }
  }
}
