/**
 * Checks the role with which users of the participant read. With another role, such as one that reads everything, each
 * user would read more than the participant permits.
 */
import type { ClientBase } from 'pg';
import type { Database } from '../connection/database.ts';
import { limitedTables } from '../roles/party-policies.ts';
import { rightsBeyondReading } from '../roles/role-reach.ts';

/** Follows "role X", as the reason why users must not read with it; null if they may. */
export async function nodeReaderProblem(database: Database, role: string): Promise<string | null> {
  return database.withClient((client) => readProblem(client, database.schema, role));
}

async function readProblem(client: ClientBase, storage: string, role: string): Promise<string | null> {
  const { rows } = await client.query<{ problem: string | null }>(
    `select coalesce(${rightsBeyondReading('r.oid', storage)},
            (select 'is a member of ' || g.rolname from pg_auth_members m join pg_roles g on g.oid = m.roleid
              where m.member = r.oid limit 1),
            (select 'is not limited in table ' || t.name from unnest($2::text[]) t (name)
              where not exists (
                select from pg_policy p join pg_class c on c.oid = p.polrelid
                 where c.oid = to_regclass(quote_ident(t.name)) and c.relrowsecurity and not p.polpermissive
                   and p.polcmd in ('r', '*') and r.oid = any (p.polroles)
                   and pg_get_expr(p.polqual, p.polrelid) like '%session_reads_all()%') limit 1),
            case when not pg_has_role(r.oid, 'member') then 'is not a role that the indexer may read as' end) as problem
       from pg_roles r where r.rolname = $1`,
    [role, limitedTables()],
  );
  return rows.length === 0 ? 'does not exist' : (rows[0]?.problem ?? null);
}
