/**
 * Costs of random histories, as each reader may see them: distributions and outliers are those that a model computes
 * from the written frames. `TEST_RUNS` sets the number of histories.
 */
import { describe, expect, it } from 'vitest';
import { Random } from '../../../packages/ledger-sandbox/src/wire/random.ts';
import { query } from '../../support/database.ts';
import { printRepeatCommand, runsFor, seedFor } from '../../support/chance/property.ts';
import { canLimit } from '../../support/skips/server-version.ts';
import { limitedReaders } from '../../projections/limited-readers.ts';
import { fillAll } from '../../projections/projected.ts';
import { createReadDatabase } from '../read-database.ts';
import { beginning, CostHistory, dayMs, distribution, outliers, parties, type Dimension } from './cost-history.ts';

const firstSeed = seedFor();
const histories = runsFor(3);
printRepeatCommand(firstSeed, histories);
const dimensions: readonly Dimension[] = ['template', 'choice', 'workflow', 'user', 'app'];

const lines = (rows: readonly object[]): readonly string[] => rows.map((row) => JSON.stringify(row)).sort();
const text = (ms: number): string => `'${new Date(ms).toISOString()}'`;

async function expectCosts(
  url: string,
  history: CostHistory,
  party: string | undefined,
  random: Random,
): Promise<void> {
  const costs = history.seenBy(party);
  const stored = await query(
    url,
    `select "offset"::int, bytes::int, package_name, template_fqn, choice, workflow_id from explore.traffic_costs`,
  );
  expect(lines(stored)).toEqual(
    lines(
      costs.map(({ offset, bytes, package_name, template_fqn, choice, workflow_id }) => ({
        offset,
        bytes,
        package_name,
        template_fqn,
        choice,
        workflow_id,
      })),
    ),
  );
  for (const dimension of dimensions) {
    const from = beginning + random.between(0, 5 * dayMs);
    const to = from + random.between(0, 5 * dayMs);
    const rows = await query(
      url,
      `select json_build_array(to_char(day at time zone 'UTC', 'YYYY-MM-DD'), package_name, template_fqn, choice, workflow_id, user_id) as names,
              updates::int, bytes::int, p50::int, p75::int, p95::int, max::int
         from explore.traffic_cost_percentiles(${text(from)}, ${text(to)}, '${dimension}')`,
    );
    const inRange = costs.filter(({ at }) => at >= from && at < to);
    const found = rows.map(({ names, ...facts }) => ({ key: JSON.stringify(names), ...facts }));
    expect(lines(found), `${dimension} for ${party ?? 'all'}`).toEqual(lines(distribution(inRange, dimension)));
  }
  const from = beginning + random.between(7 * dayMs, 8 * dayMs);
  const unusual = await query(
    url,
    `select "offset"::int, bytes::int, package_name, template_fqn, choice, workflow_id, user_id, usual_updates::int, usual_p50::int,
            usual_p95::int, bytes_beyond::int, times_usual::float8 from explore.traffic_cost_outliers(${text(from)}, ${text(from + dayMs)})`,
  );
  expect(lines(unusual), `outliers for ${party ?? 'all'}`).toEqual(lines(outliers(costs, from, from + dayMs)));
}

describe('costs of random histories', () => {
  it.each(Array.from({ length: histories }, (_, index) => firstSeed + index))(
    'are those of the model, for each reader: seed %i',
    async (seed) => {
      const random = new Random(seed);
      await using database = await createReadDatabase();
      const history = new CostHistory(seed, 700);
      await history.write(database);
      await expectCosts(database.url, history, undefined, random);
      await fillAll(database.url, 300);
      await expectCosts(database.url, history, undefined, random);
      if (!canLimit) return;
      const two = [parties[0], parties[1]];
      await using readers = await limitedReaders(database.url, two);
      for (const [index, party] of two.entries()) {
        const url = readers.urls[index] ?? '';
        await expectCosts(url, history, party, random);
        expect(await query(url, 'select * from explore.traffic_runway')).toEqual([]);
      }
    },
    60_000,
  );
});

describe('traffic_cost_percentiles', () => {
  it('refuses another dimension, and lists the known ones', async () => {
    await using database = await createReadDatabase();
    const sql = (dimension: string): string =>
      `select * from explore.traffic_cost_percentiles(null, null, ${dimension})`;
    for (const dimension of [`'party'`, 'null'])
      await expect(database.query(sql(dimension))).rejects.toMatchObject({
        code: '22023',
        hint: 'Group by template, choice, workflow, user or app.',
      });
    expect(await database.query(sql(`'app'`))).toEqual([]);
  });
});

describe('traffic_cost_of', () => {
  it('compares the cost of each submission of a command with an estimate', async () => {
    await using database = await createReadDatabase();
    const history = new CostHistory(1, 30);
    await history.write(database);
    const [update] = history.updates.filter(({ bytes, completion }) => bytes !== null && completion !== undefined);
    const { offset = 0, bytes = 0, completion, events = [] } = update ?? {};
    await database.query(
      `insert into completions ("offset", status_code, submitters_key, command_id, paid_traffic_cost)
       values (900, 10, '', $1, 77)`,
      [`command-${String(offset)}`],
    );
    await database.query(`update completions set paid_traffic_cost = $1 where "offset" = $2`, [bytes, offset]);
    const rows = await database.query(
      `select "offset"::int, user_id, succeeded, template_fqn, choice, bytes::int, estimated_bytes::int, bytes_beyond::int, times_estimated::float8
         from explore.traffic_cost_of('command-${String(offset)}', 1000)`,
    );
    const paid = Number(bytes);
    expect(rows).toEqual([
      {
        offset,
        user_id: completion?.userId,
        succeeded: true,
        template_fqn: events[0]?.templateFqn,
        choice: events[0]?.choice,
        bytes: paid,
        estimated_bytes: 1000,
        bytes_beyond: paid - 1000,
        times_estimated: paid / 1000,
      },
      {
        offset: 900,
        user_id: null,
        succeeded: false,
        template_fqn: null,
        choice: null,
        bytes: 77,
        estimated_bytes: 1000,
        bytes_beyond: -923,
        times_estimated: 0.077,
      },
    ]);
    expect(
      await database.query(
        `select estimated_bytes, bytes_beyond from explore.traffic_cost_of('command-${String(offset)}') limit 1`,
      ),
    ).toEqual([{ estimated_bytes: null, bytes_beyond: null }]);
  });
});
