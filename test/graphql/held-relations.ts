/** Verifies in SQL whether relations hold for the existing rows. */
import type { Edge, Node } from '../../src/store/graphql/graph.ts';
import type { DemoDatabase } from '../read/demo/demo-history.ts';

export function named({ schema, view }: Pick<Node, 'schema' | 'view'>): string {
  return `${schema}.${view}`;
}

export function quoted(alias: string, names: readonly string[]): readonly string[] {
  return names.map((name) => `${alias}."${name}"`);
}

/**
 * Whether a row may refer to a missing row. If history begins at genesis, only completions of rejected commands may.
 */
export function isLawful({ view }: Node, { mayMiss }: Edge): boolean {
  return view === 'completions' && mayMiss !== undefined;
}

export class HeldRelations {
  readonly #demo: DemoDatabase;
  readonly #keys = new Map<string, string>();

  constructor(demo: DemoDatabase) {
    this.#demo = demo;
  }

  /** Copies the keys of the other view into a table, so that the view is read once for all relations to it. */
  async #keysOf({ to, toColumns }: Edge): Promise<string> {
    const key = [named(to), ...toColumns].join();
    const known = this.#keys.get(key);
    if (known !== undefined) return known;
    const table = `keys_${String(this.#keys.size)}`;
    this.#keys.set(key, table);
    const columns = toColumns.map((name) => `"${name}"`).join(', ');
    await this.#demo.query(
      `create temporary table ${table} as select distinct ${columns}, true as is_there from ${named(to)}`,
    );
    await this.#demo.query(`analyze ${table}`);
    return table;
  }

  /** For each relation: number of rows whose other row exists, and number of rows that refer to a missing row. */
  async meets(node: Node): Promise<readonly { readonly met: number; readonly missing: number }[]> {
    const joins: string[] = [];
    const counts: string[] = [];
    for (const [at, edge] of node.edges.entries()) {
      const other = `t${String(at)}`;
      const mine = quoted('f', edge.columns);
      const otherColumns = quoted(other, edge.toColumns);
      const same = mine.map((name, i) => `${name} = ${otherColumns[i] ?? ''}`).join(' and ');
      joins.push(`left join ${await this.#keysOf(edge)} ${other} on ${same}`);
      const notNullCondition = mine.map((name) => `${name} is not null`).join(' and ');
      counts.push(`json_build_object('met', count(${other}.is_there),
        'missing', count(*) filter (where ${notNullCondition} and ${other}.is_there is null)) as e${String(at)}`);
    }
    const [row] = await this.#demo.query(`select ${counts.join(', ')} from ${named(node)} f ${joins.join(' ')}`);
    return Object.values(row ?? {}) as { met: number; missing: number }[];
  }
}
