/** Fills a database with `jsonb` and one with `json` from one ledger. Readers and `verify` must find no difference. */
import { createHash } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import { demoInterfaces } from '../../packages/ledger-sandbox/src/demo/templates/names.ts';
import { generateHistory } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { runIndexer } from '../e2e/runs/indexer-run.ts';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';
import { runVerify } from '../verify/verify-run.ts';

const types = ['jsonb', 'json'] as const;
type Type = (typeof types)[number];

/** Columns about the writer and its background requests to the ledger, which differ between the databases. */
const volatile = [
  'epoch',
  'indexed_at',
  'indexing_latency',
  'ledger_end',
  'updated_at',
  'offsets_behind',
  'recorded_at',
  'writer',
  'seeded_at',
];

let sandbox: Sandbox;
let databases: Readonly<Record<Type, TestDatabase>>;

const env = (type: Type): Readonly<Record<string, string>> => ({
  LEDGER_URL: sandbox.url,
  DATABASE_URL: databases[type].url,
  LEDGER_INTERFACES: demoInterfaces.join(','),
  INDEXER_START: 'genesis',
});

async function fill(type: Type): Promise<void> {
  await using indexer = await runIndexer({ ...env(type), INDEXER_EXERCISE_JSON: type });
  await indexer.reaches(sandbox.ledger.ledgerEnd());
  // Packages are read in the background. Each pass logs at its end how many packages it read.
  await waitFor('typed views of all packages', async () => {
    const refusedLines = indexer.log.filter((line) => line.includes('"msg":"typed views created"'));
    const readRows = refusedLines.reduce((sum, line) => sum + (JSON.parse(line) as { packages: number }).packages, 0);
    const [storedRow] = await query(
      databases[type].url,
      `select (select count(*) from ledger.packages)::integer as packages,
              (select count(*) from ledger.templates where package_id not in (select package_id from ledger.packages))::integer as missing`,
    );
    return storedRow?.['missing'] === 0 && storedRow['packages'] === readRows ? true : undefined;
  });
}

beforeAll(async () => {
  sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
  generateHistory(sandbox.ledger, { seed: 5, updates: 1_500 });
  databases = { jsonb: await createTestDatabase(), json: await createTestDatabase() };
  for (const type of types) await fill(type);
});
afterAll(async () => {
  await sandbox.close();
  for (const type of types) await databases[type].drop();
});

interface View {
  readonly name: string;
  readonly columns: readonly string[];
}

/** The views of all four schemas, with their columns except the volatile columns. */
async function views(type: Type): Promise<readonly View[]> {
  return (await query(
    databases[type].url,
    `select format('%I.%I', n.nspname, c.relname) as name,
            array_agg(quote_ident(a.attname) order by a.attname) as columns
       from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
      where n.nspname in ('ledger', 'explore', 'typed', 'pqs', 'pqs_multisync') and c.relkind = 'v' and a.attnum > 0
        and a.attname <> all ('{${volatile.join(',')}}')
      group by 1 order by 1`,
  )) as unknown as readonly View[];
}

interface Answer {
  readonly rows: number;
  readonly digest: string;
}

async function answerType(type: Type, { name, columns }: View): Promise<Answer> {
  const lines = await query(
    databases[type].url,
    `select json_build_array(${columns.map((column) => `v.${column}::text`).join(', ')})::text as line from ${name} v`,
  );
  const texts = lines.map(({ line }) => String(line)).toSorted();
  return { rows: texts.length, digest: createHash('sha256').update(texts.join('\n')).digest('hex') };
}

const storedTypeSql = `select distinct format_type(atttypid, null) as type from pg_attribute
  where attrelid = 'ledger.exercises'::regclass and attname in ('argument', 'result')`;

it.each(types)('INDEXER_EXERCISE_JSON=%s sets the column type of exercise arguments and results', async (type) => {
  expect(await query(databases[type].url, storedTypeSql)).toEqual([{ type }]);
});

it('views return the same columns and rows over json and jsonb', { timeout: 120_000 }, async () => {
  const jsonbRows = await views('jsonb');
  expect(await views('json')).toEqual(jsonbRows);
  const rows = new Map<string, number>();
  for (const view of jsonbRows) {
    const [firstAnswer, sameAnswer] = await Promise.all([answerType('jsonb', view), answerType('json', view)]);
    rows.set(view.name, firstAnswer.rows);
    expect(sameAnswer, view.name).toEqual(firstAnswer);
  }
  for (const name of [
    'explore.exercises',
    'explore.events',
    'explore.token_transfer_steps',
    'ledger.decoded_exercises',
  ]) {
    expect(rows.get(name), name).toBeGreaterThan(0);
  }
  expect([...rows].filter(([name, count]) => name.startsWith('typed.') && count > 0)).not.toHaveLength(0);
});

it('pqs.exercises() returns the same rows over json and jsonb', async () => {
  const select = `select md5(string_agg(e::text, '|' order by exercised_at_offset, exercise_event_pk)) as digest, count(*)
                    from (select argument, result, exercised_at_offset, exercise_event_pk from pqs.exercises()) e`;
  const selectedRows = await query(databases.jsonb.url, select);
  expect(Number(selectedRows[0]?.['count'])).toBeGreaterThan(0);
  expect(await query(databases.json.url, select)).toEqual(selectedRows);
});

it.each(types)('explore.exercises uses an index on argument::jsonb over %s columns', async (type) => {
  const client = new Client({ connectionString: databases[type].url });
  await client.connect();
  try {
    await client.query(`create index own_actor on ledger.exercises ((argument::jsonb ->> 'actor'))`);
    await client.query(`create index own_argument on ledger.exercises using gin ((argument::jsonb) jsonb_path_ops)`);
    await client.query('set enable_seqscan = off');
    const plan = async (condition: string): Promise<string> => {
      const { rows } = await client.query<Record<string, string>>(
        `explain select contract_id from explore.exercises where ${condition}`,
      );
      return rows.flatMap((row) => Object.values(row)).join('\n');
    };
    expect(await plan(`argument ->> 'actor' = 'x'`)).toContain('own_actor');
    expect(await plan(`argument @> '{"actor": "x"}'`)).toContain('own_argument');
  } finally {
    await client.end();
  }
});

it.each(types)('verify reports no difference in a database with %s columns', async (type) => {
  const { code, results } = await runVerify(
    ['--invariants', '--acs', '--range', '1', String(sandbox.ledger.ledgerEnd())],
    env(type),
  );
  expect(results.flatMap(({ findings }) => findings)).toEqual([]);
  expect(code).toBe(0);
});
