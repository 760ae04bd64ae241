/**
 * The read side of the storage: views and functions, which contain no data. They are created again from
 * `migrations/read/*.sql` whenever one of those files has changed. The files name schemas by placeholders: `:storage`
 * for the schema of the stream, `:explore`, `:typed`, `:pqs` and `:multisync` for its read schemas, `:derived` for the schema of user projections.
 */
import { createHash } from 'node:crypto';
import { readFile, readdir } from 'node:fs/promises';
import { escapeIdentifier, escapeLiteral } from 'pg';
import type { ClientBase } from 'pg';
import { readGrants } from '../roles/party-policies.ts';
import { derivedSchema, readSchemas, type ReadSchemas } from '../connection/read-schemas.ts';
import { outdateOthers, outdateRows } from '../projections/fill.ts';
import { builtInProjections } from '../projections/projections.ts';
import { fitFunctions, isDistributed, disableDdlPropagation } from './distribution.ts';
import { assertOwnSchemas } from '../roles/schema-owners.ts';
import { limitedRoles, secureViews } from '../roles/secure-views.ts';

const directory = new URL('../../../migrations/read/', import.meta.url);
const fileName = /^\d{2}_[a-z0-9_]+\.sql$/;

/** These files need not run again after a swap, because their effects on existing objects are kept. */
const keptOnSwap = /^(?:59_explore_comments|90_rights)\.sql$/;
/** A file that contains only comments. */
const commentFile = /^\d{2}_[a-z_]+_comments\.sql$/;
const comment = /^comment on [^;']*'(?:[^']|'')*';\n/gm;

/** The statements of the read side. */
interface ReadSideScript {
  /** Everything, in the order of the files. The last statement records the hash. */
  readonly complete: string;
  /** Everything except most of the comments. */
  readonly objects: string;
  /** The other comments, and the statement that records the hash. */
  readonly comments: string;
}

/** The script that creates the read side, with any number of statements. The last one records the script's hash. */
export async function buildReadSideScript(storage: string): Promise<string> {
  return (await loadReadSideScript(storage)).complete;
}

async function loadReadSideScript(storage: string): Promise<ReadSideScript> {
  const schemas = readSchemas(storage);
  const files = (await loadReadSideFiles()).map(({ name, sql }) => ({ name, sql: replaceSchemaNames(sql, schemas) }));
  const schemata = createReadSchemas(storage);
  const script = [schemata, ...files.map(({ sql }) => sql)].join('\n');
  const schemaComment = escapeLiteral(`Views for people and BI tools; ${hashOf(script)}`);
  const hash = `comment on schema ${escapeIdentifier(schemas.explore)} is ${schemaComment};\n`;
  const objects = files.map(({ name, sql }) => (commentFile.test(name) ? '' : sql.replaceAll(comment, '')));
  const comments = files.flatMap(({ name, sql }) => (commentFile.test(name) ? [sql] : (sql.match(comment) ?? [])));
  return {
    complete: `${script}\n${hash}`,
    objects: [schemata, ...objects].join('\n'),
    comments: [...comments, hash].join('\n'),
  };
}

async function loadReadSideFiles(): Promise<readonly { readonly name: string; readonly sql: string }[]> {
  const names = (await readdir(directory)).filter((name) => fileName.test(name)).sort();
  return Promise.all(names.map(async (name) => ({ name, sql: await readFile(new URL(name, directory), 'utf8') })));
}

/**
 * SQL that creates the read schemas. It is a separate function because some callers must check the owners of the
 * schemas before anything is created in them.
 */
export function createReadSchemas(storage: string): string {
  const { explore, typed: typedSchema, pqs, multisync } = readSchemas(storage);
  return [explore, typedSchema, pqs, multisync]
    .map((name) => `create schema if not exists ${escapeIdentifier(name)};`)
    .join('\n');
}

function hashOf(script: string): string {
  return `read side ${createHash('sha256').update(script).digest('hex')}`;
}

/** Replaces `:name` by the quoted schema and `:'name'` by the schema as a text literal. `::type` is not changed. */
function replaceSchemaNames(sql: string, schemas: ReadSchemas): string {
  const names = { ...schemas, derived: derivedSchema(schemas.storage) };
  return sql.replaceAll(
    /(?<!:):(')?(storage|explore|typed|pqs|multisync|derived)\b'?/g,
    (_, literal: string | undefined, name: keyof typeof names) =>
      literal === undefined ? escapeIdentifier(names[name]) : escapeLiteral(names[name]),
  );
}

/**
 * Adapts the script to the workers of Citus. Text after `workers` in a comment is used; text between two comments
 * `alone` is removed. These comments mark rows that must be collected before other rows are computed from them. On a
 * single server, this is not necessary.
 */
function enableWorkerSections(script: string): string {
  return script.replaceAll(/\/\*workers\b(.*?)\bworkers\*\//gs, '$1').replaceAll(/\/\*alone\*\/.*?\/\*alone\*\//gs, '');
}

/**
 * Creates the read side if it is missing or belongs to another version, except for its comments: readers of a replaced
 * view wait until the transaction has ended, and the comments take more than half of the time. Resolves to true if it
 * was created; {@link describeReadSide} has to follow. Call it in a transaction that holds the migration lock.
 * @throws IndexerError `SCHEMA_OWNER_MISMATCH`
 */
export async function createReadSide(client: ClientBase, storage: string): Promise<boolean> {
  const { complete, objects } = await loadReadSideScript(storage);
  if (await isReadSideCurrent(client, storage, complete)) return false;
  await client.query(createReadSchemas(storage));
  await assertOwnSchemas(client, storage);
  const isCitusDistributed = await isDistributed(client);
  if (isCitusDistributed) await client.query(disableDdlPropagation);
  await client.query(isCitusDistributed ? enableWorkerSections(objects) : objects);
  if (isCitusDistributed) await fitFunctions(client, storage);
  await secureViews(client, readSchemas(storage));
  await outdateOthers(client, await builtInProjections(storage));
  // The SELECT of a user may read any of the new views.
  await outdateRows(client, 'user');
  // The new views may read tables and columns that were added after the role was created.
  for (const role of await limitedRoles(client, storage)) {
    for (const statement of readGrants(role)) await client.query(statement);
  }
  return true;
}

/**
 * Adds the comments of the read side, and records that it is complete. If it is interrupted, the next call of
 * {@link createReadSide} creates the read side again. Call it in a transaction that holds the migration lock.
 */
export async function describeReadSide(client: ClientBase, storage: string): Promise<void> {
  const { comments } = await loadReadSideScript(storage);
  if (await isDistributed(client)) await client.query(disableDdlPropagation);
  await client.query(comments);
}

/**
 * Replaces views and functions with identical ones over the tables that now have the name of the storage. Objects that
 * depend on them are kept, and so are comments and rights. The read side must belong to this version. Runs in the
 * caller's transaction.
 */
export async function moveReadSide(client: ClientBase, storage: string): Promise<void> {
  const schemas = readSchemas(storage);
  const files = (await loadReadSideFiles()).filter(({ name }) => !keptOnSwap.test(name));
  const script = files.map(({ sql }) => replaceSchemaNames(sql, schemas).replaceAll(comment, '')).join('\n');
  await client.query((await isDistributed(client)) ? enableWorkerSections(script) : script);
}

/** Whether the read side exists in this version. */
export async function hasReadSide(client: ClientBase, storage: string): Promise<boolean> {
  return isReadSideCurrent(client, storage, await buildReadSideScript(storage));
}

async function isReadSideCurrent(client: ClientBase, storage: string, script: string): Promise<boolean> {
  const { rows } = await client.query<{ note: string | null }>(
    `select obj_description(oid, 'pg_namespace') as note from pg_namespace where nspname = $1`,
    [readSchemas(storage).explore],
  );
  const schemaComment = rows[0]?.note ?? undefined;
  return schemaComment !== undefined && script.includes(escapeLiteral(schemaComment));
}
