/**
 * Runs commands on a history distributed over Citus workers and on plain Postgres: output and remaining rows are equal.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { prune, planPrune } from '../../src/store/retention/prune.ts';
import { emptyHistory, planEmpty, planReset, resetTo } from '../../src/store/history/reset.ts';
import { readDiff, type DiffRow } from '../../src/store/reads/diff.ts';
import { brokenRules } from '../../src/store/verify/broken-rules.ts';
import { inSnapshot } from '../../src/store/verify/snapshot.ts';
import { randomHistory } from '../read/random-history.ts';
import { digestOf } from '../support/digest.ts';
import { identity } from '../support/schemas.ts';
import { needs } from '../support/skips/needs.ts';
import { citusPlace, citusUrl, citusSkipReason, plainPlace, takeTurn, type CitusPlace } from './places.ts';

takeTurn();

const history = randomHistory(33, 200);
const neverAborted = new AbortController().signal;

/** Runs all commands on one history, in an order in which each command leaves data for the next. */
async function collectResults(citusSchema: CitusPlace): Promise<Readonly<Record<string, unknown>>> {
  const { database } = citusSchema;
  const results: Record<string, unknown> = {};
  const rules = () => inSnapshot(database, ({ client }) => brokenRules(client, () => undefined));
  results['rules'] = await rules();
  for (const template of [null, 'iou:Main:A']) {
    const rows: DiffRow[] = [];
    const request = { from: { offset: 20 }, to: { offset: 170 }, template, party: null };
    await readDiff(database, request, async ({ pages }) => {
      for await (const page of pages) rows.push(...page);
    });
    results[`diff ${String(template)}`] = rows.map((row) => JSON.stringify(row)).toSorted();
  }
  results['plan of reset'] = [...(await planReset(database, 150))];
  results['reset'] = [...(await resetTo(database, 150, 'test'))];
  results['digest after reset'] = await digestOf(citusSchema.url, citusSchema.schema);
  results['rules after reset'] = await rules();
  await citusSchema.write(history, 5);
  results['digest after writing again'] = await digestOf(citusSchema.url, citusSchema.schema);
  const { tables, ...plan } = await planPrune(database, { offset: 90 });
  results['plan of prune'] = [plan, tables.map(({ table, rows }) => [table, rows])];
  const prunedResult = await prune(database, { offset: 90 }, { stop: neverAborted, batchRows: 40 });
  results['prune'] = prunedResult.tables.toSorted((a, b) => (a.table < b.table ? -1 : 1));
  results['digest after prune'] = await digestOf(citusSchema.url, citusSchema.schema);
  // The digest leaves them out.
  results['batches after prune'] = await citusSchema.query('select batch_offset from batches order by 1');
  results['rules after prune'] = await rules();
  results['plan of a new beginning'] = [...(await planEmpty(database))];
  await emptyHistory(database, identity, 'test');
  results['digest of a new beginning'] = await digestOf(citusSchema.url, citusSchema.schema);
  return results;
}

describe('diff, reset and prune on Citus', needs(citusSkipReason), () => {
  let citusPlaces: readonly CitusPlace[];
  beforeAll(async () => {
    citusPlaces = [await plainPlace('citus_history'), await citusPlace(citusUrl ?? '', 'citus_history', 4)];
    for (const citusSchema of citusPlaces) await citusSchema.write(history, 5);
  });
  afterAll(async () => {
    for (const citusSchema of citusPlaces) await citusSchema[Symbol.asyncDispose]();
  });

  it('return and leave the same rows as on plain Postgres', async () => {
    const [plainResult, distributedResult] = [
      await collectResults(citusPlaces[0] as CitusPlace),
      await collectResults(citusPlaces[1] as CitusPlace),
    ];
    expect(distributedResult).toEqual(plainResult);
    // The test history has a filter without a valid hash, so the hash is ignored.
    for (const rules of ['rules', 'rules after reset', 'rules after prune']) {
      const { broken: brokenRuleIds } = plainResult[rules] as Awaited<ReturnType<typeof brokenRules>>;
      expect(brokenRuleIds.map(({ rule }) => rule)).toEqual(['I26']);
    }
  }, 120_000);
});
