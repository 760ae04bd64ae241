/** Casts of a reader on Citus never see values of another template: as test/read/casts on plain Postgres. */
import { describe, expect, it } from 'vitest';
import { Random } from '../../packages/ledger-sandbox/src/wire/random.ts';
import { writeMixedWorld } from '../read/casts/mixed-world.ts';
import { statementsOf } from '../read/casts/statements.ts';
import type { ReadDatabase } from '../read/read-database.ts';
import { printRepeatCommand, seedFor } from '../support/chance/property.ts';
import type { JsonRecord } from '../support/frames.ts';
import { needs } from '../support/skips/needs.ts';
import { citusPlace, citusUrl, citusSkipReason, takeTurn, type CitusPlace } from './places.ts';

takeTurn();

const seed = seedFor();
printRepeatCommand(seed, 1);

/** Few contracts of many templates, all active, and many of few, most of them archived. */
const shapes = [
  { count: 12, each: 3, archives: false },
  { count: 3, each: 30, archives: true },
];

describe('casts in queries on Citus', needs(citusSkipReason), () => {
  it.each(shapes)('read only values of the selected template: %j', async (shape) => {
    await using citusSchema = await citusPlace(citusUrl ?? '', 'ledger', 4);
    const random = new Random(seed);
    const { templates, end } = await writeMixedWorld(placeWriter(citusSchema), random, shape);
    const failures: string[] = [];
    for (const template of templates.slice(0, 2)) {
      for (const { sql, expected } of statementsOf(random, template, end)) {
        const query = collectedFirst(sql);
        const queryResult = await citusSchema.query(query).then(
          ([row]) => String(row?.['found']),
          (error: unknown) => String(error),
        );
        if (queryResult !== String(expected)) failures.push(`${query}: expected ${expected}, found ${queryResult}`);
      }
    }
    expect(failures).toEqual([]);
  });
});

/** The place as the world writes to it: batch after batch. */
function placeWriter(citusSchema: CitusPlace): Pick<ReadDatabase, 'url' | 'writeTogether'> {
  const frames: JsonRecord[] = [];
  return {
    url: citusSchema.url,
    writeTogether: async (next) => {
      frames.push(...next);
      await citusSchema.write(frames, 500);
    },
  };
}

/** Citus sends a join by offset to the workers, which do not have the functions: docs/how-to/run/citus.md. */
function collectedFirst(sql: string): string {
  return sql.replaceAll(
    /explore\.contracts c (cross join lateral .*?) where c\.template_fqn = ('[^']*')/g,
    '(select * from explore.contracts where template_fqn = $2 offset 0) c $1',
  );
}
