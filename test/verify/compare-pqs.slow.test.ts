/**
 * Runs `compare-pqs` on an index and on a database with the layout of a PQS. Both are filled from the same ledger.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { demoInterfaces } from '../../packages/ledger-sandbox/src/demo/templates/names.ts';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import { generateHistory } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { comparePqsCommand } from '../../src/cli/verify/compare-pqs.ts';
import type { PqsComparison, PqsDifference } from '../../src/cli/verify/pqs-comparison.ts';
import { runIndexer } from '../e2e/runs/indexer-run.ts';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import { runCommand } from '../support/run-command.ts';
import { secretFile } from '../support/secret-file.ts';
import { waitFor } from '../support/wait-for.ts';
import { createPqsDatabase, type PqsDatabase } from './pqs-database.ts';

let sandbox: Sandbox;
let indexerDatabase: TestDatabase;
let pqs: PqsDatabase;
beforeAll(async () => {
  sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
  generateHistory(sandbox.ledger, { seed: 5, updates: 400 });
  indexerDatabase = await createTestDatabase();
  await using indexer = await runIndexer({
    LEDGER_URL: sandbox.url,
    DATABASE_URL: indexerDatabase.url,
    INDEXER_START: 'genesis',
    LEDGER_INTERFACES: demoInterfaces.join(','),
  });
  await indexer.reaches(sandbox.ledger.ledgerEnd(), 60_000);
  // Packages are read in the background. Before that, the names of interfaces contain their package ids.
  const unnamedTypeSql = `select from pqs.__contract_tpe where template_fqn ~ '^[0-9a-f]{64}:'
    union all select from pqs.__exercise_tpe where template_fqn ~ '^[0-9a-f]{64}:'`;
  const isNamed = async (): Promise<true | undefined> =>
    (await query(indexerDatabase.url, unnamedTypeSql)).length === 0 ? true : undefined;
  await waitFor('the interfaces have names', isNamed, 60_000);
  pqs = await createPqsDatabase(
    sandbox.ledger,
    demoInterfaces.map((name) => name.slice(1)),
  );
});
afterAll(async () => {
  await pqs[Symbol.asyncDispose]();
  await indexerDatabase.drop();
  await sandbox.close();
});

async function run(...argv: readonly string[]): Promise<{ readonly code: number; readonly lines: readonly string[] }> {
  const lines: string[] = [];
  const env = { DATABASE_URL: indexerDatabase.url };
  const io = { print: (line: string) => lines.push(line) };
  return { code: await runCommand(comparePqsCommand, ['--pqs-file', secretFile(pqs.url), ...argv], env, io), lines };
}
async function comparePqs(...argv: readonly string[]): Promise<PqsComparison & { readonly code: number }> {
  const { code, lines } = await run('--json', ...argv);
  return { code, ...(JSON.parse(lines.join('\n')) as PqsComparison) };
}
/** Changes the PQS, runs the comparison, and restores the PQS. Resolves to the result. */
async function findingsAfter(
  change: string,
  ...argv: readonly string[]
): Promise<PqsComparison & { readonly code: number }> {
  const tables = ['__transactions', '__contracts', '__exercises', '__watermark'];
  for (const table of tables) await pqs.query(`create table kept${table} as select * from ${table}`);
  try {
    await pqs.query(change);
    return await comparePqs(...argv);
  } finally {
    for (const table of tables) {
      await pqs.query(`truncate ${table}`);
      await pqs.query(`insert into ${table} select * from kept${table}`);
      await pqs.query(`drop table kept${table}`);
    }
  }
}
const kinds = (differences: readonly PqsDifference[]): readonly string[] => differences.map(({ kind }) => kind);
async function queryRow(sql: string): Promise<Readonly<Record<string, unknown>>> {
  const [row] = await pqs.query(sql);
  if (row === undefined) throw new Error(`no row: ${sql}`);
  return row;
}

describe('compare-pqs', () => {
  it('finds no difference between equal databases, including contents', async () => {
    const {
      code,
      differences,
      onlyPqs: pqsOnlyCount,
      onlyIndexer: indexerOnlyCount,
      rows,
      at,
      events,
      updates,
    } = await comparePqs('--contents');
    expect({ differences, onlyPqs: pqsOnlyCount, onlyIndexer: indexerOnlyCount }).toEqual({
      differences: [],
      onlyPqs: [],
      onlyIndexer: [],
    });
    const end = sandbox.ledger.ledgerEnd();
    expect({ code, at, to: events?.to, updates }).toEqual({ code: 0, at: end, to: end, updates: 100 });
    expect(rows.pqs).toBe(rows.indexer);
    expect(rows.pqs).toBeGreaterThan(1_000);
  });

  it('compares the databases at the offset in --at', async () => {
    const middleOffset = Math.floor(sandbox.ledger.ledgerEnd() / 2);
    expect(await comparePqs('--at', String(middleOffset))).toMatchObject({
      code: 0,
      at: middleOffset,
      differences: [],
    });
  });

  it('reports a contract that is in only one database', async () => {
    const { contract_id: id, template_fqn: name } = await queryRow(
      `select * from contract where payload_type = 'template' and archived_at_ix is null order by contract_id limit 1`,
    );
    const missingFinding = await findingsAfter(`delete from __contracts where contract_id = '${String(id)}'`);
    expect(missingFinding.code).toBe(1);
    const [activeDifference] = missingFinding.differences.filter(
      (difference) => difference.name === name && difference.kind === 'active',
    );
    expect(activeDifference).toMatchObject({
      type: 'template',
      missing: 0,
      extra: 1,
      firstMissing: [],
      firstExtra: [id],
    });
    expect((activeDifference?.indexer ?? 0) - (activeDifference?.pqs ?? 0)).toBe(1);
    const extraFindings = await findingsAfter(`insert into __contracts
      select tpe_pk, create_event_pk, created_at_ix, null, null, '00more', payload from __contracts where contract_id = '${String(id)}'`);
    expect(
      extraFindings.differences.find((difference) => difference.name === name && difference.kind === 'active'),
    ).toMatchObject({
      missing: 1,
      extra: 0,
      firstMissing: ['00more'],
    });
  });

  it('reports the range and offsets of an event with a wrong offset', async () => {
    const { exercise_event_pk: pk, exercised_at_ix: ix } = await queryRow(
      'select * from __exercises order by 2 desc limit 1',
    );
    const { offset } = await queryRow(`select "offset" from __transactions where ix = ${String(ix)}`);
    const { offset: earlierOffset } = await queryRow(
      `select "offset" from __transactions where ix = ${String(ix)} - 1`,
    );
    const movedFinding = await findingsAfter(
      `update __exercises set exercised_at_ix = exercised_at_ix - 1 where exercise_event_pk = ${String(pk)}`,
    );
    expect(kinds(movedFinding.differences)).toEqual(['exercises']);
    const [difference] = movedFinding.differences;
    expect(difference).toMatchObject({ missing: 1, extra: 1 });
    expect(difference?.firstMissing[0]?.split(' ')[0]).toBe(String(earlierOffset));
    expect(difference?.firstExtra[0]?.split(' ')[0]).toBe(String(offset));
    expect(Number(earlierOffset)).toBeGreaterThanOrEqual(difference?.from ?? Infinity);
    expect(Number(offset)).toBeLessThanOrEqual(difference?.to ?? 0);
  });

  it('compares contents only with --contents', async () => {
    const change = `update __contracts set payload = payload || '{"owner": "somebody"}'
      where contract_id = (select contract_id from contract where payload_type = 'template' and archived_at_ix is null limit 1)`;
    expect((await findingsAfter(change)).code).toBe(0);
    const contentFindings = await findingsAfter(change, '--contents');
    expect(contentFindings.code).toBe(1);
    expect(new Set(kinds(contentFindings.differences))).toEqual(new Set(['active']));
  });

  it('exits with 0 if only the indexer has a type, and with 1 if only the PQS has a type', async () => {
    const holdings = `select pk from __contract_tpe where payload_type = 'interface' limit 1`;
    const { template_fqn: name } = await queryRow(`select template_fqn from __contract_tpe where pk = (${holdings})`);
    const missingTypeFinding = await findingsAfter(`delete from __contracts where tpe_pk = (${holdings})`);
    expect(missingTypeFinding).toMatchObject({
      code: 0,
      differences: [],
      onlyPqs: [],
      onlyIndexer: [`interface ${String(name)}`],
    });
    const extraFindings =
      await findingsAfter(`with type as (insert into __contract_tpe values (1000, 'other:Module:Entity', 'template') returning pk)
      insert into __contracts select type.pk, 1, 1, null, null, '00other', '{}' from type`);
    expect(extraFindings).toMatchObject({ code: 1, differences: [], onlyPqs: ['template other:Module:Entity'] });
    await pqs.query('delete from __contract_tpe where pk = 1000');
  });

  it('reports missing updates, and rejects databases without a common update', async () => {
    const newestSql = '(select max(ix) from __transactions)';
    const someFindings = await findingsAfter(
      `update __transactions set transaction_id = 'other' where ix = ${newestSql}`,
    );
    expect(someFindings.differences).toMatchObject([{ kind: 'updates', pqs: 100, indexer: 99, missing: 1 }]);
    await expect(findingsAfter(`update __transactions set transaction_id = 'of another ledger'`)).rejects.toMatchObject(
      {
        code: 'COMPARE_IMPOSSIBLE',
        exitCode: 2,
      },
    );
  });

  it('rejects a database that is not a PQS, an --at that only one database has, and invalid arguments', async () => {
    await expect(run('--pqs-schema', 'pg_catalog')).rejects.toMatchObject({ code: 'COMPARE_IMPOSSIBLE' });
    await expect(run('--at', String(sandbox.ledger.ledgerEnd() + 1))).rejects.toMatchObject({
      code: 'COMPARE_IMPOSSIBLE',
    });
    await expect(run('--pqs-file', '/nowhere')).rejects.toMatchObject({ code: 'USAGE' });
    const emptyDatabaseResult = findingsAfter('truncate __transactions, __watermark');
    await expect(emptyDatabaseResult).rejects.toMatchObject({ code: 'COMPARE_IMPOSSIBLE' });
  });

  it('prints its results as text lines', async () => {
    const { code, lines } = await run();
    expect(code).toBe(0);
    expect(lines[0]).toBe('equal: this database has everything that the PQS has');
    expect(lines.join('\n')).toContain(`at offset ${String(sandbox.ledger.ledgerEnd())}`);
  });
});
