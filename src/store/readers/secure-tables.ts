/**
 * Tables of active contracts hold what contracts hold, so roles that are limited to parties see of them what they see of
 * contracts: the policies are copies.
 */
import { escapeIdentifier } from 'pg';
import type { ClientBase } from 'pg';
import type { ReadSchemas } from './read-schemas.ts';
import { limitedRoles } from './secure-views.ts';

interface PolicyRow {
  readonly name: string;
  readonly permissive: boolean;
  readonly command: string;
  readonly roles: string;
  readonly condition: string | null;
  readonly check: string | null;
}

/** The same for every table of active contracts there is; to be called when policies have changed. */
export async function secureTables(client: ClientBase, schemas: ReadSchemas): Promise<void> {
  const { rows } = await client.query<{ name: string }>('select table_name as name from materialized order by 1');
  for (const { name } of rows) await secureTable(client, schemas, name);
}

/** Gives the table the policies of contracts, and limited roles the right to read it; without policies does nothing. */
export async function secureTable(client: ClientBase, schemas: ReadSchemas, tableName: string): Promise<void> {
  const table = `${escapeIdentifier(schemas.typed)}.${escapeIdentifier(tableName)}`;
  const policies = await policiesOf(client, `${escapeIdentifier(schemas.storage)}.contracts`);
  const own = await policiesOf(client, table);
  for (const { name } of own) await client.query(`drop policy ${escapeIdentifier(name)} on ${table}`);
  for (const policy of policies) await client.query(policyStatement(policy, table));
  if (policies.length > 0) await client.query(`alter table ${table} enable row level security`);
  for (const role of await limitedRoles(client, schemas.storage)) {
    await client.query(`grant select on ${table} to ${escapeIdentifier(role)}`);
  }
}

async function policiesOf(client: ClientBase, table: string): Promise<readonly PolicyRow[]> {
  const { rows } = await client.query<PolicyRow>(
    `select p.polname::text as name, p.polpermissive as permissive,
            case p.polcmd when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' when 'd' then 'delete'
                          else 'all' end as command,
            (select string_agg(case when r = 0 then 'public' else quote_ident(pg_get_userbyid(r)) end, ', ')
               from unnest(p.polroles) r) as roles,
            pg_get_expr(p.polqual, p.polrelid) as condition, pg_get_expr(p.polwithcheck, p.polrelid) as check
       from pg_policy p where p.polrelid = $1::regclass order by 1`,
    [table],
  );
  return rows;
}

function policyStatement({ name, permissive, command, roles, condition, check }: PolicyRow, table: string): string {
  const using = condition === null ? '' : ` using (${condition})`;
  const checked = check === null ? '' : ` with check (${check})`;
  const kind = permissive ? 'permissive' : 'restrictive';
  return `create policy ${escapeIdentifier(name)} on ${table} as ${kind} for ${command} to ${roles}${using}${checked}`;
}
