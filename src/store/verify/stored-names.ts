/** The names of packages as the dictionary of templates has them. */
import type { ClientBase } from 'pg';

/** By template, as the ledger writes its identifier; null where no event named the package. */
export async function storedPackageNames(client: ClientBase): Promise<ReadonlyMap<string, string | null>> {
  const { rows } = await client.query<{ template: string; name: string | null }>(
    `select package_id || ':' || module_name || ':' || entity_name as template, package_name as name from templates`,
  );
  return new Map(rows.map(({ template, name }) => [template, name]));
}
