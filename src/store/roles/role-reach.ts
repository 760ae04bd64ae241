/**
 * Finds rights of a role in the schemas of a stream that go beyond reading. The indexer runs statements of users as
 * such roles, so every harmful right matters, for example a right to insert. Generates SQL text only.
 */
import { escapeLiteral } from 'pg';
import { readSchemas } from '../connection/read-schemas.ts';

const changes = 'insert, update, delete, truncate, trigger';

/**
 * SQL: why a role can do more than read, as text that follows "role X"; null if it can only read. It considers the
 * role's own rights, inherited rights, and rights available by `set role`.
 * @param oid a column with the name of its table, which must not be one of `c`, `found`, `g`, `n`, `p`, `q` and `s`
 */
export function rightsBeyondReading(oid: string, storage: string): string {
  const schemas = Object.values(readSchemas(storage)).map((name) => escapeLiteral(name));
  const inSchemasSql = (column: string): string =>
    `${column} in (select n.oid from pg_namespace n where n.nspname in (${schemas.join(', ')}))`;
  return `(select reason from (
    select g.oid, case
      when g.rolsuper then 'is a superuser'
      when g.rolcreaterole or g.rolcreatedb then 'may create roles or databases'
      when g.rolreplication or g.rolbypassrls then 'replicates or bypasses row security'
      when g.rolname like 'pg\\_%' then 'is a member of ' || g.rolname
      when has_database_privilege(g.oid, current_database(), 'create') then 'may create schemas in this database'
      when exists (select from pg_namespace s where ${inSchemasSql('s.oid')} and has_schema_privilege(g.oid, s.oid, 'create'))
        then 'may create objects in the schemas of the stream'
      when exists (select from pg_policy p join pg_class c on c.oid = p.polrelid cross join unnest(p.polroles) q
                    where ${inSchemasSql('c.relnamespace')} and c.relname in ('webhook_secrets', 'reader_tokens', 'node_sessions')
                      and (q = 0 or pg_has_role(g.oid, q, 'usage')))
        then 'sees secrets of webhooks, hashes of tokens or parties of users'
      else (select 'may change ' || c.oid::regclass from pg_class c
             where ${inSchemasSql('c.relnamespace')} and c.relkind in ('r', 'p', 'v', 'm', 'f')
               and (has_table_privilege(g.oid, c.oid, '${changes}')
                    or c.relkind in ('r', 'p') and has_any_column_privilege(g.oid, c.oid, 'insert, update')) limit 1)
      end as reason
      from pg_roles g where pg_has_role(${oid}, g.oid, 'member')) found
   where reason is not null order by found.oid = ${oid} desc limit 1)`;
}
