/**
 * Checks the owners of schemas before anything is created in them. A role that may create schemas in the database can
 * create a schema with our name before we do. As the owner of the schema, it can then replace our functions, even those
 * that other roles created.
 */
import { escapeIdentifier, escapeLiteral } from 'pg';
import type { ClientBase } from 'pg';
import { ExitCode } from '../../errors/exit-code.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import { readSchemas } from '../connection/read-schemas.ts';

/**
 * SQL: the first of our schemas that belongs to an untrusted role. Trusted are the current role, the roles it is a
 * member of, and administrators of the database. The owner of a stream that cannot log in, as `grant-roles` creates it,
 * is trusted as well. Membership does not count for superusers, because they are members of every role. No name in the
 * statement depends on the search path: no other function matches `(oid, name)` better.
 */
function untrustedOwnerSql(storage: string): string {
  const names = Object.values(readSchemas(storage)).map((name) => `${escapeLiteral(name)}::pg_catalog.name`);
  const equal = 'operator(pg_catalog.=)';
  return `select n.nspname::pg_catalog.text as schema, o.rolname::pg_catalog.text as owner, me.rolname::pg_catalog.text as me
  from pg_catalog.pg_namespace n
  join pg_catalog.pg_roles o on o.oid ${equal} n.nspowner
  join pg_catalog.pg_roles me on me.rolname ${equal} current_user
  join pg_catalog.pg_database d on d.datname ${equal} pg_catalog.current_database()
 where n.nspname ${equal} any (array[${names.join(', ')}])
   and not (o.rolsuper or (o.oid ${equal} d.datdba) or (o.rolname ${equal} 'pg_database_owner'::pg_catalog.name)
            or (not me.rolsuper and pg_catalog.pg_has_role(n.nspowner, 'usage'::pg_catalog.text))
            or (not o.rolcanlogin
                and exists (select from pg_catalog.pg_class c join pg_catalog.pg_namespace s on s.oid ${equal} c.relnamespace
                             where (s.nspname ${equal} ${escapeLiteral(storage)}::pg_catalog.name)
                               and (c.relname ${equal} 'schema_migrations'::pg_catalog.name)
                               and (s.nspowner ${equal} o.oid) and (c.relowner ${equal} o.oid))))
 limit 1`;
}

/**
 * Resolves if all existing schemas of this stream belong to trusted roles.
 * @throws IndexerError `SCHEMA_OWNER_MISMATCH` (fatal)
 */
export async function assertOwnSchemas(client: ClientBase, storage: string): Promise<void> {
  const { rows } = await client.query<{ schema: string; owner: string; me: string }>(untrustedOwnerSql(storage));
  const [foreignSchema] = rows;
  if (foreignSchema === undefined) return;
  const { schema, owner, me: currentRole } = foreignSchema;
  throw new IndexerError(
    `schema "${schema}" belongs to role "${owner}", which is neither "${currentRole}" nor a role it is a member of`,
    { code: 'SCHEMA_OWNER_MISMATCH', remedy: remedy(schema), exitCode: ExitCode.configuration },
  );
}

/**
 * Resolves if no schema of this stream is used by another stream in this database, such as `typed` of `ledger`.
 * @throws IndexerError `SCHEMA_OWNER_MISMATCH` (fatal)
 */
export async function refuseOtherStreams(client: ClientBase, storage: string): Promise<void> {
  const { rows } = await client.query<{ stream: string }>(
    `select n.nspname::text as stream from pg_catalog.pg_namespace n
      where n.nspname <> $1 and 2 = (select count(*) from pg_catalog.pg_class c
                                      where c.relnamespace = n.oid and c.relname in ('schema_migrations', 'stream'))
      order by 1`,
    [storage],
  );
  const ownNames = Object.values(readSchemas(storage));
  for (const { stream } of rows) {
    const takenName = Object.values(readSchemas(stream)).find((name) => ownNames.includes(name));
    if (takenName === undefined) continue;
    throw new IndexerError(
      `POSTGRES_SCHEMA is "${storage}", and schema "${takenName}" belongs to the stream in schema "${stream}" of this database`,
      {
        code: 'SCHEMA_OWNER_MISMATCH',
        remedy: `choose another POSTGRES_SCHEMA, such as second; or "${stream}" if that stream is meant`,
        exitCode: ExitCode.configuration,
      },
    );
  }
}

function remedy(schema: string): string {
  const name = escapeIdentifier(schema);
  return `connect as its owner if the stream belongs to that role; otherwise inspect the schema and drop it: drop schema ${name} cascade`;
}

/** The first check as one statement for psql. */
export function ownerCheckSql(storage: string): string {
  return `do $$
declare
  foreign_owner record;
begin
  ${untrustedOwnerSql(storage).replace(' from', ' into foreign_owner from')};
  if foreign_owner.schema is not null then
    raise exception 'schema "%" belongs to role "%", which is neither "%" nor a role it is a member of', foreign_owner.schema, foreign_owner.owner, foreign_owner.me
      using hint = 'Run this as its owner if that is correct; otherwise inspect the schema and drop it.';
  end if;
end
$$;`;
}
