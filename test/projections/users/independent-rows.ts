/**
 * Compares projections of users with the texts that the test added, each run once over all history as a plain SELECT. It
 * shares no code with the indexer, and no function of the database that fills or reads projections.
 */
import { Client } from 'pg';
import { expect } from 'vitest';

/** Texts by name and version, such as `transfers$2`. */
export type Texts = ReadonlyMap<string, string>;

interface Version {
  readonly name: string;
  readonly view: string;
  readonly isReadByView: boolean;
}

/**
 * Versions that store rows or may store some, and which of them the view of each projection reads: the newest filled one,
 * or the newest one.
 */
const versionsSql = `
  select p.name, p.view_name as view,
         p.generation = first_value(p.generation) over (partition by p.view_name order by p.is_filled desc, p.generation desc)
           as "isReadByView"
    from ledger.projections p join ledger.user_projections u on u.name = p.view_name and u.generation = p.generation
   where not u.is_retired`;

/** Whether the row at an offset is stored and no change of history is noted that concerns it. */
const isStored = `
  exists (select from ledger.projections p join ledger.user_projections u on u.name = p.view_name and u.generation = p.generation
           where p.name = $1 and p.covered @> t."offset"
             and not exists (select from ledger.projection_changes c
                              where c.offsets @> t."offset" or u.looks_up and coalesce(lower(c.offsets) <= t."offset", true)))`;

/** All history of a text, as rows of Postgres. */
function wholeSelect(text: string): string {
  return `(${text.replaceAll(':from', '(-1)::bigint').replaceAll(':to', '9223372036854775807::bigint').replace(/;\s*$/, '')}\n) t`;
}

/**
 * @param isComplete whether all rows must be stored; otherwise only the rows at stored offsets are compared
 * @returns the number of stored rows, by version
 */
export async function compareWithTexts(
  url: string,
  texts: Texts,
  isComplete: boolean,
): Promise<Readonly<Record<string, number>>> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(`begin isolation level repeatable read; set local timezone = 'UTC'`);
    const lines = async (from: string, condition = 'true', values: readonly string[] = []): Promise<string[]> => {
      const sql = `select to_jsonb(t)::text as line from ${from} where ${condition}`;
      const { rows } = await client.query<{ line: string }>(sql, [...values]);
      return rows.map(({ line }) => line).sort();
    };
    const { rows: versions } = await client.query<Version>(versionsSql);
    const viewed = versions.filter(({ isReadByView }) => isReadByView);
    const views = new Map<string, readonly string[]>();
    for (const { view } of viewed) views.set(view, await lines(`derived.${view} t`));
    await client.query(`set local ledger_indexer.projections = 'off'`);
    const counts: Record<string, number> = {};
    for (const { name, view, isReadByView } of versions) {
      const select = wholeSelect(texts.get(name) ?? '');
      const stored = await (isComplete ? lines(`derived."${name}" t`) : lines(`derived."${name}" t`, isStored, [name]));
      const all = await lines(select);
      const expected = isComplete ? all : await lines(select, isStored, [name]);
      expect({ name, stored }).toEqual({ name, stored: expected });
      if (isReadByView) expect({ view, read: views.get(view) }).toEqual({ view, read: all });
      counts[name] = stored.length;
    }
    return counts;
  } finally {
    await client.end();
  }
}
