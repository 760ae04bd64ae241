/**
 * Gives a stream roles of its own, so that the indexer connects with no more rights than writing needs. Run by whoever
 * administers the server; to be run again after every upgrade, because new tables need new grants.
 */
import { type ClientBase, escapeIdentifier, escapeLiteral } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { Database } from '../connection/database.ts';
import { grantReader } from './reader-role.ts';
import { readSchemas, type ReadSchemas } from '../connection/read-schemas.ts';

/** The roles that log in. */
export type LoginRole = Exclude<keyof StreamRoles, 'owner'>;
export const loginRoles: readonly LoginRole[] = ['migrator', 'writer', 'redactor', 'reader'];

export interface RoleRequest {
  readonly prefix: string;
  /** As `create role` takes them; a role without one can log in by other means only. */
  readonly passwords: Readonly<Partial<Record<LoginRole, string>>>;
  /** Other programs use the database as well: what everybody may do in it stays. */
  readonly sharedDatabase: boolean;
}

interface Facts {
  readonly database: string;
  readonly me: string;
  readonly superuser: boolean;
  readonly mayBypass: boolean;
  /** May make and change roles; the migrator may not, and only grants anew what it owns. */
  readonly administers: boolean;
  readonly existing: readonly string[];
  /** Roles that exist with more rights than these roles may have. */
  readonly mighty: readonly string[];
  /** Functions in our schemas that run with the rights of their owner and are none of ours. */
  readonly strange: readonly string[];
  readonly publicMayCreate: boolean;
  readonly shown: boolean;
}

export interface RolePlan {
  readonly roles: StreamRoles;
  readonly statements: readonly string[];
  /** Whether the writer can go on beside readers that are limited to parties. */
  readonly bypass: boolean;
  /** False: roles stay as they are, only what they may do is granted anew. */
  readonly administers: boolean;
}

/** What {@link grantRoles} would run, as one transaction; the reader is `grant-reader`. @throws IndexerError ROLES_REFUSED */
export async function planRoles(database: Database, request: RoleRequest): Promise<RolePlan> {
  const roles = streamRoles(request.prefix);
  return database.withClient(async (client) => {
    const facts = await readFacts(client, database.schema, roles);
    refuse(facts, roles);
    const statements = [
      ...(facts.administers ? roleStatements(facts, roles, request) : []),
      ...(facts.administers ? databaseStatements(facts, roles, request.sharedDatabase) : []),
      ...(await ownershipStatements(client, readSchemas(database.schema), roles.owner)),
      // Postgres lets everybody call a new function. What the owner makes nobody calls until it is granted.
      `alter default privileges for role ${escapeIdentifier(roles.owner)} revoke execute on functions from public`,
      ...writerGrants(roles.writer, database.schema),
      ...redactorGrants(roles.redactor, database.schema),
    ];
    return { roles, statements, bypass: facts.mayBypass || !facts.administers, administers: facts.administers };
  });
}

/** Creates or mends the roles. All or nothing but the reader, which comes last. @throws IndexerError ROLES_REFUSED, STORE_NOT_PERMITTED */
export async function grantRoles(database: Database, request: RoleRequest): Promise<RolePlan> {
  const plan = await planRoles(database, request);
  await database.transaction(async (client) => {
    for (const statement of plan.statements) await client.query(statement);
  });
  // What the owner makes is granted to the reader by default.
  if (plan.administers)
    await grantReader(database, { role: plan.roles.reader, parties: [], password: request.passwords.reader });
  return plan;
}

async function readFacts(client: ClientBase, storage: string, roles: StreamRoles): Promise<Facts> {
  const { rows } = await client.query<Facts>(
    `select current_database()::text as database, current_user::text as me, m.rolsuper as superuser,
            m.rolsuper or m.rolcreaterole as administers,
            m.rolsuper or (m.rolbypassrls and m.rolcreaterole) as "mayBypass",
            array(select r.rolname::text from pg_roles r where r.rolname = any ($1)) as existing,
            array(select r.rolname::text from pg_roles r
                   where r.rolname = any ($1)
                     and (r.rolsuper or r.rolcreaterole or r.rolcreatedb or r.rolreplication
                          or exists (select from pg_auth_members a join pg_roles g on g.oid = a.roleid
                                      where a.member = r.oid and not (r.rolname = $2 and g.rolname = $3)))) as mighty,
            array(select p.oid::regprocedure::text from pg_proc p join pg_namespace n on n.oid = p.pronamespace
                   where n.nspname = any ($4) and p.prosecdef and p.oid <> coalesce(to_regprocedure($5), 0)) as strange,
            has_schema_privilege('public', 'public', 'create') as "publicMayCreate",
            to_regclass('contracts') is not null as shown
       from pg_roles m where m.rolname = current_user`,
    [Object.values(roles), roles.migrator, roles.owner, Object.values(readSchemas(storage)), withOwnersRights(storage)],
  );
  const [facts] = rows;
  if (facts === undefined) throw refused('the current role is unknown to the server', 'log in again');
  return facts;
}

function refuse({ mighty, strange, shown, administers, existing }: Facts, roles: StreamRoles): void {
  if (!administers && existing.length < Object.keys(roles).length) {
    throw refused('roles are missing, and you may not create any', 'run it as a superuser or a role with CREATEROLE');
  }
  if (!shown) throw refused('the schema holds no stream yet', 'run `ledger-indexer migrate` first, as the same user');
  if (strange[0] !== undefined) {
    throw refused(
      `function ${strange[0]} runs with the rights of its owner and is none of this program`,
      'drop it, or move it to a schema of its own: here it would be given to the owner of the stream',
    );
  }
  const [first] = mighty;
  if (first === undefined) return;
  throw refused(
    `role "${first}" exists and is a superuser, may create roles or databases, replicates or is a member of another role`,
    'take another --prefix, or take those rights from the role',
  );
}

function roleStatements(facts: Facts, roles: StreamRoles, { passwords }: RoleRequest): string[] {
  const { owner, migrator, writer } = roles;
  const [me, database] = [escapeIdentifier(facts.me), escapeIdentifier(facts.database)];
  const ensure = (role: string, options: string): string[] => {
    const exists = facts.existing.includes(role);
    return exists && options === '' ? [] : [`${exists ? 'alter' : 'create'} role ${escapeIdentifier(role)}${options}`];
  };
  const login = (role: LoginRole): string => {
    const password = passwords[role];
    return ` login${password === undefined ? '' : ` password ${escapeLiteral(password)}`}`;
  };
  return [
    ...ensure(owner, ' nologin'),
    ...ensure(migrator, login('migrator')),
    // COPY into tables with row-level security is refused to all others. Gives no right to any table.
    ...ensure(writer, `${login('writer')}${facts.mayBypass ? ' bypassrls' : ''}`),
    ...ensure(roles.redactor, login('redactor')),
    `grant ${escapeIdentifier(owner)} to ${escapeIdentifier(migrator)}`,
    // Only a member of the new owner may give things to it.
    ...(facts.superuser ? [] : [`grant ${escapeIdentifier(owner)} to ${me}`]),
    `alter role ${escapeIdentifier(migrator)} in database ${database} set role = ${escapeLiteral(owner)}`,
  ];
}

function databaseStatements(facts: Facts, roles: StreamRoles, shared: boolean): string[] {
  const database = escapeIdentifier(facts.database);
  const all = Object.entries(roles)
    .filter(([kind]) => kind !== 'owner' && kind !== 'reader')
    .map(([, role]) => escapeIdentifier(role));
  return [
    `grant connect on database ${database} to ${all.join(', ')}`,
    // `create schema if not exists` asks for it even where there is nothing to create.
    `grant create on database ${database} to ${escapeIdentifier(roles.owner)}`,
    ...(shared ? [] : [`revoke temporary on database ${database} from public`]),
    ...(shared || !facts.publicMayCreate ? [] : ['revoke create on schema public from public']),
  ];
}

function refused(found: string, remedy: string): IndexerError {
  return new IndexerError(found, { code: 'ROLES_REFUSED', remedy });
}

// Hands everything in the schemas of a stream to one owner: tables, views, functions, types, and the statistics objects on
// tables.

/** Tables before views: a view may not be without rights on its tables. Names come quoted from the server. */
const strangers = `
with schemas as (select oid, nspname, nspowner from pg_namespace where nspname = any ($1)),
     target as (select coalesce((select oid from pg_roles where rolname = $2), 0::oid) as oid)
select 1 as step, format('schema %I', nspname) as object from schemas, target where nspowner <> target.oid
union all
select case when c.relkind = 'v' then 3 else 2 end,
       format('%s %I.%I', case c.relkind when 'v' then 'view' when 'm' then 'materialized view'
                          when 'S' then 'sequence' else 'table' end, s.nspname, c.relname)
  from pg_class c join schemas s on s.oid = c.relnamespace, target
 where c.relkind in ('r', 'p', 'v', 'm', 'S') and c.relowner <> target.oid
union all
select 4, format('%s %s', case p.prokind when 'p' then 'procedure' when 'a' then 'aggregate' else 'function' end,
                 p.oid::regprocedure)
  from pg_proc p join schemas s on s.oid = p.pronamespace, target where p.proowner <> target.oid
union all
select 5, format('statistics %I.%I', s.nspname, x.stxname)
  from pg_statistic_ext x join schemas s on s.oid = x.stxnamespace, target where x.stxowner <> target.oid
union all
select 6, format('type %I.%I', s.nspname, t.typname)
  from pg_type t join pg_class c on c.oid = t.typrelid join schemas s on s.oid = t.typnamespace, target
 where c.relkind = 'c' and t.typowner <> target.oid
order by 1, 2`;

/** The statements that give to `owner` what it does not own yet. */
async function ownershipStatements(
  client: ClientBase,
  schemas: ReadSchemas,
  owner: string,
): Promise<readonly string[]> {
  const { rows } = await client.query<{ object: string }>(strangers, [Object.values(schemas), owner]);
  return rows.map(({ object }) => `alter ${object} owner to ${escapeIdentifier(owner)}`);
}

// What the roles beside the owner may do in the tables of a stream. Pure SQL text, to be run with the storage as search
// path. A right that is not here is one that a stolen password does not give.

/** The names of the roles of one stream. Roles belong to the whole server, so two streams need two prefixes. */
export interface StreamRoles {
  /** Owns everything, cannot log in. */
  readonly owner: string;
  /** Becomes the owner when it logs in: for `migrate`, `views rebuild`, `index create`. */
  readonly migrator: string;
  /** The indexer. */
  readonly writer: string;
  /** Removes contents and old history. */
  readonly redactor: string;
  /** Reads, and nothing else. */
  readonly reader: string;
}

/** `<prefix>_owner` and so on. */
function streamRoles(prefix: string): StreamRoles {
  return {
    owner: `${prefix}_owner`,
    migrator: `${prefix}_migrator`,
    writer: `${prefix}_writer`,
    redactor: `${prefix}_redactor`,
    reader: `${prefix}_reader`,
  };
}

/** Tables the writer adds rows to. */
const written = [
  'stream',
  'batches',
  'updates',
  'contract_parties',
  'event_parties',
  'contracts',
  'live',
  'ended',
  'exercises',
  'archives',
  'interface_views',
  'reassignments',
  'topology_events',
  'synchronizers',
  'templates',
  'choices',
  'template_interfaces',
  'activity_hourly',
  'active_counts',
  'coverage',
  'filter_interfaces',
  'packages',
  'paddings',
  'quarantine',
  'verifications',
  'completions',
  'submitters',
  'completion_ranges',
];

/** Columns the writer changes. What the ledger said once is not among them. */
const maintained: Readonly<Record<string, string>> = {
  stream:
    'participant_id, seed_offset, seeded_at, seed_token, seed_contracts, checkpoint, checkpoint_update_offset, ' +
    'checkpoint_update_id, checkpoint_record_time, record_times, epoch, writer, ledger_end, pruned_offset',
  live: 'unknown_since',
  // Of what an update that comes late ended sooner.
  ended: 'ended_offset, ended_by, ended_at, ended_node_id, class, unknown_since',
  templates: 'package_name',
  filter_interfaces: 'state, complete_from, unknown_at, noted_at',
  active_counts: 'activated, deactivated',
  activity_hourly:
    'creates, archives, exercises, transactions, total_creates, total_archives, total_exercises, ' +
    'paid_traffic_cost, delay_seconds',
  paddings: 'padding',
  quarantine: 'attempts, attempted_at',
  verifications: 'outcome, at_offset, started_at, seconds, compared, different, quarantined, note',
  completion_ranges: 'to_offset',
  // How far a work is, or why this role cannot do it.
  works: 'state, step, unit, done, total, per_second, problem, changed_at',
};

/** Columns that hold contents, which a redaction removes. */
const contents: Readonly<Record<string, string>> = {
  contracts: 'payload, contract_key, contract_key_hash, created_event_blob, redaction_id',
  exercises: 'argument, result, redaction_id',
  interface_views: 'view, status_message, status_details, redaction_id',
  reassignments: 'created_event',
  completions: 'status_message, redaction_id',
  redactions: 'contracts, exercises',
  redacted_contracts: 'exercises',
  redacted_exercises: 'update_id, redaction_id',
  // The epoch, so that a running writer begins a new session, in which it knows what was redacted.
  stream: 'kept_offset, epoch',
};

/** Tables that pruning removes rows of. */
const history = [
  'updates',
  'batches',
  'contracts',
  'ended',
  'exercises',
  'archives',
  'interface_views',
  'reassignments',
  'topology_events',
  'quarantine',
  'completions',
];

/** Functions of schema pqs that remove: what the redactor has the rights for, and everybody else could only fail with. */
const removing = [
  '__contract_state(text)',
  '__note_pruned(bigint)',
  '__prune_contracts(integer[], bigint, bigint, bigint)',
  '__prune_preview(bigint)',
  '__prune_updates(bigint, bigint)',
  '__redact_contracts(text[], text, boolean)',
  '__redact_exercise(bigint, integer, text)',
  '__restart_writer()',
  '__retention_lock()',
  'prune_archived_to_offset(bigint)',
  'prune_archived_to_offset_dry_run(bigint)',
  'prune_to_offset(bigint)',
  'redact_contract(text, text)',
  'validate_pruning_offset(bigint)',
];

/** The one function with the rights of its owner. @param storage schema of the stream */
function withOwnersRights(storage: string): string {
  return `${escapeIdentifier(storage)}.clear_unfinished_seed(bigint)`;
}

/** Functions of the storage that the writer calls when a party leaves the participant. */
const departures = [
  'hosts(text, integer, bigint)',
  'unknown_parties(text[], integer, bigint)',
  'mark_unknown(bigint, boolean)',
];

/** Functions of the storage that show what is kept as bytes; indexes are made of them, so whoever writes calls them. */
const inWords = ['id_text(bytea)', 'base64_text(bytea)', 'trace_text(bytea)', 'lifetime_class(bigint, bigint)'];

/** What the writer may do. */
function writerGrants(role: string, storage: string): readonly string[] {
  const name = escapeIdentifier(role);
  return [
    ...clean(name, storage),
    `grant insert on ${written.join(', ')} to ${name}`,
    ...updates(maintained, name),
    `grant execute on function ${withOwnersRights(storage)} to ${name}`,
    // What the status page shows of an update comes from functions there, which run with the rights of the writer.
    `grant usage on schema ${escapeIdentifier(readSchemas(storage).explore)} to ${name}`,
    // A contract that ended is not live any more: its row goes from one table to the other.
    `grant delete on live to ${name}`,
    // What is wanted no more is forgotten.
    `grant delete on filter_interfaces to ${name}`,
    `grant execute on function ${departures.map((called) => `${escapeIdentifier(storage)}.${called}`).join(', ')} to ${name}`,
  ];
}

/** What the redactor may do. */
function redactorGrants(role: string, storage: string): readonly string[] {
  const name = escapeIdentifier(role);
  const pqs = escapeIdentifier(readSchemas(storage).pqs);
  const functions = [...removing, `redact_exercise(${pqs}.event_id, text)`].map((called) => `${pqs}.${called}`);
  return [
    ...clean(name, storage),
    `grant insert on redactions, redacted_contracts, redacted_exercises to ${name}`,
    `grant usage on schema ${pqs} to ${name}`,
    `grant execute on function ${functions.join(', ')} to ${name}`,
    ...updates(contents, name),
    `grant delete on ${history.join(', ')} to ${name}`,
    `grant insert, update, delete on retention_holds to ${name}`,
  ];
}

/** To be run again after an upgrade: what a former version gave is taken back first. */
function clean(name: string, storage: string): readonly string[] {
  const schema = escapeIdentifier(storage);
  return [
    `revoke all on all tables in schema ${schema} from ${name}`,
    `revoke all on all functions in schema ${schema} from ${name}`,
    `grant usage on schema ${schema} to ${name}`,
    `grant select on all tables in schema ${schema} to ${name}`,
    `grant execute on function ${inWords.map((called) => `${schema}.${called}`).join(', ')} to ${name}`,
  ];
}

function updates(columns: Readonly<Record<string, string>>, name: string): readonly string[] {
  return Object.entries(columns).map(([table, list]) => `grant update (${list}) on ${table} to ${name}`);
}
