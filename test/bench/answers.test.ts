/**
 * Tests the parts of `npm run bench:answers` that need no database: the statements of the pages, the condition of the
 * newest day, and the counts of the report.
 */
import { describe, expect, it } from 'vitest';
import { dayCondition } from '../../bench/answers/statements/catalog-statements.ts';
import { delaysBetween } from '../../bench/answers/offset-times.ts';
import { readAnswersOptions } from '../../bench/answers/options.ts';
import { pageStatements, statementsIn } from '../../bench/answers/statements/page-statements.ts';
import { answersJson, countsOf, type Answer, type AnswersReport } from '../../bench/answers/report.ts';
import { rangeStatements } from '../../bench/answers/statements/statement.ts';
import { startOfTraffic } from '../../bench/answers/traffic.ts';

const ends = {
  oldestTime: new Date('2026-10-28T12:00:00Z'),
  newestTime: new Date('2026-11-28T12:00:00Z'),
  dayTime: new Date('2026-11-27T12:00:00Z'),
  dayOffset: '17',
};

describe('the statements of the pages', () => {
  it('are separated where a line ends with a semicolon', () => {
    const block = `select ';' as a;\n\nselect b\n  from c;  \nselect d`;
    expect(statementsIn(block)).toEqual([`select ';' as a`, 'select b\n  from c', 'select d']);
  });

  it('include readers and operators, and leave out changes', () => {
    const { statements, leftOut } = pageStatements();
    const roles = (role: string): number => statements.filter((statement) => statement.role === role).length;
    expect(roles('reader')).toBeGreaterThan(50);
    expect(roles('owner')).toBeGreaterThan(30);
    expect(new Set(statements.map(({ name }) => name)).size).toBe(statements.length);
    expect(leftOut.map(({ name }) => name)).toContain('how-to/query/own-tables.md: Keep your own tables');
  });
});

describe('the newest day of a view', () => {
  it('is selected by an offset column, or by a time column if there is none', () => {
    expect(dayCondition(['record_time', 'created_at_offset', 'offset'], ends)).toBe('"offset" > 17');
    expect(dayCondition(['created_at', 'hour'], ends)).toBe(`"hour" >= '2026-11-27T12:00:00.000Z'`);
    expect(dayCondition(['round'], ends)).toBeUndefined();
  });

  it('is not measured separately if the statement is the same', () => {
    const view = { name: 'v', source: 'view' } as const;
    expect(rangeStatements(view, 'a', 'a').map(({ range }) => range)).toEqual([undefined]);
    expect(rangeStatements(view, 'a', 'b').map(({ range }) => range)).toEqual(['all', 'day']);
  });
});

describe('the report', () => {
  const answer = (name: string, warmMs: number, error?: string): Answer => ({
    statement: { name, source: 'page', range: undefined, role: 'reader', sql: `select '${name}'` },
    cold: undefined,
    warm: { ms: warmMs, rows: 1, error, timedOut: error === 'timeout' },
  });
  const report: AnswersReport = {
    updates: 10,
    events: 30,
    commit: 'abc',
    machine: '',
    projections: [],
    filledAt: '',
    newestUpdate: '',
    fillUpdatesPerSecond: undefined,
    answers: [answer('fast', 10), answer('slow', 6_000), answer('late', 60_000, 'timeout'), answer('bad', 2, 'no')],
    leftOut: [],
  };

  it('counts timeouts as slow and leaves failures out of the percentile', () => {
    expect(countsOf(report)).toMatchObject({ statements: 4, over_1s: 2, over_5s: 2, timed_out: 1, failed: 1 });
    expect(countsOf(report)).toMatchObject({ p95_ms: 60_000, cold_over_1s: null, cold_p95_ms: null });
  });

  it('lists the slowest statements first', () => {
    const { slowest } = JSON.parse(answersJson(report)) as { slowest: { name: string }[] };
    expect(slowest.map(({ name }) => name)).toEqual(['late', 'slow', 'fast', 'bad']);
  });
});

describe('the options', () => {
  it('require the number of updates', () => {
    expect(() => readAnswersOptions([])).toThrow('--updates');
    expect(() => readAnswersOptions(['--updates', 'many'])).toThrow('--updates many');
    expect(readAnswersOptions(['--updates', '5000'])).toMatchObject({ updates: 5_000, limitSeconds: 60 });
    expect(readAnswersOptions(['--help'])).toBeUndefined();
  });

  it('accept a pace only for rounds', () => {
    const rounds = ['--updates', '5000', '--follow-rounds', '4'];
    expect(readAnswersOptions([...rounds, '--pace', '500'])).toMatchObject({ followRounds: 4, pace: 500 });
    expect(readAnswersOptions(rounds)).toMatchObject({ followRounds: 4, pace: undefined });
    expect(() => readAnswersOptions(['--updates', '5000', '--pace', '500'])).toThrow('--follow-rounds');
  });
});

describe('the delays of offsets', () => {
  const offsetTimes = (...samples: (readonly [offset: number, ms: number])[]) => ({
    offsets: Float64Array.from(samples.map(([offset]) => offset)),
    times: BigInt64Array.from(samples.map(([, ms]) => BigInt(ms) * 1_000_000n)),
  });
  const made = offsetTimes([10, 100], [12, 110], [13, 120]);

  it('end when the offset or a later one is seen', () => {
    expect([...delaysBetween(made, offsetTimes([10, 105], [11, 112], [13, 150]), 0)]).toEqual([2, 30, 40]);
  });

  it('are not counted for offsets that are made in the beginning', () => {
    expect([...delaysBetween(made, offsetTimes([13, 150]), 20)]).toEqual([30]);
  });
});

describe('the traffic of a fill', () => {
  it('begins two days before its end if 400,000 updates are made', () => {
    expect(startOfTraffic(400_000, 0) / -3_600_000).toBeCloseTo(44.4, 0);
    expect(startOfTraffic(1_000, 0)).toBeLessThan(0);
  });
});
