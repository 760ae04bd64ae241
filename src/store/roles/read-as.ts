/**
 * Lets the indexer read for its clients as a role created by `grant-reader`. For one transaction, the indexer switches
 * to the role and has its rights and row security.
 */
import { escapeIdentifier, type ClientBase } from 'pg';
import { readSchemas } from '../connection/read-schemas.ts';
import { rightsBeyondReading } from './role-reach.ts';

export interface ReadAsCheck {
  /** Null if the indexer may read as this role; otherwise the reason and the remedy. */
  readonly problem: { readonly found: string; readonly remedy: string } | null;
}

/**
 * Lets the writers of this stream switch to the role, after checking that the role can only read. Runs in a transaction
 * whose search path is the storage schema.
 */
export async function allowReadAs(client: ClientBase, storage: string, role: string): Promise<ReadAsCheck> {
  const { rows } = await client.query<{
    reads: boolean;
    more: string | null;
  }>(
    `select has_schema_privilege(r.oid, $2, 'usage') as reads,
            coalesce(${rightsBeyondReading('r.oid', storage)},
                     (select 'is a member of ' || g.rolname from pg_auth_members m join pg_roles g on g.oid = m.roleid
                       where m.member = r.oid limit 1)) as more
       from pg_roles r where r.rolname = $1`,
    [role, readSchemas(storage).explore],
  );
  const [roleRow] = rows;
  const remedy = `ledger-indexer grant-reader ${role}, with --party for some parties only`;
  if (roleRow?.reads !== true) return { problem: { found: `role "${role}" reads nothing here`, remedy } };
  if (roleRow.more !== null) {
    const excessMessage = `role "${role}" ${roleRow.more}, and a reader only reads`;
    return { problem: { found: excessMessage, remedy: 'use a separate role, made by grant-reader' } };
  }
  await grantToWriters(client, role);
  return { problem: null };
}

/**
 * Makes the writers of this stream members of the role, unless they are members already. Since Postgres 16, the
 * membership only allows switching to the role. In earlier versions the policies of the role do not limit the writer
 * either, because a writer is the owner or bypasses policies. The search path must be the storage schema.
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
    const grantOptions = version >= 160_000 ? ' with inherit false, set true' : '';
    await client.query(`grant ${escapeIdentifier(role)} to ${escapeIdentifier(name)}${grantOptions}`);
  }
}
