/** Reads the rows of `/api` for its clients. */
import { createHash } from 'node:crypto';
import { DatabaseError } from 'pg';
import type { ApiAnswer, ApiArguments, ApiRequest, ReadApi } from '../../model/push/read-api.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { Database } from '../connection/database.ts';
import { readSchemas } from '../connection/read-schemas.ts';
import { DocumentSubjects } from './document-subjects.ts';
import { inReaderSnapshot, type Snapshot } from './reader-snapshot.ts';
import { textOf, type RowsRoute, type StoredRoute } from './route.ts';
import { storedRoutes } from './routes.ts';
import { resolved } from './resolved-arguments.ts';
import { rowsStatement, type RowsRequest } from './rows-statement.ts';
import { Statement } from './statement.ts';

/** @param statementMs time limit of one statement */
export function readApi(database: Database, statementMs: number): ReadApi {
  const { storage, explore } = readSchemas(database.schema);
  const subjects = new DocumentSubjects(storage, explore);
  const routes = new Map(storedRoutes.map((route) => [route.name, route]));
  const plans = new KeptPlans();
  return async (request) => {
    const route = routes.get(request.route);
    if (route === undefined) throw new TypeError(`no route ${request.route}`);
    const keepsPlan = readsOneSubject(route, request.arguments) && plans.areKeptFor(request.reader.role);
    const planning = keepsPlan ? 'force_generic_plan' : 'force_custom_plan';
    return inReaderSnapshot(database, request.reader, { statementMs, planning }, async (snapshot) => {
      if (route.answers === 'rows')
        return rowsOrUnseen(route, request, { snapshot, explore, storage, subjects, keepsPlan });
      const fields = await route.read(snapshot.client, request.arguments, storage);
      return { offset: snapshot.offset, fields };
    });
  };
}

interface RowsContext {
  readonly snapshot: Snapshot;
  readonly explore: string;
  readonly storage: string;
  readonly subjects: DocumentSubjects;
  /** Whether the connection keeps the plan of the statement. */
  readonly keepsPlan: boolean;
}

/** Maximum number of roles whose plans are kept, because each plan occupies memory in each connection. */
const maxPlannedRoles = 50;

/** The roles whose plans are kept: the first ones that send requests. */
class KeptPlans {
  readonly #roles = new Set<string | null>();

  areKeptFor(role: string | null): boolean {
    if (this.#roles.size < maxPlannedRoles) this.#roles.add(role);
    return this.#roles.has(role);
  }
}

/** With allow_unseen, no rows for a name that is complete but that no stored row has. */
async function rowsOrUnseen(route: RowsRoute, request: ApiRequest, context: RowsContext): Promise<ApiAnswer> {
  try {
    return await readRows(route, request, context);
  } catch (thrown) {
    const { allow_unseen: allowsUnseen } = request.arguments;
    const isUnknown = thrown instanceof DatabaseError && thrown.code === undefinedObject;
    if (allowsUnseen !== true || !isUnknown || !hasCompleteNames(route, request.arguments)) throw thrown;
    return { offset: context.snapshot.offset, rows: [] };
  }
}

/** SQLSTATE of functions that resolve names. */
const undefinedObject = '42704';

/** A shorter name may be a mistake in any part, so only complete names are taken for names that were not seen yet. */
function hasCompleteNames({ parameters }: RowsRoute, args: ApiArguments): boolean {
  return parameters
    .filter(({ kind }) => kind === 'name')
    .every(({ name }) => args[name] === undefined || /^[^:]+:[^:]+:[^:]+$/.test(textOf(args[name])));
}

async function readRows(
  route: RowsRoute,
  { arguments: given, after, reader }: ApiRequest,
  { snapshot, explore, storage, subjects, keepsPlan }: RowsContext,
): Promise<ApiAnswer> {
  const { client, offset } = snapshot;
  const args = await resolved(route, given, client, { explore, storage });
  const limit = Number(args['limit']);
  const documents = { documents: await documentsOf(route, args, snapshot, subjects), packages: subjects.lookup };
  const statement = new Statement(explore);
  const text = rowsStatement(route, { args, after, limit, documents } satisfies RowsRequest, statement);
  const { rows } = await client.query<{ line: string; key: readonly (string | null)[]; found: number }>({
    text,
    values: statement.values,
    ...(keepsPlan ? { name: nameOf(text, reader.role) } : {}),
  });
  const page = rows.slice(0, limit);
  if (page.length === 0 && after === undefined) await refuseUnknown(route, args, snapshot, explore);
  const next = page.length < (rows[0]?.found ?? 0) ? page.at(-1)?.key : undefined;
  const { at } = args;
  const stateAt = typeof at === 'object' && 'offset' in at ? at.offset : undefined;
  return { offset, stateAt, rows: page.map(({ line }) => line), next };
}

/**
 * Whether the request is for what has one id. Then few texts of statements exist, and one plan is good for all ids: it is
 * kept in the session, because planning takes longer than reading.
 */
function readsOneSubject({ parameters }: StoredRoute, args: ApiArguments): boolean {
  const isVaried = ['where', 'sort', 'cursor'].some((name) => args[name] !== undefined);
  return !isVaried && parameters.some(({ inPath }) => inPath);
}

/**
 * Name of a prepared statement; names of Postgres have at most 63 bytes. Each role has its own: Postgres before 15.9, 16.5
 * and 17.1 may run the plan of one role with its row security for another role (CVE-2024-10976).
 */
function nameOf(text: string, role: string | null): string {
  return `api_${createHash('sha256')
    .update(JSON.stringify([role, text]))
    .digest('base64url')}`;
}

/** Types are read only if a filter or an order may name a field of a JSON column. */
async function documentsOf(
  { columns, documents = {} }: RowsRoute,
  args: ApiArguments,
  { client }: Snapshot,
  subjects: DocumentSubjects,
): Promise<RowsRequest['documents']['documents']> {
  if (args['where'] === undefined && args['sort'] === undefined) return {};
  const types: Record<string, Awaited<ReturnType<DocumentSubjects['typesOf']>>> = {};
  for (const [column, kind] of Object.entries(columns)) {
    if (kind === 'json') types[column] = await subjects.typesOf(client, documents[column]?.(args));
  }
  return types;
}

/**
 * Refuses parties and ids that no row has. A party in a row is known, so parties are looked up only for an empty page.
 */
async function refuseUnknown(
  { parameters, summary }: StoredRoute,
  args: ApiArguments,
  { client }: Snapshot,
  explore: string,
): Promise<void> {
  for (const { name, kind, inPath } of parameters) {
    if (inPath) {
      throw new IndexerError(`${summary}: no row that this reader may see has this ${name}`, {
        code: 'NAME_UNKNOWN',
        remedy: `check the id; /api/coverage lists the stored history`,
      });
    }
    if (kind !== 'party' || args[name] === undefined) continue;
    const statement = new Statement(explore);
    const text = `select ${statement.explore('known_party')}(${statement.value(args[name], 'text')})`;
    await client.query(text, statement.values);
  }
}
