/**
 * The read side of the storage: views and functions, which contain no data. They are created again from
 * `migrations/read/*.sql` whenever one of those files has changed. The files name schemas by placeholders: `:storage`
 * for the schema of the stream, `:explore`, `:typed`, `:pqs` and `:multisync` for its read schemas.
 */
import { createHash } from 'node:crypto';
import { readFile, readdir } from 'node:fs/promises';
import { escapeIdentifier, escapeLiteral } from 'pg';
import type { ClientBase } from 'pg';
import { openGrants } from '../roles/party-policies.ts';
import { readSchemas, type ReadSchemas } from '../connection/read-schemas.ts';
import { fitFunctions, isDistributed, onThisNodeOnly } from './distribution.ts';
import { refuseStrangers } from '../roles/schema-owners.ts';
import { limitedRoles, secureViews } from '../roles/secure-views.ts';

const directory = new URL('../../../migrations/read/', import.meta.url);
const fileName = /^\d{2}_[a-z0-9_]+\.sql$/;

/** These files need not run again after a swap, because their effects on existing objects are kept. */
const keptOnSwap = /^(?:59_explore_comments|90_rights)\.sql$/;
const comment = /^comment on [^;']*'(?:[^']|'')*';\n/gm;

/** The script that creates the read side, with any number of statements. The last one records the script's hash. */
export async function readSideScript(storage: string): Promise<string> {
  const schemas = readSchemas(storage);
  const files = (await readSideFiles()).map(({ sql }) => withNames(sql, schemas));
  const script = [createReadSchemas(storage), ...files].join('\n');
  const note = escapeLiteral(`Views for people and BI tools; ${hashOf(script)}`);
  return `${script}\ncomment on schema ${escapeIdentifier(schemas.explore)} is ${note};\n`;
}

async function readSideFiles(): Promise<readonly { readonly name: string; readonly sql: string }[]> {
  const names = (await readdir(directory)).filter((name) => fileName.test(name)).sort();
  return Promise.all(names.map(async (name) => ({ name, sql: await readFile(new URL(name, directory), 'utf8') })));
}

/**
 * SQL that creates the read schemas. It is a separate function because some callers must check the owners of the
 * schemas before anything is created in them.
 */
export function createReadSchemas(storage: string): string {
  const { explore, typed, pqs, multisync } = readSchemas(storage);
  return [explore, typed, pqs, multisync]
    .map((name) => `create schema if not exists ${escapeIdentifier(name)};`)
    .join('\n');
}

function hashOf(script: string): string {
  return `read side ${createHash('sha256').update(script).digest('hex')}`;
}

/** Replaces `:name` by the quoted schema and `:'name'` by the schema as a text literal. `::type` is not changed. */
function withNames(sql: string, schemas: ReadSchemas): string {
  return sql.replaceAll(
    /(?<!:):(')?(storage|explore|typed|pqs|multisync)\b'?/g,
    (_, literal: string | undefined, name: keyof ReadSchemas) =>
      literal === undefined ? escapeIdentifier(schemas[name]) : escapeLiteral(schemas[name]),
  );
}

/**
 * Adapts the script to the workers of Citus. Text after `workers` in a comment is used; text between two comments
 * `alone` is removed. These comments mark rows that must be collected before other rows are computed from them. On a
 * single server, this is not necessary.
 */
function overWorkers(script: string): string {
  return script.replaceAll(/\/\*workers\b(.*?)\bworkers\*\//gs, '$1').replaceAll(/\/\*alone\*\/.*?\/\*alone\*\//gs, '');
}

/**
 * Creates the read side if it is missing or belongs to another version. Resolves to true if it was created. Call it in
 * a transaction that holds the migration lock.
 * @throws IndexerError `SCHEMA_OWNER_MISMATCH`
 */
export async function makeReadSide(client: ClientBase, storage: string): Promise<boolean> {
  const script = await readSideScript(storage);
  if (await isMade(client, storage, script)) return false;
  await client.query(createReadSchemas(storage));
  await refuseStrangers(client, storage);
  const distributed = await isDistributed(client);
  if (distributed) await client.query(onThisNodeOnly);
  await client.query(distributed ? overWorkers(script) : script);
  if (distributed) await fitFunctions(client, storage);
  await secureViews(client, readSchemas(storage));
  // The new views may read tables and columns that were added after the role was created.
  for (const role of await limitedRoles(client, storage)) {
    for (const statement of openGrants(role)) await client.query(statement);
  }
  return true;
}

/**
 * Replaces views and functions with identical ones over the tables that now have the name of the storage. Objects that
 * depend on them are kept, and so are comments and rights. The read side must belong to this version. Runs in the
 * caller's transaction.
 */
export async function moveReadSide(client: ClientBase, storage: string): Promise<void> {
  const schemas = readSchemas(storage);
  const files = (await readSideFiles()).filter(({ name }) => !keptOnSwap.test(name));
  const script = files.map(({ sql }) => withNames(sql, schemas).replaceAll(comment, '')).join('\n');
  await client.query((await isDistributed(client)) ? overWorkers(script) : script);
}

/** Whether the read side exists in this version. */
export async function hasReadSide(client: ClientBase, storage: string): Promise<boolean> {
  return isMade(client, storage, await readSideScript(storage));
}

async function isMade(client: ClientBase, storage: string, script: string): Promise<boolean> {
  const { rows } = await client.query<{ note: string | null }>(
    `select obj_description(oid, 'pg_namespace') as note from pg_namespace where nspname = $1`,
    [readSchemas(storage).explore],
  );
  const note = rows[0]?.note ?? undefined;
  return note !== undefined && script.includes(escapeLiteral(note));
}
