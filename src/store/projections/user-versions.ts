/** The projections that users added, as rows of `user_projections`. */
import type { ClientBase } from 'pg';
import { derivedName, derivedSchema, versionName } from '../connection/read-schemas.ts';
import type { Projection } from './projections.ts';

/**
 * All versions whose table and function exist, in the order in which they are filled. After a handover, another server
 * has the rows of `user_projections` only. The search path must be the storage schema.
 */
export async function userProjections(client: ClientBase, storage: string): Promise<readonly Projection[]> {
  const { rows } = await client.query<VersionRow>(
    `select u.name as view, u.generation, u.select_hash as hash, u.read_role as "readRole", u.looks_up as "looksUp",
            u.sources, u.is_retired as "isRetired"
       from user_projections u
       join pg_class c on c.relname = u.name || '$' || u.generation
       join pg_proc p on p.proname = c.relname and p.pronamespace = c.relnamespace
       join pg_namespace n on n.oid = c.relnamespace and n.nspname = $1
      order by u.name, u.generation`,
    [derivedSchema(storage)],
  );
  return rows.map(({ hash, sources, ...user }) => {
    const name = versionName(user.view, user.generation);
    const sql = derivedName(storage, name);
    return {
      name,
      table: sql,
      select: `select * from ${sql}($1::bigint, $2::bigint)`,
      hash,
      isSummed: false,
      sources,
      user,
    };
  });
}

interface VersionRow {
  readonly view: string;
  readonly generation: number;
  readonly hash: string;
  readonly readRole: string;
  readonly looksUp: boolean;
  readonly sources: readonly string[];
  readonly isRetired: boolean;
}
