/** `verify` finds no difference after an undisturbed run, and reports exactly the changes made without the indexer. */
import { readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { demoInterfaces } from '../../packages/ledger-sandbox/src/demo/templates/names.ts';
import { invariants } from '../../src/store/verify/broken-rules.ts';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { generateHistory, startTraffic } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { runIndexer } from '../e2e/runs/indexer-run.ts';
import { query, type TestDatabase } from '../support/database.ts';
import { createMigratedDatabase } from '../support/migrated-database.ts';
import { waitFor } from '../support/wait-for.ts';
import { alive, endedSql, otherParties } from './switched-states.ts';
import { runVerify, type VerifyRun } from './verify-run.ts';

let sandbox: Sandbox;
let database: TestDatabase;
let seedOffset = 0;
let checkpoint = 0;

const ledger = (): Record<string, string> => ({
  LEDGER_URL: sandbox.url,
  DATABASE_URL: database.url,
  LEDGER_INTERFACES: demoInterfaces.join(','),
});
const verify = (...args: readonly string[]): Promise<VerifyRun> => runVerify(args, ledger());

async function queryRow<T>(select: string): Promise<T> {
  const [row] = await query(database.url, select);
  if (row === undefined) throw new Error(`no row: ${select}`);
  return row as T;
}

/** Changes rows in the storage without the indexer. */
async function change(statements: string): Promise<void> {
  await query(database.url, `begin; set local search_path to ledger; ${statements}; commit`);
}

const states = ['live', 'ended'] as const;

/** Changes the tables, runs `verify`, and restores the tables. Resolves to the findings. */
async function findingsWhile(changeSql: string | readonly string[], statements: string, ...args: readonly string[]) {
  const tables = [changeSql].flat();
  await change(tables.map((table) => `create table kept_${table} as select * from ${table}`).join(';'));
  try {
    await change(statements);
    const run = await verify(...args);
    expect(run.code).toBe(run.results.some(({ outcome }) => outcome === 'different') ? 1 : 0);
    return run.results.flatMap(({ findings }) => findings);
  } finally {
    const restoreSql = tables.map(
      (table) => `delete from ${table}; insert into ${table} select * from kept_${table}; drop table kept_${table}`,
    );
    await change(restoreSql.join(';'));
  }
}

const range = (): readonly string[] => ['--range', String(seedOffset + 1), String(checkpoint)];

beforeAll(async () => {
  sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
  generateHistory(sandbox.ledger, { seed: 5, updates: 200 });
  database = await createMigratedDatabase(['ledger']);
  await using indexer = await runIndexer(ledger());
  await indexer.reaches(1);
  generateHistory(sandbox.ledger, { seed: 7, updates: 600 });
  await indexer.reaches(sandbox.ledger.ledgerEnd());
  const stream = await queryRow<{ seed_offset: string; checkpoint: string }>('select * from ledger.stream');
  seedOffset = Number(stream.seed_offset);
  checkpoint = Number(stream.checkpoint);
});
afterAll(async () => {
  await sandbox.close();
  await database.drop();
});

describe('verify after an undisturbed run', () => {
  it('finds no difference in any comparison', async () => {
    const run = await verify('--invariants', '--tokens', '--tail', '100', '--acs', ...range());
    expect(run.results.map(({ kind, outcome, findings, note }) => ({ kind, outcome, findings, note }))).toEqual(
      ['invariants', 'tokens', 'tail', 'range', 'acs'].map((kind) => ({
        kind,
        outcome: 'equal',
        findings: [],
        note: undefined,
      })),
    );
    expect(run.code).toBe(0);
    const activeCount = await queryRow<{ count: string }>(
      'select count(*) from ledger.lifetimes where deactivated_offset is null',
    );
    const loggedChoices = await queryRow<{ count: string }>(
      'select count(*) from explore.token_events where is_by_admin',
    );
    expect(run.results.map(({ compared: comparedCount }) => comparedCount)).toEqual([
      invariants.length,
      Number(loggedChoices.count),
      100,
      600,
      Number(activeCount.count),
    ]);
    expect(Number(loggedChoices.count)).toBeGreaterThan(20);
    expect(Number(activeCount.count)).toBeGreaterThan(50);
  });

  it('finds no difference if the participant returns parties in another order', async () => {
    sandbox.faults.reverseParties = {};
    const run = await verify('--tail', '100', '--acs', ...range());
    sandbox.faults.reverseParties = undefined;
    expect(run.results.map(({ kind, outcome }) => [kind, outcome])).toEqual(
      ['tail', 'range', 'acs'].map((kind) => [kind, 'equal']),
    );
  });

  it('finds no difference in views computed with a newer package, and reports the package', async () => {
    const packageId = 'ef'.repeat(32);
    sandbox.faults.newerViews = { packageId };
    const run = await verify('--acs', ...range());
    sandbox.faults.newerViews = undefined;
    expect(run.results.map(({ kind, outcome, findings }) => ({ kind, outcome, findings }))).toEqual(
      ['range', 'acs'].map((kind) => ({ kind, outcome: 'equal', findings: [] })),
    );
    const storedCount = await queryRow<{ count: string }>(
      `select count(*) from ledger.interface_views where "offset" > ${String(seedOffset)} and status_code = 0`,
    );
    expect(run.results[0]?.recomputed).toBe(Number(storedCount.count));
    expect(run.results[0]?.note).toContain(packageId);
    expect(run.results[1]?.recomputed).toBeUndefined();
  });

  it('stores its results in the table verifications, and writes a report to a file', async () => {
    const file = join(tmpdir(), `verify-${String(process.pid)}.json`);
    try {
      await runVerify(['--tail', '5', '--json', file], ledger()).catch(() => undefined);
      expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({ outcome: 'equal', results: [{ kind: 'tail' }] });
    } finally {
      await rm(file, { force: true });
    }
    expect(await queryRow(`select outcome, compared::int from ledger.verifications where kind = 'tail'`)).toEqual({
      outcome: 'equal',
      compared: 5,
    });
  });

  it('finds no difference at earlier offsets with --at', async () => {
    for (const at of [seedOffset, seedOffset + 1, seedOffset + 250, checkpoint - 1]) {
      const run = await verify('--acs', '--at', String(at));
      expect(run.results).toMatchObject([{ outcome: 'equal', atOffset: at }]);
    }
  });

  it('is undecided about offsets outside the stored history', async () => {
    for (const args of [
      ['--acs', '--at', String(seedOffset - 1)],
      ['--acs', '--at', String(checkpoint + 1)],
      ['--range', String(seedOffset), String(checkpoint)],
      ['--range', '5', '4'],
    ]) {
      const run = await verify(...args);
      expect(run.code).toBe(2);
      expect(run.results).toMatchObject([{ outcome: 'undecided', note: /^VERIFY_IMPOSSIBLE: .*what to do/ }]);
    }
  });

  it('is undecided if the participant differs or is unreachable', async () => {
    await using otherSandbox = await startSandbox();
    const otherLedgerEnv = { ...ledger(), LEDGER_URL: otherSandbox.url };
    expect(await runVerify(['--acs'], otherLedgerEnv)).toMatchObject({
      code: 2,
      results: [{ note: /the ledger ends at offset/ }],
    });
    otherSandbox.ledger.participantId = 'other::1220';
    expect(await runVerify(['--acs'], otherLedgerEnv)).toMatchObject({
      code: 2,
      results: [{ note: /participant other::1220/ }],
    });
    expect(await runVerify(['--acs'], { ...ledger(), LEDGER_URL: 'http://127.0.0.1:1' })).toMatchObject({
      code: 2,
      results: [{ outcome: 'undecided', note: /^LEDGER_UNREACHABLE/ }],
    });
  });
});

describe('verify --tokens', () => {
  it('reports a token movement with a wrong amount in the log', async () => {
    const event = await queryRow<{ offset: string; node_id: number; instrument_id: string }>(
      `select "offset", node_id, instrument_id from explore.token_events where side = 'sender' order by "offset" limit 1`,
    );
    const falsifySql = `update exercises set argument = jsonb_set(argument::jsonb, '{transferLegSides,0,amount}', '"0.0000000007"')
                  where "offset" = ${event.offset} and node_id = ${String(event.node_id)}`;
    const findings = await findingsWhile('exercises', falsifySql, '--tokens');
    expect(findings).toContainEqual({
      type: 'different',
      offset: Number(event.offset),
      row: `change of ${event.instrument_id}`,
      fields: ['logged', 'moved'],
    });
  });
});

describe('verify --acs', () => {
  const findLive = (n: number): Promise<{ contract_id: string; activated_offset: string }> =>
    queryRow(`select contract_id, activated_offset from ledger.lifetimes where deactivated_offset is null
          order by activated_offset, contract_id offset ${String(n)} limit 1`);

  it('reports a contract whose lifetime was ended', async () => {
    const { contract_id: id } = await findLive(3);
    const findings = await findingsWhile(states, endedSql(`id_text(contract_id) = '${id}'`), '--acs');
    expect(findings).toMatchObject([{ type: 'missing', contractId: id }]);
  });

  it('reports an archived contract that was made active again', async () => {
    const { contract_id: id } = await queryRow<{ contract_id: string }>(
      `select contract_id from ledger.lifetimes where deactivated_offset is not null
        and contract_id not in (select contract_id from ledger.decoded_reassignments) limit 1`,
    );
    const findings = await findingsWhile(states, alive(`id_text(contract_id) = '${id}'`), '--acs');
    expect(findings).toMatchObject([{ type: 'extra', contractId: id }]);
  });

  it.each([
    ['payload', `payload = payload || '{"planted": "x"}'`],
    ['created_at', `created_at = created_at + interval '1 microsecond'`],
    [
      'template',
      `template_pk = template_pk % 5 + 1, representative_package_id =
         (select package_id from templates t where t.template_pk = contracts.template_pk)`,
    ],
  ])('reports a contract with a changed %s', async (field, set) => {
    const { contract_id: id } = await findLive(7);
    expect(
      await findingsWhile('contracts', `update contracts set ${set} where id_text(contract_id) = '${id}'`, '--acs'),
    ).toEqual([expect.objectContaining({ type: 'different', contractId: id, fields: [field] })]);
  });

  it('reports a contract with changed signatories', async () => {
    const { contract_id: id } = await findLive(7);
    const alterSignatories = otherParties(
      'signatories',
      `signatories || '{planted}'`,
      `id_text(contract_id) = '${id}'`,
    );
    expect(await findingsWhile(['contracts', 'contract_parties', ...states], alterSignatories, '--acs')).toEqual([
      expect.objectContaining({ type: 'different', contractId: id, fields: ['signatories'] }),
    ]);
  });

  it('reports several contracts with missing or changed rows', async () => {
    const [a, b, c] = [await findLive(1), await findLive(20), await findLive(40)].map(({ contract_id: id }) => id);
    const deleteLiveSql = `delete from live where id_text(contract_id) in ('${a ?? ''}', '${b ?? ''}');
                  update live set "offset" = "offset" - 1 where id_text(contract_id) = '${c ?? ''}'`;
    const findings = await findingsWhile('live', deleteLiveSql, '--acs');
    expect(findings.map(({ type, contractId }) => `${type} ${contractId ?? ''}`).sort()).toEqual(
      [`missing ${a ?? ''}`, `missing ${b ?? ''}`, `different ${c ?? ''}`].sort(),
    );
  });
});

describe('verify --range', () => {
  const pickOffset = async (table: string, condition = 'true'): Promise<number> => {
    const row = await queryRow<{ offset: string }>(
      `select "offset" from ledger.${table} where "offset" > ${String(seedOffset)} and ${condition} order by 1 offset 2 limit 1`,
    );
    return Number(row.offset);
  };

  it('reports a missing update', async () => {
    const offset = await pickOffset('updates', `kind = 't'`);
    const tables = ['updates', 'contracts', 'exercises', 'archives', 'interface_views'];
    const deletes = tables.map((table) => `delete from ${table} where "offset" = ${String(offset)}`);
    for (const table of tables) await change(`create table kept_${table} as select * from ${table}`);
    try {
      await change(deletes.join(';'));
      const { results } = await verify(...range());
      expect(results).toMatchObject([{ outcome: 'different', different: 1, findings: [{ type: 'missing', offset }] }]);
    } finally {
      for (const table of tables) {
        await change(
          `delete from ${table}; insert into ${table} select * from kept_${table}; drop table kept_${table}`,
        );
      }
    }
  });

  it('reports an update that the ledger does not have', async () => {
    const gap = await queryRow<{ offset: string }>(
      `select "offset" + 1 as "offset" from ledger.updates u where not exists
         (select from ledger.updates n where n."offset" = u."offset" + 1) and "offset" < ${String(checkpoint)} limit 1`,
    );
    const insert = `insert into updates ("offset", batch_offset, kind, event_count) values (${gap.offset}, 0, 't', 0)`;
    expect(await findingsWhile('updates', insert, ...range())).toEqual([{ type: 'extra', offset: Number(gap.offset) }]);
  });

  it.each([
    ['updates', 'record_time', `record_time = record_time + interval '1 microsecond'`, `kind = 't'`],
    ['updates', 'update_id', `update_id = '\\x0123'`, 'true'],
    ['contracts', 'payload', `payload = '{}'`, `origin = 'c'`],
    ['exercises', 'result', `result = '"planted"'`, 'true'],
    ['exercises', 'argument', `argument = jsonb_build_object('a', argument)`, 'true'],
    ['interface_views', 'view', `view = 'null'`, 'true'],
    ['interface_views', 'implementation_package_id', `implementation_package_id = 'planted'`, 'true'],
    ['reassignments', 'reassignment_id', `reassignment_id = 'planted'`, 'not incomplete'],
  ])('reports rows of %s with a changed %s', async (table, field, set, condition) => {
    const offset = await pickOffset(table, condition);
    const alterUpdate = `update ${table} set ${set} where "offset" = ${String(offset)} and ${condition}`;
    const findings = await findingsWhile(table, alterUpdate, ...range());
    expect(findings.length).toBeGreaterThan(0);
    for (const finding of findings) expect(finding).toMatchObject({ type: 'different', offset, fields: [field] });
  });

  it('reports contracts with changed witnesses', async () => {
    const offset = await pickOffset('contracts', `origin = 'c'`);
    const alterWitnesses = otherParties('witness_parties', `'{planted}'`, `"offset" = ${String(offset)}`);
    const findings = await findingsWhile(['contracts', 'contract_parties', ...states], alterWitnesses, ...range());
    expect(findings.length).toBeGreaterThan(0);
    for (const finding of findings) expect(finding).toMatchObject({ type: 'different', offset });
    expect(findings.every(({ fields = [] }) => fields.includes('witness_parties'))).toBe(true);
  });

  it('reports missing and additional rows', async () => {
    const offset = await pickOffset('exercises');
    const deleteExercisesSql = `delete from exercises where "offset" = ${String(offset)}`;
    const missingFindings = await findingsWhile('exercises', deleteExercisesSql, ...range());
    expect(missingFindings.length).toBeGreaterThan(0);
    for (const finding of missingFindings)
      expect(finding).toMatchObject({ type: 'missing', offset, row: /^exercise \d+$/ });
    const insertSql = `insert into exercises
      select "offset", node_id + 1000, last_descendant_node_id, template_pk, choice_pk, parties_pk, consuming, acs_delta,
             contract_id, argument, result
      from exercises where "offset" = ${String(offset)} limit 1`;
    expect(await findingsWhile('exercises', insertSql, ...range())).toMatchObject([{ type: 'extra', offset }]);
  });
});

describe('verify with a running indexer', () => {
  it('finds no difference while the indexer commits new batches', async () => {
    await using indexer = await runIndexer(ledger());
    const traffic = startTraffic(sandbox.ledger, { seed: 9, updatesPerSecond: 50 });
    try {
      for (let round = 0; round < 3; round += 1) {
        const endBefore = sandbox.ledger.ledgerEnd();
        await indexer.reaches(endBefore + 20);
        const run = await verify('--invariants', '--tail', '200', '--acs');
        expect(run.results.map(({ outcome, findings }) => ({ outcome, findings }))).toEqual(
          Array.from({ length: 3 }, () => ({ outcome: 'equal', findings: [] })),
        );
      }
      const differences = (): Promise<number> => indexer.metric('indexer_verify_last_differences{kind="acs"}');
      await waitFor('the metrics of the last result', async () => ((await differences()) === 0 ? true : undefined));
    } finally {
      traffic.stop();
    }
  });
});
