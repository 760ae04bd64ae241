/** Verifies in SQL whether relations hold for the existing rows. */
import type { Edge, Node } from '../../packages/codegen/src/graphql/graph.ts';
import type { DemoDatabase } from '../read/demo/demo-history.ts';

export function qualifiedName({ schema, view }: Pick<Node, 'schema' | 'view'>): string {
  return `${schema}.${view}`;
}

export function quoteColumns(alias: string, names: readonly string[]): readonly string[] {
  return names.map((name) => `${alias}."${name}"`);
}

/**
 * Whether a row may refer to a missing row. If history begins at genesis, only completions of rejected commands may.
 */
export function isValidEdge({ view }: Node, { mayMiss: isOptional }: Edge): boolean {
  return view === 'completions' && isOptional !== undefined;
}

export class HeldRelations {
  readonly #demo: DemoDatabase;
  readonly #keys = new Map<string, string>();

  constructor(demo: DemoDatabase) {
    this.#demo = demo;
  }

  /** Copies the keys of the other view into a table, so that the view is read once for all relations to it. */
  async #keysOf({ to, toColumns }: Edge): Promise<string> {
    const key = [qualifiedName(to), ...toColumns].join();
    const cachedKeys = this.#keys.get(key);
    if (cachedKeys !== undefined) return cachedKeys;
    const table = `keys_${String(this.#keys.size)}`;
    this.#keys.set(key, table);
    const columns = toColumns.map((name) => `"${name}"`).join(', ');
    await this.#demo.query(
      `create temporary table ${table} as select distinct ${columns}, true as is_there from ${qualifiedName(to)}`,
    );
    await this.#demo.query(`analyze ${table}`);
    return table;
  }

  /** For each relation: number of rows whose other row exists, and number of rows that refer to a missing row. */
  async meets(node: Node): Promise<readonly { readonly met: number; readonly missing: number }[]> {
    const joins: string[] = [];
    const counts: string[] = [];
    for (const [index, edge] of node.edges.entries()) {
      const otherAlias = `t${String(index)}`;
      const ownColumns = quoteColumns('f', edge.columns);
      const otherColumns = quoteColumns(otherAlias, edge.toColumns);
      const joinConditions = ownColumns.map((name, i) => `${name} = ${otherColumns[i] ?? ''}`).join(' and ');
      joins.push(`left join ${await this.#keysOf(edge)} ${otherAlias} on ${joinConditions}`);
      const notNullCondition = ownColumns.map((name) => `${name} is not null`).join(' and ');
      counts.push(`json_build_object('met', count(${otherAlias}.is_there),
        'missing', count(*) filter (where ${notNullCondition} and ${otherAlias}.is_there is null)) as e${String(index)}`);
    }
    const [row] = await this.#demo.query(
      `select ${counts.join(', ')} from ${qualifiedName(node)} f ${joins.join(' ')}`,
    );
    return Object.values(row ?? {}) as { met: number; missing: number }[];
  }
}
