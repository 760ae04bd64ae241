/**
 * Lists for each feature the role with the fewest rights that can use it. The table is in docs/how-to/secure/roles.md,
 * and error messages of commands contain the role from it. test/security/roles runs each feature as its role and as
 * roles with fewer rights.
 */

/**
 * Roles of `grant-roles`. The administrator is a superuser, or a role that has CREATEROLE and is a member of the owner
 * of the tables.
 */
export type DatabaseRole = 'any login' | 'reader' | 'redactor' | 'writer' | 'migrator' | 'administrator' | 'token';

interface Row {
  readonly role: DatabaseRole;
  /** Names of commands without `ledger-indexer`, or names of other features such as HTTP paths. */
  readonly features: readonly string[];
  readonly touches: string;
}

export const leastRoles = [
  {
    role: 'any login',
    features: ['status --sizes'],
    touches: 'reads sizes and estimates of the catalog',
  },
  {
    role: 'reader',
    features: ['status', 'query', 'explain', 'diff', 'account-statement'],
    touches: 'reads tables and views',
  },
  {
    role: 'reader',
    features: [
      'views list',
      'quarantine list',
      'hold list',
      'labels list',
      'webhook list',
      'webhook dead-letters',
      'projection list',
      'jobs list',
      'filter',
      'reader-token list',
    ],
    touches: 'reads one table',
  },
  {
    role: 'reader',
    features: ['codegen', 'graphql'],
    touches: 'reads the catalog and the packages',
  },
  {
    role: 'reader',
    features: ['export', 'compare-pqs'],
    touches: 'reads all history in one snapshot',
  },
  {
    role: 'reader',
    features: ['verify'],
    touches: 'reads all history in one snapshot; stores the result in `verifications` as the writer only',
  },
  {
    role: 'reader',
    features: ['index suggest'],
    touches: 'reads `pg_stat_statements`: own statements, or all as a member of `pg_read_all_stats`',
  },
  {
    role: 'reader',
    features: ['reset', 'reseed', 'filter accept', 'filter extend', 'switch-participant'],
    touches: 'preview, without `--yes`',
  },
  {
    role: 'reader',
    features: ['schemas `explore`, `pqs` and `typed`'],
    touches: 'reads views and calls functions in SQL',
  },
  {
    role: 'redactor',
    features: ['prune', 'redact'],
    touches: 'deletes history, sets contents to null; needs the rights without `--yes` too',
  },
  {
    role: 'redactor',
    features: ['hold place', 'hold release', 'export --hold'],
    touches: 'writes `retention_holds`',
  },
  {
    role: 'redactor',
    features: ['`pqs.prune_to_offset()` and `pqs.redact_contract()`'],
    touches: 'the same as `prune` and `redact`, in SQL',
  },
  {
    role: 'writer',
    features: ['run', 'backfill'],
    touches: 'adds updates, contracts, completions and quarantined updates; serves the endpoints',
  },
  {
    role: 'writer',
    features: ['check'],
    touches: 'tests the rights of the writer without changing a row',
  },
  {
    role: 'writer',
    features: ['delivery of webhooks'],
    touches: 'updates `webhooks`, adds to `webhook_dead_letters`, reads `webhook_secrets`',
  },
  {
    role: 'writer',
    features: ['webhook test'],
    touches: 'reads `webhook_secrets`',
  },
  {
    role: 'writer',
    features: ['retention by `INDEXER_RETENTION`'],
    touches: 'deletes history, as a member of the redactor: `grant ledger_redactor to ledger_writer`',
  },
  {
    role: 'writer',
    features: ['jobs pause', 'jobs resume'],
    touches: 'updates `jobs`',
  },
  {
    role: 'writer',
    features: ['webhook replay', 'webhook discard'],
    touches: 'updates and deletes `webhook_dead_letters`',
  },
  {
    role: 'migrator',
    features: ['migrate'],
    touches: 'creates schemas, tables, views and functions',
  },
  {
    role: 'migrator',
    features: ['views rebuild', 'typed views of new packages'],
    touches: 'creates views in `typed`',
  },
  {
    role: 'migrator',
    features: ['index create'],
    touches: 'creates an index on `contracts`',
  },
  {
    role: 'migrator',
    features: ['projection add', 'projection check', 'projection refill', 'projection drop'],
    touches: 'creates and drops tables, functions and views in `derived`; `check` leaves nothing behind',
  },
  {
    role: 'migrator',
    features: ['reset --yes', 'reseed --yes', 'filter accept --yes', 'filter extend --yes', 'switch-participant --yes'],
    touches: 'deletes and changes stored history, the filter or the participant',
  },
  {
    role: 'migrator',
    features: ['rebuild'],
    touches: 'creates and swaps schemas; needs the rights without `--yes` too',
  },
  {
    role: 'migrator',
    features: ['labels load', 'labels remove'],
    touches: 'writes `party_labels` and `instrument_labels`',
  },
  {
    role: 'migrator',
    features: ['jobs cancel'],
    touches: 'deletes from `jobs`',
  },
  {
    role: 'migrator',
    features: ['quarantine retry'],
    touches: 'stores updates below the checkpoint, deletes from `quarantine`',
  },
  {
    role: 'migrator',
    features: ['webhook resume', 'webhook remove'],
    touches: 'writes `webhooks` and `retention_holds`',
  },
  {
    role: 'migrator',
    features: ['webhook rotate'],
    touches: 'writes `webhook_secrets`',
  },
  {
    role: 'migrator',
    features: ['grant-roles'],
    touches: 'renews the grants; only an administrator creates the roles',
  },
  {
    role: 'administrator',
    features: ['grant-reader', 'reader-token create', 'reader-token revoke'],
    touches: 'creates, alters and drops roles',
  },
  {
    role: 'administrator',
    features: ['webhook add'],
    touches: 'makes the writer a member of the receiving role',
  },
  {
    role: 'token',
    features: ['`/changes` and `/query` from another machine'],
    touches: 'reads what the role of the token, or its user on the participant, may see',
  },
] as const satisfies readonly Row[];

/** The names of all features in the table. */
export type Feature = (typeof leastRoles)[number]['features'][number];

const clients: Readonly<Record<Exclude<DatabaseRole, 'token'>, string>> = {
  'any login': 'any login of the database',
  reader: 'a reader of everything: `ledger-indexer grant-reader`',
  redactor: 'the redactor of `ledger-indexer grant-roles`, or as the owner of the tables',
  writer: 'the writer of `ledger-indexer grant-roles`, or as the owner of the tables',
  migrator: 'the migrator of `ledger-indexer grant-roles`, or as the owner of the tables',
  administrator: 'an administrator of the database: a superuser, or a role with CREATEROLE that owns the tables',
};

export function leastRoleOf(feature: Feature): DatabaseRole {
  const row = leastRoles.find(({ features }) => (features as readonly string[]).includes(feature));
  return row?.role ?? 'administrator';
}

/** The role to connect as. The text can follow the word "as". */
export function connectAs(feature: Feature): string {
  const role = leastRoleOf(feature);
  return role === 'token' ? 'the holder of a token' : clients[role];
}

/** Matches names of commands. All other features are not commands. */
const command = /^[a-z-]+(?: [a-z-]+)?(?: --[a-z]+)?$/;

/** Commands for which this is the role with the fewest rights. */
export function commandsOf(role: DatabaseRole): readonly string[] {
  const features = leastRoles.filter((row) => row.role === role).flatMap((row): readonly string[] => row.features);
  return features.filter((feature) => command.test(feature));
}

/** The table as markdown. */
export function leastRolesMarkdown(): string {
  const rows = leastRoles.map(({ features, role, touches: tables }) => {
    const names = features.map((feature) => (command.test(feature) ? `\`${feature}\`` : feature));
    return `| ${names.join(', ')} | ${role} | ${tables} |`;
  });
  return ['| Command or surface | Least role | What it touches |', '| --- | --- | --- |', ...rows].join('\n');
}
