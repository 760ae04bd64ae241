/** Plans that a pooled connection keeps never show rows of one role to another role. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ApiAnswer, ApiRoute } from '../../src/model/push/read-api.ts';
import { checkParameters } from '../../src/observe/api/parameters.ts';
import { readApi } from '../../src/store/api/read-api.ts';
import { storedRoutes } from '../../src/store/api/routes.ts';
import { openDatabase, type Database } from '../../src/store/connection/database.ts';
import { needs } from '../support/skips/needs.ts';
import { limitsSkipReason } from '../support/skips/server-version.ts';
import { ApiWorld } from './api-world.ts';

type Values = Readonly<Record<string, string>>;

describe('plans in pooled connections', needs(limitsSkipReason), () => {
  let world: ApiWorld;
  let alice: string;
  let bob: string;
  /** Values of required parameters: ids that alice sees and bob does not see. */
  let values: Values;
  const opened: Database[] = [];

  beforeAll(async () => {
    world = await ApiWorld.open('demo');
    const [first = '', second = ''] = await world.parties(2);
    [alice, bob] = [(await world.reader(first)).role, (await world.reader(second)).role];
    const only = async (column: string, view: string): Promise<string> => {
      const sql = `select ${column} as id from explore.${view} where ${column} is not null order by 1`;
      const others = new Set((await world.sql(sql, bob)).map(({ id }) => id));
      return String((await world.sql(sql, alice)).find(({ id }) => !others.has(id))?.['id']);
    };
    values = {
      contract_id: await only('contract_id', 'contracts'),
      update_id: await only('update_id', 'contracts'),
      command_id: await only('command_id', 'completions'),
      id: await only('contract_id', 'contracts'),
      party: first,
      interface: 'Splice.Api.Token.HoldingV1:Holding',
      from: '1',
      to: String(world.sandbox.ledger.ledgerEnd()),
    };
  });
  afterAll(async () => {
    await Promise.all(opened.map((database) => database.close()));
    await world[Symbol.asyncDispose]();
  });

  /** Has one connection. */
  function connected(): Database {
    const { url } = world.database;
    const options = { url, schema: 'ledger', statementTimeoutMs: 60_000, applicationName: 'test', maxConnections: 1 };
    const database = openDatabase(options);
    opened.push(database);
    return database;
  }

  /** Rows or fields of the answer, or the code of the error. */
  async function read(database: Database, route: ApiRoute, role: string | null): Promise<unknown> {
    const inPath = new Map<string, string>();
    const query = new URLSearchParams();
    for (const { name, inPath: isInPath, required: isRequired } of route.parameters) {
      if (isInPath === true) inPath.set(name, values[name] ?? '');
      else if (isRequired === true) query.set(name, values[name] ?? '');
    }
    const args = checkParameters(route, inPath, query);
    if ('title' in args) throw new Error(JSON.stringify(args));
    const request = { route: route.name, arguments: args };
    return readApi(
      database,
      30_000,
    )({ ...request, after: undefined, reader: { role } }).then(
      ({ rows, fields }: ApiAnswer) => rows ?? fields,
      ({ code }: { code?: string }) => code,
    );
  }

  const ofOneSubject = storedRoutes.filter(({ parameters }) => parameters.some(({ inPath }) => inPath));
  it.each(ofOneSubject.map((route) => [route.name, route] as const))('are of one role: %s', async (_, route) => {
    const shared = connected();
    const expected = new Map<string | null, unknown>();
    for (const role of [alice, bob, null]) expected.set(role, await read(connected(), route, role));
    expect(expected.get(bob)).toBe('NAME_UNKNOWN');
    // With the sixth execution, functions may use one plan for all arguments.
    for (let round = 0; round < 7; round += 1) {
      for (const role of [alice, bob, null]) {
        expect(await read(shared, route, role), `${String(role)} in round ${String(round)}`).toEqual(
          expected.get(role),
        );
      }
    }
  });

  it('have a name for each role, because old servers may use one for another role', async () => {
    const { contract_id: hidden = '' } = values;
    const database = connected();
    const reading = readApi(database, 30_000);
    const [row] = await world.sql(`select contract_id as id from explore.contracts`, bob);
    const id = { [alice]: hidden, [bob]: String(row?.['id']) };
    const read = (role: string): Promise<ApiAnswer> =>
      reading({
        route: 'contract',
        arguments: { contract_id: id[role] ?? '', limit: 1 },
        after: undefined,
        reader: { role },
      });
    for (const role of [alice, bob, alice, bob]) await read(role);
    const { rows } = await database.withClient((client) =>
      client.query(`select name from pg_prepared_statements where name like 'api%'`),
    );
    expect(rows).toHaveLength(2);
  });

  it('are kept after a request for an unknown id', async () => {
    const [contract] = ofOneSubject;
    if (contract === undefined) throw new Error('no route');
    const shared = connected();
    const session = (): Promise<unknown> =>
      shared.withClient(async (client) => (await client.query('select pg_backend_pid()')).rows);
    const before = await session();
    expect(await read(shared, contract, bob)).toBe('NAME_UNKNOWN');
    expect(await session()).toEqual(before);
  });
});
