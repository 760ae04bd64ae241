/** Which views are materialized, as the database has it. */
import type { ClientBase } from 'pg';

/** A template whose active contracts the operator wants in a table of their own. */
export interface MaterializedTemplate {
  /** `package:Module:Entity`. */
  readonly template: string;
  /** Columns of its typed view to index. */
  readonly columns: readonly string[];
}

/** A row of table `materialized`, without its statements. */
export interface MaterializedRow {
  readonly view: string;
  readonly state: 'building' | 'ready';
  readonly mark: string;
  readonly indexed: readonly string[];
}

/** By view name. */
export async function readMaterialized(client: ClientBase): Promise<ReadonlyMap<string, MaterializedRow>> {
  const { rows } = await client.query<MaterializedRow>(
    'select view_name as view, state, mark, indexed from materialized order by view_name',
  );
  return new Map(rows.map((row) => [row.view, row]));
}
