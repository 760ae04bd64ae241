/**
 * Finds the projection whose rows a reader requests, with the rights of the reader, and what the reader's view of it
 * consists of: stored rows, and a SELECT that computes the rows of any range.
 */
import { escapeIdentifier, type ClientBase } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import { nearestNames } from '../../errors/nearest-names.ts';
import { projectedTable, projectionNames, type ProjectionName } from '../../model/stream.ts';
import { derivedName, derivedSchema, readSchemas, versionName } from '../connection/read-schemas.ts';

export interface StreamedProjection {
  readonly name: string;
  /** SQL: its columns, in the order of its view. */
  readonly columns: readonly string[];
  /** Name in table `projections`; undefined if its rows are read from the view only. */
  readonly storedName: string | undefined;
  /** SQL: the table with the stored rows. */
  readonly table: string;
  /** SQL: the rows after one offset and up to and including another, computed from the history. */
  readonly computed: (after: number, upTo: number) => string;
  /** SQL: which stored and computed rows the view returns. */
  readonly condition: string;
  /** For a user's projection: the SELECT whose rows the reader sees, as in the ids of rows. */
  readonly version: string | undefined;
}

/** SQL of one built-in projection in schema `explore`. */
interface BuiltIn {
  /** `function`: computes a range. `view`: a condition on the offset reaches its tables. */
  readonly source: 'function' | 'view';
  readonly rows: string;
  readonly condition?: string;
}

/**
 * The built-in projections whose rows are final at their offset. The others are sums of blocks of offsets, which change
 * until a block is complete.
 */
const builtInSql: Readonly<Partial<Record<ProjectionName, BuiltIn>>> = {
  token_holding_events: {
    source: 'function',
    rows: 'token_holding_events_between',
    condition: 't.standard is not null',
  },
  token_transfer_steps: { source: 'function', rows: 'token_transfer_steps_between' },
  // Without stored rows, the view computes changes by look-ups, as this function does.
  token_changes: { source: 'function', rows: 'token_changes_in' },
  token_transfers: { source: 'function', rows: 'token_transfers_between' },
  token_discrepancies: {
    source: 'function',
    rows: 'token_discrepancies_between',
    condition: `(select cardinality(EXPLORE.token_templates('Holding', 'Holding'))) > 0`,
  },
  traffic_purchases: { source: 'function', rows: 'traffic_purchases_between' },
  amulet_transfers: { source: 'function', rows: 'amulet_transfers_between' },
  ended_reward_coupons: { source: 'function', rows: 'ended_reward_coupons_between' },
  traffic_costs: { source: 'view', rows: 'traffic_costs' },
};
/** A map, because clients choose the names. */
const builtIns: ReadonlyMap<string, BuiltIn> = new Map(Object.entries(builtInSql));

/**
 * Finds a projection and switches to the role for the rest of the transaction. A user's projection has priority over a
 * built-in one of the same name.
 * @param role null for the role of the connection
 * @throws IndexerError PROJECTION_NOT_FOUND; PROJECTION_REFUSED if its rows cannot be followed by this reader
 */
export async function findProjection(
  client: ClientBase,
  storage: string,
  name: string,
  role: string | null,
): Promise<StreamedProjection> {
  const versions = await findVersions(client, storage, name, role);
  if (role !== null) await client.query(`set local role ${escapeIdentifier(role)}`);
  if (versions.length > 0) return userProjection(client, storage, name, versions);
  const builtIn = builtIns.get(name);
  if (builtIn === undefined) throw new IndexerError(`there is no projection ${name}`, { code: 'PROJECTION_NOT_FOUND' });
  return builtInProjection(client, storage, name, builtIn);
}

/**
 * Versions of a user's projection, in the order of its view; none for a built-in one. Does not switch to the role.
 * @throws IndexerError PROJECTION_NOT_FOUND, PROJECTION_REFUSED
 */
export async function findVersions(
  client: ClientBase,
  storage: string,
  name: string,
  role: string | null,
): Promise<readonly Version[]> {
  const versions = await versionsOf(client, storage, name);
  const newest = versions.at(-1);
  if (newest !== undefined) {
    const isReadable = await mayRead(client, storage, versionName(name, newest.generation), { name, role });
    if (isReadable === true) return versions;
    throw isReadable === false ? hiddenError(name, newest) : await unknownError(client, storage, name, role);
  }
  if (builtIns.has(name)) return [];
  if ((projectionNames as readonly string[]).includes(name)) {
    throw refusalError(
      `the rows of ${name} are sums of 5,000 offsets, which change until these offsets are complete`,
      'read its view instead, or follow token_transfers',
    );
  }
  throw await unknownError(client, storage, name, role);
}

export interface Version {
  readonly generation: number;
  readonly version: string;
  readonly partyColumn: string | null;
}

/** Versions of a user's projection whose objects exist, in the order of its view. */
async function versionsOf(client: ClientBase, storage: string, name: string): Promise<readonly Version[]> {
  const { rows } = await client.query<Version>(
    `select u.generation, left(encode(sha256(convert_to(u.select_text, 'UTF8')), 'hex'), 8) as version,
            u.party_column as "partyColumn"
       from ${escapeIdentifier(storage)}.user_projections u
      where u.name = $1 and exists (
              select from pg_class c join pg_namespace n on n.oid = c.relnamespace
               where n.nspname = $2 and c.relname = u.name || '$' || u.generation)
      order by u.generation`,
    [name, derivedSchema(storage)],
  );
  return rows;
}

async function userProjection(
  client: ClientBase,
  storage: string,
  name: string,
  versions: readonly Version[],
): Promise<StreamedProjection> {
  const used = await usedVersion(client, storage, name, versions);
  const storedName = versionName(name, used.generation);
  const table = derivedName(storage, storedName);
  return {
    name,
    columns: await columnsOf(client, derivedSchema(storage), name),
    storedName,
    table,
    computed: (after, upTo) => `select * from ${table}(${String(after)}, ${String(upTo)})`,
    condition: 'true',
    version: used.version,
  };
}

/** The version whose rows the view returns to this reader: the newest one that is filled, otherwise the newest one. */
async function usedVersion(
  client: ClientBase,
  storage: string,
  name: string,
  versions: readonly Version[],
): Promise<Version> {
  const { explore } = readSchemas(storage);
  const names = versions.map(({ generation }) => versionName(name, generation));
  const { rows } = await client.query<{ used: number }>(
    `select coalesce(min(n.position) filter (where ${escapeIdentifier(explore)}.projected_ranges(n.name) is not null),
                     max(n.position))::int as used
       from unnest($1::text[]) with ordinality n (name, position)`,
    [names],
  );
  const used = versions[(rows[0]?.used ?? 0) - 1];
  if (used === undefined) throw new IndexerError(`there is no projection ${name}`, { code: 'PROJECTION_NOT_FOUND' });
  return used;
}

/**
 * Whether a role may read the view and compute its rows. All versions have the same rights. Null if the view was dropped
 * after the snapshot was taken: functions for rights do not see the snapshot.
 */
async function mayRead(
  client: ClientBase,
  storage: string,
  storedName: string,
  { name, role }: { readonly name: string; readonly role: string | null },
): Promise<boolean | null> {
  const { rows } = await client.query<{ may: boolean | null }>(
    `select has_schema_privilege(r.name, n.oid, 'usage') and has_table_privilege(r.name, c.oid, 'select')
              and has_function_privilege(r.name, p.oid, 'execute') as may
       from pg_namespace n
       join pg_class c on c.relnamespace = n.oid and c.relname = $2
       join pg_proc p on p.pronamespace = n.oid and p.proname = $3
      cross join (select coalesce($4, current_user) as name) r
      where n.nspname = $1`,
    [derivedSchema(storage), name, storedName, role],
  );
  return rows[0]?.may ?? null;
}

async function builtInProjection(
  client: ClientBase,
  storage: string,
  name: string,
  { source, rows, condition = 'true' }: BuiltIn,
): Promise<StreamedProjection> {
  const schemas = readSchemas(storage);
  const explore = escapeIdentifier(schemas.explore);
  return {
    name,
    columns: await columnsOf(client, schemas.explore, name),
    storedName: source === 'view' ? undefined : name,
    table: `${escapeIdentifier(storage)}.${projectedTable(name as ProjectionName)}`,
    computed: (after, upTo) =>
      source === 'function'
        ? `select * from ${explore}.${rows}(${String(after)}, ${String(upTo)})`
        : `select * from ${explore}.${rows} v where v."offset" > ${String(after)} and v."offset" <= ${String(upTo)}`,
    condition: condition.replace('EXPLORE', explore),
    version: undefined,
  };
}

async function columnsOf(client: ClientBase, schema: string, view: string): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select a.attname::text as name from pg_attribute a
       join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = $1 and c.relname = $2 and a.attnum > 0 and not a.attisdropped order by a.attnum`,
    [schema, view],
  );
  return rows.map(({ name }) => name);
}

/** A reader limited to parties has no right on a projection without a party column. */
function hiddenError(name: string, { partyColumn }: Version): IndexerError {
  return partyColumn === null
    ? refusalError(
        `a reader limited to parties may not read projection ${name}, because it has no party column`,
        'use a reader that sees everything, or let an administrator add it again with --party-column',
      )
    : refusalError(
        `this reader may not read projection ${name}`,
        'let an administrator run `ledger-indexer grant-reader` for its role again',
      );
}

/** Names of users' projections that the role may read. */
async function readableNames(client: ClientBase, storage: string, role: string | null): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select c.relname::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = $1 and c.relname in (select u.name from ${escapeIdentifier(storage)}.user_projections u)
        and has_table_privilege(coalesce($2, current_user), c.oid, 'select')
      order by 1`,
    [derivedSchema(storage), role],
  );
  return rows.map(({ name }) => name);
}

/** Suggests only projections that the reader may read. */
async function unknownError(
  client: ClientBase,
  storage: string,
  name: string,
  role: string | null,
): Promise<IndexerError> {
  const known = [...(await readableNames(client, storage, role)), ...builtIns.keys()];
  const nearest = nearestNames(name, known);
  const suggestion =
    nearest.length === 0 ? `expected one of ${known.slice(0, 20).join(', ')}` : `did you mean ${nearest.join(', ')}?`;
  return new IndexerError(`there is no projection ${JSON.stringify(name.slice(0, 63))}; ${suggestion}`, {
    code: 'PROJECTION_NOT_FOUND',
  });
}

function refusalError(message: string, remedy: string): IndexerError {
  return new IndexerError(message, { code: 'PROJECTION_REFUSED', remedy });
}
