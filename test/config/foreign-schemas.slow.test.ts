/**
 * A stream never uses the schema of another stream in the same database: `check` and the start of the indexer reject it
 * before anything is created.
 */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { generateHistory } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { programInProcess } from '../cli/in-process.ts';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';

let sandbox: Sandbox;
let database: TestDatabase;
beforeEach(async () => {
  sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
  generateHistory(sandbox.ledger, { seed: 3, updates: 20 });
  database = await createTestDatabase();
});
afterEach(async () => {
  await sandbox.close();
  await database.drop();
});

interface Line {
  readonly name: string;
  readonly state: string;
  readonly code?: string;
  readonly found: string;
  readonly fix?: string;
}

type Env = Readonly<Record<string, string>>;

const env = (schema: string): Env => ({
  LEDGER_URL: sandbox.url,
  DATABASE_URL: database.url,
  POSTGRES_SCHEMA: schema,
});
const run = (variables: Env): ReturnType<typeof programInProcess> =>
  programInProcess(['run', '--stop-at', 'end', '--http-port', '0', '--log-level', 'error'], variables);

async function check(variables: Env): Promise<readonly Line[]> {
  const { stdout } = await programInProcess(['check', '--json'], variables);
  return (JSON.parse(stdout) as { readonly checks: readonly Line[] }).checks;
}

/** Every schema of the database, with its number of relations. */
const listSchemas = (): ReturnType<typeof query> =>
  query(
    database.url,
    'select n.nspname, count(c.oid)::int as relations from pg_namespace n left join pg_class c on c.relnamespace = n.oid group by 1 order by 1',
  );

it.each([
  ['explore', 'ledger'],
  ['typed', 'ledger'],
  ['pqs', 'ledger'],
  ['desk_typed', 'desk'],
  ['ledger', 'typed'],
])('POSTGRES_SCHEMA=%s is rejected if the stream in schema %s owns this schema', async (name, stream) => {
  expect(await run(env(stream))).toMatchObject({ code: 0 });
  const schemasBefore = await listSchemas();
  const line = (await check(env(name))).find((candidateCheck) => candidateCheck.name === 'schema');
  expect(line).toMatchObject({ state: 'fail', code: 'SCHEMA_OWNER_MISMATCH' });
  expect(line?.found).toContain(`belongs to the stream in schema "${stream}" of this database`);
  expect(line?.fix).toContain('choose another POSTGRES_SCHEMA');
  const processResult = await run(env(name));
  expect(processResult.code).toBe(78);
  expect(processResult.stdout + processResult.stderr).toContain('SCHEMA_OWNER_MISMATCH');
  expect(await listSchemas()).toEqual(schemasBefore);
  const second = await check(env('second'));
  expect(second.filter(({ state }) => state === 'fail')).toEqual([]);
});
