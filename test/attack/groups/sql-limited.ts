/** Attacks with arbitrary SQL statements, under the login of a reader that is limited to one party. */
import type { Client } from 'pg';
import { callables, callsOf, relations, rowsOf } from '../../read/reader-attempts.ts';
import { breachesOf } from '../../security/code-of-a-reader.ts';
import { broken, held, verdict, type Attempt, type Group } from '../attempt.ts';
import { hiddenRow, limitedRows } from './sql-limited-rows.ts';
import type { World } from '../world/world.ts';

const schemas = ['ledger', 'explore', 'typed', 'pqs', 'pqs_multisync'] as const;
const as = 'limited';

/** Values that identify a hidden update, both as the ledger sends them and as the tables store them. */
async function needlesOf({ admin, hidden }: World): Promise<readonly string[]> {
  const { rows } = await admin.query<{ raw: string }>(
    'select update_id::text as raw from ledger.updates where "offset" = $1',
    [hidden.offset],
  );
  return [hidden.updateId, hidden.contractId, ...rows.map(({ raw }) => raw.replace(/^\\x(?:ff)?/, ''))];
}

async function within<T>(world: World, work: (client: Client) => Promise<T>): Promise<T> {
  const client = await world.session(as);
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** The `FROM` items among `sources` whose rows contain one of these values. */
async function leaks(world: World, sources: readonly string[]): Promise<readonly string[]> {
  const needles = (await needlesOf(world)).map((needle) => `'%${needle}%'`).join(', ');
  return within(world, async (client) => {
    await client.query(`set statement_timeout = '5s'`);
    const found: string[] = [];
    for (const source of sources) {
      const text = `select 'leak' as line from ${source} t where t::text like any (array[${needles}]) limit 1`;
      const lines = await rowsOf(client, text);
      if (typeof lines !== 'string' && lines.length > 0) found.push(source);
    }
    return found;
  });
}

const relationsOf = (schema: string): Attempt => ({
  id: `${as}-reads-every-relation-of-${schema}`,
  what: `reads every table and view of schema ${schema}`,
  expected: 'no row has an id of a hidden update',
  run: async (world) => {
    const all = (await relations(world.databaseUrl)).filter(({ name }) => name.startsWith(`${schema}.`));
    const found = await leaks(
      world,
      all.map(({ name }) => name),
    );
    return verdict(found.length === 0 && all.length > 0, `${String(all.length)} relations; ${found.join('; ')}`);
  },
});

const functionsOf = (schema: string): Attempt => ({
  id: `${as}-calls-every-function-of-${schema}`,
  what: `calls every function of schema ${schema} with the ids of a hidden update`,
  expected: 'no row has an id that was not a parameter, and none a hidden one',
  run: async (world) => {
    const all = (await callables(world.databaseUrl)).filter(({ name }) => name.startsWith(`${schema}.`));
    const { offset, commandId } = world.hidden;
    const calls = all
      .flatMap((each) => callsOf(each).slice(0, 12))
      .map((call) => call.replace(/^select f::text as line from (.*) f$/, '$1'))
      .map((call) =>
        call.replaceAll(`'foreign-1'`, `'${commandId}'`).replaceAll('7::bigint', `${String(offset)}::bigint`),
      );
    const found = await leaks(world, calls);
    return verdict(found.length === 0, `${String(calls.length)} calls; ${found.join('; ')}`);
  },
});

const codeAsOthers: Attempt = {
  id: `${as}-runs-code-as-others`,
  what: 'attaches types, casts, triggers and names of its own to everything that others run',
  expected: 'no code of the role runs with the rights of another',
  run: async (world) => {
    const client = await world.session(as);
    try {
      const found = await breachesOf(client);
      return verdict(found.length === 0, found.join('; ') || 'nothing ran as another');
    } catch (thrown) {
      return held(`cannot make the types: SQLSTATE ${String(Reflect.get(thrown as object, 'code'))}`);
    } finally {
      await client.end();
    }
  },
};

const others: readonly Attempt[] = [
  {
    id: `${as}-forges-a-notice`,
    what: 'sends a notice that the checkpoint is far ahead',
    expected: '/wait does not believe it',
    run: async (world) => {
      await within(world, (client) => client.query(`select pg_notify('ledger_offset', '9000000000000000')`));
      const response = await fetch(`${world.httpUrl}/wait?offset=9000000000000000&timeout=1`);
      const body = await response.text();
      return verdict(response.status === 504, `status ${String(response.status)}: ${body}`);
    },
  },
  {
    id: `${as}-division-as-oracle`,
    what: 'divides by zero if a hidden value is less than another',
    expected: 'no error, because the policy comes first',
    run: (world) =>
      within(world, async (client) => {
        const text = `select 1 from ledger.updates where ${hiddenRow(world)} and 1 / (case when command_id < '~' then 0 else 1 end) = 1`;
        const outcome = await rowsOf(client, text.replace('select 1', `select '1' as line`));
        return outcome === '22012' ? broken('division by zero reveals the value') : held(JSON.stringify(outcome));
      }),
  },
];

export const sqlLimited: Group = {
  name: 'sql-as-limited-reader',
  what: 'statements of a reader that is limited to one party',
  quick: true,
  attempts: [...limitedRows, ...others],
};

/** This attempt takes more than a minute. test/read/roles.slow.test.ts tests the same with a small history. */
export const sqlLimitedSweeps: Group = {
  name: 'sql-sweeps-as-limited-reader',
  what: 'every relation and function, as a reader that is limited to one party',
  quick: false,
  attempts: [...schemas.map(relationsOf), ...schemas.map(functionsOf), codeAsOthers],
};
