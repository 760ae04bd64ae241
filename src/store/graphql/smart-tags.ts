/**
 * Converts a graph to smart tags of PostGraphile 5, the document `postgraphile.tags.json5` (JSON is JSON5). Pure. The
 * tags have no descriptions, because PostGraphile reads the comments of the views. Source:
 * postgraphile.org/postgraphile/5/smart-tags-file.
 */
import type { Edge, Graph, Node } from './graph.ts';

interface Tagged {
  readonly tags: Readonly<Record<string, string | readonly string[]>>;
}

export interface SmartTags {
  readonly version: 1;
  readonly config: {
    readonly class: Readonly<Record<string, Tagged>>;
    readonly procedure: Readonly<Record<string, Tagged>>;
  };
}

/** The root has lists and connections. Related rows are only lists. There are no mutations. */
const ofViews = [
  '-insert',
  '-update',
  '-delete',
  '+list',
  '-manyRelation:resource:connection',
  '+manyRelation:resource:list',
];
const ofFunctions = ['+list'];
const hidden = ['-queryField', '-mutationField', '-typeField', '-orderBy', '-filterBy'];
const oneWay = '-singularRelation:resource:single -manyRelation:resource:list -manyRelation:resource:connection';

export function smartTags({ nodes, functions }: Graph): SmartTags {
  return {
    version: 1,
    config: {
      class: Object.fromEntries(nodes.map((node) => [path(node.schema, node.view), { tags: tagsOf(node) }])),
      procedure: Object.fromEntries(
        functions.map(({ schema, name, isShown }) => [
          path(schema, name),
          // PostGraphile also generates types for hidden functions. Without a different name, token_holding would get
          // the type name of a row of token_holdings.
          { tags: isShown ? { behavior: ofFunctions } : { name: `part_${name}`, behavior: hidden } },
        ]),
      ),
    },
  };
}

function tagsOf({ name, keys: [primary, ...others], edges }: Node): Tagged['tags'] {
  return {
    name,
    behavior: ofViews,
    ...(primary === undefined ? {} : { primaryKey: primary.join(',') }),
    ...(others.length === 0 ? {} : { unique: others.map((key) => key.join(',')) }),
    ...(edges.length === 0 ? {} : { foreignKey: edges.map(foreignKey) }),
  };
}

/** A foreign key constraint in SQL notation, followed by the names of both directions. */
function foreignKey({ columns, to, toColumns, field, back, isOne }: Edge): string {
  const names = [
    `@fieldName ${field}`,
    ...(back === undefined ? [`@backwardBehavior ${oneWay}`] : backNames(back, isOne)),
  ];
  const constraint = `${list(columns)} references ${quoted(to.schema)}.${quoted(to.view)} ${list(toColumns)}`;
  return [constraint, ...names].join('|');
}

function backNames(back: string, isOne: boolean): readonly string[] {
  return isOne ? [`@foreignSingleFieldName ${back}`] : [`@foreignSimpleFieldName ${back}`];
}

function list(columns: readonly string[]): string {
  return `(${columns.map(quoted).join(', ')})`;
}

/** Our names consist of letters, digits and underscores. Only the schema name is chosen by the operator. */
function quoted(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name}"`;
}

function path(schema: string, name: string): string {
  return `${quoted(schema)}.${quoted(name)}`;
}
