/** Tests queries as Grafana sends them. Variables and macros are expanded as in the data sources of Grafana. */
import { describe, expect, it } from 'vitest';
import {
  duration,
  expandPromQl,
  expandSql,
  milliseconds,
  type Choices,
  type View,
} from '../../scripts/dashboards/interpolation.ts';

const view: View = {
  fromMs: Date.UTC(2026, 0, 1),
  toMs: Date.UTC(2026, 0, 2),
  intervalMs: 60_000,
  scrapeMs: 15_000,
};
const choices: Choices = new Map([
  ['schema', { values: ['explore'] }],
  ['template', { values: ["it's", 'b'] }],
  ['party', { values: ['alice'], all: 'all' }],
  ['job', { values: ['a.b', 'c'] }],
]);
const span = `'2026-01-01T00:00:00.000Z' AND '2026-01-02T00:00:00.000Z'`;

describe('expandSql()', () => {
  it.each([
    ['$__timeFilter(hour)', `hour BETWEEN ${span}`],
    ['$__timeFrom() $__timeTo()', `'2026-01-01T00:00:00.000Z' '2026-01-02T00:00:00.000Z'`],
    ["$__timeGroup(hour,'5m')", 'floor(extract(epoch from hour)/300)*300'],
    ["$__timeGroupAlias(hour, '1h')", 'floor(extract(epoch from hour)/3600)*3600 AS "time"'],
    ['$__timeGroupAlias(hour,$__interval)', 'floor(extract(epoch from hour)/60)*60 AS "time"'],
    ['$__time(hour)', 'hour AS "time"'],
    ['$__timeEpoch(hour)', 'extract(epoch from hour) as "time"'],
    ['$__unixEpochFilter(t)', 't >= 1767225600 AND t <= 1767312000'],
    ['$__interval_ms $__interval', '60000 1m'],
  ])('expands %s', (sql, expandedSql) => {
    expect(expandSql(sql, view, choices)).toBe(expandedSql);
  });

  it('ends the arguments of a macro at the first closing parenthesis, as Grafana does', () => {
    expect(expandSql("$__timeFilter(date_trunc('hour', t))", view, choices)).toBe(`date_trunc('hour' BETWEEN ${span})`);
  });

  it('quotes a list of texts, and expands "All" to the value that the variable defines', () => {
    expect(expandSql('${schema:raw}.x in (${template:sqlstring})', view, choices)).toBe("explore.x in ('it''s','b')");
    expect(expandSql("'${party:raw}'", view, choices)).toBe("'all'");
  });

  it.each(['$nobody', '${nobody:raw}', '$__noMacro(x)', '$__timeFilter()', '${schema:csv}'])('rejects %s', (sql) => {
    expect(() => expandSql(sql, view, choices)).toThrow();
  });
});

describe('expandPromQl()', () => {
  it('sets the rate interval to at least four scrape intervals', () => {
    expect(expandPromQl('rate(x[$__rate_interval])', view, choices)).toBe('rate(x[75s])');
    expect(expandPromQl('rate(x[$__rate_interval])', { ...view, intervalMs: 5_000 }, choices)).toBe('rate(x[1m])');
  });

  it('expands the range and escapes selected values for a regular expression', () => {
    expect(expandPromQl('x{job=~"$job"}[$__range]', view, choices)).toBe(String.raw`x{job=~"(a\\.b|c)"}[1d]`);
  });
});

it('duration() and milliseconds() write and read durations in the format of Grafana', () => {
  expect([500, 15_000, 90_000, 7_200_000].map(duration)).toEqual(['500ms', '15s', '90s', '2h']);
  expect(['15s', '5m', '1h', '1d'].map(milliseconds)).toEqual([15_000, 300_000, 3_600_000, 86_400_000]);
  expect(() => milliseconds('soon')).toThrow('soon');
});
