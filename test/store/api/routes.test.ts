/** Postgres accepts the statement of every route, in every order, for first and for later pages. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ApiArguments, ApiParameter, ApiValue } from '../../../src/model/push/read-api.ts';
import type { RowsRoute } from '../../../src/store/api/route.ts';
import { storedRoutes } from '../../../src/store/api/routes.ts';
import { rowsStatement } from '../../../src/store/api/rows-statement.ts';
import { Statement } from '../../../src/store/api/statement.ts';
import { createReadDatabase, type ReadDatabase } from '../../read/read-database.ts';

let database: ReadDatabase;
beforeAll(async () => {
  database = await createReadDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

function valueFor({ kind, values = [] }: ApiParameter): ApiValue {
  if (kind === 'position') return { offset: 7 };
  if (kind === 'offset') return 7;
  if (kind === 'boolean') return true;
  return kind === 'choice' ? (values.at(-1) ?? '') : 'alice::1220ab';
}

const shared = new Set(['where', 'sort', 'limit', 'cursor', 'allow_unseen']);
const rowsRoutes = storedRoutes.filter((route): route is RowsRoute => route.answers === 'rows');

/** Arguments with all required parameters and, in turn, each optional one. */
function argumentsOf({ parameters }: RowsRoute): readonly ApiArguments[] {
  const required = parameters.filter((parameter) => parameter.required === true);
  const given = Object.fromEntries(required.map((parameter) => [parameter.name, valueFor(parameter)]));
  const optional = parameters.filter(({ name, required: isRequired }) => isRequired !== true && !shared.has(name));
  return [given, ...optional.map((parameter) => ({ ...given, [parameter.name]: valueFor(parameter) }))];
}

function sortsOf({ columns }: RowsRoute): readonly string[] {
  return Object.entries(columns)
    .filter(([, kind]) => !['texts', 'numbers', 'json'].includes(kind))
    .flatMap(([name]) => [name, `-${name}`]);
}

describe.each(rowsRoutes.map((route) => [route.name, route] as const))('route %s', (_, route) => {
  async function explain(args: ApiArguments, after: readonly (string | null)[] | undefined): Promise<void> {
    const statement = new Statement('explore');
    const documents = { documents: {}, packages: () => undefined };
    const text = rowsStatement(route, { args, after, limit: 10, documents }, statement);
    await database.query(`explain ${text}`, statement.values);
  }

  it('has the columns of its relation, and parameters of their types', async () => {
    for (const args of argumentsOf(route)) await explain(args, undefined);
    for (const column of route.key) expect(Object.keys(route.columns)).toContain(column);
  });

  it('has later pages in every order, also after a row without the value of the order', async () => {
    const [args = {}] = argumentsOf(route);
    for (const sort of [undefined, ...sortsOf(route)]) {
      const length = route.key.length + (sort === undefined || sort.replace('-', '') === route.key[0] ? 0 : 1);
      await explain({ ...args, ...(sort === undefined ? {} : { sort }) }, Array<null>(length).fill(null));
    }
  });
});
