/** Compares `diff` with sets of contracts and their lifetimes, over a random history with reassignments. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { program, type Ended } from '../../cli/program.ts';
import * as frames from '../../support/frames.ts';
import { randomFrom, randomHistory } from '../random-history.ts';
import { createReadDatabase, type ReadDatabase } from '../read-database.ts';

const length = 300;
let database: ReadDatabase;
beforeAll(async () => {
  database = await createReadDatabase();
  await database.write(...randomHistory(11, length));
});
afterAll(async () => {
  await database[Symbol.asyncDispose]();
});

interface DiffRow {
  readonly template_fqn: string;
  readonly before: string;
  readonly created: string;
  readonly assigned: string;
  readonly archived: string;
  readonly unassigned: string;
  readonly unhosted: string;
  readonly unchanged: string;
  readonly after: string;
  readonly net: string;
}

/** Contracts that are active right after an offset, by template, computed from all lifetimes. */
async function activeAt(offset: number): Promise<Map<string, Set<string>>> {
  const rows = await database.query<{ name: string; id: string }>(
    `select t.package_id || t.entity_name as name, l.contract_id as id
       from lifetimes l join templates t using (template_pk)
      where l.activated_offset <= $1 and (l.deactivated_offset is null or l.deactivated_offset > $1)`,
    [offset],
  );
  const found = new Map<string, Set<string>>();
  for (const { name, id } of rows) found.set(name, (found.get(name) ?? new Set()).add(id));
  return found;
}

/** Contracts in flight between two synchronizers right after an offset: unassigned, and not active again. */
async function inFlightAt(offset: number): Promise<Set<string>> {
  const rows = await database.query<{ id: string }>(
    `select l.contract_id as id from lifetimes l
      where l.ended_by = 'r' and l.deactivated_offset <= $1
        and not exists (select from lifetimes n
                         where n.contract_id = l.contract_id and n.activated_offset > l.deactivated_offset and n.activated_offset <= $1)`,
    [offset],
  );
  return new Set(rows.map(({ id }) => id));
}

/** Contracts that were active at one of two offsets or in between. */
async function metBetween(from: number, to: number): Promise<readonly string[]> {
  const rows = await database.query<{ id: string }>(
    `select distinct contract_id as id from lifetimes
      where activated_offset <= $2 and (deactivated_offset is null or deactivated_offset > $1)`,
    [from, to],
  );
  return rows.map(({ id }) => id);
}

const total = (rows: readonly DiffRow[], column: keyof DiffRow): number =>
  rows.reduce((sum, row) => sum + Number(row[column]), 0);

describe('explore.diff', () => {
  it('counts created, ended and unchanged contracts between random offsets', async () => {
    const random = randomFrom(7);
    let flights = 0;
    for (let nth = 0; nth < 40; nth += 1) {
      const [from = 0, to = 0] = [Math.floor(random() * length), Math.floor(random() * length)].toSorted(
        (a, b) => a - b,
      );
      const rows = await database.query<DiffRow>('select * from explore.diff($1::bigint, $2::bigint)', [from, to]);
      const [before, after] = [await activeAt(from), await activeAt(to)].map(
        (sets) => new Set([...sets.values()].flatMap((ids) => [...ids])),
      );
      const [was, is] = [before ?? new Set<string>(), after ?? new Set<string>()];
      expect(total(rows, 'before')).toBe(was.size);
      expect(total(rows, 'after')).toBe(is.size);
      expect(total(rows, 'unchanged')).toBe([...was].filter((id) => is.has(id)).length);
      expect(total(rows, 'net')).toBe(is.size - was.size);
      const [flew, flies] = [await inFlightAt(from), await inFlightAt(to)];
      flights += flew.size + flies.size;
      const touched = (await metBetween(from, to)).filter((id) => !was.has(id) || !is.has(id));
      const isThere = (id: string): boolean => was.has(id) || flew.has(id);
      expect(total(rows, 'created')).toBe(touched.filter((id) => !isThere(id)).length);
      expect(total(rows, 'archived')).toBe(touched.filter((id) => !is.has(id) && !flies.has(id)).length);
      expect(total(rows, 'assigned')).toBe(touched.filter((id) => flew.has(id)).length);
      expect(total(rows, 'unassigned')).toBe(touched.filter((id) => flies.has(id)).length);
      for (const { before: had, created, assigned, archived, unassigned, unhosted, after: has } of rows)
        expect(Number(had) + Number(created) + Number(assigned)).toBe(
          Number(has) + Number(archived) + Number(unassigned) + Number(unhosted),
        );
    }
    expect(flights).toBeGreaterThan(3);
  });

  it('rejects unknown offsets and descending offsets', async () => {
    for (const [from, to, code] of [
      [0, 999, 'LI003'],
      [999, 1_000, 'LI003'],
      [20, 10, '22023'],
    ])
      await expect(
        database.query('select * from explore.diff($1::bigint, $2::bigint)', [from, to]),
      ).rejects.toMatchObject({ code });
  });

  it('accepts a stakeholder, and rejects an unknown party', async () => {
    const rows = (party: string) => database.query<DiffRow>('select * from explore.diff(10, 200, null, $1)', [party]);
    expect(await rows(frames.alice)).toEqual(await database.query('select * from explore.diff(10, 200)'));
    await expect(rows('Nobody::1220')).rejects.toMatchObject({ code: '42704' });
  });
});

describe('diff command', () => {
  const diff = (...words: readonly string[]): Promise<Ended> =>
    program(['diff', ...words], { DATABASE_URL: database.url });

  it('prints counts as a table, JSON or CSV, and lists the contracts of one template', async () => {
    const rows = await database.query<DiffRow>('select * from explore.diff(10, 200)');
    const { stdout: json } = await diff('10', '200', '--json');
    expect(
      json
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual(
      rows.map(({ template_fqn: name, ...counts }) => ({
        template_fqn: name,
        ...Object.fromEntries(Object.entries(counts).map(([column, count]) => [column, Number(count)])),
      })),
    );
    expect((await diff('10', '200', '--csv')).stdout.split('\r\n')).toHaveLength(rows.length + 2);
    expect((await diff('10', '200', '--table')).stdout).toMatch(
      /^template_fqn +before +created +assigned +archived +unassigned +unhosted +unchanged +after +net\n/,
    );
    const { stdout: single } = await diff('10', '200', '--template', 'A', '--csv');
    const [head, ...lines] = single.trimEnd().split('\r\n');
    expect(head).toBe('template_fqn,contract_id,change,created_at_offset,ended_at_offset');
    const ofA = rows.filter((row) => row.template_fqn.endsWith(':A'));
    expect(lines.filter((line) => line.includes(',unchanged,'))).toHaveLength(total(ofA, 'unchanged'));
  });

  it('accepts times in place of offsets', async () => {
    const [at] = await database.query<{ at: Date }>(
      'select effective_at as at from explore.updates where effective_at is not null order by "offset" limit 1',
    );
    const { code, stdout } = await diff(at?.at.toISOString() ?? '', '2100-01-01T00:00:00Z', '--json');
    expect(code).toBe(0);
    expect(stdout).toContain('"unchanged"');
  });

  it.each([
    [['10', '99999'], /not known yet/],
    [['10', 'yesterday'], /neither an offset nor a time with its zone/],
    [['200', '10'], /after/],
    [['10', '200', '--template', 'Nothing'], /Unknown name/],
    [['10', '200', '--csv', '--json'], /one output format/],
  ])('rejects the arguments %j', async (words, message) => {
    const { code, stdout, stderr } = await diff(...words);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(message);
  });
});
