/**
 * Converts a graph to smart tags of PostGraphile 5, the document `postgraphile.tags.json5` (JSON is JSON5). Pure. The
 * tags have no descriptions, because PostGraphile reads the comments of the views. Source:
 * postgraphile.org/postgraphile/5/smart-tags-file.
 */
import type { Edge, Graph, Node } from './graph.ts';

interface TagEntry {
  readonly tags: Readonly<Record<string, string | readonly string[]>>;
}

export interface SmartTags {
  readonly version: 1;
  readonly config: {
    readonly class: Readonly<Record<string, TagEntry>>;
    readonly procedure: Readonly<Record<string, TagEntry>>;
  };
}

/** The root has lists and connections. Related rows are only lists. There are no mutations. */
const viewBehavior = [
  '-insert',
  '-update',
  '-delete',
  '+list',
  '-manyRelation:resource:connection',
  '+manyRelation:resource:list',
];
const functionBehavior = ['+list'];
const hiddenBehavior = ['-queryField', '-mutationField', '-typeField', '-orderBy', '-filterBy'];
const forwardOnlyBehavior =
  '-singularRelation:resource:single -manyRelation:resource:list -manyRelation:resource:connection';

export function smartTags({ nodes, functions, hidden }: Graph): SmartTags {
  return {
    version: 1,
    config: {
      class: Object.fromEntries([
        ...nodes.map((node) => [path(node.schema, node.view), { tags: tagsOf(node) }] as const),
        ...hidden.map(({ schema, view }) => [path(schema, view), { tags: { behavior: ['-*'] } }] as const),
      ]),
      procedure: Object.fromEntries(
        functions.map(({ schema, name, isShown: isVisible }) => [
          path(schema, name),
          // PostGraphile also generates types for hidden functions. Without a different name, token_holding would get
          // the type name of a row of token_holdings.
          { tags: isVisible ? { behavior: functionBehavior } : { name: `part_${name}`, behavior: hiddenBehavior } },
        ]),
      ),
    },
  };
}

function tagsOf({ name, keys, mayHaveNulls, edges }: Node): TagEntry['tags'] {
  const primary = mayHaveNulls ? undefined : keys[0];
  const otherKeys = keys.filter((key) => key !== primary);
  return {
    name,
    behavior: viewBehavior,
    ...(primary === undefined ? {} : { primaryKey: primary.join(',') }),
    ...(otherKeys.length === 0 ? {} : { unique: otherKeys.map((key) => key.join(',')) }),
    ...(edges.length === 0 ? {} : { foreignKey: edges.map(foreignKey) }),
  };
}

/** A foreign key constraint in SQL notation, followed by the names of both directions. */
function foreignKey({ columns, to, toColumns, field, back: reverseField, isOne: isSingle }: Edge): string {
  const names = [
    `@fieldName ${field}`,
    ...(reverseField === undefined
      ? [`@backwardBehavior ${forwardOnlyBehavior}`]
      : reverseNameTags(reverseField, isSingle)),
  ];
  const constraint = `${list(columns)} references ${quoteName(to.schema)}.${quoteName(to.view)} ${list(toColumns)}`;
  return [constraint, ...names].join('|');
}

function reverseNameTags(reverseField: string, isSingle: boolean): readonly string[] {
  return isSingle ? [`@foreignSingleFieldName ${reverseField}`] : [`@foreignSimpleFieldName ${reverseField}`];
}

function list(columns: readonly string[]): string {
  return `(${columns.map(quoteName).join(', ')})`;
}

/** Our names consist of letters, digits and underscores. Only the schema name is chosen by the operator. */
function quoteName(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name}"`;
}

function path(schema: string, name: string): string {
  return `${quoteName(schema)}.${quoteName(name)}`;
}
