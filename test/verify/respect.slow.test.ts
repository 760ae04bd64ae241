/**
 * `verify` must not report a difference because of quarantined updates, redactions, pruned history, filters or other
 * shapes.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { updateFormat, type LedgerFilter } from '../../src/ledger/api/request-format.ts';
import { demoInterfaces } from '../../packages/ledger-sandbox/src/demo/templates/names.ts';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { generateHistory } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { runIndexer } from '../e2e/runs/indexer-run.ts';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import { alive, otherParties } from './switched-states.ts';
import { runVerify, type VerifyRun } from './verify-run.ts';

let sandbox: Sandbox;
let database: TestDatabase;
let env: Record<string, string>;

beforeEach(async () => {
  sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
  generateHistory(sandbox.ledger, { seed: 15, updates: 150 });
  database = await createTestDatabase();
  env = { LEDGER_URL: sandbox.url, DATABASE_URL: database.url, LEDGER_INTERFACES: demoInterfaces.join(',') };
});
afterEach(async () => {
  await sandbox.close();
  await database.drop();
});

/** Seeds, follows this number of further updates, and stops. */
async function index(updates: number, extraEnv: Readonly<Record<string, string>> = {}): Promise<void> {
  env = { ...env, ...extraEnv };
  await using indexer = await runIndexer(env);
  await indexer.reaches(1);
  generateHistory(sandbox.ledger, { seed: 16, updates });
  await indexer.reaches(sandbox.ledger.ledgerEnd());
}

async function queryRow<T>(select: string): Promise<T> {
  const [row] = await query(database.url, select);
  if (row === undefined) throw new Error(`no row: ${select}`);
  return row as T;
}

async function change(...statements: readonly string[]): Promise<void> {
  await query(database.url, `begin; set local search_path to ledger; ${statements.join('; ')}; commit`);
}

async function verifyAll(...extraArgs: readonly string[]): Promise<VerifyRun> {
  return runVerify(['--invariants', '--tail', '100000', '--acs', ...extraArgs], env);
}

const equalResult = { code: 0, outcome: 'equal' };

describe('verify', () => {
  it('accepts quarantined updates and reports their number', async () => {
    await index(200);
    const { offset, filter } = await queryRow<{ offset: string; filter: LedgerFilter }>(
      `select c."offset", st.filter from ledger.contracts c cross join ledger.stream st
        where origin = 'c' and exists (select from ledger.lifetimes l where l.deactivated_offset = c."offset")
          and exists (select from ledger.lifetimes l where l.activated_offset = c."offset" and l.deactivated_offset is null)
        order by 1 limit 1`,
    );
    const body = JSON.stringify({ offset: Number(offset), updateFormat: updateFormat(filter) });
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${sandbox.url}/v2/updates/update-by-offset`, { method: 'POST', headers, body });
    const frame = Buffer.from(await response.text()).toString('hex');
    const tables = ['updates', 'contracts', 'exercises', 'archives', 'interface_views', 'topology_events'];
    await change(
      ...tables.map((table) => `delete from ${table} where "offset" = ${offset}`),
      ...['live', 'ended'].map((table) => `delete from ${table} where "offset" = ${offset}`),
      alive(`ended_offset = ${offset}`),
    );
    expect(await runVerify(['--tail', '100000', '--acs'], env)).toMatchObject({ code: 1 });
    await change(
      `insert into quarantine ("offset", code, problem, frame, epoch) values (${offset}, 'C', 'f', '\\x${frame}', 1)`,
    );
    const run = await runVerify(['--tail', '100000', '--acs'], env);
    expect(run).toMatchObject({ ...equalResult, results: [{ kind: 'tail', quarantined: 1 }, { kind: 'acs' }] });
    expect(run.results[1]?.quarantined).toBeGreaterThan(1);
  });

  it('accepts redactions, and still compares all other contents', async () => {
    await index(200);
    const contract = await queryRow<{ contract_id: string }>(
      `select contract_id from ledger.decoded_contracts c join ledger.lifetimes l using (contract_id)
        where c.origin = 'create' and l.deactivated_offset is null order by c."offset", c.node_id limit 1`,
    );
    const id = contract.contract_id;
    const contractFilter = `id_text(contract_id) = '${id}'`;
    await change(
      `insert into redactions (redaction_id, subject, reason, requested_by) values ('r', 'contract', 'asked', 'me')`,
      `update contracts set payload = null, contract_key = null, created_event_blob = null, redaction_id = 'r'
        where ${contractFilter}`,
      `update interface_views v set view = null, redaction_id = 'r' from contracts c
        where c."offset" = v."offset" and c.node_id = v.node_id and ${contractFilter}`,
      `insert into redacted_contracts (contract_id, redaction_id) values ('${id}', 'r')`,
      `update exercises set argument = null, result = null, redaction_id = 'r'
        where "offset" = (select max("offset") from exercises)`,
      `insert into redacted_exercises ("offset", node_id, update_id, redaction_id)
         select "offset", node_id, id_text(update_id), 'r' from exercises join updates using ("offset") where redaction_id = 'r'`,
    );
    expect(await verifyAll()).toMatchObject(equalResult);
    await change(otherParties('signatories', `'{planted}'`, contractFilter));
    const { results } = await verifyAll();
    expect(results.flatMap(({ findings }) => findings)).toMatchObject([
      { type: 'different', row: `contract ${id}`, fields: ['signatories'] },
      { type: 'different', contractId: id, fields: ['signatories'] },
    ]);
  });

  it('accepts history that was pruned in the index', async () => {
    await index(300);
    const { kept: keptRow } = await queryRow<{ kept: string }>(
      `select percentile_disc(0.5) within group (order by "offset") as kept from ledger.updates`,
    );
    const old = `"offset" <= ${keptRow}`;
    const unendedSql = `not exists (select from contract_states s where s.activated_offset = c."offset" and s.node_id = c.node_id
                     and (s.deactivated_offset is null or s.deactivated_offset > ${keptRow}))`;
    await change(
      `update stream set pruned_to_offset = ${keptRow}`,
      `delete from updates where ${old} and "offset" <> (select checkpoint_update_offset from stream)`,
      ...['exercises', 'archives', 'topology_events', 'reassignments'].map(
        (table) => `delete from ${table} where ${old}`,
      ),
      `delete from interface_views c where ${old} and ${unendedSql}`,
      `delete from contracts c where ${old} and ${unendedSql}`,
      `delete from ended where ended_offset <= ${keptRow}`,
      `delete from batches b where not exists (select from updates u where u.batch_offset = b.batch_offset)`,
    );
    const run = await verifyAll();
    expect(run.results.flatMap(({ findings }) => findings)).toEqual([]);
    expect(run).toMatchObject({ ...equalResult, results: [{}, { fromOffset: Number(keptRow) }, {}] });
    expect(await runVerify(['--range', keptRow, String(Number(keptRow) + 10)], env)).toMatchObject({ code: 2 });
    expect(await runVerify(['--acs', '--at', String(Number(keptRow) - 1)], env)).toMatchObject({ code: 2 });
  });

  it('accepts history that the participant pruned', async () => {
    await index(300);
    const { offset } = await queryRow<{ offset: string }>(
      `select percentile_disc(0.5) within group (order by "offset") as "offset" from ledger.updates`,
    );
    sandbox.ledger.pruneTo(Number(offset));
    expect(await verifyAll()).toMatchObject({ ...equalResult, results: [{}, { fromOffset: Number(offset) }, {}] });
    expect(await runVerify(['--range', offset, String(Number(offset) + 10)], env)).toMatchObject({ code: 2 });
  });

  it('accepts history that began without a seed', async () => {
    const start = String(Math.floor(sandbox.ledger.ledgerEnd() / 2));
    await index(100, { INDEXER_START: start });
    const run = await verifyAll();
    expect(run.results.flatMap(({ findings }) => findings)).toEqual([]);
    expect(run).toMatchObject({ ...equalResult, results: [{}, { fromOffset: Number(start) }, {}] });
    expect(run.results[2]?.compared).toBeGreaterThan(0);
  });

  it('accepts the shape ACS_DELTA and the filter of the stored stream', async () => {
    await index(0);
    const { party } = await queryRow<{ party: string }>(
      'select signatories[1] as party from ledger.decoded_contracts group by 1 order by count(*) desc limit 1',
    );
    await index(300, { LEDGER_SHAPE: 'ACS_DELTA', LEDGER_PARTIES: party, POSTGRES_SCHEMA: 'mine' });
    delete env['LEDGER_PARTIES'];
    delete env['LEDGER_SHAPE'];
    const run = await verifyAll();
    expect(run.results.flatMap(({ findings }) => findings)).toEqual([]);
    expect(run).toMatchObject(equalResult);
    expect(run.results.every(({ compared: comparedCount }) => comparedCount > 5)).toBe(true);
  });
});
