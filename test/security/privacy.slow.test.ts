/**
 * Limited readers of a random history of several parties. In every table, view and function, each reader sees exactly
 * the data that the ledger would return to its parties. `TEST_SEED` sets another history.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { grantReaderCommand } from '../../src/cli/roles/grant-reader.ts';
import { Random } from '../../packages/ledger-sandbox/src/wire/random.ts';
import { openDatabase } from '../../src/store/connection/database.ts';
import { migrate } from '../../src/store/schema/migrations.ts';
import { openSession } from '../../src/store/write/session.ts';
import { storePackage } from '../../src/store/typed/package-store.ts';
import { syncTypedViews } from '../../src/store/typed/views.ts';
import { relations, type Relation } from '../read/reader-attempts.ts';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import { fillAll, useSmallBlocks } from '../projections/projected.ts';
import { printRepeatCommand, seedFor } from '../support/chance/property.ts';
import { runCommand } from '../support/run-command.ts';
import { packages } from './privacy-contents.ts';
import { PrivateHistory, parties } from './privacy-history.ts';
import { labelRows, storeLabels } from './privacy/labels.ts';
import { storeHistory } from './privacy/store-history.ts';
import {
  allowedRows,
  queryResult,
  callables,
  callsOf,
  connected,
  copyOf,
  hiddenColumns,
  keysOf,
  rules,
  selectOf,
  removeHidden,
} from './privacy-world.ts';
import { needs } from '../support/skips/needs.ts';
import { canLimit, limitsSkipReason } from '../support/skips/server-version.ts';

const seed = seedFor();
printRepeatCommand(seed);
const random = new Random(seed);
/** Functions that describe the role instead of the history, or return nothing to a role that is limited to parties. */
const roleFunctions = new Set(['explore.is_limited', 'explore.traffic_history']);
const history = new PrivateHistory(seed, 150);

/** Readers with one to three parties, a reader whose party occurs in no row, and a reader of all parties. */
const readers = [
  ...Array.from({ length: 4 }, (_, index) =>
    parties.filter((__, rowIndex) => rowIndex % 4 === index || (index < 2 && random.chance(0.2))).slice(0, 3),
  ),
  ['Nobody::1220'],
  parties,
].map((partyList, index) => ({ role: `reader_${index}_${randomBytes(4).toString('hex')}`, of: partyList }));
const password = 'of a reader';

let testDatabase: TestDatabase;
let tables: readonly Relation[] = [];
const rowCounts = new Map<string, number>();

async function grant(from: number, to: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'privacy-'));
  const file = join(folder, 'password');
  writeFileSync(file, password);
  for (const { role, of: partyList } of readers.slice(from, to)) {
    const argv = [role, '--password-file', file, ...partyList.map((party) => `--party=${party}`)];
    await runCommand(grantReaderCommand, argv, { DATABASE_URL: testDatabase.url });
  }
  rmSync(folder, { recursive: true });
}

beforeAll(async () => {
  if (!canLimit) return;
  testDatabase = await createTestDatabase();
  const options = { schema: 'ledger', statementTimeoutMs: 60_000, applicationName: 'test privacy' };
  const database = openDatabase({ url: testDatabase.url, ...options });
  await migrate(database);
  const filter = JSON.stringify({ parties });
  await storeHistory(
    await openSession(database, { participantId: 'p::1220', filter, filterHash: 'f', shape: 'LEDGER_EFFECTS' }),
    history,
    random,
  );
  const labelled = labelRows(history.rows, ['Nobody::1220']);
  await storeLabels(testDatabase.url, labelled);
  history.rows.push(...labelled);
  await grant(0, 3);
  for (const model of packages) await storePackage(database, model);
  expect((await syncTypedViews(database, packages)).failed).toEqual([]);
  await grant(3, readers.length);
  await database.close();
  await useSmallBlocks(testDatabase.url, 16);
  await fillAll(testDatabase.url, 20);
  // Quarantined and redacted data, which only the operator may see.
  await query(
    testDatabase.url,
    `insert into ledger.quarantine values (1, 'X', 'secret', 'secret', 1);
     insert into ledger.redactions (redaction_id, subject, reason, requested_by) values ('r', 'party', 'secret', 'me');
     insert into ledger.redacted_contracts values ('secret', 'r');
     insert into ledger.filter_additions values ('party', 'secret', 1, 1);
     insert into ledger.redacted_exercises values (1, 0, 'u', 'r');
     insert into ledger.participants (participant_number, participant_id, from_offset, offset_shift, overlap_to_offset) select 1, participant_id, 0, 0, 0 from ledger.stream;
     insert into ledger.retention_holds values ('secret', 1, 'secret');
     insert into ledger.webhooks (name, role_name, party) values ('secret', 'secret', 'secret');
     insert into ledger.webhook_secrets values ('secret', 'https://secret', 'whsec_secret');
     insert into ledger.webhook_dead_letters values ('secret', 1, 0, 'secret', 1, 'secret');
     insert into ledger.reader_tokens (id, hash, role_name, login_name, name) values ('secret', '\\x00', 'secret', 'secret', 'secret');
     insert into ledger.node_sessions (transaction_id, parties, reads_all) values ('1', '{secret}', true);
     insert into ledger.jobs (name, state, request, problem) values ('filter-extend', 'failed', '{}', 'secret');
     insert into ledger.verifications values ('invariants', 'equal', 1, now(), 1, 1, 0, 0);
     insert into ledger.user_projections (name, generation, select_text, select_hash, read_role, looks_up, sources, key_columns, index_columns)
       values ('secret', 1, 'secret', '', 'secret', true, '{}', '{}', '{}');
     insert into ledger.projection_changes (offsets) values ('[1,1]');
     insert into ledger.history_changes (change_number, offsets) values (1, '{[1,1]}')`,
  );
  tables = await relations(testDatabase.url);
});
afterAll(async () => {
  if (!canLimit) return;
  await testDatabase.drop();
  for (const { role } of readers) await query(process.env['TEST_POSTGRES_URL'] ?? '', `drop role if exists ${role}`);
});

function urlOf(role: string): string {
  const url = new URL(testDatabase.url);
  url.username = role;
  url.password = encodeURIComponent(password);
  return url.href;
}

/**
 * True if the two databases may differ because of an unknown name. If there is no row, Postgres may not check whether
 * the name exists. If a name and an offset are both wrong, one database may reject the name and the other the offset.
 * The messages contain only template names and offsets, which every reader may see.
 */
function isRefusedArgument(firstArguments: readonly string[], otherArguments: readonly string[]): boolean {
  const isRefusal = (rows: readonly string[], codes: RegExp): boolean => rows.length === 1 && codes.test(rows[0] ?? '');
  if (!isRefusal(firstArguments, /^(42704|42P08) /)) return false;
  return otherArguments.length === 0 || isRefusal(otherArguments, /^(22003|22023|LI003) /);
}

/** Results of the statements that differ between both sides. */
async function differences(role: string, copy: string, statements: readonly string[]): Promise<object[]> {
  const resultsFrom = async (url: string): Promise<readonly (readonly string[])[]> =>
    connected(url, async (client) => {
      const resultRows: (readonly string[])[] = [];
      for (const statement of statements) resultRows.push(await queryResult(client, statement));
      return resultRows;
    });
  const [visibleRows, expectedRows] = [await resultsFrom(urlOf(role)), await resultsFrom(copy)];
  return statements.flatMap((statement, index) => {
    const [rows = [], expected = []] = [visibleRows[index], expectedRows[index]];
    if (isRefusedArgument(rows, expected) || isRefusedArgument(expected, rows)) return [];
    rowCounts.set(statement, Math.max(rowCounts.get(statement) ?? 0, rows.length));
    const leakedRows = rows.filter((row) => !expected.includes(row)).slice(0, 3);
    const missingRows = expected.filter((row) => !rows.includes(row)).slice(0, 3);
    if (leakedRows.length + missingRows.length === 0 && rows.length === expected.length) return [];
    return [{ statement, tooMuch: leakedRows, missing: missingRows, rows: rows.length, expected: expected.length }];
  });
}

describe('limited readers', needs(limitsSkipReason), () => {
  it('have a rule for every table, and the model includes every row', async () => {
    const storedTables = tables.filter(({ kind }) => kind !== 'v').map(({ name }) => name.replace(/^ledger\./, ''));
    expect(
      storedTables.sort(),
      'add a rule to privacy-world.ts and a line to docs/how-to/secure/reader-roles.md',
    ).toEqual(Object.keys(rules).sort());
    for (const [table, keys] of await keysOf(testDatabase.url))
      expect(keys, table).toEqual(allowedRows(history.rows, table));
  });

  // There are hundreds of statements for each of two databases, and the machine may be busy.
  it.each(readers)(
    'read exactly the rows of $of from every table, view and function',
    async ({ role, of: partyList }) => {
      const functions = await callables(testDatabase.url, role);
      expect(functions.length).toBeGreaterThan(30);
      const calls = functions
        .filter(({ name }) => !roleFunctions.has(name))
        .flatMap((callable) => callsOf(callable, random, history.lastOffset));
      const selectStatements: string[] = [];
      for (const relation of tables) selectStatements.push(await selectOf(testDatabase.url, relation));
      await using copy = await copyOf(testDatabase.url);
      await removeHidden(copy.url, history.rows, partyList);
      expect(await differences(role, copy.url, [...selectStatements, ...calls])).toEqual([]);
      await connected(urlOf(role), async (client) => {
        for (const [name, columns] of Object.entries(hiddenColumns)) {
          for (const column of columns) {
            const [result] = await queryResult(client, `select ${column}::text as line from ${name}`);
            expect(result, column).toMatch(/^42501 /);
          }
        }
      });
    },
    300_000,
  );

  it.each(['contracts', 'live', 'ended', 'exercises', 'archives', 'reassignments'])(
    'resolve their party sets once per query of %s',
    async (table) => {
      const role = readers[0]?.role ?? '';
      const plan = await query(urlOf(role), `explain select count(*) from ledger.${table}`);
      expect(plan.map((line) => String(line['QUERY PLAN'])).join('\n')).toMatch(/hashed SubPlan/);
    },
  );

  it('have read rows of every table and view except those for operators', async () => {
    const empty: string[] = [];
    for (const relation of tables) {
      if ((rowCounts.get(await selectOf(testDatabase.url, relation)) ?? 0) === 0) empty.push(relation.name);
    }
    const hiddenExpected = Object.entries(rules).flatMap(([table, rule]) =>
      rule === 'none' ? [`ledger.${table}`] : [],
    );
    const sums = ['explore.activity', 'explore.activity_updates'];
    // Not every random history has such rows that a limited reader sees.
    const randomFunctions = new Set(['explore.token_discrepancies', 'explore.reward_rounds']);
    expect(empty.filter((name) => !randomFunctions.has(name)).sort()).toEqual(
      [
        ...hiddenExpected,
        ...sums,
        'explore.filter_coverage',
        'explore.interface_coverage',
        // No limited reader sees the runway. The others have the costs of the last 24 hours, without those of this history.
        'explore.traffic_cost_outliers',
        'explore.traffic_cost_percentiles',
        'explore.traffic_runway',
        'ledger.filter_interfaces',
        'ledger.omitted_fields',
      ].sort(),
    );
    for (const { name } of tables) {
      const rule = rules[name.replace(/^ledger\./, '')];
      if (rule !== 'none') continue;
      expect(await query(testDatabase.url, `select from ${name} limit 1`), name).toHaveLength(1);
    }
  });
});
