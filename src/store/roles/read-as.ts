/** Lets the indexer read as a role of `grant-reader`, for others: it takes the role for one transaction, with its rights and row security. */
import { escapeIdentifier, type ClientBase } from 'pg';
import { readSchemas } from '../connection/read-schemas.ts';
import { moreThanReading } from './role-reach.ts';

export interface ReadAs {
  /** Null: it may be read as this role. Else why not, and what to do. */
  readonly problem: { readonly found: string; readonly remedy: string } | null;
}

/**
 * Lets whoever writes here take the role, after a check that the role only reads. To be run in a transaction, with the storage as search
 * path.
 */
export async function letReadAs(client: ClientBase, storage: string, role: string): Promise<ReadAs> {
  const { rows } = await client.query<{
    reads: boolean;
    more: string | null;
  }>(
    `select has_schema_privilege(r.oid, $2, 'usage') as reads,
            coalesce(${moreThanReading('r.oid', storage)},
                     (select 'is a member of ' || g.rolname from pg_auth_members m join pg_roles g on g.oid = m.roleid
                       where m.member = r.oid limit 1)) as more
       from pg_roles r where r.rolname = $1`,
    [role, readSchemas(storage).explore],
  );
  const [found] = rows;
  const remedy = `ledger-indexer grant-reader ${role}, with --party for some parties only`;
  if (found?.reads !== true) return { problem: { found: `role "${role}" reads nothing here`, remedy } };
  if (found.more !== null) {
    const more = `role "${role}" ${found.more}, and a reader only reads`;
    return { problem: { found: more, remedy: 'take a role of its own, made by grant-reader' } };
  }
  await grantToWriters(client, role);
  return { problem: null };
}

/**
 * Makes whoever writes here a member of the role, where it is not. From Postgres 16 on the membership is for taking the role alone; before,
 * who is limited by it is never who writes: that is the owner, or bypasses policies. To be run with the storage as search path.
 */
export async function grantToWriters(client: ClientBase, role: string): Promise<void> {
  const { rows } = await client.query<{ name: string; version: number }>(
    `select w.rolname::text as name, v.version
       from pg_roles w, pg_roles r, (select current_setting('server_version_num')::int as version) v
      where r.rolname = $1 and not pg_has_role(w.oid, r.oid, case when v.version >= 160000 then 'set' else 'member' end)
        and (w.oid = (select relowner from pg_class where oid = 'contracts'::regclass) or exists (
          select from pg_class c cross join aclexplode(c.relacl) a
           where c.oid = 'contracts'::regclass and a.grantee = w.oid and a.privilege_type = 'INSERT'))`,
    [role],
  );
  for (const { name, version } of rows) {
    const alone = version >= 160_000 ? ' with inherit false, set true' : '';
    await client.query(`grant ${escapeIdentifier(role)} to ${escapeIdentifier(name)}${alone}`);
  }
}
