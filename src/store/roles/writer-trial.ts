/**
 * Checks whether the role of a connection has all rights that writing needs, and otherwise identifies the role. Each
 * right is tried with a statement that affects no row, in a transaction that is rolled back. A check by catalog would
 * have to consider owners, members, row security and columns separately.
 */
import { DatabaseError, escapeIdentifier, type ClientBase } from 'pg';
import type { Database } from '../connection/database.ts';
import { rowSecurityError } from '../connection/store-error.ts';
import { inserted, pruned, pruningFunctions, redactorRights, type Rights, writerRights } from './role-rights.ts';

interface RightTrial {
  /** The right in GRANT notation: `update (to_offset) on completion_ranges`. */
  readonly right: string;
  readonly statement: string;
}

const notPermittedState = '42501';

export interface WriterRightsResult {
  /** Rights of the writer that the role lacks, in GRANT notation; empty if it may write. */
  readonly missing: readonly string[];
  /** The role whose rights it has completely; set only if it may not add any row of history. */
  readonly other?: 'redactor' | 'reader';
}

/**
 * Tries the rights of the writer. Missing tables are skipped, because other checks cover the schema. It takes the same
 * locks as a writer that changes no row, and runs for up to a second.
 * @throws IndexerError STORE_NOT_PERMITTED if row-level security prevents writing
 */
export async function checkWriterRights(database: Database): Promise<WriterRightsResult> {
  return await database.withClient(async (client) => {
    // Sessions of readers are read-only by default, even if the role has the right to write.
    await client.query('begin read write');
    try {
      const columns = await columnsOf(client, database.schema);
      await client.query('savepoint trial');
      const missingRights = await findMissingRights(client, writerTrials(columns, database.schema));
      if (missingRights.length === 0) await assertMayCopy(client);
      // A role that may add rows which only the writer adds is a writer that lacks a right.
      const redactorInserts = redactorRights(database.schema).inserted;
      const writerInserts = inserted.filter((table) => columns.has(table) && !redactorInserts.includes(table));
      if (writerInserts.some((table) => !missingRights.includes(`insert on ${table}`)))
        return { missing: missingRights };
      const reads = (await findMissingRights(client, readerTrials(columns))).length === 0;
      if (!reads) return { missing: missingRights };
      const redacts = (await findMissingRights(client, redactorTrials(columns, database.schema))).length === 0;
      return { missing: missingRights, other: redacts ? 'redactor' : 'reader' };
    } finally {
      await client.query('rollback');
    }
  });
}

/** Statements without rows do not reveal that row-level security refuses COPY. */
async function assertMayCopy(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ active: boolean }>(
    `select row_security_active(c.oid) as active from pg_class c where c.oid = to_regclass('contracts')`,
  );
  if (rows[0]?.active === true) throw rowSecurityError();
}

export interface PruningRightsResult {
  /** Rights for INDEXER_RETENTION that the role lacks, in GRANT notation. */
  readonly missing: readonly string[];
  /** The remedy if rights are missing. */
  readonly remedy: string;
}

/**
 * Tries the rights for pruning by INDEXER_RETENTION. The writer role that `grant-roles` creates lacks them unless it is
 * also a redactor.
 */
export async function checkPruningRights(database: Database): Promise<PruningRightsResult> {
  return await database.withClient(async (client) => {
    await client.query('begin read write');
    try {
      const columns = await columnsOf(client, database.schema);
      await client.query('savepoint trial');
      const missingRights = await findMissingRights(client, pruningTrials(columns, database.schema));
      return { missing: missingRights, remedy: await pruningRemedy(client) };
    } finally {
      await client.query('rollback');
    }
  });
}

async function pruningRemedy(client: ClientBase): Promise<string> {
  const { rows } = await client.query<{ me: string; redactor: string | null }>(
    `select current_user::text as me,
            (select min(r.rolname::text) from pg_class t, aclexplode(t.relacl) a, pg_roles r
              where t.oid = to_regclass('updates') and a.privilege_type = 'DELETE' and r.oid = a.grantee
                and a.grantee <> t.relowner and r.rolname <> current_user) as redactor`,
  );
  const { me: currentRole = '', redactor = null } = rows[0] ?? {};
  const grant = `grant ${escapeIdentifier(redactor ?? 'ledger_redactor')} to ${escapeIdentifier(currentRole)}`;
  if (redactor !== null) return `let a superuser, or a role with ADMIN OPTION on the redactor, run \`${grant}\``;
  return `run \`ledger-indexer grant-roles\` as an administrator, then \`${grant}\``;
}

async function findMissingRights(client: ClientBase, rightTrials: readonly RightTrial[]): Promise<readonly string[]> {
  const missingRights: string[] = [];
  for (const { right: rightName, statement } of rightTrials)
    if (!(await isPermitted(client, statement))) missingRights.push(rightName);
  return missingRights;
}

async function isPermitted(client: ClientBase, statement: string): Promise<boolean> {
  try {
    await client.query(statement);
    return true;
  } catch (thrown) {
    if (!(thrown instanceof DatabaseError) || thrown.code !== notPermittedState) throw thrown;
    await client.query('rollback to savepoint trial');
    return false;
  }
}

/** For each existing table, the quoted names of columns that can be assigned a value. */
type Columns = ReadonlyMap<string, readonly string[]>;

function writerTrials(columns: Columns, schema: string): readonly RightTrial[] {
  return [...readerTrials(columns), ...createTrials(columns, writerRights(schema))];
}

function redactorTrials(columns: Columns, schema: string): readonly RightTrial[] {
  return createTrials(columns, redactorRights(schema));
}

function pruningTrials(columns: Columns, schema: string): readonly RightTrial[] {
  // Pruning deletes no holds, no updates in quarantine, and no labels.
  const deleted = pruned.filter((table) => !['retention_holds', 'quarantine', 'party_labels'].includes(table));
  return createTrials(columns, {
    inserted: [],
    updated: { stream: 'pruned_to_offset' },
    deleted,
    called: pruningFunctions(schema),
  });
}

function readerTrials(columns: Columns): readonly RightTrial[] {
  return [...columns.keys()].map((table) => ({
    right: `select on ${table}`,
    statement: `select from ${escapeIdentifier(table)} where false`,
  }));
}

function createTrials(columns: Columns, rights: Rights): readonly RightTrial[] {
  const hasTable = (table: string): boolean => columns.has(table);
  const inserts = rights.inserted.filter(hasTable).map((table) => insertTrial(table, columns.get(table) ?? []));
  const updates = Object.entries(rights.updated)
    .filter(([table]) => hasTable(table))
    .flatMap(([table, list]) => list.split(', ').map((column) => updateTrial(table, column)));
  const deletes = rights.deleted.filter(hasTable).map((table) => ({
    right: `delete on ${table}`,
    statement: `delete from ${escapeIdentifier(table)} where false`,
  }));
  const calls = columns.size === 0 ? [] : rights.called.map(callTrial);
  return [...inserts, ...updates, ...deletes, ...calls];
}

async function columnsOf(client: ClientBase, schema: string): Promise<Columns> {
  const { rows } = await client.query<{ table: string; columns: readonly string[] }>(
    `select c.relname::text as "table", array_agg(quote_ident(a.attname) order by a.attnum) as columns
       from pg_class c join pg_attribute a on a.attrelid = c.oid
      where c.relnamespace = to_regnamespace($1) and c.relkind in ('r', 'p')
        and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' and a.attidentity <> 'a'
      group by c.relname`,
    [escapeIdentifier(schema)],
  );
  return new Map(rows.map(({ table, columns }) => [table, columns]));
}

/** The statement reads no table, so that a missing right to read is not mistaken for a missing right to insert. */
function insertTrial(table: string, columns: readonly string[]): RightTrial {
  const nulls = columns.map(() => 'null').join(', ');
  return {
    right: `insert on ${table}`,
    statement: `insert into ${escapeIdentifier(table)} (${columns.join(', ')}) select ${nulls} where false`,
  };
}

function updateTrial(table: string, quotedColumn: string): RightTrial {
  return {
    right: `update (${quotedColumn}) on ${table}`,
    statement: `update ${escapeIdentifier(table)} set ${quotedColumn} = default where false`,
  };
}

/** @param functionName function name with parameter types */
function callTrial(functionName: string): RightTrial {
  const parenthesisIndex = functionName.lastIndexOf('(');
  const types = functionName
    .slice(parenthesisIndex + 1, -1)
    .split(', ')
    .filter(Boolean);
  const names = types.map((_, nth) => `p${String(nth)}`);
  const values = types.length === 0 ? ['0'] : types.map((type, nth) => `null::${type} as p${String(nth)}`);
  return {
    right: `execute on function ${functionName}`,
    // The arguments are columns of a subquery that is not inlined. If they were constants, the planner could evaluate
    // the call without checking the right.
    statement: `select ${functionName.slice(0, parenthesisIndex)}(${names.join(', ')}) from (select ${values.join(', ')} offset 0) as p where false`,
  };
}
