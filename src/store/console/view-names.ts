/** Names of views and tables with their columns, for the editor of the query page. */
import { escapeLiteral } from 'pg';
import { derivedSchema, readSchemas } from '../connection/read-schemas.ts';

/**
 * Statement with the columns schema, name, comment, and columns: a JSON array of name, type and comment. It returns
 * only what the caller may read. Names are quoted if SQL requires it. The most used schemas come first.
 */
export function viewNames(storage: string): string {
  const { explore, typed: typedSchema, pqs, multisync } = readSchemas(storage);
  const schemas = [explore, typedSchema, derivedSchema(storage), pqs, multisync, storage];
  const list = `array[${schemas.map((schema) => escapeLiteral(schema)).join(', ')}]`;
  return `select quote_ident(n.nspname) as schema, quote_ident(c.relname) as name, obj_description(c.oid, 'pg_class') as comment,
                 (select json_agg(json_build_array(quote_ident(a.attname), format_type(a.atttypid, a.atttypmod),
                                                   col_description(c.oid, a.attnum)) order by a.attnum)::text
                    from pg_attribute a
                   where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
                     and has_column_privilege(c.oid, a.attnum, 'select')) as columns
            from pg_class c join pg_namespace n on n.oid = c.relnamespace
           where n.nspname = any (${list}) and c.relkind in ('v', 'm', 'r', 'p') and not c.relispartition
             and has_schema_privilege(n.oid, 'usage') and has_any_column_privilege(c.oid, 'select')
           order by array_position(${list}, n.nspname::text), c.relname`;
}
