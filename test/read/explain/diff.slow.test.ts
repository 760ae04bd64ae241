/** Compares `diff` with sets of contracts and their lifetimes, over a random history with reassignments. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { program, type ProcessResult } from '../../cli/program.ts';
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
  const idsByKind = new Map<string, Set<string>>();
  for (const { name, id } of rows) idsByKind.set(name, (idsByKind.get(name) ?? new Set()).add(id));
  return idsByKind;
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
async function changedBetween(from: number, to: number): Promise<readonly string[]> {
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
    for (let index = 0; index < 40; index += 1) {
      const [from = 0, to = 0] = [Math.floor(random() * length), Math.floor(random() * length)].toSorted(
        (a, b) => a - b,
      );
      const rows = await database.query<DiffRow>('select * from explore.diff($1::bigint, $2::bigint)', [from, to]);
      const [activeBefore, activeAfter] = [await activeAt(from), await activeAt(to)].map(
        (idSets) => new Set([...idSets.values()].flatMap((ids) => [...ids])),
      );
      const [idsBefore, is] = [activeBefore ?? new Set<string>(), activeAfter ?? new Set<string>()];
      expect(total(rows, 'before')).toBe(idsBefore.size);
      expect(total(rows, 'after')).toBe(is.size);
      expect(total(rows, 'unchanged')).toBe([...idsBefore].filter((id) => is.has(id)).length);
      expect(total(rows, 'net')).toBe(is.size - idsBefore.size);
      const [inFlightBefore, inFlightAfter] = [await inFlightAt(from), await inFlightAt(to)];
      flights += inFlightBefore.size + inFlightAfter.size;
      const changedIds = (await changedBetween(from, to)).filter((id) => !idsBefore.has(id) || !is.has(id));
      const isActive = (id: string): boolean => idsBefore.has(id) || inFlightBefore.has(id);
      expect(total(rows, 'created')).toBe(changedIds.filter((id) => !isActive(id)).length);
      expect(total(rows, 'archived')).toBe(changedIds.filter((id) => !is.has(id) && !inFlightAfter.has(id)).length);
      expect(total(rows, 'assigned')).toBe(changedIds.filter((id) => inFlightBefore.has(id)).length);
      expect(total(rows, 'unassigned')).toBe(changedIds.filter((id) => inFlightAfter.has(id)).length);
      for (const {
        before: countBefore,
        created: createdCount,
        assigned: assignedCount,
        archived: archivedCount,
        unassigned: unassignedCount,
        unhosted,
        after: countAfter,
      } of rows)
        expect(Number(countBefore) + Number(createdCount) + Number(assignedCount)).toBe(
          Number(countAfter) + Number(archivedCount) + Number(unassignedCount) + Number(unhosted),
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
  const diff = (...args: readonly string[]): Promise<ProcessResult> =>
    program(['diff', ...args], { DATABASE_URL: database.url });

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
    const { stdout: singleOutput } = await diff('10', '200', '--template', 'A', '--csv');
    const [head, ...lines] = singleOutput.trimEnd().split('\r\n');
    expect(head).toBe('template_fqn,contract_id,change,created_at_offset,ended_at_offset');
    const entityARows = rows.filter((row) => row.template_fqn.endsWith(':A'));
    expect(lines.filter((line) => line.includes(',unchanged,'))).toHaveLength(total(entityARows, 'unchanged'));
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
  ])('rejects the arguments %j', async (args, message) => {
    const { code, stdout, stderr } = await diff(...args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(message);
  });
});
