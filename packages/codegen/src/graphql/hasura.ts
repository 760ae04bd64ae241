/**
 * Converts a graph to metadata of Hasura 2, the object that `replace_metadata` accepts and `export_metadata` returns
 * (version 3). Pure. Source: hasura.io/docs/2.0/api-reference/metadata-api/manage-metadata and /syntax-defs
 * (relationships by manual_configuration).
 */
import type { Edge, Graph, GraphFunction, Node } from './graph.ts';

interface QualifiedName {
  readonly schema: string;
  readonly name: string;
}

interface Relationship {
  readonly name: string;
  readonly using: {
    readonly manual_configuration: {
      readonly remote_table: QualifiedName;
      readonly column_mapping: Readonly<Record<string, string>>;
      readonly insertion_order: null;
    };
  };
}

export interface HasuraTable {
  readonly table: QualifiedName;
  readonly configuration: { readonly custom_name: string };
  readonly object_relationships: readonly Relationship[];
  readonly array_relationships: readonly Relationship[];
}

export interface HasuraMetadata {
  readonly version: 3;
  readonly sources: readonly {
    readonly name: 'default';
    readonly kind: 'postgres';
    readonly tables: readonly HasuraTable[];
    readonly functions: readonly { readonly function: QualifiedName }[];
    readonly configuration: {
      readonly connection_info: {
        readonly database_url: { readonly from_env: string };
        readonly isolation_level: 'read-committed';
        readonly use_prepared_statements: true;
      };
    };
  }[];
}

/**
 * @param urlVariable Hasura's environment variable with the URL of the database. The user in the URL is a reader role,
 * and the rights of this role apply to all clients
 */
export function hasuraMetadata({ nodes, functions }: Graph, urlVariable: string): HasuraMetadata {
  const views = new Set(nodes.map(({ view }) => view));
  return {
    version: 3,
    sources: [
      {
        name: 'default',
        kind: 'postgres',
        tables: nodes.map((node) => tableOf(node, nodes)),
        functions: functions
          .filter((graphFunction) => graphFunction.isShown && isTracked(graphFunction, views))
          .map(({ schema, name }) => ({ function: { schema, name } })),
        configuration: {
          connection_info: {
            database_url: { from_env: urlVariable },
            isolation_level: 'read-committed',
            use_prepared_statements: true,
          },
        },
      },
    ],
  };
}

/** Hasura accepts only functions that return rows of a tracked view, and no two functions of the same name. */
function isTracked({ overloads: overloadCount, returns }: GraphFunction, views: ReadonlySet<string>): boolean {
  return overloadCount === 1 && returns !== null && views.has(returns);
}

function tableOf(node: Node, nodes: readonly Node[]): HasuraTable {
  const incomingEdges = nodes.flatMap((from) =>
    from.edges
      .filter(({ to }) => to.schema === node.schema && to.view === node.view)
      .flatMap((edge) => (edge.back === undefined ? [] : [{ from, edge, back: edge.back }])),
  );
  const reverseRelationships = (isSingle: boolean): readonly Relationship[] =>
    incomingEdges
      .filter(({ edge }) => edge.isOne === isSingle)
      .map(({ from, edge, back: reverseField }) => reverseRelationship(reverseField, from, edge));
  return {
    table: { schema: node.schema, name: node.view },
    configuration: { custom_name: node.name },
    object_relationships: [...node.edges.map(forwardRelationship), ...reverseRelationships(true)],
    array_relationships: reverseRelationships(false),
  };
}

function forwardRelationship({ field, to, columns, toColumns }: Edge): Relationship {
  return relationship(field, { schema: to.schema, name: to.view }, columns, toColumns);
}

function reverseRelationship(name: string, { schema, view }: Node, { columns, toColumns }: Edge): Relationship {
  return relationship(name, { schema, name: view }, toColumns, columns);
}

function relationship(
  name: string,
  remote: QualifiedName,
  columns: readonly string[],
  remoteColumns: readonly string[],
): Relationship {
  return {
    name,
    using: {
      manual_configuration: {
        remote_table: remote,
        column_mapping: Object.fromEntries(columns.map((column, index) => [column, remoteColumns[index] ?? ''])),
        insertion_order: null,
      },
    },
  };
}
