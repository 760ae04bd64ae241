/** Attacks with arbitrary SQL statements, under the login of a reader that is limited to one party. */
import type { Client } from 'pg';
import { callables, callsOf, relations, rowsOf } from '../../read/reader-attempts.ts';
import { breachesOf } from '../../security/code-of-a-reader.ts';
import { failedVerdict, heldVerdict, verdict, type Attempt, type Group } from '../attempt.ts';
import { hiddenRowSql, limitedRows } from './sql-limited-rows.ts';
import type { World } from '../world/world.ts';

const schemas = ['ledger', 'explore', 'typed', 'pqs', 'pqs_multisync'] as const;
const login = 'limited';

/** Values that identify a hidden update, both as the ledger sends them and as the tables store them. */
async function hiddenTexts({ admin, hidden: hiddenUpdate }: World): Promise<readonly string[]> {
  const { rows } = await admin.query<{ raw: string }>(
    'select update_id::text as raw from ledger.updates where "offset" = $1',
    [hiddenUpdate.offset],
  );
  return [hiddenUpdate.updateId, hiddenUpdate.contractId, ...rows.map(({ raw }) => raw.replace(/^\\x(?:ff)?/, ''))];
}

async function runInTransaction<T>(world: World, work: (client: Client) => Promise<T>): Promise<T> {
  const client = await world.session(login);
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** The `FROM` items among `sources` whose rows contain one of these values. */
async function leaks(world: World, sources: readonly string[]): Promise<readonly string[]> {
  const secretPatterns = (await hiddenTexts(world)).map((secretText) => `'%${secretText}%'`).join(', ');
  return runInTransaction(world, async (client) => {
    await client.query(`set statement_timeout = '5s'`);
    const leakedNames: string[] = [];
    for (const source of sources) {
      const text = `select 'leak' as line from ${source} t where t::text like any (array[${secretPatterns}]) limit 1`;
      const lines = await rowsOf(client, text);
      if (typeof lines !== 'string' && lines.length > 0) leakedNames.push(source);
    }
    return leakedNames;
  });
}

const relationsOf = (schema: string): Attempt => ({
  id: `${login}-reads-every-relation-of-${schema}`,
  what: `reads every table and view of schema ${schema}`,
  expected: 'no row has an id of a hidden update',
  run: async (world) => {
    const relationList = (await relations(world.databaseUrl)).filter(({ name }) => name.startsWith(`${schema}.`));
    const leakTexts = await leaks(
      world,
      relationList.map(({ name }) => name),
    );
    return verdict(
      leakTexts.length === 0 && relationList.length > 0,
      `${String(relationList.length)} relations; ${leakTexts.join('; ')}`,
    );
  },
});

const functionsOf = (schema: string): Attempt => ({
  id: `${login}-calls-every-function-of-${schema}`,
  what: `calls every function of schema ${schema} with the ids of a hidden update`,
  expected: 'no row has an id that was not a parameter, and none a hidden one',
  run: async (world) => {
    const callableList = (await callables(world.databaseUrl)).filter(({ name }) => name.startsWith(`${schema}.`));
    const { offset, commandId } = world.hidden;
    const calls = callableList
      .flatMap((callable) => callsOf(callable).slice(0, 12))
      .map((call) => call.replace(/^select f::text as line from (.*) f$/, '$1'))
      .map((call) =>
        call.replaceAll(`'foreign-1'`, `'${commandId}'`).replaceAll('7::bigint', `${String(offset)}::bigint`),
      );
    const leakTexts = await leaks(world, calls);
    return verdict(leakTexts.length === 0, `${String(calls.length)} calls; ${leakTexts.join('; ')}`);
  },
});

const runCodeAsOthers: Attempt = {
  id: `${login}-runs-code-as-others`,
  what: 'attaches types, casts, triggers and names of its own to everything that others run',
  expected: 'no code of the role runs with the rights of another',
  run: async (world) => {
    const client = await world.session(login);
    try {
      const breachTexts = await breachesOf(client);
      return verdict(breachTexts.length === 0, breachTexts.join('; ') || 'nothing ran as another');
    } catch (error) {
      return heldVerdict(`cannot make the types: SQLSTATE ${String(Reflect.get(error as object, 'code'))}`);
    } finally {
      await client.end();
    }
  },
};

const otherAttempts: readonly Attempt[] = [
  {
    id: `${login}-forges-a-notice`,
    what: 'sends a notice that the checkpoint is far ahead',
    expected: '/wait does not believe it',
    run: async (world) => {
      await runInTransaction(world, (client) => client.query(`select pg_notify('ledger_offset', '9000000000000000')`));
      const response = await fetch(`${world.httpUrl}/wait?offset=9000000000000000&timeout=1`);
      const body = await response.text();
      return verdict(response.status === 504, `status ${String(response.status)}: ${body}`);
    },
  },
  {
    id: `${login}-division-as-oracle`,
    what: 'divides by zero if a hidden value is less than another',
    expected: 'no error, because the policy comes first',
    run: (world) =>
      runInTransaction(world, async (client) => {
        const text = `select 1 from ledger.updates where ${hiddenRowSql(world)} and 1 / (case when command_id < '~' then 0 else 1 end) = 1`;
        const outcome = await rowsOf(client, text.replace('select 1', `select '1' as line`));
        return outcome === '22012'
          ? failedVerdict('division by zero reveals the value')
          : heldVerdict(JSON.stringify(outcome));
      }),
  },
];

export const sqlLimited: Group = {
  name: 'sql-as-limited-reader',
  what: 'statements of a reader that is limited to one party',
  quick: true,
  attempts: [...limitedRows, ...otherAttempts],
};

/** This attempt takes more than a minute. test/read/roles.slow.test.ts tests the same with a small history. */
export const sqlLimitedSweeps: Group = {
  name: 'sql-sweeps-as-limited-reader',
  what: 'every relation and function, as a reader that is limited to one party',
  quick: false,
  attempts: [...schemas.map(relationsOf), ...schemas.map(functionsOf), runCodeAsOthers],
};
