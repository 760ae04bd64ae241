/**
 * The administrators of managed services, with the attributes and memberships that their public documentation states.
 * docs/how-to/run/managed-postgres.md has the sources and the table.
 */
export interface Provider {
  /** Name on the page. */
  readonly name: string;
  /** Name of the administrator's role and of its database. */
  readonly admin: string;
  /** Attributes of the login; no service grants SUPERUSER. */
  readonly attributes: string;
  /** Role of the service of which the login is a member. */
  readonly group: string;
  readonly groupAttributes: string;
  /** Roles of Postgres that the group is a member of. */
  readonly memberships: readonly string[];
  /** Major version from which the administrator has BYPASSRLS; undefined if it never has it. */
  readonly bypassFrom: number | undefined;
}

export const providers: readonly Provider[] = [
  {
    name: 'Amazon RDS and Aurora',
    admin: 'rds_admin',
    attributes: 'createdb createrole',
    group: 'rds_superuser',
    groupAttributes: '',
    memberships: ['pg_monitor', 'pg_signal_backend'],
    bypassFrom: undefined,
  },
  {
    name: 'Google Cloud SQL',
    admin: 'cloudsql_admin',
    attributes: 'createdb createrole',
    group: 'cloudsqlsuperuser',
    groupAttributes: 'createdb createrole',
    memberships: ['pg_monitor'],
    bypassFrom: undefined,
  },
  {
    name: 'Azure Database, flexible server',
    admin: 'azure_admin',
    attributes: 'createdb createrole replication',
    group: 'azure_pg_admin',
    groupAttributes: '',
    memberships: ['pg_monitor', 'pg_signal_backend'],
    bypassFrom: 16,
  },
  {
    name: 'Neon',
    admin: 'neondb_owner',
    attributes: 'createdb createrole replication',
    group: 'neon_superuser',
    groupAttributes: 'createdb createrole replication bypassrls',
    memberships: ['pg_monitor', 'pg_signal_backend', 'pg_read_all_data', 'pg_write_all_data'],
    bypassFrom: 14,
  },
  {
    name: 'Supabase',
    admin: 'supabase_postgres',
    attributes: 'createdb createrole replication',
    group: 'supabase_group',
    groupAttributes: '',
    memberships: ['pg_monitor', 'pg_signal_backend', 'pg_read_all_data'],
    bypassFrom: 14,
  },
];

/** Statements of a superuser that create the administrator. @param version major version of the server */
export function administratorStatements(provider: Provider, version: number, password: string): readonly string[] {
  const { admin, attributes, group, groupAttributes, memberships, bypassFrom } = provider;
  const bypass = bypassFrom !== undefined && version >= bypassFrom ? ' bypassrls' : '';
  return [
    `create role ${group} nologin ${groupAttributes}`,
    ...memberships.map((role) => `grant ${role} to ${group}`),
    `create role ${admin} login ${attributes}${bypass} password '${password}' in role ${group}`,
    `create database ${admin} owner ${admin} encoding 'UTF8' template template0`,
  ];
}
