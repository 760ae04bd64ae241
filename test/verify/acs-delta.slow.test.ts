/**
 * Runs `verify` in shape ACS_DELTA against a release without continuation tokens. It finds differences, and no
 * differences in equal data.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { generateHistory } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { runIndexer } from '../e2e/runs/indexer-run.ts';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import { digestOf } from '../support/digest.ts';
import { alive } from './switched-states.ts';
import { runVerify } from './verify-run.ts';

let sandbox: Sandbox;
let database: TestDatabase;
let middleOffset = 0;

beforeAll(async () => {
  sandbox = await startSandbox({ release: '3.4', limits: { checkpointIntervalMs: 50 } });
  generateHistory(sandbox.ledger, { seed: 31, updates: 60 });
  middleOffset = sandbox.ledger.ledgerEnd();
  database = await createTestDatabase();
  await index('seeded', middleOffset);
  generateHistory(sandbox.ledger, { seed: 32, updates: 140 });
  await index('seeded', sandbox.ledger.ledgerEnd());
  await index('whole', sandbox.ledger.ledgerEnd(), { INDEXER_START: 'genesis' });
});
afterAll(async () => {
  await sandbox.close();
  await database.drop();
});

const env = (schema: string): Record<string, string> => ({
  LEDGER_URL: sandbox.url,
  DATABASE_URL: database.url,
  POSTGRES_SCHEMA: schema,
  LEDGER_SHAPE: 'ACS_DELTA',
});

async function index(
  schema: string,
  untilOffset: number,
  extraEnv: Readonly<Record<string, string>> = {},
): Promise<void> {
  await using indexer = await runIndexer({ ...env(schema), ...extraEnv });
  await indexer.reaches(untilOffset);
}

const args = ['--invariants', '--tail', '100000', '--acs'];

it.each(['seeded', 'whole'])('verify finds no difference in schema %s', async (schema) => {
  const run = await runVerify(args, env(schema));
  expect(run.results.flatMap(({ findings }) => findings)).toEqual([]);
  expect(run).toMatchObject({ code: 0, outcome: 'equal' });
  expect(run.results.every(({ compared: comparedCount }) => comparedCount > 5)).toBe(true);
  const [counts] = await query(
    database.url,
    `select (select count(*)::int from ${schema}.archives) as archives, (select count(*)::int from ${schema}.exercises) as exercises`,
  );
  expect(counts).toMatchObject({ exercises: 0 });
  expect(Number(counts?.['archives'])).toBeGreaterThan(20);
});

it('seeded schema has the same later rows as a schema with complete history', async () => {
  const laterSql = (schema: string): string => `
    select a."offset"::int, a.node_id, a.contract_id, t.package_id, t.entity_name, a.witness_parties, a.implemented_interfaces,
           (select array_agg(l.deactivated_offset::int) from ${schema}.lifetimes l where l.contract_id = a.contract_id) as ended
      from ${schema}.decoded_archives a join ${schema}.templates t using (template_pk) where a."offset" > ${middleOffset} order by 1, 2`;
  expect(await query(database.url, laterSql('seeded'))).toEqual(await query(database.url, laterSql('whole')));
  const activeSql = (schema: string): string =>
    `select contract_id, activated_offset::int from ${schema}.lifetimes where deactivated_offset is null order by 1, 2`;
  expect(await query(database.url, activeSql('seeded'))).toEqual(await query(database.url, activeSql('whole')));
});

describe('verify with shape ACS_DELTA', () => {
  const last = `("offset", node_id) = (select "offset", node_id from archives order by 1 desc, 2 limit 1)`;
  it.each([
    ['a missing archived event', `delete from archives where ${last}`],
    [
      'a changed witness of an archived event',
      `insert into event_parties select max(parties_pk) + 1, '{}', '{Nobody::1220}', '{}' from event_parties;
       update archives set parties_pk = (select max(parties_pk) from event_parties) where ${last}`,
    ],
    [
      'a changed template of an archived event',
      `update archives set template_pk = (select min(t.template_pk) from templates t where t.template_pk <> archives.template_pk) where ${last}`,
    ],
    ['a contract that did not end', alive(`contract_id = (select contract_id from archives where ${last})`)],
    [
      'a contract that ended too early',
      `update ended set ended_offset = "offset" where contract_id = (select contract_id from archives where ${last})`,
    ],
    [
      'an end that was counted twice',
      `update active_counts set deactivated = deactivated + 1 where template_pk = (select template_pk from archives where ${last})`,
    ],
    [
      'an archive that was not counted',
      `update activity_hourly set archives = archives - 1 where (hour, template_pk) = (select hour, template_pk from activity_hourly where archives > 0 limit 1)`,
    ],
  ])('detects %s', async (_caseName, change) => {
    const digestBefore = await digestOf(database.url, 'whole');
    await query(
      database.url,
      `set search_path = whole; create table backup_a as table archives; create table backup_l as table live; create table backup_e as table ended; create table backup_p as table event_parties; create table backup_c as table active_counts; create table backup_h as table activity_hourly; ${change}`,
    );
    const run = await runVerify(args, env('whole'));
    expect(run).toMatchObject({ outcome: 'different' });
    await query(
      database.url,
      `set search_path = whole; ${[
        ['archives', 'a'],
        ['live', 'l'],
        ['ended', 'e'],
        ['event_parties', 'p'],
        ['active_counts', 'c'],
        ['activity_hourly', 'h'],
      ]
        .map(
          ([table, shortTable]) =>
            `truncate ${table}; insert into ${table} table backup_${shortTable}; drop table backup_${shortTable}`,
        )
        .join('; ')}`,
    );
    expect(await digestOf(database.url, 'whole')).toBe(digestBefore);
  });
});
