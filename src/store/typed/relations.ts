/**
 * The views for readers with their columns and types, and the Daml sources of the typed views. They are used to
 * generate code.
 */
import { historySuffix } from '../../daml/view-names.ts';
import type { Database } from '../connection/database.ts';
import { derivedSchema, readSchemas } from '../connection/read-schemas.ts';
import type { ViewKind } from './subjects.ts';

export interface RelationColumn {
  readonly name: string;
  /** Type as Postgres formats it, e.g. `timestamp with time zone`. */
  readonly type: string;
  readonly comment: string | null;
}

/** The template, choice or interface of a typed view. */
export interface RelationSubject {
  readonly kind: ViewKind;
  readonly packageName: string;
  readonly moduleName: string;
  readonly entityName: string;
  /** Name of the choice; empty for templates and interfaces. */
  readonly choice: string;
  /** Whether the subject has a version whose package has not been read yet. */
  readonly isUnread: boolean;
  /** Columns created from fields, by column name, with their path in the payload, argument or view. */
  readonly fields: Readonly<Record<string, { readonly path: readonly string[]; readonly type: string }>>;
}

export interface StoredRelation {
  readonly schema: string;
  /** The purpose of the schema. It does not depend on the name of the schema. */
  readonly role: 'explore' | 'typed' | 'pqs' | 'derived';
  readonly name: string;
  readonly comment: string | null;
  readonly columns: readonly RelationColumn[];
  /** Subject of the view; only for schema typed. */
  readonly subject: RelationSubject | undefined;
}

export interface Relations {
  /**
   * Ordered by schema and name. Relations that are internal to schema pqs are excluded, and so are views of schema
   * derived that the role may not read.
   */
  readonly relations: readonly StoredRelation[];
  /** Whether contents were ever redacted. */
  readonly redacted: boolean;
}

const columns = `
  select n.nspname::text as schema, c.relname::text as name, obj_description(c.oid, 'pg_class') as comment,
         json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, a.atttypmod),
                                    'comment', col_description(c.oid, a.attnum)) order by a.attnum) as columns
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
   where n.nspname = any ($1) and c.relkind = 'v' and c.relname !~ '^__'
     and (n.nspname <> $2 or has_table_privilege(c.oid, 'select'))
   group by n.nspname, c.relname, c.oid
   order by n.nspname collate "C", c.relname collate "C"`;

const subjects = `
  select v.view_name as name, v.kind, v.package_name as "packageName", v.module_name as "moduleName",
         v.entity_name as "entityName", v.choice,
         exists (select from templates t
                  where t.module_name = v.module_name and t.entity_name = v.entity_name
                    and not exists (select from packages p where p.package_id = t.package_id)) as "isUnread",
         coalesce((select json_object_agg(c.column_name, json_build_object('path', c.path, 'type', c.type))
                     from typed_columns c where c.view_name = v.view_name), '{}') as fields
    from typed_views v`;

/** Reads the relations in one snapshot. @throws IndexerError STORE_ errors */
export function readRelations(database: Database): Promise<Relations> {
  const { explore, typed: typedSchema, pqs } = readSchemas(database.schema);
  const derived = derivedSchema(database.schema);
  const roles = new Map<string, StoredRelation['role']>([
    [explore, 'explore'],
    [typedSchema, 'typed'],
    [pqs, 'pqs'],
    [derived, 'derived'],
  ]);
  return database.transaction(async (client) => {
    await client.query('set transaction isolation level repeatable read, read only');
    const columnRows = await client.query<Omit<StoredRelation, 'role' | 'subject'>>(columns, [
      [...roles.keys()],
      derived,
    ]);
    const subjectRows = await client.query<RelationSubject & { readonly name: string }>(subjects);
    const redactions = await client.query<{ any: boolean }>('select exists (select from redactions) as any');
    const subjectsByView = new Map(subjectRows.rows.map(({ name, ...subject }) => [name, subject]));
    const relations = columnRows.rows.map((row): StoredRelation => {
      const role = roles.get(row.schema) ?? 'explore';
      const subject = subjectsByView.get(row.name) ?? subjectsByView.get(stripHistorySuffix(row.name));
      return { ...row, role, subject: role === 'typed' ? subject : undefined };
    });
    return { relations, redacted: redactions.rows[0]?.any ?? false };
  });
}

function stripHistorySuffix(name: string): string {
  return name.endsWith(historySuffix) ? name.slice(0, -historySuffix.length) : name;
}
