/**
 * Recorded data of a participant in the typed views. Each contract is in the history view of its template, in any
 * state. Each exercise is in the view of its choice.
 */
import type { Client } from 'pg';
import { describe, expect, it } from 'vitest';
import { openDatabase } from '../../../src/store/connection/database.ts';
import { storePackage } from '../../../src/store/typed/package-store.ts';
import { syncTypedViews } from '../../../src/store/typed/views.ts';
import { expectationOf } from '../../recordings/expectation.ts';
import { asText, leavesOf } from '../../recordings/json.ts';
import { readRecording, shapes } from '../../recordings/recording.ts';
import { recordedPackages } from './recorded-packages.ts';
import { keyOf, type Row } from '../../recordings/rows.ts';
import { prepareRun, type Run } from '../../recordings/run.ts';
import { readRelation } from '../../recordings/stored.ts';

/** Creates the views of all templates and interfaces that the run has stored. */
async function makeViews({ client, databaseUrl }: Run): Promise<void> {
  const options = { schema: 'ledger', statementTimeoutMs: 60_000, applicationName: 'test' };
  const database = openDatabase({ url: databaseUrl, ...options });
  const packages = await recordedPackages(client);
  for (const model of packages) await storePackage(database, model);
  const { failed: failedViews } = await syncTypedViews(database, packages);
  await database.close();
  expect(failedViews).toEqual([]);
}

/** The rows of all views of a kind, as texts. */
async function readViewTexts(client: Client, kind: string, columns: readonly string[]): Promise<readonly string[]> {
  const { rows } = await client.query<{ view: string }>(
    `select format('typed.%I', view_name || case kind when 'template' then '__history' else '' end) as view
       from ledger.typed_views where kind = $1`,
    [kind],
  );
  await client.query("set timezone to 'UTC'");
  const collectedRows: Row[] = [];
  for (const { view } of rows) {
    collectedRows.push(...(await readRelation(client, { name: view, key: [], sql: `select * from ${view}` })));
  }
  return texts(collectedRows, columns);
}

/** Rows as texts, independent of the key order in JSON, because jsonb has an order of its own. */
function texts(rows: readonly Row[], columns: readonly string[]): readonly string[] {
  const textOf = (row: Row, column: string): string => {
    const rowLeaves = [...leavesOf(row[column] ?? null)].map(([path, text]) => `${column}${path} ${text}`);
    return rowLeaves.sort().join(' ');
  };
  return rows.map((row) => columns.map((column) => textOf(row, column)).join(', ')).sort();
}

/** Expects equal rows. Prints the first rows that are missing on either side. */
function expectSame(actual: readonly string[], expected: readonly string[]): void {
  const missingNames = (names: readonly string[], allNames: readonly string[]): readonly string[] => {
    const presentNames = new Set(allNames);
    return names.filter((row) => !presentNames.has(row)).slice(0, 2);
  };
  expect({ tooMany: missingNames(actual, expected), lost: missingNames(expected, actual) }).toEqual({
    tooMany: [],
    lost: [],
  });
  expect(actual).toHaveLength(expected.length);
}

const contractColumns = [
  'contract_id',
  'created_at_offset',
  'node_id',
  'status',
  'is_active',
  'archived_at_offset',
  'archived_at',
  'synchronizer_id',
  'contract_key',
  'signatories',
  'observers',
  'created_at',
  'package_id',
  'payload',
];
const exerciseColumns = [
  'contract_id',
  'exercised_at_offset',
  'node_id',
  'acting_parties',
  'consuming',
  'argument',
  'result',
];

describe.each(['core', 'two-synchronizers'])('recording %s', (name) => {
  it.each(shapes)('has every contract and exercise in typed views, with shape %s', async (shape) => {
    const recording = readRecording(name);
    await using run = await prepareRun({ recording, shape, ledgerEnd: recording.end });
    {
      await using daemon = run.start();
      await run.reaches(daemon, recording.end);
    }
    await makeViews(run);
    const { rows } = expectationOf(recording, shape, undefined, []);
    const contracts = rows.of('explore.contracts');
    const divulgedContracts = contracts.filter(({ status }) => asText(status) === 'witnessed').length;
    console.log(`${name}, ${shape}: ${contracts.length} contracts, of which ${divulgedContracts} never were active`);
    expect(divulgedContracts > 0).toBe(shape === 'LEDGER_EFFECTS');
    expectSame(await readViewTexts(run.client, 'template', contractColumns), texts(contracts, contractColumns));

    const exercisedChoices = new Set(rows.of('exercises').filter(hasArguments).map(choiceOf));
    const exercises = rows.of('exercises').filter((row) => exercisedChoices.has(choiceOf(row)));
    expect(exercises.length > 0).toBe(shape === 'LEDGER_EFFECTS');
    const expected = exercises.map((row) => ({ ...row, exercised_at_offset: row['offset'] ?? null }));
    expectSame(await readViewTexts(run.client, 'choice', exerciseColumns), texts(expected, exerciseColumns));
  });
});

/** Whether any argument is set. A choice without arguments has no view of its own. */
function hasArguments(row: Row): boolean {
  return !['{}', 'null'].includes(keyOf(row, ['argument']));
}

function choiceOf(row: Row): string {
  const owner = row['interface_id'] ?? row['template_id'] ?? null;
  return `${asText(owner).split(':').slice(1).join(':')} ${asText(row['choice'])}`;
}
