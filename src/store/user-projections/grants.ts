/**
 * Rights on schema `derived`. They follow from rights on the storage: whoever reads `explore.events` reads the views, the
 * writer stores and removes rows, and the redactor removes them. A reader limited to parties reads only views with a party
 * column, and never sees stored rows.
 */
import { escapeIdentifier, type ClientBase } from 'pg';
import type { Database } from '../connection/database.ts';
import { derivedName, derivedSchema, readSchemas, versionName } from '../connection/read-schemas.ts';
import { shortChange } from '../connection/short-transaction.ts';
import { limitedRoles } from '../roles/secure-views.ts';

interface Version {
  readonly view: string;
  readonly generation: number;
  readonly partyColumn: string | null;
}

interface Grantee {
  readonly role: string;
  /** `SELECT` on a view of the readers; `INSERT` or `DELETE` on a table of projected rows. */
  readonly right: string;
}

/** Grants the rights on all projections again, after roles have changed. */
export function renewDerivedGrants(database: Database): Promise<void> {
  return shortChange(database, (client) => grantDerived(client, database.schema));
}

/**
 * Does the same in the transaction of the caller, whose search path is the storage schema. The newest version comes last,
 * because its party column decides who may read the view.
 */
export async function grantDerived(client: ClientBase, storage: string): Promise<void> {
  const { rows: versions } = await client.query<Version>(
    `select u.name as view, u.generation, u.party_column as "partyColumn" from user_projections u
      where exists (select from pg_class c join pg_namespace n on n.oid = c.relnamespace
                     where n.nspname = $1 and c.relname = u.name || '$' || u.generation)
      order by u.name, u.generation`,
    [derivedSchema(storage)],
  );
  if (versions.length === 0) return;
  const limited = new Set(await limitedRoles(client, storage));
  for (const { role, right } of await grantees(client, storage)) {
    await client.query(
      `grant usage on schema ${escapeIdentifier(derivedSchema(storage))} to ${escapeIdentifier(role)}`,
    );
    for (const version of versions)
      await grantVersion(client, storage, version, { role, right, isLimited: limited.has(role) });
  }
}

async function grantees(client: ClientBase, storage: string): Promise<readonly Grantee[]> {
  const { rows } = await client.query<Grantee>(
    `select distinct r.rolname::text as role, a.privilege_type as right
       from pg_class c cross join aclexplode(c.relacl) a join pg_roles r on r.oid = a.grantee
      where r.oid <> c.relowner
        and (c.oid = to_regclass($1) and a.privilege_type = 'SELECT'
             or c.oid = 'projected_token_changes'::regclass and a.privilege_type in ('INSERT', 'DELETE'))
      order by 1, 2`,
    [`${escapeIdentifier(readSchemas(storage).explore)}.events`],
  );
  return rows;
}

async function grantVersion(
  client: ClientBase,
  storage: string,
  { view, generation, partyColumn }: Version,
  { role, right, isLimited }: Grantee & { readonly isLimited: boolean },
): Promise<void> {
  const table = derivedName(storage, versionName(view, generation));
  const name = escapeIdentifier(role);
  if (right !== 'SELECT') {
    await client.query(`grant select, ${right === 'INSERT' ? 'insert' : 'delete'} on ${table} to ${name}`);
    return;
  }
  const objects = `${table}, ${derivedName(storage, view)}`;
  const isReadable = !isLimited || partyColumn !== null;
  await client.query(isReadable ? `grant select on ${objects} to ${name}` : `revoke select on ${objects} from ${name}`);
  if (isReadable) await client.query(`grant execute on function ${table}(bigint, bigint) to ${name}`);
}

/**
 * Hides the stored rows from readers limited to parties. The policy needs no list of these readers, so it also holds for
 * later ones.
 */
export async function hideStoredRows(client: ClientBase, storage: string, name: string): Promise<void> {
  const table = derivedName(storage, name);
  await client.query(`alter table ${table} enable row level security`);
  await client.query(
    `create policy "all readers" on ${table}
      using ((select ${escapeIdentifier(readSchemas(storage).explore)}.sees_stored_rows())) with check (true)`,
  );
}
