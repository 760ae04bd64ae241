/**
 * A condition of a reader must never be evaluated for values of another template, choice or interface, in any plan of
 * Postgres. Each statement casts a field that has another type in other templates.
 */
import { describe, expect, it } from 'vitest';
import { Random } from '../../../packages/ledger-sandbox/src/wire/random.ts';
import { printRepeatCommand, runsFor, seedFor } from '../../support/chance/property.ts';
import { createReadDatabase, type ReadDatabase } from '../read-database.ts';
import { writeMixedWorld } from './mixed-world.ts';
import { type StatementSpec, statementsOf } from './statements.ts';

const seed = seedFor();
const runs = runsFor(2);
printRepeatCommand(seed, runs);

/** Settings that are switched off, so that the planner cannot use its preferred plan. */
const plans: readonly (readonly string[])[] = [
  [],
  ['enable_nestloop'],
  ['enable_hashjoin', 'enable_mergejoin'],
  ['enable_nestloop', 'enable_hashjoin'],
  ['enable_indexscan', 'enable_indexonlyscan', 'enable_bitmapscan'],
  ['enable_nestloop', 'enable_indexscan', 'enable_indexonlyscan', 'enable_bitmapscan'],
];

async function failuresOf(database: ReadDatabase, statements: readonly StatementSpec[]): Promise<readonly string[]> {
  const failures: string[] = [];
  for (const { sql, expected } of statements) {
    const queryOutcome = await database.query<{ found: number }>(sql).then(
      ([row]) => String(row?.found),
      (error: unknown) => String(error),
    );
    if (queryOutcome !== String(expected)) failures.push(`${sql}: expected ${expected}, found ${queryOutcome}`);
  }
  return failures;
}

describe.each(Array.from({ length: runs }, (_, run) => run))(
  'casts of fields with equal names, random templates %i',
  (run) => {
    it('never read values of another template, in any plan', async () => {
      const random = new Random(seed + run);
      // Alternates between few active contracts of many templates, and many mostly archived contracts of few templates.
      const isWideShape = run % 2 === 0;
      const shape = isWideShape
        ? { count: random.between(10, 40), each: 3, archives: false }
        : { count: random.between(2, 4), each: 120, archives: true };
      await using database = await createReadDatabase();
      // A switched-off plan has so high a cost that JIT compiles every statement for a second, and a compiled statement
      // evaluates its conditions in the same order.
      await database.query('set jit = off');
      const { templates, end } = await writeMixedWorld(database, random, shape);
      const failures: string[] = [];
      for (const analyzed of [false, true]) {
        if (analyzed) await database.query('analyze');
        for (const disabledPlans of plans) {
          for (const setting of disabledPlans) await database.query(`set ${setting} = off`);
          const template = templates[random.between(0, templates.length - 1)];
          if (template === undefined) throw new Error('no template');
          const castFailures = await failuresOf(database, statementsOf(random, template, end));
          failures.push(
            ...castFailures.map((failure) => `${disabledPlans.join(', ')}${analyzed ? ', analyzed' : ''}: ${failure}`),
          );
          for (const setting of disabledPlans) await database.query(`reset ${setting}`);
        }
      }
      expect(failures).toEqual([]);
    });
  },
);
